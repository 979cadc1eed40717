package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// TestViewsOfEarlierFormats reads a history in which an earlier release wrote some or all files of a table, without a
// column of the current release.
func TestViewsOfEarlierFormats(t *testing.T) {
	t.Parallel()
	dest := filepath.ToSlash(t.TempDir())
	versions := handmadeVersions()
	writeHistory(t, dest, versions)
	d := newDuck(t)
	d.db.SetMaxOpenConns(1)
	all := render.Snapshot{Place: render.Place{Title: "Mixed.", Root: dest}, History: true}
	for table, lost := range map[string]struct{ column, folder string }{
		"test_results":      {"rit", "valid_to=" + day2},
		"test_result_norms": {"percentile", ""},
	} {
		declared, _, ok := schemas.FindTable(table)
		require.True(t, ok)
		withSpan := *declared
		withSpan.Columns = append(slices.Clone(declared.Columns),
			schemas.Column{Name: "valid_from", Type: schemas.Date}, schemas.Column{Name: "ended_because", Type: schemas.String})
		mixed := render.SnapshotTable{Table: &withSpan, Folder: "history/" + table, Mixed: true}
		files, err := filepath.Glob(filepath.Join(dest, mixed.Folder, "*", "*.parquet"))
		require.NoError(t, err)
		require.Greater(t, len(files), 1)
		for _, file := range files {
			name, err := filepath.Rel(filepath.Join(dest, mixed.Folder), file)
			require.NoError(t, err)
			mixed.Files = append(mixed.Files, filepath.ToSlash(name))
			if strings.HasPrefix(name, lost.folder) {
				d.exec("CREATE OR REPLACE TEMP TABLE kept AS SELECT * EXCLUDE (" + lost.column + ") FROM read_parquet(" + literal(file) +
					", hive_partitioning = false); COPY kept TO " + literal(file) + " (FORMAT parquet)")
			}
		}
		all.Tables = append(all.Tables, mixed)
	}
	d.exec(render.Dialects()[0].Views(&all))

	require.EqualValues(t, len(versions["test_results"]), d.one("SELECT count(*) FROM test_results_versions"))
	require.Zero(t, d.one("SELECT count(rit) FROM test_results_versions WHERE valid_to = "+literal(day2)))
	require.Equal(t, [][]any{{day2, int64(201)}, {day3, int64(202)}}, d.query(
		"SELECT day, rit FROM test_results_changes WHERE test_result_bid = 'twice' AND change = 'update' ORDER BY day"))
	require.EqualValues(t, len(versions["test_result_norms"])+2, d.one("SELECT count(*) FROM test_result_norms_changes"))
	require.Zero(t, d.one("SELECT count(percentile) FROM test_result_norms_versions"))
	require.Contains(t, d.describe("test_result_norms_versions"), []any{"percentile", "INTEGER"})
}
