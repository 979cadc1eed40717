package simulator

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGrowthFollowsTheNorms checks that the growth percentile of a result agrees with the growth since the previous
// test according to the made-up norms.
func TestGrowthFollowsTheNorms(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	require.NoError(t, WriteNorms(&table))
	lines, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	require.NoError(t, err)
	norms := make(map[string][]string)
	for _, line := range lines[1:] {
		key := strings.Join(line[:4], " ")
		require.Nil(t, norms[key], key)
		norms[key] = line
		require.Equal(t, "made up by growth-export", line[7])
	}
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return n
	}

	w := NewWorld(Options{AsOf: time.Date(2026, time.February, 20, 0, 0, 0, 0, time.UTC)})
	pairs, met := 0, 0
	var growths, percentiles []float64
	for school := range w.listed {
		for place := range w.resultPlaces(school) {
			r, ok := w.testEvent(school, place)
			if !ok {
				continue
			}
			z, ok := w.growth(&r)
			before := event{year: r.year, season: fall}
			o := r.student.occupant
			if !ok || r.season != winter || !w.takes(&o, r.subject, &before) {
				continue
			}
			earlier := w.eventOf(&o, r.subject, &before)
			norm := norms[strings.Join([]string{subjectNames[r.subject], gradeNames[earlier.grade], strconv.Itoa(earlier.rit), "Fall to Winter"}, " ")]
			require.NotNil(t, norm)
			growth := float64(r.rit - earlier.rit)
			require.InDelta(t, (growth-number(norm[4]))/number(norm[6]), float64(z)/1000, 0.002)
			require.InDelta(t, number(norm[4]), number(norm[5]), 0.5)
			pairs++
			if z >= 0 {
				met++
			}
			growths, percentiles = append(growths, growth), append(percentiles, float64(percentile(z)))
		}
	}
	require.Greater(t, pairs, 5000)
	require.InDelta(t, 0.5, float64(met)/float64(pairs), 0.03)
	require.Greater(t, correlation(growths, percentiles), 0.8)
}

func correlation(xs, ys []float64) float64 {
	var x, y, xx, yy, xy float64
	n := float64(len(xs))
	for i := range xs {
		x, y, xx, yy, xy = x+xs[i], y+ys[i], xx+xs[i]*xs[i], yy+ys[i]*ys[i], xy+xs[i]*ys[i]
	}
	return (n*xy - x*y) / math.Sqrt((n*xx-x*x)*(n*yy-y*y))
}
