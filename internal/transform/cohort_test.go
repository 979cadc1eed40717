package transform_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// cohortAnswers returns pages of each dataset that refers to students. The students of the cohort are s-in-1 and
// s-in-2. Every row about them holds the text "kept", and every other row "other".
func cohortAnswers() map[string][]string {
	results := func(from int) string {
		var records []string
		for i := from; i < from+200; i++ {
			student, mark := fmt.Sprintf(`"s-other-%d"`, i), "other"
			switch i % 50 {
			case 0:
				student, mark = `"s-in-1"`, "kept"
			case 7:
				student = `""`
			case 8:
				student = "null"
			}
			records = append(records, fmt.Sprintf(
				`{"testResultBid":"%s-%03d","studentBid":%s,"testName":"%s","new_%s":"x","norms":[{"type":"%s"}],"instructionalAreas":[{"instructionalAreaName":"%s"}]}`,
				mark, i, student, mark, mark, mark, mark))
		}
		return `{"results":[` + strings.Join(records, ",") + fmt.Sprintf(`],"pagination":{"hasNextPage":%t,"nextPage":"p"}}`, from == 0)
	}
	return map[string][]string{
		"test_results": {results(0), results(200)},
		"students":     {`[{"studentBid":"s-in-2","firstName":"kept"},{"studentBid":"s-other-1","firstName":"other"},{"firstName":"other"},"s-other-2"]`},
		"school_classes": {`{"schoolClasses":[{"schoolClassBid":"class-1","className":"all","students":[{"studentBid":"s-other-1","firstName":"other"},` +
			`"s-in-1","s-other-2",{"studentBid":"s-in-2","firstName":"kept","unheard":1},{"firstName":"other","unheard_other":2}]},` +
			`{"schoolClassBid":"class-2","students":{"studentBid":"s-other-3"}},{"schoolClassBid":"class-3","students":"s-other-4"}],"pagination":{"hasNextPage":false}}`},
		"school_class_details": {`{"schoolClassBid":"class-1","className":"all","students":[{"studentBid":"s-other-1"},{"studentBid":"s-in-1"}]}`},
		"student_details":      {`{"studentBid":"s-other-9","firstName":"other"}`},
	}
}

// TestCohortCountsOnce checks that bids that differ only in surrounding whitespace count as one student.
func TestCohortCountsOnce(t *testing.T) {
	t.Parallel()
	plan := compile(t, "students")
	plan.Restrict(transform.NewCohort([]string{"other", "s-1 ", "s-1", "\ts-1"}))
	decoder := plan.NewDecoder()
	decoder.Reset(params())
	_, err := decoder.ReadPage(strings.NewReader(`[{"studentBid":"s-1"},{"studentBid":"s-1 "},{"studentBid":"s-2"}]`))
	require.NoError(t, err)
	require.Equal(t, []int{1}, decoder.Matched())
}

// TestCohort checks that the rows about the cohort are kept, and that nothing about others reaches scratch files.
func TestCohort(t *testing.T) {
	t.Parallel()
	cohort := transform.NewCohort([]string{"s-in-1", "\ufeffs-in-2 \r", "s-nobody", "student-1"})
	want := map[string][]int{
		"test_results": {8, 8, 8}, "students": {1}, "school_classes": {1, 0, 2}, "school_class_details": {1}, "student_details": {0},
	}
	matched := map[string][]int{"test_results": {0}, "students": {1}, "school_classes": {0, 1}}
	for name, pages := range cohortAnswers() {
		for _, inRuns := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in runs %t", name, inRuns), func(t *testing.T) {
				t.Parallel()
				plan := compile(t, name)
				plan.Restrict(cohort)
				decoder := plan.NewDecoder()
				for range 2 { // a reused decoder keeps nothing of its previous list
					decoder.Reset(params())
					var scratch []*bytes.Buffer
					for _, text := range pages {
						page, err := decoder.ReadPage(strings.NewReader(text))
						require.NoError(t, err)
						if name == "test_results" {
							require.Equal(t, 200, page.Records, "the count of a page includes dropped records")
						}
						if inRuns {
							scratch = append(scratch, new(bytes.Buffer))
							require.NoError(t, decoder.WriteRun(scratch[len(scratch)-1]))
						}
					}
					require.Subset(t, decoder.Matched(), matched[name])
					require.Subset(t, matched[name], decoder.Matched())
					var got []int
					count := func(tables []*rows.Batch) error {
						for i, b := range tables {
							if len(got) <= i {
								got = append(got, 0)
							}
							got[i] += b.Len()
							for _, row := range rowsAsText(t, b) {
								require.NotContains(t, row, "other")
							}
							var spilled bytes.Buffer
							_, err := b.WriteTo(&spilled)
							require.NoError(t, err)
							require.NotContains(t, spilled.String(), "other")
						}
						return nil
					}
					var result transform.Result
					if inRuns {
						var runs []io.Reader
						for _, run := range scratch {
							require.NotContains(t, run.String(), "other")
							runs = append(runs, run)
						}
						var err error
						result, err = decoder.MergeRuns(runs, count)
						require.NoError(t, err)
					} else {
						result = decoder.Finish()
						require.NoError(t, count(result.Tables))
					}
					require.Equal(t, want[name], got)
					require.EqualValues(t, want[name][0], result.Records)
					require.NotContains(t, strings.Join(driftAsText(result.Drift), "\n"), "other")
				}
			})
		}
	}
}

// TestCohortKeepsPositions checks that the elements of a roster keep their positions, and that an _extra that lists
// students is emptied.
func TestCohortKeepsPositions(t *testing.T) {
	t.Parallel()
	read := func(name string) []*rows.Batch {
		plan := compile(t, name)
		plan.Restrict(transform.NewCohort([]string{"s-in-1", "s-in-2"}))
		decoder := plan.NewDecoder()
		decoder.Reset(params())
		_, err := readPage(decoder, []byte(cohortAnswers()[name][0]))
		require.NoError(t, err)
		return decoder.Finish().Tables
	}
	roster := read("school_classes")[2]
	ordinal := roster.Cols[roster.Table.Column("ordinal")]
	require.Equal(t, []int32{1, 3}, []int32{ordinal.I32[roster.Row(0)], ordinal.I32[roster.Row(1)]})
	details := read("school_class_details")[0]
	require.True(t, details.Cols[details.Table.Column("_extra")].Null(0))
	require.Equal(t, "all", string(details.Cols[details.Table.Column("class_name")].Text(0)))
}

// TestCohortDropsNestedExtra puts another student into arrays and objects without a column, in every dataset.
func TestCohortDropsNestedExtra(t *testing.T) {
	t.Parallel()
	const other = `[{"studentBid":"other","lastName":"other"}]`
	for _, ds := range schemas.Datasets() {
		for extra, want := range map[string]string{
			`"roster":` + other: "null", `"sibling":{"lastName":"other"},"note":"x"`: "null",
			`"note":"x","n":1,"nothing":null`: `note`,
		} {
			plan := compile(t, ds.Name)
			plan.Restrict(transform.NewCohort([]string{"s-in-1", params()["student_bid"]}))
			decoder := plan.NewDecoder()
			decoder.Reset(params())
			page := `{"studentBid":"s-in-1",` + extra + `}`
			if ds.Name == schemas.SchoolClasses { // only classes of the cohort are kept
				page = `{"students":["s-in-1"],` + extra + `}`
			}
			if !ds.Operation.Single {
				page = `[["other"],` + page + `]`
			}
			if ds.Operation.Records != "" {
				page = `{"` + ds.Operation.Records + `":` + page + `,"pagination":{"hasNextPage":false}}`
			}
			_, err := readPage(decoder, []byte(page))
			require.NoError(t, err, ds.Name)
			got := cells(t, decoder.Finish(), ds.Tables[0].Name, "_extra")
			require.NotEmpty(t, got, ds.Name)
			require.NotContains(t, strings.Join(got, ""), "other", ds.Name)
			if last := got[len(got)-1]; want == "null" || !ds.ExtraListsStudents() {
				require.Contains(t, last, want, ds.Name)
			}
		}
	}
}

// TestCohortColumns fails if a declared column may hold a student's bid but is not checked for the cohort.
func TestCohortColumns(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, table := range schemas.Tables() {
		for _, c := range table.Columns {
			if strings.HasSuffix(c.Name, "student_bid") {
				require.Contains(t, schemas.StudentColumns(), c.Name, table.Name)
				looked++
			}
		}
	}
	require.Equal(t, 8, looked)
	details, _ := schemas.Find("school_class_details")
	require.True(t, details.ExtraListsStudents())
}
