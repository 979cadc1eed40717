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
)

// The path suffixes of more lists.
const (
	classesPath  = "/school-classes"
	calendarPath = "/academic-years"
	schoolsPath  = "/v1/schools"
)

// TestBadNights damages the service's answers after a good night, and expects that the run is held, or published with a
// warning if the change may be ordinary.
func TestBadNights(t *testing.T) {
	skipWithRaceDetector(t)
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
		// swapped is the path suffix of lists for which every school gets the next school's list.
		swapped string
		held    string // in one of the reasons, empty if the run is published
		warns   string
	}{
		{name: "nothing", edits: edits{}},
		{
			name:  "percentiles null",
			edits: edits{resultsPath: inList("norms", func(r object) { r["percentile"] = nil })},
			held:  "--max-emptied 50% allows: table test_result_norms, column percentile, district ",
		},
		{
			name:  "percentiles are strings",
			edits: edits{resultsPath: inList("norms", func(r object) { r["percentile"] = "50th" })},
			held:  "--max-emptied 50% allows: table test_result_norms, column percentile, district ",
		},
		{
			name:  "percentiles are different",
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
			held:  "rows of students, test_results and academic_years",
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
			warns: "1 school no longer listed: " + world[0].Name,
		},
		{
			name: "names are all the same", held: "--max-changed 75% allows: table students, district ",
			edits: edits{studentsPath: every(func(r object) { r["firstName"], r["lastName"] = "X", "X" })},
		},
		{
			name: "percentiles are higher", held: "--max-changed 75% allows: table test_result_norms, district ",
			edits: edits{resultsPath: inList("norms", func(r object) { r["percentile"] = 98 })},
		},
		{
			name: "all results are of one student", held: "--max-changed 75% allows: table test_results, district ",
			edits: edits{resultsPath: every(func(r object) { r["studentBid"] = "one" })},
		},
		{
			name: "results at other schools", held: "--max-changed 75% allows: table test_results, district ",
			swapped: resultsPath,
		},
		{
			name: "students at other schools", swapped: studentsPath,
			warns: "more than 10% of the rows are gone: table students, district ",
		},
		{
			name: "scores of 49 percent are null",
			edits: edits{resultsPath: func(_ string, records []object) []object {
				for _, r := range records[:len(records)*49/100] {
					r["rit"] = nil
				}
				return records
			}},
		},
		{
			name:  "a sixth of the students are gone",
			edits: edits{studentsPath: func(_ string, records []object) []object { return records[len(records)/6:] }},
			warns: "more than 10% of the rows are gone: table students, district ",
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
			name:  "half of the calendar is missing",
			edits: edits{calendarPath: func(_ string, records []object) []object { return records[:len(records)/2] }},
			warns: "rows of academic_years from ",
		},
		{ // the last one: runs with fewer rows that replace it warn
			name: "all results twice under other keys",
			edits: edits{resultsPath: func(_ string, records []object) []object {
				for _, r := range records {
					again := maps.Clone(r)
					rekey(again)
					records = append(records, again)
				}
				return records
			}},
		},
	}
	for i, test := range cases {
		if i%short(4, 1) > 0 {
			continue
		}
		n.next(test.edits)
		n.swapped.Store(&test.swapped)
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

// TestClassesUnderOtherKeys expects that a run is held if its classes have other keys, but not if they are the next
// year's classes, which have the same names.
func TestClassesUnderOtherKeys(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, simulator.Options{Seed: 3, SchoolSizes: []int{20}})
	settings := compared()
	settings.Datasets = []string{"schools", "school_classes"}
	settings.MaxShrink.Off = true
	classes := func(prefix string, change func(object)) edits {
		return edits{classesPath: func(_ string, records []object) []object {
			var all []object
			for i := range 60 {
				class := maps.Clone(records[i%len(records)])
				class["schoolClassBid"] = fmt.Sprint(prefix, i)
				change(class)
				all = append(all, class)
			}
			return all
		}}
	}
	first := classes("", func(object) {})
	n.tonight.Store(&first)
	n.export(settings)
	n.next(classes("next ", func(r object) { r["beginDate"] = "2026-11-21" }))
	summary := n.export(settings)
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Contains(t, strings.Join(review.Texts(summary.Comparison.Warnings), "\n"), "table school_classes, district ")
	n.next(classes("other ", func(r object) { r["beginDate"], r["modifiedDateTime"] = "2026-11-21", "2026-11-22T00:00:00Z" }))
	summary = n.export(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Contains(t, strings.Join(review.Texts(summary.Held), "\n"), "--max-changed 75% allows: table school_classes, district ")
}

// TestSchoolsOfSmallTables expects only a warning if one of three schools has lost the few rows that it had in a table.
func TestSchoolsOfSmallTables(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, simulator.Options{Seed: 3, SchoolSizes: []int{40, 40, 40}})
	settings := compared()
	settings.Datasets = []string{"schools", "students", "school_classes"}
	lose := n.world.Schools()[0].Bid
	few := func(_ string, records []object) []object {
		records = records[:min(5, len(records))]
		for _, r := range records {
			delete(r, "students")
		}
		return records
	}
	but := func(edit func(string, []object) []object) func(string, []object) []object {
		return func(school string, records []object) []object {
			if school == lose {
				return nil
			}
			return edit(school, records)
		}
	}
	n.tonight.Store(&edits{classesPath: few})
	n.export(settings)
	n.next(edits{classesPath: but(few)})
	summary := n.export(settings)
	require.Equal(t, pipeline.Published, summary.Outcome, review.Texts(summary.Held))
	require.Contains(t, strings.Join(review.Texts(summary.Comparison.Warnings), "\n"), "schools with rows in school_classes from 3 to 2")
	n.next(edits{classesPath: few, studentsPath: but(func(_ string, records []object) []object { return records })})
	summary = n.export(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Contains(t, summary.Held[0].String(), "schools with rows in students from 3 to 2")
}

// TestNothingInCommon expects a warning if no dataset of the run is in the previous snapshot, but not if no dataset is
// fetched per school.
func TestNothingInCommon(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, simulator.Options{Seed: 3, SchoolSizes: []int{2, 2}})
	settings := compared()
	for _, night := range []struct {
		datasets []string
		warning  string
	}{
		{[]string{"schools", "students"}, ""},
		{[]string{"schools", "test_results"}, "only 0 of 2 schools are compared, so the limits on changes cover less than half of the data: " +
			"the previous snapshot does not have test_results"},
		{[]string{"schools", "test_results", "students"}, ""},
		{[]string{"schools", "districts"}, ""},
	} {
		settings.Datasets = night.datasets
		summary := n.export(settings)
		require.Equal(t, pipeline.Published, summary.Outcome)
		if summary.Comparison != nil {
			require.Equal(t, night.warning, strings.Join(review.Texts(summary.Comparison.Warnings), "\n"), night.datasets)
		}
		n.next(edits{})
	}
}

// TestOtherDatasetsAreGuarded empties a column on the night on which the run's datasets change.
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
