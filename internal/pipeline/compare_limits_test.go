package pipeline_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/snapshot"
)

// TestLimitsOnChanges makes many changes in one of four districts.
func TestLimitsOnChanges(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	n := newNights(t)
	few := compared()
	few.Datasets = []string{"schools", "students", "test_results"}
	n.export(few)
	off := review.Share{Off: true}
	district := n.world.Schools()[0].DistrictBid
	each := func(every int, do func(i int, r object)) func([]object) []object {
		return func(records []object) []object {
			for i, r := range records {
				if i%10 < every {
					do(i, r)
				}
			}
			return records
		}
	}
	replaced := func(i int, r object) {
		r["testResultBid"], r["studentBid"] = fmt.Sprint(r["testResultBid"], "-", i), fmt.Sprint(r["studentBid"], "-x")
	}
	cases := []struct {
		name string
		path string
		edit func([]object) []object
		off  func(*review.Limits)
		want string // part of the reason; empty if the run is published
	}{
		{
			"30 % of the results are replaced", resultsPath, each(3, replaced), func(l *review.Limits) { l.MaxRemoved = off },
			"--max-removed 10% allows: table test_results, district " + district + ": ",
		},
		{"10 % of the results are replaced", resultsPath, each(1, replaced), nil, ""},
		{"superseded results", resultsPath, each(10, func(i int, r object) {
			r["testResultBid"], r["testName"] = fmt.Sprint(r["testResultBid"], "-", i), "a later test"
		}), nil, ""},
		{
			"80 % of the students changed", studentsPath, each(8, func(_ int, r object) { r["lastName"] = "changed" }),
			func(l *review.Limits) { l.MaxChanged = off },
			"--max-changed 75% allows: table students, district " + district + ": ",
		},
		{"all results are modified", resultsPath, each(10, func(_ int, r object) { r["modifiedDateTime"] = "2026-11-20T12:00:00Z" }), nil, ""},
		{
			"60 % of a column is empty", resultsPath, each(6, func(_ int, r object) { r["grade"] = nil }),
			func(l *review.Limits) { l.MaxEmptied = off },
			"--max-emptied 50% allows: table test_results, column grade, district " + district + ": ",
		},
		{"40 % of a column is empty", resultsPath, each(4, func(_ int, r object) { r["testName"] = "" }), nil, ""},
	}
	for _, test := range cases {
		n.next(edits{test.path: n.inDistrict(district, test.edit)})
		n.day = theDay.AddDate(0, 0, 1) // every case is compared with the first night
		settings := few
		settings.RunID = strings.Map(func(r rune) rune {
			if r == ' ' || r == '%' {
				return '-'
			}
			return r
		}, test.name)
		summary := n.export(settings)
		if test.want == "" {
			require.Equal(t, pipeline.Published, summary.Outcome, "%s: %q", test.name, summary.Held)
			n.requireEqualsDiff(summary)
			continue
		}
		require.Equal(t, pipeline.HeldBack, summary.Outcome, test.name)
		require.Len(t, summary.Held, 1, test.name)
		require.Contains(t, summary.Held[0].String(), test.want, test.name)
		require.Regexp(t, `: [0-9]+ of [0-9]+$`, summary.Held[0].String(), test.name)
		require.NotNil(t, summary.Comparison, test.name)

		// publish uses the plan's limits unless others are given.
		publish := pipeline.PublishSettings{RunID: settings.RunID}
		summary, err := pipeline.Publish(t.Context(), n.deps(), publish)
		require.NoError(t, err)
		require.Equal(t, pipeline.HeldBack, summary.Outcome, test.name)
		publish.Override = test.off
		summary, err = pipeline.Publish(t.Context(), n.deps(), publish)
		require.NoError(t, err)
		n.requireEqualsDiff(summary)
	}
}

// TestFewRowsAreNotLimited replaces all rows of districts with few rows.
func TestFewRowsAreNotLimited(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	settings := compared()
	settings.Datasets = []string{"schools", "test_results"}
	schools := make(map[string]int)
	for _, school := range n.world.Schools() {
		schools[school.DistrictBid]++
	}
	few := 49 / slices.Max(slices.Collect(maps.Values(schools)))
	n.tonight.Store(&edits{resultsPath: func(_ string, records []object) []object { return records[:few] }})
	n.export(settings)
	n.next(edits{resultsPath: func(_ string, records []object) []object {
		records = records[:few]
		for i, r := range records {
			r["testResultBid"], r["studentBid"], r["grade"] = fmt.Sprint("other ", i, r["testResultBid"]), fmt.Sprint("other ", i), nil
		}
		return records
	}})
	summary := n.export(settings)
	n.requireEqualsDiff(summary)
	require.Equal(t, map[string]int64{snapshot.Unexplained: int64(12 * few)}, summary.Comparison.Tables["test_results"].Because)
}

// TestComparisonWarns expects warnings about large removals that do not hold the run back.
func TestComparisonWarns(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	n := newNights(t)
	n.export(compared())
	district := n.world.Schools()[0].DistrictBid
	n.next(edits{
		studentsPath: n.inDistrict(district, func(records []object) []object { return records[:len(records)*8/10] }),
		"/growth":    n.inDistrict(n.world.Schools()[1].DistrictBid, func([]object) []object { return nil }),
	})
	settings := compared()
	settings.MaxShrink.Off, settings.MaxRemoved.Off = true, true
	summary := n.export(settings)
	n.requireEqualsDiff(summary)
	warnings := strings.Join(review.Texts(summary.Comparison.Warnings), "\n")
	require.Contains(t, warnings, "more than 10% of the rows are gone: table students, district "+n.nameOf(district)+": ")
	require.Contains(t, warnings, "all rows are gone: table test_results, district "+n.nameOf(n.world.Schools()[1].DistrictBid)+": ")
}

// nameOf returns the name of a district.
func (n *nights) nameOf(district string) string {
	all := n.world.Districts()
	return all[slices.IndexFunc(all, func(d simulator.District) bool { return d.Bid == district })].Name
}
