package transform_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// suppressionKey returns the key of the tests.
func suppressionKey(t *testing.T) *privacy.Key {
	t.Helper()
	key, err := privacy.ParseKey(strings.Repeat("00112233445566778899aabbccddeeff", 2))
	require.NoError(t, err)
	return key
}

// suppressedList returns the students that the tests suppress.
func suppressedList(t *testing.T) *privacy.Suppressed {
	t.Helper()
	key := suppressionKey(t)
	list := key.NewSuppressed()
	list.Add(0, key.SuppressedBid("s-erased"), []string{key.SuppressedNumber("77001")})
	list.Add(1, "", []string{key.SuppressedNumber("N-2")})
	list.Add(2, key.SuppressedBid("s-unlisted"), nil)
	return list
}

// TestSuppress puts erased students into every place of every dataset where the service may put them. Rows about them
// hold the text GONE; rows of others that mention them hold it only in _extra.
func TestSuppress(t *testing.T) {
	t.Parallel()
	ofErased := []string{
		`{"studentBid":"s-erased","note":"GONE"}`, `{"note":"GONE","a":{"b":["s-erased"]}}`,
		`{"studentBid":"","note":"GONE","number":77001}`, `{"studentBid":null,"studentId":"77001","note":"GONE"}`,
		`{"stateStudentId":"N-2","note":"GONE"}`, `{"districtStudentId":"N-2","note":"GONE"}`, `["GONE",{"id":"s-erased"}]`,
	}
	ofOthers := []string{
		`{"studentBid":"s-1","note":"GONE","roster":[{"studentBid":"s-erased"}]}`,
		`{"studentBid":"s-2","note":"GONE","friend":"s\u002derased"}`, `{"studentBid":"s-3","note":"GONE","n":77001}`,
		`{"studentBid":"s-4","note":"STAYS","friend":"s-erased-2"}`, `{"note":"STAYS","number":770010}`, `{"studentBid":"s-5","studentId":"77001"}`,
	}
	for _, ds := range schemas.Datasets() {
		for _, profile := range []schemas.Profile{schemas.Full, schemas.Pseudonymous} {
			for _, inRuns := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, in runs %t", ds.Name, profile, inRuns), func(t *testing.T) {
					t.Parallel()
					read := func(records []string) (kept int, text string) {
						pages := []string{"[" + strings.Join(records, ",") + "]"}
						if ds.Operation.Single {
							pages = slices.DeleteFunc(slices.Clone(records), func(r string) bool { return r[0] == '[' })
						}
						for _, page := range pages {
							plan, err := transform.CompileFor(ds, profile, suppressionKey(t))
							require.NoError(t, err)
							plan.Suppress(suppressedList(t))
							if ds.Operation.Records != "" {
								page = `{"` + ds.Operation.Records + `":` + page + `,"pagination":{"hasNextPage":false}}`
							}
							rows, holds := readSuppressed(t, plan, page, inRuns)
							kept, text = kept+rows, text+holds
						}
						return kept, text
					}
					gone, text := read(ofErased)
					for _, mark := range []string{suppressionKey(t).Pseudonym("student", "s-erased"), "s-erased"} {
						require.NotContains(t, text, mark)
					}
					kept, others := read(ofOthers)
					require.Equal(t, len(ofOthers), kept, "rows of others stay")
					if profile != schemas.Full { // without _extra, students cannot be found in it
						return
					}
					require.NotContains(t, others, "GONE")
					require.Equal(t, 2, strings.Count(others, "STAYS"))
					column := func(name string) bool { return ds.Tables[0].Column(name) >= 0 }
					if column("requested_student_bid") { // these rows belong to another student, whom the call was for
						return
					}
					require.NotContains(t, text, "GONE")
					if column("student_bid") {
						require.Zero(t, gone)
					}
				})
			}
		}
	}
}

// TestSuppressChildren drops erased students from the rosters of classes, and the details of erased students for whom a
// call is made.
func TestSuppressChildren(t *testing.T) {
	t.Parallel()
	plan := compile(t, "school_classes")
	plan.Suppress(suppressedList(t))
	decoder := plan.NewDecoder()
	decoder.Reset(params())
	_, err := readPage(decoder, []byte(`{"schoolClasses":[{"schoolClassBid":"class-1","students":[{"studentBid":"s-erased","new":"GONE"},"s-kept",`+
		`"s-unlisted",{"firstName":"GONE","number":"77001"},{"studentBid":"s-kept-2","firstName":"kept"}]},`+
		`{"schoolClassBid":"class-2","className":"kept","students":{"studentBid":"s-erased","lastName":"GONE"}}],"pagination":{"hasNextPage":false}}`))
	require.NoError(t, err)
	require.Subset(t, []int{0, 2}, decoder.Suppressed())
	require.Contains(t, decoder.Suppressed(), 2)
	result := decoder.Finish()
	require.NotContains(t, strings.Join(driftAsText(result.Drift), ""), "new", "drift of dropped students is not counted either")
	require.Equal(t, []string{"null", "null"}, cells(t, result, "school_classes", "_extra"))
	require.Equal(t, []string{`"s-kept"`, `"s-kept-2"`}, cells(t, result, "school_class_students", "student_bid"))
	require.Equal(t, []string{"1", "4"}, cells(t, result, "school_class_students", "ordinal"))

	details := compile(t, "student_details")
	details.Suppress(suppressedList(t))
	decoder = details.NewDecoder()
	decoder.Reset(transform.Params{"school_bid": "school-1", "student_bid": "s-erased"})
	_, err = readPage(decoder, []byte(`{"firstName":"GONE"}`))
	require.NoError(t, err)
	require.Zero(t, decoder.Finish().Tables[0].Len())
}

// TestSuppressInACohort leaves out a student of the cohort who was erased.
func TestSuppressInACohort(t *testing.T) {
	t.Parallel()
	plan := compile(t, "test_results")
	plan.Restrict(transform.NewCohort([]string{"s-erased", "s-kept"}))
	plan.Suppress(suppressedList(t))
	decoder := plan.NewDecoder()
	decoder.Reset(params())
	page, err := readPage(decoder, []byte(`{"results":[{"studentBid":"s-erased"},{"studentBid":"s-kept"},{"studentBid":"s-other"}],"pagination":{"hasNextPage":false}}`))
	require.NoError(t, err)
	require.Equal(t, 3, page.Records, "the count of a page includes dropped records")
	require.Equal(t, []int{1}, decoder.Matched())
	require.Equal(t, []int{0}, decoder.Suppressed())
	require.Equal(t, []string{`"s-kept"`}, cells(t, decoder.Finish(), "test_results", "student_bid"))
}

// readSuppressed reads a page and returns the number of records kept, and everything that is stored about them: rows,
// scratch files and drift.
func readSuppressed(t *testing.T, plan *transform.Plan, page string, inRuns bool) (kept int, holds string) {
	t.Helper()
	decoder := plan.NewDecoder()
	decoder.Reset(params())
	_, err := readPage(decoder, []byte(page))
	require.NoError(t, err)
	var text strings.Builder
	note := func(tables []*rows.Batch) error {
		for i, b := range tables {
			text.WriteString(strings.Join(rowsAsText(t, b), "\n"))
			var spilled bytes.Buffer
			if _, err := b.WriteTo(&spilled); err != nil {
				return err
			}
			require.NotContains(t, spilled.String(), "s-erased\x00")
			require.False(t, strings.Contains(spilled.String(), "GONE") && !strings.Contains(text.String(), "GONE"), "only scratch files contain the text")
			if i == 0 {
				kept += b.Len()
			}
		}
		return nil
	}
	var result transform.Result
	if inRuns {
		var run bytes.Buffer
		require.NoError(t, decoder.WriteRun(&run))
		if strings.Contains(run.String(), "GONE") {
			text.WriteString("GONE")
		}
		result, err = decoder.MergeRuns([]io.Reader{&run}, note)
		require.NoError(t, err)
	} else {
		result = decoder.Finish()
		require.NoError(t, note(result.Tables))
	}
	return kept, text.String() + strings.Join(driftAsText(result.Drift), "\n")
}
