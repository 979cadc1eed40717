package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
)

// The ends of the paths of more lists.
const (
	classesPath  = "/school-classes"
	calendarPath = "/academic-years"
	schoolsPath  = "/v1/schools"
)

// TestBadNights damages what the service sends after a good night, and expects that the run is held, or published with a
// warning where the change may be ordinary.
func TestBadNights(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, simulator.Options{Seed: 3, Districts: 2, SchoolSizes: slices.Repeat([]int{40}, 6)})
	settings := compared()
	settings.Datasets = []string{"schools", "districts", "students", "test_results", "academic_years", "school_classes"}
	n.export(settings)
	world := n.world.Schools()
	district := world[0].DistrictBid
	every := func(do func(object)) func(string, []object) []object {
		return func(_ string, records []object) []object {
			for _, r := range records {
				do(r)
			}
			return records
		}
	}
	inList := func(list string, do func(object)) func(string, []object) []object {
		return every(func(r object) {
			elements, _ := r[list].([]any)
			for i, element := range elements {
				fields, ok := element.(object)
				if !ok { // the service may send a person as text
					fields = object{}
					elements[i] = fields
				}
				do(fields)
			}
		})
	}
	rekey := func(r object) { r["testResultBid"] = "x" + fmt.Sprint(r["testResultBid"]) }
	none := n.inDistrict(district, func([]object) []object { return nil })
	cases := []struct {
		name  string
		edits edits
		held  string // in the only reason, empty if the run is published
		warns string
	}{
		{name: "nothing", edits: edits{}},
		{
			name:  "percentiles null",
			edits: edits{resultsPath: inList("norms", func(r object) { r["percentile"] = nil })},
			held:  "--max-emptied 50% allows: table test_result_norms, column percentile, district ",
		},
		{
			name:  "percentiles are texts",
			edits: edits{resultsPath: inList("norms", func(r object) { r["percentile"] = "50th" })},
			held:  "--max-emptied 50% allows: table test_result_norms, column percentile, district ",
		},
		{
			name:  "percentiles are others",
			edits: edits{resultsPath: inList("norms", func(r object) { r["reference"] = "another" })},
			held:  "--max-changed 75% allows: table test_result_norms, district ",
		},
		{
			name:  "area scores null",
			edits: edits{resultsPath: inList("instructionalAreas", func(r object) { r["score"] = nil })},
			held:  "--max-emptied 50% allows: table test_result_instructional_areas, column score, district ",
		},
		{
			name:  "classes without the ids of students",
			edits: edits{classesPath: inList("students", func(r object) { clear(r); r["id"] = 1 })},
			held:  "--max-emptied 50% allows: table school_class_students, column ",
		},
		{name: "results under other keys", edits: edits{resultsPath: every(rekey)}, held: "--max-changed 75% allows: table test_results, district "},
		{
			name:  "results without keys",
			edits: edits{resultsPath: every(func(r object) { delete(r, "testResultBid") })},
			held:  "--max-emptied 50% allows: table test_result",
		},
		{
			name:  "results under other keys without scores",
			edits: edits{resultsPath: every(func(r object) { rekey(r); r["rit"], r["administrationStartDateTime"] = nil, nil })},
			held:  "--max-emptied 50% allows: table test_results, column ",
		},
		{
			name:  "students without anything",
			edits: edits{studentsPath: every(func(r object) { clear(r) })},
			held:  "--max-emptied 50% allows: table students, column ",
		},
		{
			name:  "a district of empty lists",
			edits: edits{resultsPath: none, studentsPath: none, calendarPath: none, classesPath: none},
			held:  "rows, and all test results and academic years",
		},
		{
			name: "a district's norms and areas are gone",
			edits: edits{resultsPath: n.inDistrict(district, func(records []object) []object {
				return every(func(r object) { delete(r, "norms"); delete(r, "instructionalAreas") })("", records)
			})},
			held: "records have lost all their rows",
		},
		{
			name: "scores are higher", held: "--max-changed 75% allows: table test_results, district ",
			edits: edits{resultsPath: every(func(r object) { r["rit"] = 111 })},
		},
		{
			name:  "schools under other ids",
			edits: edits{schoolsPath: every(func(r object) { r["schoolBid"] = fmt.Sprint(r["schoolBid"], renamed) })},
			held:  "fell by more than --max-shrink 20%",
			warns: "only 0 of 6 schools are compared",
		},
		{
			name:  "a school is missing from the list",
			edits: edits{schoolsPath: func(_ string, records []object) []object { return records[1:] }},
			warns: "1 school no longer listed: " + world[0].Bid,
		},
		{name: "all grades rise", edits: edits{resultsPath: every(func(r object) { r["grade"] = "11" })}},
		{name: "a new member", edits: edits{
			resultsPath: every(func(r object) {
				r["newMember"] = 1
				norms, _ := r["norms"].([]any)
				for _, norm := range norms {
					norm.(object)["newMember"] = 1
				}
			}),
			studentsPath: every(func(r object) { r["newMember"] = 1 }),
		}},
		{
			name: "sessions under other keys",
			edits: edits{calendarPath: inList("enrollmentSessions", func(r object) {
				r["enrollmentSessionBid"] = fmt.Sprint("x", r["enrollmentSessionBid"])
			})},
		},
		{
			name:  "the calendar is half",
			edits: edits{calendarPath: func(_ string, records []object) []object { return records[:len(records)/2] }},
			warns: "rows of academic_years from ",
		},
	}
	for _, test := range cases {
		n.next(test.edits)
		n.day = theDay.AddDate(0, 0, 1) // every case is compared with the first night
		settings.RunID = strings.NewReplacer(" ", "-", "'", "").Replace(test.name)
		summary := n.export(settings)
		held := summary.Held
		if test.held == "" {
			require.Equal(t, pipeline.Published, summary.Outcome, "%s: %q", test.name, held)
		} else {
			require.Equal(t, pipeline.HeldBack, summary.Outcome, test.name)
			require.Contains(t, strings.Join(review.Texts(held), "\n"), test.held, test.name)
		}
		warnings := strings.Join(review.Texts(summary.Comparison.Warnings), "\n")
		require.Contains(t, warnings, test.warns, test.name)
		if test.name == "nothing" || strings.HasPrefix(test.name, "a new") || strings.HasPrefix(test.name, "all grades") {
			require.Empty(t, warnings, test.name)
		}
	}
}

// TestOtherDatasetsAreGuarded empties a column on the night on which the datasets change.
func TestOtherDatasetsAreGuarded(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, simulator.Options{Seed: 3, Districts: 2, SchoolSizes: []int{60, 60}})
	n.export(compared())
	n.next(edits{resultsPath: func(_ string, records []object) []object {
		for _, r := range records {
			r["rit"] = nil
		}
		return records
	}})
	settings := compared()
	settings.Datasets = []string{"schools", "students", "test_results"}
	summary := n.export(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Contains(t, strings.Join(review.Texts(summary.Held), "\n"), "table test_results, column rit, district ")
}
