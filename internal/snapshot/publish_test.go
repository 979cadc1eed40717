package snapshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("r1", func(p *snapshot.Plan) {
		p.FailedSchools = []snapshot.SchoolFailure{{SchoolName: "Nowhere", Error: "it has no bid"}, {SchoolBid: "zz", Error: "unknown school"}}
		p.Schools[3].Name = "Lincoln Elementary"
	})
	snapshottest.StageRun(t, store, plan, snapshottest.StatusOf{"s2": snapshot.StatusDenied, "s4": snapshot.StatusFailed})
	require.NotContains(t, strings.Join(snapshottest.Names(snapshottest.Tree(t, root)), "\n"), ".parquet", "nothing a reader could take for data")

	m := snapshottest.PublishRun(t, store, "r1")
	found := snapshottest.Tree(t, root)
	paths := snapshottest.Names(found)
	sort.Strings(paths)
	require.Equal(t, []string{
		"_latest.json",
		"_runs/r1/ledger.parquet",
		"_runs/r1/manifest.json",
		"_runs/r1/plan.json",
		"_snapshots/2026-11-20.json",
		"districts/snapshot_date=2026-11-20/part-0000-r1.parquet",
		"schools/snapshot_date=2026-11-20/part-0000-r1.parquet",
		"test_result_instructional_areas/snapshot_date=2026-11-20/part-0000-r1.parquet",
		"test_result_instructional_areas/snapshot_date=2026-11-20/part-0001-r1.parquet",
		"test_result_norms/snapshot_date=2026-11-20/part-0000-r1.parquet",
		"test_result_norms/snapshot_date=2026-11-20/part-0001-r1.parquet",
		"test_results/snapshot_date=2026-11-20/part-0000-r1.parquet",
		"test_results/snapshot_date=2026-11-20/part-0001-r1.parquet",
	}, paths)

	require.Equal(t, snapshot.Published, m.Status)
	require.EqualValues(t, 2, m.Tables["test_results"].Rows)
	require.EqualValues(t, 4, m.Tables["test_result_norms"].Rows)
	require.Len(t, m.Tables["test_results"].Files, 2)
	require.Equal(t, snapshot.ManifestSchools{
		Total: 6, OK: 2, Denied: 1, Failed: 3,
		Failures: []snapshot.SchoolFailure{
			{SchoolName: "Nowhere", Error: "it has no bid"},
			{SchoolBid: "s4", SchoolName: "Lincoln Elementary", Dataset: "test_results", Error: "the service said failed"},
			{SchoolBid: "zz", Error: "unknown school"},
		},
	}, m.Schools)
	require.Equal(t, snapshot.ManifestDataset{OK: 2, Denied: 1, Failed: 3, SchoolsWithRow: 2}, m.Datasets["test_results"])
	require.Equal(t, snapshot.ManifestDataset{OK: 1, SchoolsWithRow: 1}, m.Datasets["schools"])
	require.EqualValues(t, 2+6, m.Ledger.Rows)
	require.Equal(t, snapshot.Requests{Total: 12, Retries: 4, ByStatus: map[string]int64{"200": 8, "503": 4}}, m.Requests)
	require.Equal(t, []snapshot.Drift{
		{Table: "test_results", Field: "x", Kind: "unknown_field", Count: 4},
		{Table: "districts", Field: "x", Kind: "unknown_field", Count: 2},
		{Table: "schools", Field: "x", Kind: "unknown_field", Count: 2},
	}, m.Drift)

	text := found["_runs/r1/manifest.json"]
	require.True(t, strings.HasSuffix(text, "}\n"))
	require.NotContains(t, text, "null")
	require.NotContains(t, text, "staged")
	require.Contains(t, text, `"school_name": "Lincoln Elementary"`)
	require.Contains(t, text, `"published_at": "2026-11-20T07:30:00Z"`)
	require.JSONEq(t, `{"run_id": "r1", "manifest": "_runs/r1/manifest.json", "manifest_sha256": "`+
		sink.Hash([]byte(text))+`"}`, found["_snapshots/2026-11-20.json"])
	require.JSONEq(t, `{"run_id": "r1", "manifest": "_runs/r1/manifest.json", "snapshot_date": "2026-11-20"}`,
		found["_latest.json"])
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})

	t.Log("publishing again does nothing")
	again := snapshottest.PublishRun(t, store, "r1")
	require.Equal(t, m, again)
	require.Equal(t, found, snapshottest.Tree(t, root))
	recovered, err := snapshot.At(store).Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, &snapshot.Recovered{}, recovered)
}

// TestPublishRemoved lets a purge or Abandon remove a run after it was collected, on a store where no lock prevents
// that.
func TestPublishRemoved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("r1"), nil)
	staged := snapshottest.Collect(t, store, "r1")
	require.NoError(t, store.Remove(t.Context(), snapshot.PlanPath("r1")))
	_, err := snapshot.At(store).Publish(t.Context(), staged, snapshottest.Options())
	require.ErrorContains(t, err, "has removed the run: run it again")
	require.NotContains(t, strings.Join(snapshottest.Names(snapshottest.Tree(t, root)), "\n"), ".parquet")
}

func TestManifestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("empty", snapshottest.Datasets("test_results"), func(p *snapshot.Plan) { p.Buckets, p.Schools = nil, nil })
	snapshottest.TakeSnapshot(t, store, plan)
	text := snapshottest.Tree(t, root)["_runs/empty/manifest.json"]
	require.NotContains(t, text, "null")
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	require.Equal(t, []any{}, m["drift"])
	require.Equal(t, map[string]any{}, m["requests"].(map[string]any)["by_status"])
	require.Equal(t, []any{}, m["tables"].(map[string]any)["test_results"].(map[string]any)["files"])
	require.Equal(t, []any{}, m["schools"].(map[string]any)["failures"])
	report, err := maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{RunID: "empty"})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Zero(t, report.Files, "the ledger is not counted")
}

func TestPublishWithMissingUnits(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	plan := snapshottest.NewPlan("r1")
	_, err := snapshot.At(store).CreatePlan(t.Context(), plan)
	require.NoError(t, err)
	snapshottest.StageTask(t, store, plan, snapshot.Task{Bucket: 1, Dataset: "test_results"}, nil)
	g, err := snapshot.At(store).Collect(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, []snapshot.Task{
		{Bucket: snapshot.LookupBucket, Dataset: "districts"},
		{Bucket: snapshot.LookupBucket, Dataset: "schools"},
		{Bucket: 0, Dataset: "test_results"},
	}, g.Missing)
	_, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	var missing *snapshot.MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, g.Missing, missing.Missing)
	require.ErrorContains(t, err, "3 tasks are missing, the first is districts")
}

func TestKindsLandInTheirPlaces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full", snapshottest.Datasets("academic_years")))
	before := snapshottest.Tree(t, root)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("past", snapshottest.Datasets("academic_years"), func(p *snapshot.Plan) {
		p.Kind, p.SnapshotDate = snapshot.AsOf, "2025-09-01"
	}))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("delta1", snapshottest.Datasets("academic_years"), func(p *snapshot.Plan) { p.Kind = snapshot.Delta }))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("delta2", snapshottest.Datasets("academic_years"), func(p *snapshot.Plan) { p.Kind = snapshot.Delta }))
	after := snapshottest.Tree(t, root)
	for path, data := range before {
		require.Equal(t, data, after[path], "%s belongs to the full snapshot", path)
	}
	for _, path := range []string{
		"as_of/academic_years/snapshot_date=2025-09-01/part-0001-past.parquet", "_as_of/2025-09-01.json",
		"changes/enrollment_sessions/snapshot_date=2026-11-20/part-0000-delta1.parquet",
		"changes/enrollment_sessions/snapshot_date=2026-11-20/part-0000-delta2.parquet",
	} {
		require.Contains(t, after, path)
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{EffectiveDate: "2025-09-01"})
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: "delta1"})
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{RunID: "delta2"})

	t.Log("an as-of run replaces only an as-of run of its date")
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("past2", snapshottest.Datasets("academic_years"), func(p *snapshot.Plan) {
		p.Kind, p.SnapshotDate = snapshot.AsOf, "2025-09-01"
	}))
	require.NotContains(t, snapshottest.Tree(t, root), "as_of/academic_years/snapshot_date=2025-09-01/part-0001-past.parquet")
	m, err := snapshot.At(store).ReadManifest(t.Context(), "past")
	require.NoError(t, err)
	require.Equal(t, snapshot.Replaced, m.Status)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{EffectiveDate: "2025-09-01"})
}

func TestReplacingCleansUp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("a", snapshottest.Datasets("schools", "districts")))
	foreign := filepath.Join(root, "districts/snapshot_date=2026-11-20/notes.txt")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("b", snapshottest.Datasets("schools"), func(p *snapshot.Plan) { p.Replace = true }))
	found := snapshottest.Tree(t, root)
	for _, path := range []string{
		"schools/snapshot_date=2026-11-20/part-0000-a.parquet", "districts/snapshot_date=2026-11-20/part-0000-a.parquet",
		"districts/snapshot_date=2026-11-20/notes.txt", "districts/",
	} {
		require.NotContains(t, found, path)
	}
	require.Contains(t, found, "_runs/a/ledger.parquet")
	m, err := snapshot.At(store).ReadManifest(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, snapshot.Replaced, m.Status)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	_, err = maintenance.Verify(t.Context(), snapshot.At(store), maintenance.VerifyTarget{RunID: "a"})
	_, refused := errors.AsType[*snapshot.RefusedError](err)
	require.True(t, refused, "%v", err)
	require.ErrorContains(t, err, "run a at ")
	require.ErrorContains(t, err, " was replaced by run b and its files are not kept, so there is nothing to verify")

	t.Log("a replaced run that is published again stays replaced")
	plan, err := snapshot.At(store).ReadPlan(t.Context(), "a")
	require.NoError(t, err)
	g, err := snapshot.At(store).Collect(t.Context(), plan)
	require.NoError(t, err)
	m, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.NoError(t, err)
	require.Equal(t, snapshot.Replaced, m.Status)
	require.Equal(t, found, snapshottest.Tree(t, root))
}

func TestPartitionedByDistrict(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("p", func(p *snapshot.Plan) {
		p.Scope.PartitionBy = snapshot.ByDistrict
		p.Buckets = []snapshot.Bucket{
			{Index: 0, First: 0, End: 2, District: "d 1/ü"},
			{Index: 1, First: 2, End: 3, District: "NULL"},
			{Index: 2, First: 3, End: 4},
		}
	})
	snapshottest.TakeSnapshot(t, store, plan)
	found := snapshottest.Tree(t, root)
	for _, path := range []string{
		"schools/snapshot_date=2026-11-20/part-0000-p.parquet",
		"test_results/snapshot_date=2026-11-20/district=d%201%2Fü/part-0000-p.parquet",
		"test_results/snapshot_date=2026-11-20/district=%4EULL/part-0001-p.parquet",
		"test_results/snapshot_date=2026-11-20/district=__HIVE_DEFAULT_PARTITION__/part-0002-p.parquet",
	} {
		require.Contains(t, found, path)
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today})
}

func TestPublishIsRefusedBeforeAnythingIsVisible(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("a"))
	before := snapshottest.Tree(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("b", snapshottest.Datasets("schools")), nil)
	g := snapshottest.Collect(t, store, "b")
	_, err := snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused)
	for path, data := range before {
		require.Equal(t, data, snapshottest.Tree(t, root)[path])
	}
	require.NotContains(t, snapshottest.Tree(t, root), "_runs/b/change.json")
	require.NotContains(t, snapshottest.Tree(t, root), "schools/snapshot_date=2026-11-20/part-0000-b.parquet")

	m, err := snapshot.At(store).Publish(t.Context(), g, snapshot.PublishOptions{Now: snapshottest.PublishedAt, Replace: true})
	require.NoError(t, err)
	require.Equal(t, snapshot.Published, m.Status)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today})
}

func TestLostWhilePublishingIsUndone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("r1")
	snapshottest.StageRun(t, store, plan, nil)
	g := snapshottest.Collect(t, store, "r1")
	lost := g.Tables["test_results"].Files[1]
	require.NoError(t, store.Abort(t.Context(), "r1", lost))

	_, err := snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.ErrorIs(t, err, sink.ErrStagedLost)
	require.ErrorContains(t, err, "r1")
	visible, err := sink.ListAll(t.Context(), store, "")
	require.NoError(t, err)
	for _, entry := range visible {
		require.True(t, strings.HasPrefix(entry.Path, "_runs/r1/"), "%s is visible", entry.Path)
		require.NotEqual(t, snapshot.ChangePath("r1"), entry.Path)
	}

	t.Log("missing tasks are done again, and the run is published")
	g = snapshottest.Collect(t, store, "r1")
	require.Contains(t, g.Missing, snapshot.Task{Bucket: 1, Dataset: "test_results"})
	for _, task := range g.Missing {
		snapshottest.StageTask(t, store, plan, task, nil)
	}
	snapshottest.PublishRun(t, store, "r1")
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	require.NoDirExists(t, filepath.Join(root, "_staging"))
}

func TestLeftoversOfKilledProcessesGo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("r1"), nil)
	for _, leftover := range []string{
		"_staging/r1/HALFWRITTEN", "_staging/~documents/HALFWRITTEN", "_staging/~locks/publish",
		"_staging/~locks/documents", "_staging/~locks/another",
	} {
		path := filepath.Join(root, filepath.FromSlash(leftover))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	snapshottest.PublishRun(t, store, "r1")
	require.NoDirExists(t, filepath.Join(root, "_staging"))
}

func TestHeldAndReleased(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("r1"), snapshottest.StatusOf{"s1": snapshot.StatusFailed})
	require.NoError(t, snapshot.At(store).Hold(t.Context(), "r1", snapshot.Held{Reasons: shrunk()}))
	runs, err := snapshot.At(store).Runs(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.StateHeld, runs[0].State)
	require.Equal(t, shrunk(), runs[0].Reasons)
	require.EqualValues(t, 1, runs[0].Failed)
	require.Equal(t, []snapshot.Task{{Bucket: 0, Dataset: "test_results"}}, snapshottest.Collect(t, store, "r1").Failed)

	require.NoError(t, snapshot.At(store).Release(t.Context(), "r1"))
	require.NoError(t, snapshot.At(store).Release(t.Context(), "r1"))
	runs, err = snapshot.At(store).Runs(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.StateStaged, runs[0].State)

	require.NoError(t, snapshot.At(store).Hold(t.Context(), "r1", snapshot.Held{}))
	snapshottest.PublishRun(t, store, "r1")
	require.NoFileExists(t, filepath.Join(root, "_runs/r1/held.json"))
}

func TestPublishStopsWithItsContext(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.StageRun(t, store, snapshottest.NewPlan("r1"), nil)
	g := snapshottest.Collect(t, store, "r1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := snapshot.At(store).Publish(ctx, g, snapshottest.Options())
	require.ErrorIs(t, err, context.Canceled)
}

// TestDamagedStagedFile flips a byte of a staged file, before a Publish and after a Publish was killed halfway.
func TestDamagedStagedFile(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		root := t.TempDir()
		store := snapshottest.NewDir(t, root)
		plan := snapshottest.NewPlan("r1")
		snapshottest.StageRun(t, store, plan, nil)
		damaged := snapshottest.Collect(t, store, "r1").Tables["test_results"].Files[1]
		var token struct{ Name string }
		require.NoError(t, json.Unmarshal(damaged.Staged, &token))
		from := "_staging/r1/" + token.Name
		begun, _, err := snapshot.BeginPublishing(snapshot.At(store), t.Context(), snapshottest.Collect(t, store, "r1"), snapshottest.Options(), "")
		require.NoError(t, err)
		if committed {
			require.NoError(t, snapshot.CommitAll(snapshot.At(store), t.Context(), "r1", begun.Files()))
			from = damaged.Path
		}
		data, err := os.ReadFile(filepath.Join(root, from))
		require.NoError(t, err)
		data[10] ^= 1
		require.NoError(t, os.WriteFile(filepath.Join(root, from), data, 0o600))

		sound, err := store.Intact(t.Context(), "r1", damaged)
		require.NoError(t, err)
		require.True(t, sound, "the process that staged it does not read it again")
		another := snapshottest.NewDir(t, root)
		sound, err = another.Intact(t.Context(), "r1", damaged)
		require.NoError(t, err)
		require.False(t, sound)

		recovered, err := snapshot.At(another).Recover(t.Context())
		require.NoError(t, err)
		stuck := recovered.Stuck
		require.Len(t, stuck, 1)
		require.True(t, stuck[0].Undone)
		require.ErrorIs(t, stuck[0], sink.ErrStagedLost)
		_, err = snapshot.At(another).ReadManifest(t.Context(), "r1")
		require.ErrorIs(t, err, sink.ErrNotFound)
		require.NotContains(t, snapshottest.Tree(t, root), damaged.Path)
		g, err := snapshot.At(another).CollectIntact(t.Context(), plan)
		require.NoError(t, err)
		require.Contains(t, g.Missing, snapshot.Task{Bucket: 1, Dataset: "test_results"})
		for _, task := range g.Missing {
			snapshottest.StageTask(t, another, plan, task, nil)
		}
		snapshottest.PublishRun(t, another, "r1")
		snapshottest.RequireVerified(t, another, maintenance.VerifyTarget{})
	}
}
