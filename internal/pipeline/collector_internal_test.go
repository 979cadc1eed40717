package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// TestCopiedRowsAreLimited copies the rows of many calls, some of which hold more rows than may stay in memory.
func TestCopiedRowsAreLimited(t *testing.T) {
	t.Parallel()
	declared, ok := schemas.Find("test_results")
	require.True(t, ok)
	d, err := compile(declared, &Settings{}, new(pool))
	require.NoError(t, err)
	folder := &scratchFolder{path: t.TempDir()}
	f := &fetcher{maxRecords: 1000, maxHeldBytes: 2000, scratch: folder}
	r := &result{}
	var want []string
	for call, records := range []int{1, 0, 2, 9, 1, 1, 1, 1, 1, 1, 30, 1} {
		c := f.newCollector(d, transform.Params{"school_bid": fmt.Sprint("call ", call)}, r)
		for i := range records {
			bid := fmt.Sprintf("%02d-%02d", call, (i*7)%records)
			_, err := c.ReadPage(fmt.Appendf(nil, `{"testResults":[{"testResultBid":%q}],"pagination":{"hasNextPage":false}}`, bid))
			require.NoError(t, err)
			require.NoError(t, c.limitMemory())
		}
		for i := range records {
			want = append(want, fmt.Sprintf("%02d-%02d", call, i))
		}
		require.NoError(t, r.copyRows(c))
		c.release()
		require.Less(t, r.bytes(), 8000)
	}
	require.Greater(t, len(r.parts), 3)
	got, err := r.texts(0, "test_result_bid")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.EqualValues(t, len(want), r.ledger.RowsWritten)

	require.Len(t, folder.open, 1, "the runs are gone")
	r.release()
	require.Empty(t, folder.open)
	require.NoError(t, folder.close())
}

func TestScratchFails(t *testing.T) {
	t.Parallel()
	isScratch := func(err error) bool {
		_, is := errors.AsType[scratchError](err)
		return is
	}
	b := rows.New(&schemas.Table{Name: "t", Columns: []schemas.Column{{Name: "c", Type: schemas.String}}})
	b.Cols[0].AppendString("x")
	b.N = 1
	r := &result{parts: []part{{tables: []*rows.Batch{b}}}}

	missing := &scratchFolder{path: filepath.Join(t.TempDir(), "missing")}
	err := r.spill(&scratch{folder: missing})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, isScratch(err) && endsRun(t.Context(), err))
	require.NotNil(t, r.parts[0].tables, "the rows are where they were")

	folder := &scratchFolder{path: t.TempDir()}
	s := &scratch{folder: folder}
	require.NoError(t, r.spill(s))
	require.NoError(t, s.file.Truncate(3))
	err = r.each(func([]*rows.Batch) error { return nil })
	require.ErrorContains(t, err, folder.path)
	require.True(t, isScratch(err))
	require.NoError(t, folder.close(), "it closes what is open")
	require.Empty(t, folder.open)
}
