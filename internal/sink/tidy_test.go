package sink

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTidy drops what another process of a published run goes on to stage, and
// nothing of the run or of others.
func TestTidy(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	stageRun(t, store, newPlan("other", few), nil)
	takeSnapshot(t, store, newPlan("run", few))
	want := tree(t, root)

	plan := newPlan("run", few)
	for _, unit := range plan.Units() {
		stageUnit(t, store, plan, unit, nil)
	}
	require.NoError(t, Hold(t.Context(), store, "run", Held{Reasons: []string{"a school failed"}}))
	require.NotEqual(t, want, tree(t, root))
	require.NoError(t, Tidy(t.Context(), store, "run"))
	require.Equal(t, want, tree(t, root))
	requireVerified(t, store, VerifyTarget{})
}
