package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

func TestUselessCheckpointIsSkipped(t *testing.T) {
	t.Parallel()
	task := snapshot.Task{Bucket: 0, Dataset: "students"}
	spoil := map[string]func(t *testing.T, store sink.Store, checkpoint *snapshot.Checkpoint){
		"cut": func(t *testing.T, store sink.Store, _ *snapshot.Checkpoint) {
			t.Helper()
			require.NoError(t, store.Write(t.Context(), snapshot.CheckpointPath("r", 0, "students"), []byte(`{"data`), sink.Condition{}))
		},
		"of another task": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			j.Dataset = "schools"
			require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.CheckpointPath("r", 0, "students"), j, sink.Condition{}))
		},
		"without a table": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			clear(j.Files)
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", j))
		},
		"of other schools": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			j.Ledger[0].SchoolBid = "s9"
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", j))
		},
		"of too many schools": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			j.Ledger = append(j.Ledger, j.Ledger[0])
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", j))
		},
		"of a file that is gone": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			require.NoError(t, store.Abort(t.Context(), "r", j.Files["students"]))
		},
	}
	for name, do := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			plan := snapshottest.NewPlan("r", snapshottest.Few)
			snapshottest.StageRun(t, store, plan, nil)
			checkpoints, err := snapshot.At(store).ReadCheckpoints(t.Context(), "r")
			require.NoError(t, err)
			require.Len(t, checkpoints, 2)
			do(t, store, checkpoints[1])
			g, err := snapshot.At(store).Collect(t.Context(), plan)
			require.NoError(t, err)
			require.Equal(t, []snapshot.Task{task}, g.Missing)
			snapshottest.StageTask(t, store, plan, task, nil)
			snapshottest.PublishRun(t, store, "r")
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
		})
	}
}

func TestRetryAbortsEarlierFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("r", snapshottest.Few)
	snapshottest.StageRun(t, store, plan, snapshottest.StatusOf{"s1": snapshot.StatusFailed})
	files := len(snapshottest.Tree(t, root))
	earlier := snapshottest.Collect(t, store, "r").Tables["students"].Files[0]
	checkpoint := snapshottest.StageTask(t, store, plan, snapshot.Task{Bucket: 0, Dataset: "students"}, nil)
	require.Len(t, snapshottest.Tree(t, root), files)
	holds, err := store.Holds(t.Context(), "r", earlier)
	require.NoError(t, err)
	require.False(t, holds)

	t.Log("writing the same checkpoint again drops nothing")
	require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", checkpoint))
	g := snapshottest.Collect(t, store, "r")
	require.Empty(t, g.Missing)
	require.Empty(t, g.Failed)
	require.EqualValues(t, 2, g.Schools.OK)
}

// Two processes do the same task at the same time, and the faster one publishes the run without knowing of the other.
func TestTaskStagedByTwoProcesses(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("r", snapshottest.Few)
	snapshottest.StageRun(t, store, plan, nil)
	g := snapshottest.Collect(t, store, "r")
	task := snapshot.Task{Bucket: 0, Dataset: "students"}
	snapshottest.StageTask(t, store, plan, task, nil)
	_, err := snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.NoError(t, err)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	published := snapshottest.Tree(t, root)

	t.Log("the slower process may finish after everything is done")
	snapshottest.StageTask(t, store, plan, task, nil)
	require.NotEqual(t, published, snapshottest.Tree(t, root))
	_, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.NoError(t, err)
	require.Equal(t, published, snapshottest.Tree(t, root))
}

func TestRequestsAdd(t *testing.T) {
	t.Parallel()
	var sum snapshot.Requests
	sum.Add(snapshot.Requests{Total: 1, Retries: 2, TokenRefreshes: 3, ByStatus: map[string]int64{"200": 1}})
	sum.Add(snapshot.Requests{Total: 1, ByStatus: map[string]int64{"200": 1, "404": 1}})
	require.Equal(t, snapshot.Requests{Total: 2, Retries: 2, TokenRefreshes: 3, ByStatus: map[string]int64{"200": 2, "404": 1}}, sum)
}
