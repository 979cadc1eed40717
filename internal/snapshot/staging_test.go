package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestRemoveStaging drops files that another process of a published run continues to stage, and nothing else of this or
// other runs.
func TestRemoveStaging(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("other", snapshottest.Few), nil)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run", snapshottest.Few))
	want := snapshottest.Tree(t, root)

	plan := snapshottest.NewPlan("run", snapshottest.Few)
	for _, task := range plan.Tasks() {
		snapshottest.StageTask(t, store, plan, task, nil)
	}
	require.NoError(t, snapshot.At(store).Hold(t.Context(), "run", snapshot.Held{Reasons: shrunk()}))
	require.NotEqual(t, want, snapshottest.Tree(t, root))
	require.NoError(t, snapshot.At(store).RemoveStaging(t.Context(), "run"))
	require.Equal(t, want, snapshottest.Tree(t, root))
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}
