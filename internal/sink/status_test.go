package sink

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	ctx := t.Context()
	runs, err := Runs(ctx, store)
	require.NoError(t, err)
	require.Empty(t, runs)

	takeSnapshot(t, store, newPlan("1-replaced", few))
	m := takeSnapshot(t, store, newPlan("2-published", few))
	stageRun(t, store, newPlan("3-publishing", few), nil)
	_, _, err = beginPublishing(ctx, store, gather(t, store, "3-publishing"), options(), "")
	require.NoError(t, err)
	stageRun(t, store, newPlan("4-held", few), statusOf{"s1": StatusFailed, "s2": StatusDenied})
	require.NoError(t, Hold(ctx, store, "4-held", Held{Reasons: []string{"too many", "too few"}}))
	stageRun(t, store, newPlan("5-staged", few), nil)
	_, err = CreatePlan(ctx, store, newPlan("6-staging", few))
	require.NoError(t, err)
	stageUnit(t, store, newPlan("6-staging", few), Unit{Bucket: 0, Dataset: "students"}, nil)
	_, err = CreatePlan(ctx, store, newPlan("7-begun", few))
	require.NoError(t, err)
	takeSnapshot(t, store, newPlan("0-earlier", few, onDate("2026-11-01")))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "_runs/8-damaged"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/8-damaged/plan.json"), []byte(`{"run`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/stray"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/1-replaced.txt"), nil, 0o600))

	runs, err = Runs(ctx, store)
	require.NoError(t, err)
	type short struct {
		run, state    string
		staged, units int
	}
	var got []short
	for _, run := range runs {
		got = append(got, short{run.RunID, run.State, run.Staged, run.Units})
		if run.RunID != "8-damaged" {
			require.False(t, run.LastProgress.IsZero(), run.RunID)
			require.Empty(t, run.Problems)
			require.EqualValues(t, 2, run.Schools)
		}
	}
	require.Equal(t, []short{
		{"7-begun", StateStaging, 0, 2},
		{"6-staging", StateStaging, 1, 2},
		{"5-staged", StateStaged, 2, 2},
		{"4-held", StateHeld, 2, 2},
		{"3-publishing", StatePublishing, 2, 2},
		{"2-published", StatePublished, 2, 2},
		{"1-replaced", StateReplaced, 2, 2},
		{"0-earlier", StatePublished, 2, 2},
		{"8-damaged", StateStaging, 0, 0},
	}, got, "those planned last first")
	var rows, bytes int64
	for _, file := range m.files() {
		rows += file.Rows
		bytes += file.Bytes
	}
	require.Equal(t, rows, runs[5].Rows)
	require.Equal(t, bytes, runs[5].Bytes)
	require.Equal(t, 90*time.Minute, runs[5].Duration)
	held := runs[3]
	require.Equal(t, []string{"too many", "too few"}, held.Reasons)
	require.Empty(t, held.SupersededBy)
	require.EqualValues(t, 1, held.Failed)
	require.EqualValues(t, 1, held.Denied)
	require.Len(t, runs[8].Problems, 1)
	require.Contains(t, runs[8].Problems[0], "_runs/8-damaged/plan.json")

	t.Log("progress is that of the newest staged file")
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	staged, err := os.ReadDir(filepath.Join(root, "_staging/6-staging"))
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(root, "_staging/6-staging", staged[0].Name()), later, later))
	runs, err = Runs(ctx, store)
	require.NoError(t, err)
	require.WithinDuration(t, later, runs[1].LastProgress, 0)

	t.Log("a held run whose date was published since is superseded")
	takeSnapshot(t, store, newPlan("9-since", few, planned(time.Hour)))
	runs, err = Runs(ctx, store)
	require.NoError(t, err)
	require.Equal(t, "9-since", runs[0].RunID)
	require.Equal(t, "4-held", runs[4].RunID)
	require.Equal(t, "9-since", runs[4].SupersededBy)
	require.Empty(t, runs[4].Reasons)
}
