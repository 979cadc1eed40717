package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// handmade writes a snapshot of table students with one row per file and returns its destination, whose name looks like
// a glob. The student_id of the n-th file is n zeros. The last file is not in the manifest.
func handmade(t *testing.T, paths ...string) string {
	t.Helper()
	dest := filepath.ToSlash(filepath.Join(t.TempDir(), "growth [data]?"))
	d := newDuck(t)
	d.exec(ddl(t))
	var files []file
	for i, path := range paths {
		at := dest + "/" + path
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		d.exec("INSERT INTO students (requested_school_bid, student_id) VALUES ('s', '" + strings.Repeat("0", i) + "')")
		d.exec("COPY (SELECT * EXCLUDE (snapshot_date) FROM students) TO " + literal(at) + " (FORMAT parquet)")
		d.exec("DELETE FROM students")
		files = append(files, file{Path: path, Rows: 1})
	}
	document := func(path string, value any) {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dest, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dest, path), text, 0o600))
	}
	document("_latest.json", map[string]string{"run_id": "r", "snapshot_date": "2026-11-20", "manifest": "_runs/r/manifest.json"})
	document("_runs/r/manifest.json", map[string]any{
		"tables": map[string]any{"students": map[string]any{"rows": len(files) - 1, "files": files[:len(files)-1]}},
		"ledger": files[0], // any Parquet file will do
	})
	return dest
}

// TestViewsReadTheManifestsFiles checks that views read only the files in the manifest, and ignore files of older runs
// and incomplete files.
func TestViewsReadTheManifestsFiles(t *testing.T) {
	t.Parallel()
	const folder = "students/snapshot_date=2026-11-20/"
	dest := handmade(t, folder+"part-0000-r.parquet", folder+"part-0001-r.parquet", folder+"part-0000-old.parquet")
	require.NoError(t, os.WriteFile(filepath.Join(dest, folder+"part-0001-new.parquet"), []byte("PAR1 and no more"), 0o600))

	d := newReader(t, dest+"/", "views") // with the slash added by shell completion
	pattern := strings.NewReplacer("[data]?", "[[]data][?]").Replace(dest) + "/" + folder + "part-0000-r.parquet"
	require.Equal(t, pattern, d.one("SELECT growth_files('students')[1]"))
	require.Equal(t, [][]any{{"", "2026-11-20"}, {"0", "2026-11-20"}}, d.query("SELECT student_id, snapshot_date FROM students ORDER BY ALL"))
	require.Contains(t, d.fails("FROM schools"), "the latest snapshot has no table schools")

	// A missing file is an error; it must not look like fewer rows.
	require.NoError(t, os.Remove(filepath.Join(dest, folder+"part-0001-r.parquet")))
	require.Contains(t, d.fails("FROM students"), "part-0001-r.parquet")
}

// TestViewsKeepDistrictsText checks that districts are text even if all look like numbers or dates, and that a missing
// district is null.
func TestViewsKeepDistrictsText(t *testing.T) {
	t.Parallel()
	const none = "__HIVE_DEFAULT_PARTITION__"
	for name, districts := range map[string]struct {
		segments []string
		want     []any
	}{
		"numbers": {[]string{"007", "12"}, []any{"007", "12"}},
		"dates":   {[]string{"2026-01-01", "2026-01-02"}, []any{"2026-01-01", "2026-01-02"}},
		"escaped": {[]string{"a%2Fb%20c", "%25", "École%20小😀", none, "%6Eull"}, []any{"a/b c", "%", "École 小😀", nil, "null"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			var want [][]any
			for i, segment := range append(districts.segments, "not-in-the-manifest") {
				paths = append(paths, "students/snapshot_date=2026-11-20/district="+segment+"/part-0000-r.parquet")
				if i < len(districts.want) {
					want = append(want, []any{strings.Repeat("0", i), districts.want[i]})
				}
			}
			d := newReader(t, handmade(t, paths...), "views")
			require.Equal(t, [][]any{{"VARCHAR"}}, d.query("SELECT DISTINCT typeof(district) FROM students"))
			require.Equal(t, want, d.query("SELECT student_id, district FROM students ORDER BY student_id"))
		})
	}
}

// TestViewsWithoutASnapshot checks that the error names the missing pointer or manifest.
func TestViewsWithoutASnapshot(t *testing.T) {
	t.Parallel()
	views := exampleSQL(t, "views")
	dest := filepath.ToSlash(t.TempDir())
	require.Contains(t, newReader(t, dest).fails(views), "no snapshot at "+dest)

	dest = handmade(t, "students/snapshot_date=2026-11-20/part-0000-r.parquet", "students/snapshot_date=2026-11-20/part-0000-old.parquet")
	require.NoError(t, os.Remove(filepath.Join(dest, "_runs/r/manifest.json")))
	require.Contains(t, newReader(t, dest).fails(views), "_runs/r/manifest.json")
}
