package sink

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPurgeKilledAnywhere kills a purge before every operation and expects the
// same purge to come to the very same end, and every run to be whole at any
// time.
func TestPurgeKilledAnywhere(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	store := newDir(t, start)
	publishWorld(t, store, latestRun, datasets("schools", "test_results"))
	stageWorld(t, store, "staged", purgeWorld(), datasets("schools"), planned(time.Hour))
	options := purgeOptions(nil, []string{goneDistrict})
	purge := func(ctx context.Context, store Store) error {
		_, err := Purge(ctx, store, options)
		return err
	}
	requireKilledAnywhere(t, start, purge, latestRun)
}

// requireKilledAnywhere kills what do does before each of its operations,
// verifies the runs, those that are still there, and does it again.
func requireKilledAnywhere(t *testing.T, start string, do func(context.Context, Store) error, runs ...string) {
	t.Helper()
	undisturbed := copyTree(t, start)
	counter := &mortal{Store: newDir(t, undisturbed)}
	counter.left.Store(1 << 40)
	require.NoError(t, do(t.Context(), counter))
	want := tree(t, undisturbed)
	operations := int(1<<40 - counter.left.Load())
	require.Greater(t, operations, 20)
	for n := range operations {
		root := copyTree(t, start)
		dead := &mortal{Store: newDir(t, root)}
		dead.left.Store(int64(n))
		require.ErrorIs(t, do(t.Context(), dead), errKilled, "killed after %d operations", n)
		alive := newDir(t, root)
		for _, run := range runs {
			pointed, err := stillPointed(t.Context(), alive, run)
			require.NoError(t, err)
			if !pointed {
				continue
			}
			report, err := Verify(t.Context(), alive, VerifyTarget{RunID: run})
			require.NoError(t, err)
			require.Empty(t, report.Problems, "killed after %d operations", n)
		}
		require.NoError(t, do(t.Context(), alive), "killed after %d operations", n)
		got := tree(t, root)
		require.ElementsMatch(t, names(want), names(got), "killed after %d operations", n)
		require.Equal(t, want, got, "killed after %d operations", n)
		require.NoError(t, os.RemoveAll(root))
	}
}

// stillPointed tells whether readers can find the run: its pointer names it, or
// its manifest is there and needs none.
func stillPointed(ctx context.Context, store Store, run string) (bool, error) {
	change, _, err := currentChange(ctx, store, run)
	if err != nil || change != nil && change.prunes() {
		return false, err
	}
	manifest, err := ReadManifest(ctx, store, run)
	if err != nil {
		return false, nil //nolint:nilerr // A run without a manifest is no run.
	}
	return manifest.Status == Published, nil
}
