package snapshot_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	ctx := t.Context()
	runs, err := snapshot.At(store).Runs(ctx)
	require.NoError(t, err)
	require.Empty(t, runs)

	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("1-replaced", snapshottest.Few))
	m := snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("2-published", snapshottest.Few))
	snapshottest.StageRun(t, store, snapshottest.NewPlan("3-publishing", snapshottest.Few), nil)
	_, _, err = snapshot.BeginPublishing(snapshot.At(store), ctx, snapshottest.Collect(t, store, "3-publishing"), snapshottest.Options(), "")
	require.NoError(t, err)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("4-held", snapshottest.Few), snapshottest.StatusOf{"s1": snapshot.StatusFailed, "s2": snapshot.StatusDenied})
	require.NoError(t, snapshot.At(store).Hold(ctx, "4-held", snapshot.Held{Reasons: shrunk()}))
	snapshottest.StageRun(t, store, snapshottest.NewPlan("5-staged", snapshottest.Few), nil)
	staging := snapshottest.NewPlan("6-staging", snapshottest.Few)
	staging.Shards = 3
	_, err = snapshot.At(store).CreatePlan(ctx, staging)
	require.NoError(t, err)
	snapshottest.StageTask(t, store, snapshottest.NewPlan("6-staging", snapshottest.Few), snapshot.Task{Bucket: 0, Dataset: "students"}, nil)
	_, err = snapshot.At(store).CreatePlan(ctx, snapshottest.NewPlan("7-begun", snapshottest.Few))
	require.NoError(t, err)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("0-earlier", snapshottest.Few, snapshottest.OnDate("2026-11-01")))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "_runs/8-damaged"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/8-damaged/plan.json"), []byte(`{"run`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/stray"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/1-replaced.txt"), nil, 0o600))

	runs, err = snapshot.At(store).Runs(ctx)
	require.NoError(t, err)
	type short struct {
		run, state    string
		staged, tasks int
	}
	var got []short
	for _, run := range runs {
		got = append(got, short{run.RunID, run.State, run.Staged, run.Tasks})
		if run.RunID != "8-damaged" {
			require.False(t, run.LastProgress.IsZero(), run.RunID)
			require.Empty(t, run.Problems)
			require.EqualValues(t, 2, run.Schools)
		}
	}
	require.Equal(t, []short{
		{"7-begun", snapshot.StateStaging, 0, 2},
		{"6-staging", snapshot.StateStaging, 1, 2},
		{"5-staged", snapshot.StateStaged, 2, 2},
		{"4-held", snapshot.StateHeld, 2, 2},
		{"3-publishing", snapshot.StatePublishing, 2, 2},
		{"2-published", snapshot.StatePublished, 2, 2},
		{"1-replaced", snapshot.StateReplaced, 2, 2},
		{"0-earlier", snapshot.StatePublished, 2, 2},
		{"8-damaged", snapshot.StateStaging, 0, 0},
	}, got, "those planned last first")
	for i, run := range runs {
		require.Equal(t, run.RunID == "6-staging", len(run.Shards) > 0, i)
	}
	require.Equal(t, []snapshot.ShardState{{Shard: 0, Staged: 1, Tasks: 2}, {Shard: 1}, {Shard: 2}}, runs[1].Shards)
	var rows, bytes int64
	for _, file := range m.Files() {
		rows += file.Rows
		bytes += file.Bytes
	}
	require.Equal(t, rows, runs[5].Rows)
	require.Equal(t, bytes, runs[5].Bytes)
	require.Equal(t, 90*time.Minute, runs[5].Duration)
	held := runs[3]
	require.Equal(t, shrunk(), held.Reasons)
	require.Empty(t, held.SupersededBy)
	require.EqualValues(t, 1, held.Failed)
	require.EqualValues(t, 1, held.Denied)
	require.Len(t, runs[8].Problems, 1)
	require.Contains(t, runs[8].Problems[0], "_runs/8-damaged/plan.json")

	t.Log("outcomes do not need the plans of published runs")
	unread := filepath.Join(root, filepath.FromSlash(snapshot.PlanPath("2-published")))
	info, err := os.Stat(unread)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(unread, []byte("{"), 0o600))
	require.NoError(t, os.Chtimes(unread, info.ModTime(), info.ModTime()))
	require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(snapshot.ReportPath("4-held"))), nil, 0o600))
	outcomes, err := snapshot.At(store).Outcomes(ctx, nil)
	require.NoError(t, err)
	require.Len(t, outcomes, len(runs))
	for i := range outcomes {
		require.Equal(t, runs[i].RunID, outcomes[i].RunID)
		require.Equal(t, runs[i].State, outcomes[i].State)
		require.Equal(t, runs[i].Rows, outcomes[i].Rows)
		require.Equal(t, runs[i].Problems, outcomes[i].Problems)
		require.Equal(t, outcomes[i].RunID == "4-held", outcomes[i].Report)
		read := outcomes[i].State == snapshot.StatePublished || outcomes[i].State == snapshot.StateReplaced
		require.Equal(t, read, outcomes[i].Stamp != "", outcomes[i].RunID)
	}
	known := map[string]snapshot.RunState{"": {}}
	for _, run := range outcomes[4:] {
		run.Rows = 12345
		known[run.Stamp] = run
	}
	outcomes, err = snapshot.At(store).Outcomes(ctx, known)
	require.NoError(t, err)
	require.EqualValues(t, 12345, outcomes[5].Rows, "its manifest was not read again")
	edited := filepath.Join(root, filepath.FromSlash(snapshot.ManifestPath(outcomes[5].RunID)))
	data, err := os.ReadFile(edited)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(edited, append(data, '\n'), 0o600))
	outcomes, err = snapshot.At(store).Outcomes(ctx, known)
	require.NoError(t, err)
	require.Equal(t, runs[5].Rows, outcomes[5].Rows)

	t.Log("progress is the time of the newest staged file")
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	staged, err := os.ReadDir(filepath.Join(root, "_staging/6-staging"))
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(root, "_staging/6-staging", staged[0].Name()), later, later))
	runs, err = snapshot.At(store).Runs(ctx)
	require.NoError(t, err)
	require.WithinDuration(t, later, runs[1].LastProgress, 0)

	t.Log("a held run whose date was published since is superseded")
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("9-since", snapshottest.Few, snapshottest.Planned(time.Hour)))
	runs, err = snapshot.At(store).Runs(ctx)
	require.NoError(t, err)
	require.Equal(t, "9-since", runs[0].RunID)
	require.Equal(t, "4-held", runs[4].RunID)
	require.Equal(t, "9-since", runs[4].SupersededBy)
	require.Empty(t, runs[4].Reasons)
}

// TestOutcomesKeepTheirOrder reads runs that were planned in the same second, some of them from an earlier result,
// which is stored as JSON.
func TestOutcomesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	names := []string{"c", "a", "b"}
	for i, run := range names {
		kind := func(p *snapshot.Plan) { p.Kind = snapshot.Delta } // delta runs do not replace one another
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan(run, snapshottest.Few, kind))
		written := snapshottest.Morning().Add(time.Duration(i) * time.Second)
		require.NoError(t, os.Chtimes(filepath.Join(root, filepath.FromSlash(snapshot.PlanPath(run))), written, written))
	}
	read := func(known map[string]snapshot.RunState) []snapshot.RunState {
		runs, err := snapshot.At(store).Outcomes(t.Context(), known)
		require.NoError(t, err)
		return runs
	}
	want := read(nil)
	known := make(map[string]snapshot.RunState)
	for i, run := range want {
		require.Equal(t, names[len(names)-1-i], run.RunID, "those planned last first")
		text, err := json.Marshal(run)
		require.NoError(t, err)
		var stored snapshot.RunState
		require.NoError(t, json.Unmarshal(text, &stored))
		known[run.Stamp] = stored
	}
	require.Equal(t, want, read(known))
}
