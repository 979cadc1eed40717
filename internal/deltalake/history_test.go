package deltalake_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// writeHistory makes a history of some files current.
func writeHistory(t *testing.T, d destination, id string, files map[string][]string) {
	t.Helper()
	catalog := snapshot.At(d.store)
	manifest := &snapshot.HistoryManifest{
		FormatVersion: snapshot.FormatVersion, HistoryID: id, Tables: make(map[string]snapshot.ManifestTable),
		Snapshots: []snapshot.FoldedSnapshot{{Date: "2026-11-19", RunID: "run-2026-11-19"}, {Date: snapshottest.Today, RunID: "gone"}},
	}
	for name, ends := range files {
		declared, ok := snapshot.FindHistoryTable(name)
		require.True(t, ok)
		declared = snapshot.HistoryTable(declared)
		var table snapshot.ManifestTable
		for _, end := range ends {
			file, err := snapshot.NewTables(catalog, id).Create(t.Context(), snapshot.HistoryFolder(name, end)+"part-0000-"+id+".parquet", declared)
			require.NoError(t, err)
			require.NoError(t, file.Append(snapshottest.SomeRows(declared, "s1", 2)))
			staged, err := file.Stage(t.Context())
			require.NoError(t, err)
			require.NoError(t, d.store.Commit(t.Context(), id, staged))
			table.Files = append(table.Files, staged)
		}
		manifest.Tables[name] = table
	}
	path := snapshot.HistoryManifestPath(id)
	require.NoError(t, snapshot.WriteDocument(t.Context(), catalog.Store(), path, manifest, sink.Condition{}))
	data, _, err := d.store.Read(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, snapshot.WriteDocument(t.Context(), catalog.Store(), snapshot.HistoryPointerPath, snapshot.HistoryPointer{
		HistoryID: id, Through: snapshottest.Today, Manifest: path, ManifestSHA256: sink.Hash(data),
	}, sink.Condition{}))
}

// TestHistory gives the tables of the history logs of their own, which follow its pointer.
func TestHistory(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	takeNight(t, d.store, "2026-11-19")
	writeHistory(t, d, "one", map[string][]string{"students": {snapshot.Open}, "coverage": {snapshot.Open}})
	mustReconcile(t, d.store, creating())
	requireUpToDate(t, d.root)
	log := commits(t, d.root, "history/students")
	require.Len(t, log, 1)
	require.Equal(t, []string{"valid_to"}, log[0][2].MetaData.PartitionColumns)
	require.Contains(t, log[0][2].MetaData.SchemaString, `"name":"valid_from","type":"date","nullable":false`)
	require.Equal(t, "9999-12-31", *log[0][4].Add.PartitionValues["valid_to"])
	declared, _, _ := schemas.FindTable("students")
	require.Contains(t, log[0][4].Add.Stats, `"nullCount":{"_extra":2,`)
	require.NotContains(t, log[0][4].Add.Stats, `"student_bid":"`)
	require.Len(t, declared.Columns, 6)

	writeHistory(t, d, "two", map[string][]string{"students": {"2026-11-20", snapshot.Open}, "coverage": {snapshot.Open}})
	mustReconcile(t, d.store, options())
	files := live(t, "history/students", commits(t, d.root, "history/students"))
	require.Len(t, files, 2)
	require.Contains(t, files, "history/students/valid_to=2026-11-20/part-0000-two.parquet")
	require.Contains(t, files, "history/students/valid_to=9999-12-31/part-0000-two.parquet")
	report, err := deltalake.Verify(t.Context(), snapshot.At(d.store))
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Len(t, report.Tables, 4)

	// If some files of a fold are missing, none of its files are made live.
	writeHistory(t, d, "three", map[string][]string{"students": {"2026-11-20", snapshot.Open}, "coverage": {snapshot.Open}})
	require.NoError(t, os.Remove(filepath.Join(d.root, "history/students/valid_to=2026-11-20/part-0000-three.parquet")))
	_, err = deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
	require.ErrorContains(t, err, "run growth-export history --rebuild")
	require.Equal(t, files, live(t, "history/students", commits(t, d.root, "history/students")))
	require.Contains(t, live(t, "history/coverage", commits(t, d.root, "history/coverage")), "history/coverage/valid_to=9999-12-31/part-0000-three.parquet")

	// A damaged history does not prevent the snapshots' logs from being updated. The error is the same for all its
	// tables and is reported once.
	require.NoError(t, os.WriteFile(filepath.Join(d.root, "_history", "three", "manifest.json"), []byte("{}"), 0o600))
	takeNight(t, d.store, snapshottest.Today)
	_, err = deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
	require.True(t, strings.HasPrefix(err.Error(), "the Delta logs of the history are not up to date: "), err.Error())
	require.True(t, strings.HasSuffix(err.Error(), ": run growth-export history --rebuild"), err.Error())
	require.Equal(t, 1, strings.Count(err.Error(), "_history/three/manifest.json"))
	require.ErrorAs(t, err, new(*deltalake.HistoryError))
	report, err = deltalake.Verify(t.Context(), snapshot.At(d.store))
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.Equal(t, "_history.json", report.Problems[0].Path)
	require.Len(t, live(t, "students", commits(t, d.root, "students")), 2)
	require.Equal(t, files, live(t, "history/students", commits(t, d.root, "history/students")))
}
