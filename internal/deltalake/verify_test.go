package deltalake_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/snapshot"
)

// TestVerify expects Verify to find every difference between logs, manifests and files.
func TestVerify(t *testing.T) {
	t.Parallel()
	const path = "snapshot_date=2026-09-01/part-0000-run-2026-09-01.parquet"
	log := func(d destination) string {
		return filepath.Join(d.root, "students", "_delta_log", "00000000000000000000.json")
	}
	edit := func(t *testing.T, name string, oldnew ...string) {
		t.Helper()
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		changed := strings.NewReplacer(oldnew...).Replace(string(data))
		require.NotEqual(t, string(data), changed)
		require.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, d destination)
		want   []string
	}{
		"right": {func(*testing.T, destination) {}, nil},
		"behind": {func(t *testing.T, d destination) {
			t.Helper()
			takeNight(t, d.store, "2026-09-02")
		}, []string{
			"schools/snapshot_date=2026-09-02/part-0000-run-2026-09-02.parquet: is in a manifest but not live in the log",
			"students/snapshot_date=2026-09-02/part-0000-run-2026-09-02.parquet: is in a manifest but not live in the log",
		}},
		"another file": {func(t *testing.T, d destination) {
			t.Helper()
			appendCommit(t, d.root, "students", `{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`)
		}, []string{"students/x.parquet: is live in the log but in no manifest", "students/x.parquet: is live in the log but missing"}},
		"rows": {func(t *testing.T, d destination) {
			t.Helper()
			edit(t, log(d), `\"numRecords\":2`, `\"numRecords\":3`)
		}, []string{"rows in the log"}},
		"partition": {func(t *testing.T, d destination) {
			t.Helper()
			edit(t, log(d), `"snapshot_date":"2026-09-01"`, `"snapshot_date":"2026-09-03"`)
		}, []string{path + ": has other partition values in the log than in its path"}},
		"columns": {func(t *testing.T, d destination) {
			t.Helper()
			edit(t, log(d), `\"name\":\"student_bid\"`, `\"name\":\"pupil_bid\"`)
		}, []string{"students/_delta_log: describes columns or properties that differ"}},
		"lost log": {func(t *testing.T, d destination) {
			t.Helper()
			require.NoError(t, os.Remove(log(d)))
		}, []string{"students/_delta_log: is missing: run growth-export delta-lake"}},
		"lost file": {func(t *testing.T, d destination) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(d.root, "students", path)))
		}, []string{path + ": is live in the log but missing"}},
		"shorter file": {func(t *testing.T, d destination) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(d.root, "students", path), []byte("x"), 0o600))
		}, []string{path + ": has 1 bytes, "}},
		"protocol": {func(t *testing.T, d destination) {
			t.Helper()
			appendCommit(t, d.root, "students", `{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}`)
		}, []string{"students/_delta_log: students/_delta_log/00000000000000000001.json requires version 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := onDisk(t)
			takeNight(t, d.store, "2026-09-01")
			mustReconcile(t, d.store, creating())
			test.change(t, d)
			report, err := deltalake.Verify(t.Context(), snapshot.At(d.store))
			require.NoError(t, err)
			require.Len(t, report.Problems, len(test.want))
			for i, want := range test.want {
				require.Contains(t, report.Problems[i].String(), want)
			}
			if len(test.want) == 0 {
				require.Len(t, report.Tables, 2)
				require.EqualValues(t, 2, report.Tables[1].Rows)
			}
		})
	}
	empty := onDisk(t)
	_, err := deltalake.Verify(t.Context(), snapshot.At(empty.store))
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused)
}

// TestVersions expects the last version that has the files of a run.
func TestVersions(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	takeNight(t, d.store, "2026-09-01")
	_, err := deltalake.Versions(t.Context(), snapshot.At(d.store), manifestOf(t, d, "run-2026-09-01"))
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused)
	none, err := deltalake.Tables(t.Context(), snapshot.At(d.store))
	require.NoError(t, err)
	require.Empty(t, none)

	mustReconcile(t, d.store, creating())
	first := manifestOf(t, d, "run-2026-09-01")
	takeNight(t, d.store, "2026-09-02")
	mustReconcile(t, d.store, options())
	takeRun(t, d.store, "again", "2026-09-01", func(p *snapshot.Plan) { p.Replace = true })
	mustReconcile(t, d.store, options())
	for run, want := range map[*snapshot.Manifest]int64{first: 1, manifestOf(t, d, "run-2026-09-02"): 2, manifestOf(t, d, "again"): 2} {
		found, err := deltalake.Versions(t.Context(), snapshot.At(d.store), run)
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.Equal(t, want, found[0].Version, run.RunID)
		require.Equal(t, "students", found[1].Folder)
	}
	all, err := deltalake.Tables(t.Context(), snapshot.At(d.store))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.EqualValues(t, 2, all[0].Version)
}

func manifestOf(t *testing.T, d destination, run string) *snapshot.Manifest {
	t.Helper()
	manifest, err := snapshot.At(d.store).ReadManifest(t.Context(), run)
	require.NoError(t, err)
	return manifest
}
