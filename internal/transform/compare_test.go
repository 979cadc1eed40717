package transform_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// params returns the parameters of any dataset's calls.
func params() transform.Params {
	return transform.Params{
		"school_bid": "school-1", "district_bid": "district-1", "perspective_bid": "perspective-1",
		"student_bid": "student-1", "educator_bid": "educator-1", "school_class_bid": "class-1",
		"educator_school_association_bid": "association-1",
	}
}

// rowsAsText returns the ordered rows as the reference writes them.
func rowsAsText(tb testing.TB, b *rows.Batch) []string {
	tb.Helper()
	require.NoError(tb, b.Check())
	all := []string{}
	for i := range b.Len() {
		cells := make([]string, len(b.Cols))
		for c := range b.Cols {
			cells[c] = cellAsText(&b.Cols[c], b.Row(i))
		}
		all = append(all, strings.Join(cells, " | "))
	}
	return all
}

func cellAsText(v *rows.Vector, row int) string {
	if v.Null(row) {
		return "null"
	}
	switch v.Type {
	case schemas.Int32, schemas.Date:
		return strconv.Itoa(int(v.I32[row]))
	case schemas.Int64, schemas.Timestamp:
		return strconv.FormatInt(v.I64[row], 10)
	case schemas.Double:
		return fmt.Sprintf("%x", v.F64[row])
	case schemas.Boolean:
		return strconv.FormatBool(v.Bool[row] == 1)
	}
	return strconv.Quote(string(v.Text(row)))
}

// errorClass reduces an error to what a caller can distinguish.
func errorClass(err error) string {
	var shape *transform.ShapeError
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, transform.ErrNotJSON):
		return "not JSON"
	case errors.Is(err, transform.ErrEmptyString):
		return "empty string"
	case errors.As(err, &shape), errors.Is(err, errRefShape):
		return "shape"
	}
	return err.Error()
}

// requireSame reads the pages with a decoder and with the reference and compares the results.
func requireSame(tb testing.TB, ds *schemas.Dataset, decoder *transform.Decoder, params transform.Params, pages [][]byte) {
	tb.Helper()
	decoder.Reset(params)
	reference := newReference(tb, ds, params)
	for i, body := range pages {
		before := bytes.Clone(body)
		got, err := readPage(decoder, body)
		want, wantErr := reference.page(body)
		require.Equal(tb, errorClass(wantErr), errorClass(err), "page %d of %s: %s", i, ds.Name, body)
		require.Equal(tb, want, got, "page %d of %s: %s", i, ds.Name, body)
		require.Equal(tb, before, body, "the body is not changed")
		require.Len(tb, reference.rows, decoder.Records())
	}
	result := decoder.Finish()
	tables, received, duplicates, drift := reference.finish()
	got := map[string][]string{}
	for i, b := range result.Tables {
		require.Same(tb, ds.Tables[i], b.Table)
		got[b.Table.Name] = rowsAsText(tb, b)
	}
	if difference := cmp.Diff(tables, got); difference != "" {
		require.Fail(tb, "rows differ", "%s of pages\n%s", difference, bytes.Join(pages, []byte("\n")))
	}
	if difference := cmp.Diff(drift, result.Drift); difference != "" {
		require.Fail(tb, "drift differs", "%s of pages\n%s", difference, bytes.Join(pages, []byte("\n")))
	}
	require.Equal(tb, received, result.Records)
	require.Equal(tb, duplicates, result.Duplicates)
	require.Equal(tb, int(received), decoder.Records())
	requireSameInRuns(tb, decoder, params, pages, got, result)
}

// requireSameInRuns reads the pages again, writes a run after most pages, and compares the merged runs with the result
// of Finish.
func requireSameInRuns(
	tb testing.TB, decoder *transform.Decoder, params transform.Params, pages [][]byte, want map[string][]string, result transform.Result,
) {
	tb.Helper()
	for _, partBytes := range []int{1, 2000, 1 << 20} {
		decoder.Reset(params)
		decoder.SetRunSizes(partBytes/4, partBytes, 1<<20)
		var files []io.Reader
		writeRun := func() {
			file := new(bytes.Buffer)
			require.NoError(tb, decoder.WriteRun(file))
			files = append(files, file)
		}
		for i, body := range pages {
			_, _ = readPage(decoder, body)
			if i%3 != 2 {
				writeRun()
			}
		}
		writeRun()
		got := map[string][]string{}
		for table := range want {
			got[table] = []string{}
		}
		merged, err := decoder.MergeRuns(files, func(tables []*rows.Batch) error {
			for _, b := range tables {
				got[b.Table.Name] = append(got[b.Table.Name], rowsAsText(tb, b)...)
			}
			return nil
		})
		require.NoError(tb, err)
		for _, file := range files {
			n, err := file.Read(make([]byte, 1))
			require.Zero(tb, n, "each run is read to its end")
			require.ErrorIs(tb, err, io.EOF)
		}
		if difference := cmp.Diff(want, got); difference != "" {
			require.Fail(tb, "merged rows differ", "%s of pages\n%s", difference, bytes.Join(pages, []byte("\n")))
		}
		result.Tables = nil
		require.Equal(tb, result, merged)
	}
}

// TestRandomPages compares reused decoders with the reference on pages that are random in every respect for which a
// decoder has rules. A decoder that keeps anything after Reset fails here.
func TestRandomPages(t *testing.T) {
	t.Parallel()
	for _, ds := range schemas.Datasets() {
		t.Run(ds.Name, func(t *testing.T) {
			t.Parallel()
			plan := compile(t, ds.Name)
			decoder := plan.NewDecoder()
			rounds := 60
			if testing.Short() {
				rounds = 20
			}
			for round := range rounds {
				g := newGenerator(ds, uint64(round))
				with := params()
				if g.one(20) {
					with["school_bid"] = ""
				}
				var pages [][]byte
				for range 1 + g.rnd.IntN(3) {
					pages = append(pages, g.page())
				}
				requireSame(t, ds, decoder, with, pages)
			}
		})
	}
}

// FuzzPage compares a decoder with the reference on any bytes. The first byte chooses the dataset; a zero byte, which
// no JSON holds, ends a page.
func FuzzPage(f *testing.F) {
	all := schemas.Datasets()
	for i, ds := range all {
		for seed := range uint64(6) {
			g := newGenerator(ds, seed)
			f.Add(append([]byte{byte(i)}, bytes.Join([][]byte{g.page(), g.page()}, []byte{0})...))
		}
	}
	plans := make([]*transform.Plan, len(all))
	for i, ds := range all {
		plans[i] = compile(f, ds.Name)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 || len(input) > 1<<16 {
			return
		}
		which := int(input[0]) % len(all)
		pages := bytes.Split(input[1:], []byte{0})
		requireSame(t, all[which], plans[which].NewDecoder(), params(), pages)
		requireSameFromSource(t, plans[which].NewDecoder(), plans[which].NewDecoder(), params(), pages, 1+len(input)%97)
	})
}

// FuzzOrder compares a decoder with the reference on records whose members are in changing orders, one for each byte of
// orders, and with a decoder that reads them with white space, which the fast path leaves to the slow path.
func FuzzOrder(f *testing.F) {
	all := slices.DeleteFunc(schemas.Datasets(), func(ds *schemas.Dataset) bool { return ds.Operation.Single })
	plans := make([]*transform.Plan, len(all))
	for i, ds := range all {
		plans[i] = compile(f, ds.Name)
		for seed, orders := range []string{"aaaaaa", "ababab", "aabbaacc", "\x00\x00a\x00\x00", "abcdefgh"} {
			f.Add(uint8(i), uint64(seed), []byte(orders))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64, orders []byte) {
		if len(orders) > 100 {
			return
		}
		ds, plan := all[int(which)%len(all)], plans[int(which)%len(all)]
		g := newGenerator(ds, seed)
		g.loose = false
		var records []string
		for _, g.order = range orders {
			records = append(records, g.record())
		}
		name := ds.Operation.Records
		if name == "" {
			name = "things"
		}
		page := []byte(`{"` + name + `":[` + strings.Join(records, ",") + `],"pagination":{"hasNextPage":false}}`)
		fast, slow := plan.NewDecoder(), plan.NewDecoder()
		requireSame(t, ds, fast, params(), [][]byte{page, page})

		fast.Reset(params())
		slow.Reset(params())
		_, err := readPage(fast, page)
		_, slowErr := readPage(slow, withSpace(page))
		require.Equal(t, errorClass(slowErr), errorClass(err))
		require.Equal(t, everything(t, slow.Finish()), everything(t, fast.Finish()), "%s", page)
	})
}

// withSpace adds a space after every colon, comma and bracket outside texts.
func withSpace(page []byte) []byte {
	var out []byte
	text, escaped := false, false
	for _, c := range page {
		out = append(out, c)
		switch {
		case text:
			text = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == '"':
			text = true
		case strings.IndexByte(":,[{", c) >= 0:
			out = append(out, ' ')
		}
	}
	return out
}

// TestAllCuts compares the results for every prefix of a page, and for the page with each of its bytes changed.
func TestAllCuts(t *testing.T) {
	t.Parallel()
	ds, ok := schemas.Find("test_results")
	require.True(t, ok)
	decoder := compile(t, ds.Name).NewDecoder()
	page := resultsPage(rand.New(rand.NewPCG(1, 1)), 1, false)
	rnd := rand.New(rand.NewPCG(2, 2))
	for i := range page {
		cut := page[:i:i]
		decoder.Reset(params())
		_, err := readPage(decoder, cut)
		require.ErrorIs(t, err, transform.ErrNotJSON)

		if i%16 != 0 {
			continue
		}
		changed := bytes.Clone(page)
		changed[i] = "\"\\{}[]:,0 9.eEtn\n\x80\x00"[rnd.IntN(19)]
		requireSame(t, ds, decoder, params(), [][]byte{changed, page})
	}
}
