package oracle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
)

// TestHistoryOfNights checks a history against the rows of each night, and that no version ends because its school was
// not read.
func TestHistoryOfNights(t *testing.T) {
	t.Parallel()
	service := simulator.Options{Seed: 7, Schools: 9, SchoolSizes: []int{30}, Results: 200}
	export := Options{Datasets: []string{"schools", "students", "test_results"}}
	h := NewHistory()
	unread := 0
	for night := range 12 {
		service.AsOf = time.Date(2025, time.December, 20, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 9*night)
		world := simulator.NewWorld(service)
		before := len(h.Current())
		h.Fold(world, export)
		require.LessOrEqual(t, before-len(h.Ending), len(h.Current()))
		read := map[string]bool{}
		expected := Expect(world, export)
		for _, l := range expected.Ledger {
			read[l.School] = read[l.School] || !l.Denied
		}
		for _, v := range h.Ending {
			school := scopeOf(v.Row)
			require.True(t, read[school])
			require.NotEmpty(t, v.Because)
			require.Less(t, v.From, v.To)
		}
		current := map[string]int{}
		for _, v := range h.Current() {
			if school := scopeOf(v.Row); read[school] {
				current[v.Table]++
			} else {
				unread++
			}
		}
		for table, rows := range expected.Rows {
			require.Equal(t, len(rows), current[table], table)
		}
	}
	require.Positive(t, unread, "some schools are not read for a time")
	var text strings.Builder
	require.NoError(t, h.Write(&text))
	require.Equal(t, len(h.Ended)+len(h.Current())+len(h.Coverage), strings.Count(text.String(), "\n"))
	for _, part := range []string{`"ended_because":"superseded"`, `"status":"denied"`, `"status":"absent"`} {
		require.True(t, strings.Contains(text.String(), part), part)
	}
	again := Nights(service, export, []time.Time{service.AsOf})
	require.Empty(t, again.Ended)
}
