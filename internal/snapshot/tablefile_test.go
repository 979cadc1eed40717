package snapshot_test

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

func TestTableFileIsReadBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	table := schemas.Tables()[0]
	create := func() *snapshot.TableFile {
		t.Helper()
		file, err := snapshot.NewTables(snapshot.At(store), "r").Create(t.Context(), path.Join(table.Name, "x.parquet"), table)
		require.NoError(t, err)
		require.NoError(t, file.Append(snapshottest.SomeRows(table, "", 3)))
		return file
	}
	file := create()
	file.SetDraft(func(d sink.Draft) sink.Draft { return liar{d} })
	_, err := file.Stage(t.Context())
	require.ErrorContains(t, err, "stage "+table.Name+"/x.parquet: ")
	require.NoError(t, file.Abort())

	file = create()
	require.NoError(t, file.Writer().Append(snapshottest.SomeRows(table, "", 1)))
	staged, err := file.Stage(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, staged.Rows)
	require.Len(t, staged.SHA256, 64)
	require.Error(t, file.Append(rows.New(table)))
	_, err = file.Stage(t.Context())
	require.Error(t, err)
	_, err = snapshot.Inspect(t.Context(), create().Draft(), 0, 0)
	require.Error(t, err)

	t.Log("equal rows give equal bytes, even on a writer that was used before")
	tables := snapshot.NewTables(snapshot.At(store), "r")
	for range 3 {
		again, err := tables.Create(t.Context(), "other.parquet", table)
		require.NoError(t, err)
		require.NoError(t, again.Append(snapshottest.SomeRows(table, "", 4)))
		f, err := again.Stage(t.Context())
		require.NoError(t, err)
		require.Equal(t, staged.SHA256, f.SHA256)
	}
	require.NoError(t, store.Sweep(t.Context(), "r"))
	require.Equal(t, []string{"./"}, snapshottest.Names(snapshottest.Tree(t, root)))
}
