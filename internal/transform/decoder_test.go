package transform_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// everything returns a result as text.
func everything(t testing.TB, result transform.Result) string {
	t.Helper()
	var out strings.Builder
	for _, b := range result.Tables {
		out.WriteString(b.Table.Name + "\n" + strings.Join(rowsAsText(t, b), "\n") + "\n")
	}
	out.WriteString(strings.Join(driftAsText(result.Drift), "\n"))
	return out.String()
}

// readPage reads a page in a window that holds all of it.
func readPage(d *transform.Decoder, body []byte) (transform.Page, error) {
	d.SetWindow(len(body) + 1)
	return d.ReadPage(bytes.NewReader(body))
}

// TestAFailedPageLeavesNothing reads a page again after it was broken in various ways, and expects the same result as
// without errors.
func TestAFailedPageLeavesNothing(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(31, 32))
	ds, ok := schemas.Find("test_results")
	require.True(t, ok)
	plan := compile(t, ds.Name)
	decoder, quiet := plan.NewDecoder(), plan.NewDecoder()
	for round := range 40 {
		g := newGenerator(ds, uint64(1000+round))
		g.odd = 10
		decoder.Reset(params())
		quiet.Reset(params())
		for range 3 {
			page := g.page()
			want, wantErr := readPage(quiet, page)
			for range 5 {
				broken := bytes.Clone(page[:rnd.IntN(len(page)+1)])
				if rnd.IntN(3) == 0 {
					broken = append(bytes.Clone(page), " x"...)
				}
				if json.Valid(broken) {
					continue // only white space was cut off
				}
				_, err := readPage(decoder, broken)
				require.ErrorIs(t, err, transform.ErrNotJSON)
			}
			got, err := readPage(decoder, page)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
			require.Equal(t, quiet.Records(), decoder.Records())
		}
		require.Equal(t, everything(t, quiet.Finish()), everything(t, decoder.Finish()))
	}
}

func TestParametersFillTheirColumns(t *testing.T) {
	t.Parallel()
	decoder := compile(t, "academic_years").NewDecoder()
	for _, school := range []string{"one", "another school", "3"} {
		decoder.Reset(transform.Params{"school_bid": school, "perspective_bid": "p-" + school, "unused": "x"})
		for range 2 {
			_, err := readPage(decoder, []byte(`{"academicYears":[{"enrollmentSessions":[{},{}]},{}],"pagination":{"hasNextPage":true,"nextPage":"n"}}`))
			require.NoError(t, err)
		}
		result := decoder.Finish()
		for _, table := range []string{"academic_years", "enrollment_sessions"} {
			require.Equal(t, []string{`"` + school + `"`, `"` + school + `"`, `"` + school + `"`, `"` + school + `"`}, cells(t, result, table, "requested_school_bid"))
			require.Equal(t, `"p-`+school+`"`, cells(t, result, table, "requested_perspective_bid")[3])
		}
	}
}

func TestDecoderWithoutPagesIsEmpty(t *testing.T) {
	t.Parallel()
	for _, ds := range schemas.Datasets() {
		result := compile(t, ds.Name).NewDecoder().Finish()
		require.Len(t, result.Tables, len(ds.Tables))
		for _, b := range result.Tables {
			require.NoError(t, b.Check())
			require.Zero(t, b.Len())
		}
		require.Zero(t, result.Records)
		require.Empty(t, result.Drift)
	}
}

// TestMemoryIsReused expects records not to allocate memory.
//
//nolint:paralleltest // allocations can only be counted alone
func TestMemoryIsReused(t *testing.T) {
	page := resultsPage(rand.New(rand.NewPCG(41, 42)), 200, true)
	decoder := compile(t, "test_results").NewDecoder()
	with := params()
	run := func() {
		decoder.Reset(with)
		for range 2 {
			if _, err := readPage(decoder, page); err != nil {
				panic(err)
			}
		}
		decoder.Finish()
	}
	run()
	held := decoder.Bytes()
	require.Greater(t, held, len(page))
	require.Less(t, testing.AllocsPerRun(5, run), 100.0, "the total for 400 records")
	require.Equal(t, held, decoder.Bytes())
}

// TestRolledBackDataIsFreed repeatedly reads pages that are rolled back.
func TestRolledBackDataIsFreed(t *testing.T) {
	t.Parallel()
	plan, err := transform.Compile(small())
	require.NoError(t, err)
	long := strings.Repeat("long ", 200)
	for _, body := range []string{
		`[{"u":"` + long + `"`,
		`[{"u":"` + long + `","i":1,"i":2}]`,
		`[{"n":{"u":"` + long + `","u":1}}]`,
		`[{"parts":[{"u":"` + long + `","u":1`,
	} {
		decoder := plan.NewDecoder()
		for range 500 {
			decoder.Reset(nil)
			_, _ = readPage(decoder, []byte(body))
		}
		require.Less(t, decoder.Bytes(), 100*len(long), body[:10])
	}
}

func TestTooMuchRepeatedText(t *testing.T) {
	t.Parallel()
	plan, err := transform.Compile(small())
	require.NoError(t, err)
	decoder := plan.NewDecoder()
	decoder.Reset(transform.Params{"school_bid": "s1"})
	body := `[{"id":"` + strings.Repeat("long", 1<<18) + `","parts":[` + strings.Repeat("{},", 300) + `{}]}]`
	_, err = readPage(decoder, []byte(body))
	require.ErrorIs(t, err, transform.ErrTooLarge)
	require.Less(t, decoder.Bytes(), 16<<20)
	_, err = readPage(decoder, []byte(`[{"id":"a"}]`))
	require.NoError(t, err)
	require.Equal(t, []string{`"a"`}, cells(t, decoder.Finish(), "things", "id"))
}

// TestVariedTexts reads texts that are first coded and later, in the same list or the next one, plain.
func TestVariedTexts(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(61, 62))
	ds, _ := schemas.Find("test_results")
	var pages [][]byte
	for range 3 {
		pages = append(pages, resultsPage(rnd, 150, true))
	}
	decoder := compile(t, "test_results").NewDecoder()
	requireSame(t, ds, decoder, params(), pages)
	requireSame(t, ds, decoder, params(), pages[:1])

	decoder.Reset(params())
	_, err := readPage(decoder, pages[0])
	require.NoError(t, err)
	records := decoder.Finish().Tables[0]
	require.True(t, records.Cols[records.Table.Column("subject_area")].Coded)
	require.False(t, records.Cols[records.Table.Column("student_bid")].Coded)
}

// TestTextsAreHeldOnce reads each text with the fast path twice, then with escapes, and expects one entry.
func TestTextsAreHeldOnce(t *testing.T) {
	t.Parallel()
	decoder := compile(t, "test_results").NewDecoder()
	decoder.Reset(params())
	var records []string
	for length := range 20 {
		text := strings.Repeat("x", length)
		for _, written := range []string{text, text, strings.Repeat(`\u0078`, length)} {
			records = append(records, `{"testName":"`+written+`"}`)
		}
	}
	_, err := readPage(decoder, []byte(`{"testResults":[`+strings.Join(records, ",")+`],"pagination":{"hasNextPage":false}}`))
	require.NoError(t, err)
	names := decoder.Finish().Tables[0].Columns("test_name")[0]
	require.True(t, names.Coded)
	require.Len(t, names.End, 20)
	for row := range records {
		require.Len(t, names.Text(row), row/3)
	}
}

// TestPlansAreShared runs decoders of one plan concurrently, for the race detector.
func TestPlansAreShared(t *testing.T) {
	t.Parallel()
	plan := compile(t, "test_results")
	page := resultsPage(rand.New(rand.NewPCG(51, 52)), 50, true)
	var group sync.WaitGroup
	results := make([]string, 4)
	for i := range results {
		group.Go(func() {
			decoder := plan.NewDecoder()
			decoder.Reset(params())
			if _, err := readPage(decoder, page); err != nil {
				return
			}
			results[i] = strings.Join(rowsAsText(t, decoder.Finish().Tables[0]), "\n")
		})
	}
	group.Wait()
	require.NotEmpty(t, results[0])
	for _, other := range results[1:] {
		require.Equal(t, results[0], other)
	}
}
