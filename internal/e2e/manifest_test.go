package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testManifest checks that the manifest lists exactly the existing files, with the rows, sizes and hashes that DuckDB
// finds, and counts the schools.
func testManifest(t *testing.T, s *snapshot) {
	t.Helper()
	d := newDuck(t)
	m := &s.manifest
	require.Equal(t, "published", m.Status)
	require.Equal(t, "full", m.Kind)
	require.Equal(t, s.sha256(d, s.pointer.Manifest), s.pointer.ManifestSHA256)

	var names, wanted []string
	for name, table := range m.Tables {
		names = append(names, name)
		require.Equal(t, s.found(d, name+"/**/*.parquet"), table.Files, "files of table %s", name)
		require.Equal(t, d.one("SELECT count(*) FROM "+s.named(name)), table.Rows, "rows of table %s", name)
		for _, f := range table.Files {
			folder := name + "/snapshot_date=" + m.SnapshotDate + "/"
			require.Regexp(t, "^"+folder+`(district=[^/]+/)?part-\d{4}-`+m.RunID+`\.parquet$`, f.Path)
		}
	}
	for _, table := range s.tables() {
		wanted = append(wanted, table.Name)
	}
	require.ElementsMatch(t, wanted, names)
	require.Equal(t, []file{m.Ledger}, s.found(d, "_runs/*/ledger.parquet"))

	require.EqualValues(t, len(s.world.Schools()), m.Schools.Total)
	require.Equal(t, m.Schools.Total, m.Schools.OK)
	require.Zero(t, m.Schools.Denied)
	require.Zero(t, m.Schools.Failed)
	require.Empty(t, m.Schools.Failures)
	require.Empty(t, m.Drift)
	sum := int64(0)
	for _, n := range m.Requests.ByStatus {
		sum += n
	}
	require.Equal(t, m.Requests.Total, sum, "requests by status")

	everything := d.query("SELECT file FROM glob(" + literal(s.dest+"/**") + ")")
	known := map[string]bool{
		"_latest.json": true, "_snapshots/" + m.SnapshotDate + ".json": true, s.pointer.Manifest: true,
		"_runs/" + m.RunID + "/plan.json": true, "_runs/" + m.RunID + "/report.html": true, "_runs/index.html": true, m.Ledger.Path: true,
	}
	for _, table := range m.Tables {
		for _, f := range table.Files {
			known[f.Path] = true
		}
	}
	require.NotEmpty(t, everything)
	for _, row := range everything {
		path := s.relative(row[0].(string))
		require.True(t, known[path], "left behind: %s", path)
	}
}

// found returns the Parquet files below the destination that match a pattern, sorted by name.
func (s *snapshot) found(d *duck, pattern string) []file {
	d.t.Helper()
	rows := d.query(`
		SELECT filename, num_rows, size, sha256(content)
		FROM read_blob(` + literal(s.dest+"/"+pattern) + `)
		JOIN (SELECT file_name AS filename, num_rows FROM parquet_file_metadata(` + literal(s.dest+"/"+pattern) + `)) USING (filename)
		ORDER BY filename`)
	require.NotEmpty(d.t, rows, pattern)
	var files []file
	for _, row := range rows {
		files = append(files, file{
			Path: s.relative(row[0].(string)), Rows: row[1].(int64), Bytes: row[2].(int64), SHA256: row[3].(string),
		})
	}
	return files
}

func (s *snapshot) sha256(d *duck, path string) any {
	d.t.Helper()
	return d.one("SELECT sha256(content) FROM read_blob(" + literal(s.dest+"/"+path) + ")")
}

// relative returns a path as in manifests, relative to the destination.
func (s *snapshot) relative(path string) string { return strings.TrimPrefix(path, s.dest+"/") }
