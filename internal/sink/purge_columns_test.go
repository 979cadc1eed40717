package sink

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// TestPurgeEarlierRelease purges a snapshot that was written by an earlier
// release, whose _extra has Parquet's JSON type, beside one of this release.
func TestPurgeEarlierRelease(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS(filepath.Join("testdata", "format-1"))))
	store := newDir(t, root)
	publishWorld(t, store, latestRun, onDate("2026-11-21"))

	report, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
	require.Equal(t, purgeDone, report.State)
	require.Len(t, report.Runs, 2)
	for _, run := range []string{"format1", latestRun} {
		requireVerified(t, store, VerifyTarget{RunID: run})
		require.Len(t, readWorld(t, store, run)["test_results"], 3, run)
	}
	require.Contains(t, readWorld(t, store, "format1")["students"], record{
		"requested_school_bid": stays, "student_bid": "a of " + stays, "_extra": `{"homeroom":"a of ` + stays + `"}`,
	})
	requireNoBytes(t, root, gone)
}

// TestPurgeOtherColumns purges files that lack a column, files with a column
// that is no longer declared, and a table that is not declared. The missing
// column may be one that decides which rows go.
func TestPurgeOtherColumns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	plan := stageWorld(t, store, latestRun, purgeWorld())
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
	journals, err := ReadJournals(t.Context(), store, latestRun)
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
			journal.Files[table.Name] = stageRows(t, store, &table, plan.DataPath(table.Name, journal.Bucket), purgeWorld()[table.Name])
		}
		require.NoError(t, WriteJournal(t.Context(), store, latestRun, journal))
	}
	require.Len(t, edited, len(edit))
	publishRun(t, store, latestRun)
	edited["goals"] = &schemas.Table{Name: "goals", Columns: []schemas.Column{
		{Name: "requested_school_bid", Type: schemas.String, Required: true, Key: true},
		{Name: "school_bid", Type: schemas.String},
		{Name: "goal", Type: schemas.Int32},
	}}
	addTable(t, store, edited["goals"], []record{
		{"requested_school_bid": gone}, {"requested_school_bid": stays}, {"requested_school_bid": stays, "school_bid": gone},
	})
	requireVerified(t, store, VerifyTarget{})

	report, err := Purge(t.Context(), store, purgeOptions([]string{gone}, nil))
	require.NoError(t, err)
	require.Equal(t, purgeDone, report.State)
	require.Equal(t, map[string]int64{
		"schools": 1, "district_schools": 1, "students": 2, "test_results": 5, "test_result_norms": 6,
		"test_result_instructional_areas": 6, "goals": 2,
	}, report.RowsRemoved)
	require.Contains(t, strings.Join(report.NotReached, "\n"), "table goals, which this growth-export does not know")
	requireNoBytes(t, root, gone)
	m := requireManifest(t, store, latestRun)
	for name, table := range edited {
		file, err := openDataFile(t.Context(), store, m.Tables[name].Files[0].Path, &schemas.Table{})
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, columnNames(table), columnNames(file.table), name)
	}
	requireVerified(t, store, VerifyTarget{})

	again, err := Purge(t.Context(), store, purgeOptions(nil, []string{goneDistrict}))
	require.NoError(t, err)
	require.Equal(t, purgeDone, again.State)
	requireNoBytes(t, root, goneDistrict)
	requireVerified(t, store, VerifyTarget{})
}

func columnNames(table *schemas.Table) (names []string) {
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	return names
}

func requireManifest(t *testing.T, store Store, run string) *Manifest {
	t.Helper()
	m, err := ReadManifest(t.Context(), store, run)
	require.NoError(t, err)
	return m
}

// stageRows stages a file of latestRun.
func stageRows(t *testing.T, store Store, table *schemas.Table, path string, records []record) File {
	t.Helper()
	file, err := NewTables(store, latestRun).Create(t.Context(), path, table)
	require.NoError(t, err)
	require.NoError(t, file.Append(sortedBatch(table, records)))
	staged, err := file.Stage(t.Context())
	require.NoError(t, err)
	return staged
}

// addTable adds a table to the published latestRun.
func addTable(t *testing.T, store Store, table *schemas.Table, records []record) {
	t.Helper()
	path := DatePath(Full, table.Name, today) + "part-0000-" + latestRun + ".parquet"
	file := stageRows(t, store, table, path, records)
	require.NoError(t, store.Commit(t.Context(), latestRun, file))
	require.NoError(t, store.Sweep(t.Context(), latestRun))
	file.Staged = nil
	m := requireManifest(t, store, latestRun)
	m.Tables[table.Name] = ManifestTable{Rows: file.Rows, Files: []File{file}}
	data, err := encodeDocument(m)
	require.NoError(t, err)
	require.NoError(t, store.Write(t.Context(), ManifestPath(latestRun), data, Condition{}))
	pointer := Pointer{RunID: latestRun, Manifest: ManifestPath(latestRun), ManifestSHA256: Hash(data)}
	require.NoError(t, writeDocument(t.Context(), store, PointerPath(Full, today), pointer, Condition{}))
}
