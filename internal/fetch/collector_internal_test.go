package fetch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// TestCopiedRowsAreLimited copies the rows of many calls, some of which return more rows than may stay in memory.
func TestCopiedRowsAreLimited(t *testing.T) {
	t.Parallel()
	declared, ok := schemas.Find("test_results")
	require.True(t, ok)
	d, err := compile(declared, &Options{}, new(pool))
	require.NoError(t, err)
	folder := &scratchFolder{path: t.TempDir()}
	f := &Fetcher{maxRecords: 1000, maxHeldBytes: 2000, scratch: folder}
	r := &Result{}
	var want []string
	for call, records := range []int{1, 0, 2, 9, 1, 1, 1, 1, 1, 1, 30, 1} {
		c := f.newCollector(d, transform.Params{"school_bid": fmt.Sprint("call ", call)}, r)
		c.acquireDecoder()
		for i := range records {
			bid := fmt.Sprintf("%02d-%02d", call, (i*7)%records)
			_, err := c.ReadPage(strings.NewReader(fmt.Sprintf(`{"testResults":[{"testResultBid":%q}],"pagination":{"hasNextPage":false}}`, bid)))
			require.NoError(t, err)
			require.NoError(t, c.limitMemory())
		}
		for i := range records {
			want = append(want, fmt.Sprintf("%02d-%02d", call, i))
		}
		require.NoError(t, r.copyRows(c))
		require.NoError(t, r.limitMemory(d, f.maxHeldBytes, folder))
		c.release()
		require.Less(t, r.Bytes(), 8000)
	}
	require.Greater(t, len(r.parts), 3)
	got, err := r.texts(0, "test_result_bid")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.EqualValues(t, len(want), r.Ledger.RowsWritten)

	require.Len(t, folder.open, 1, "only one scratch file is open")
	r.Release()
	require.Empty(t, folder.open)
	require.NoError(t, folder.close())
}

// TestListsShareMemory reads a list while others hold most of the memory.
func TestListsShareMemory(t *testing.T) {
	t.Parallel()
	declared, ok := schemas.Find("test_results")
	require.True(t, ok)
	d, err := compile(declared, &Options{}, new(pool))
	require.NoError(t, err)
	f := &Fetcher{maxRecords: 10, maxHeldBytes: maxHeldBytes, scratch: &scratchFolder{path: t.TempDir()}}
	r := &Result{}
	read := func(c *collector, name string) {
		c.acquireDecoder()
		page := fmt.Sprintf(`{"testResults":[{"testResultBid":"%s %s"}],"pagination":{"hasNextPage":false}}`, name, strings.Repeat("x", minRunBytes))
		_, err := c.ReadPage(strings.NewReader(page))
		require.NoError(t, err)
		require.NoError(t, c.limitMemory())
	}

	alone := f.newCollector(d, transform.Params{"school_bid": "alone"}, r)
	read(alone, "a")
	require.Empty(t, alone.runs)
	require.Greater(t, f.heldTogether.Load(), int64(minRunBytes))
	f.heldTogether.Add(maxHeldTogether)
	small := f.newCollector(d, transform.Params{"school_bid": "small"}, r)
	small.acquireDecoder()
	_, err = small.ReadPage(strings.NewReader(`{"testResults":[{"testResultBid":"s"}],"pagination":{"hasNextPage":false}}`))
	require.NoError(t, err)
	require.NoError(t, small.limitMemory())
	require.Empty(t, small.runs, "writing so few rows would not free enough memory")
	read(alone, "b")
	require.Len(t, alone.runs, 1)

	small.release()
	alone.release()
	require.EqualValues(t, maxHeldTogether, f.heldTogether.Load())
	require.Empty(t, d.pool.decoders[1:], "the decoder of the large list is dropped")
	require.NoError(t, f.scratch.close())
}

func TestScratchFails(t *testing.T) {
	t.Parallel()
	isScratch := func(err error) bool {
		_, is := errors.AsType[ScratchError](err)
		return is
	}
	b := rows.New(&schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "c", Type: schemas.String}}})
	b.Cols[0].AppendString("x")
	b.N = 1
	r := &Result{parts: []part{{tables: []*rows.Batch{b}}}}

	missing := &scratchFolder{path: filepath.Join(t.TempDir(), "missing")}
	err := r.Spill(&Scratch{folder: missing})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, isScratch(err) && endsRun(t.Context(), err))
	require.NotNil(t, r.parts[0].tables, "the rows are still in memory")

	folder := &scratchFolder{path: t.TempDir()}
	s := &Scratch{folder: folder}
	require.NoError(t, s.create())
	file := s.file
	if runtime.GOOS == "linux" {
		full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
		require.NoError(t, err)
		s.file = full
		err = (&Result{parts: []part{{tables: []*rows.Batch{b}}}}).Spill(s)
		require.EqualError(t, err, "write to the scratch file in "+folder.path+" (see --scratch): no space left on device: free some space there")
		require.True(t, isScratch(err))
		require.NoError(t, full.Close())
	}
	s.file = file
	require.NoError(t, r.Spill(s))
	require.NoError(t, s.file.Truncate(3))
	err = r.Each(func([]*rows.Batch) error { return nil })
	require.ErrorContains(t, err, folder.path)
	require.True(t, isScratch(err))
	require.NoError(t, folder.close(), "the files that are open are closed")
	require.Empty(t, folder.open)
}

// TestLoadedParts reads back parts of several schools into the same memory.
func TestLoadedParts(t *testing.T) {
	t.Parallel()
	tables := []*schemas.Table{
		{Name: "a", Columns: []schemas.Column{{Name: "c", Type: schemas.String}}},
		{Name: "b", Columns: []schemas.Column{{Name: "c", Type: schemas.String}}},
	}
	folder := &scratchFolder{path: t.TempDir()}
	s, memory := &Scratch{folder: folder}, new(Loaded)
	for parts := 1; parts < 4; parts++ {
		r := new(Result)
		want := make([][]string, len(tables))
		for i := range parts {
			p := part{}
			for table, of := range tables {
				b := rows.New(of)
				text := fmt.Sprintf("table %d, part %d of %d", table, i, parts)
				b.Cols[0].AppendString(text)
				b.N = 1
				want[table] = append(want[table], text)
				p.tables = append(p.tables, b)
			}
			r.parts = append(r.parts, p)
		}
		require.NoError(t, r.Spill(s))
		memory.Lend(r)
		for turn := range 2 {
			for table := range tables {
				got, err := r.texts(table, "c")
				require.NoError(t, err)
				require.Equal(t, want[table], got)
			}
			for table := range slices.Backward(tables) {
				var got []string
				require.NoError(t, r.EachOf(table, func(b *rows.Batch) error {
					got = append(got, string(b.Cols[0].Text(0)))
					return nil
				}))
				require.Equal(t, want[table], got)
			}
			if parts > 1 {
				break
			}
			if turn == 0 {
				require.NoError(t, s.file.Truncate(0), "a single part is read back once")
			}
		}
		r.Release()
		require.Empty(t, folder.open)
	}
	require.NoError(t, folder.close())
}
