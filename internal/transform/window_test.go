package transform_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// requireSameFromSource reads the pages with both decoders, whole and in windows of a few bytes, and compares the
// results.
func requireSameFromSource(tb testing.TB, whole, windowed *transform.Decoder, params transform.Params, pages [][]byte, window int) {
	tb.Helper()
	whole.Reset(params)
	windowed.Reset(params)
	for _, body := range pages {
		want, wantErr := readPage(whole, body)
		windowed.SetWindow(window)
		got, err := windowed.ReadPage(iotest.HalfReader(bytes.NewReader(body)))
		require.Equal(tb, wantErr, err, "windows of %d bytes: %s", window, body)
		require.Equal(tb, want, got, "windows of %d bytes: %s", window, body)
		require.Equal(tb, whole.Records(), windowed.Records())
		require.Equal(tb, whole.ChildRows(), windowed.ChildRows())
	}
	require.Equal(tb, everything(tb, whole.Finish()), everything(tb, windowed.Finish()), "windows of %d bytes", window)
}

// TestWindows reads random pages, most of them with oddities, in windows that end at random positions.
func TestWindows(t *testing.T) {
	t.Parallel()
	for _, ds := range schemas.Datasets() {
		t.Run(ds.Name, func(t *testing.T) {
			t.Parallel()
			plan := compile(t, ds.Name)
			whole, windowed := plan.NewDecoder(), plan.NewDecoder()
			for round := range 60 {
				g := newGenerator(ds, uint64(2000+round))
				requireSameFromSource(t, whole, windowed, params(), [][]byte{g.page(), g.page(), g.page()}, 1+g.rnd.IntN(1+1<<g.rnd.IntN(13)))
			}
		})
	}
}

// TestWindowsOfAnySize reads bodies of every shape in windows of every size, so that a window ends at every byte.
func TestWindowsOfAnySize(t *testing.T) {
	t.Parallel()
	plan, err := transform.Compile(small())
	require.NoError(t, err)
	whole, windowed := plan.NewDecoder(), plan.NewDecoder()
	for _, body := range []string{
		``, ` `, `""`, `1`, `-12.5e3`, `"text"`, `null`, `[`, `{`, `[ ]`, `[1,`, `[1, 2`, `{ }`, `{} x`, `{"a":[]} x`, ` [ ] x`,
		`[12345, -67.5, true, null, "text", [1,[2]], {"id":"a"} , {}] `,
		` { "items" : [ { "id" : "a" , "parts" : [ 1 , {} ] } , { "id" : "b" } ] , "pagination" : { "hasNextPage" : true , "nextPage" : "n" } } `,
		`{"pagination":{"hasNextPage":false},"items":[{"id":"a","i":1,"i":2},{"id":"b","parts":[{"u":1}],"parts":[{},{}]}]}`,
		`{"items":[{"id":"a"}],"items":[{"id":"b"},{"id":"c"}]}`,
		`{"items":[{"id":"a"}],"items":null,"others":[{"id":"b"}]}`,
		`{"x":[1,2],"items":[{"id":"a"}],"pagination":{"hasNextPage":true}}`,
		`{"items":[{"id":"a"},{"id":"b","n":{"u":1,"u":2}},{"id":"c"}`,
		`{"items":[{"id":"a"},{"id":"b"x},{"id":"c"}]}`,
		`{"x":12345,"items":[{"id":"a"}]}`, `{"x":"` + strings.Repeat("long ", 20) + `","items":[{"id":"a"}]}`,
		`[{"id":"` + strings.Repeat("long ", 20) + `"},{"id":"b"}]`,
	} {
		for window := 1; window <= len(body)+1; window++ {
			requireSameFromSource(t, whole, windowed, params(), [][]byte{[]byte(body), []byte(`[{"id":"z"}]`)}, window)
		}
	}
}

// TestBrokenSources checks that a body that breaks off at any byte leaves no rows, and that its own error is reported
// instead of "not JSON".
func TestBrokenSources(t *testing.T) {
	t.Parallel()
	ds, ok := schemas.Find("test_results")
	require.True(t, ok)
	plan := compile(t, ds.Name)
	decoder, quiet := plan.NewDecoder(), plan.NewDecoder()
	page := resultsPage(rand.New(rand.NewPCG(61, 62)), 3, true)
	errBroken := errors.New("broken")
	decoder.Reset(params())
	for i := 0; i <= len(page); i += 7 {
		decoder.SetWindow(1500)
		_, err := decoder.ReadPage(io.MultiReader(bytes.NewReader(page[:i]), iotest.ErrReader(errBroken)))
		require.ErrorIs(t, err, errBroken)
		require.Zero(t, decoder.Records())
	}
	_, err := decoder.ReadPage(bytes.NewReader(page))
	require.NoError(t, err)
	quiet.Reset(params())
	_, err = readPage(quiet, page)
	require.NoError(t, err)
	require.Equal(t, everything(t, quiet.Finish()), everything(t, decoder.Finish()))
}

// TestWindowsBoundMemory checks that a page takes one window, that a larger record takes at most twice its size, and
// that neither is kept.
func TestWindowsBoundMemory(t *testing.T) {
	t.Parallel()
	plan, err := transform.Compile(small())
	require.NoError(t, err)
	decoder := plan.NewDecoder()
	decoder.Reset(params())
	empty := decoder.Bytes()
	record := `{"accepted":"` + strings.Repeat("long ", 1<<10) + `"},`
	_, err = decoder.ReadPage(strings.NewReader("[" + strings.Repeat(record, 1<<10) + "{}]"))
	require.NoError(t, err)
	require.Less(t, decoder.Bytes()-empty, 8<<20)
}
