package maintenance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// TestPurgeOtherColumns purges files that lack a column, files with a column that is no longer declared, and a table
// that is not declared. The missing column may be one that determines which rows are purged.
func TestPurgeOtherColumns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.StageWorld(t, store, snapshottest.LatestRun, snapshottest.PurgeWorld())
	edit := map[string]func(*schemas.Table){
		"students": func(table *schemas.Table) {
			table.Columns = slices.Delete(table.Columns, table.Column("last_name"), table.Column("last_name")+1)
		},
		"test_results": func(table *schemas.Table) {
			table.Columns = slices.Insert(table.Columns, 1, schemas.Column{Name: "proctor", Type: schemas.String})
			last := len(table.Columns) - 1
			table.Columns[last-1], table.Columns[last] = table.Columns[last], table.Columns[last-1]
		},
		"test_result_norms": func(table *schemas.Table) {
			table.Columns = slices.Delete(table.Columns, table.Column("reference"), table.Column("reference")+1)
		},
		"academic_years": func(table *schemas.Table) {
			table.Columns = slices.Delete(table.Columns, table.Column("perspective_bid"), table.Column("perspective_bid")+1)
		},
	}
	journals, err := snapshot.At(store).ReadCheckpoints(t.Context(), snapshottest.LatestRun)
	require.NoError(t, err)
	edited := make(map[string]*schemas.Table)
	for _, journal := range journals {
		dataset, _ := schemas.Find(journal.Dataset)
		for _, declared := range dataset.Tables {
			if edit[declared.Name] == nil {
				continue
			}
			table := *declared
			table.Columns = slices.Clone(declared.Columns)
			edit[declared.Name](&table)
			edited[table.Name] = &table
			journal.Files[table.Name] = stageRows(t, store, &table, plan.DataPath(table.Name, journal.Bucket), snapshottest.PurgeWorld()[table.Name])
		}
		require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), snapshottest.LatestRun, journal))
	}
	require.Len(t, edited, len(edit))
	snapshottest.PublishRun(t, store, snapshottest.LatestRun)
	edited["goals"] = &schemas.Table{Name: "goals", Columns: []schemas.Column{
		{Name: "requested_school_bid", Type: schemas.String, Required: true, Key: true},
		{Name: "school_bid", Type: schemas.String},
		{Name: "goal", Type: schemas.Int32},
	}}
	addTable(t, store, edited["goals"], []snapshottest.Record{
		{"requested_school_bid": snapshottest.Gone}, {"requested_school_bid": snapshottest.Stays}, {"requested_school_bid": snapshottest.Stays, "school_bid": snapshottest.Gone},
	})
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})

	report, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Gone}, nil))
	require.NoError(t, err)
	require.Equal(t, maintenance.PurgeDone, report.State)
	require.Equal(t, map[string]int64{
		"schools": 1, "district_schools": 1, "students": 2, "test_results": 5, "test_result_norms": 6,
		"test_result_instructional_areas": 6, "goals": 2,
	}, report.RowsRemoved)
	require.Contains(t, strings.Join(report.NotReached, "\n"), "table goals, which this version of growth-export does not know")
	requireNoBytes(t, root, snapshottest.Gone)
	m := requireManifest(t, store, snapshottest.LatestRun)
	for name, table := range edited {
		file, err := erase.OpenFile(t.Context(), snapshot.At(store), m.Tables[name].Files[0].Path, &schemas.Table{})
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, columnNames(table), columnNames(file.Table), name)
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})

	again, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions(nil, []string{snapshottest.GoneDistrict}))
	require.NoError(t, err)
	require.Equal(t, maintenance.PurgeDone, again.State)
	requireNoBytes(t, root, snapshottest.GoneDistrict)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}

func columnNames(table *schemas.Table) (names []string) {
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	return names
}

func requireManifest(t *testing.T, store sink.Store, run string) *snapshot.Manifest {
	t.Helper()
	m, err := snapshot.At(store).ReadManifest(t.Context(), run)
	require.NoError(t, err)
	return m
}

// stageRows stages a file for the latest run.
func stageRows(t *testing.T, store sink.Store, table *schemas.Table, path string, records []snapshottest.Record) sink.File {
	t.Helper()
	file, err := snapshot.NewTables(snapshot.At(store), snapshottest.LatestRun).Create(t.Context(), path, table)
	require.NoError(t, err)
	require.NoError(t, file.Append(snapshottest.SortedBatch(table, records)))
	staged, err := file.Stage(t.Context())
	require.NoError(t, err)
	return staged
}

// addTable adds a table to the latest run, which is published.
func addTable(t *testing.T, store sink.Store, table *schemas.Table, records []snapshottest.Record) {
	t.Helper()
	path := snapshot.DatePath(snapshot.Full, table.Name, snapshottest.Today) + "part-0000-" + snapshottest.LatestRun + ".parquet"
	file := stageRows(t, store, table, path, records)
	require.NoError(t, store.Commit(t.Context(), snapshottest.LatestRun, file))
	require.NoError(t, store.Sweep(t.Context(), snapshottest.LatestRun))
	file.Staged = nil
	m := requireManifest(t, store, snapshottest.LatestRun)
	m.Tables[table.Name] = snapshot.ManifestTable{Rows: file.Rows, Files: []sink.File{file}}
	data, err := snapshot.EncodeDocument(m)
	require.NoError(t, err)
	require.NoError(t, store.Write(t.Context(), snapshot.ManifestPath(snapshottest.LatestRun), data, sink.Condition{}))
	pointer := snapshot.Pointer{RunID: snapshottest.LatestRun, Manifest: snapshot.ManifestPath(snapshottest.LatestRun), ManifestSHA256: sink.Hash(data)}
	require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.PointerPath(snapshot.Full, snapshottest.Today), pointer, sink.Condition{}))
}
