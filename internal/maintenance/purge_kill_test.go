package maintenance_test

import (
	"context"
	"os"
	"testing"
	"time"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"github.com/stretchr/testify/require"
)

// TestPurgeKilledAnywhere kills a purge before every operation and expects the
// same purge to come to the very same end, and every run to be whole at any
// time.
func TestPurgeKilledAnywhere(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	store := snapshottest.NewDir(t, start)
	snapshottest.PublishWorld(t, store, snapshottest.LatestRun, snapshottest.Datasets("schools", "test_results"))
	snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld(), snapshottest.Datasets("schools"), snapshottest.Planned(time.Hour))
	options := purgeOptions(nil, []string{snapshottest.GoneDistrict})
	purge := func(ctx context.Context, store sink.Store) error {
		_, err := maintenance.Purge(ctx, snapshot.At(store), options)
		return err
	}
	requireKilledAnywhere(t, start, purge, snapshottest.LatestRun)
}

// requireKilledAnywhere kills what do does before each of its operations,
// verifies the runs, those that are still there, and does it again.
func requireKilledAnywhere(t *testing.T, start string, do func(context.Context, sink.Store) error, runs ...string) {
	t.Helper()
	undisturbed := snapshottest.CopyTree(t, start)
	counter := &snapshottest.Mortal{Store: snapshottest.NewDir(t, undisturbed)}
	counter.Left.Store(1 << 40)
	require.NoError(t, do(t.Context(), counter))
	want := snapshottest.Tree(t, undisturbed)
	operations := int(1<<40 - counter.Left.Load())
	require.Greater(t, operations, 20)
	for n := range operations {
		root := snapshottest.CopyTree(t, start)
		dead := &snapshottest.Mortal{Store: snapshottest.NewDir(t, root)}
		dead.Left.Store(int64(n))
		require.ErrorIs(t, do(t.Context(), dead), snapshottest.ErrKilled, "killed after %d operations", n)
		alive := snapshottest.NewDir(t, root)
		for _, run := range runs {
			pointed, err := stillPointed(t.Context(), alive, run)
			require.NoError(t, err)
			if !pointed {
				continue
			}
			report, err := maintenance.Verify(t.Context(), snapshot.At(alive), maintenance.VerifyTarget{RunID: run})
			require.NoError(t, err)
			require.Empty(t, report.Problems, "killed after %d operations", n)
		}
		require.NoError(t, do(t.Context(), alive), "killed after %d operations", n)
		got := snapshottest.Tree(t, root)
		require.ElementsMatch(t, snapshottest.Names(want), snapshottest.Names(got), "killed after %d operations", n)
		require.Equal(t, want, got, "killed after %d operations", n)
		require.NoError(t, os.RemoveAll(root))
	}
}

// stillPointed reports whether readers can find the run: its pointer names it, or its manifest exists and needs no pointer.
func stillPointed(ctx context.Context, store sink.Store, run string) (bool, error) {
	change, _, err := snapshot.At(store).CurrentChange(ctx, run)
	if err != nil || change != nil && change.Prunes() {
		return false, err
	}
	manifest, err := snapshot.At(store).ReadManifest(ctx, run)
	if err != nil {
		return false, nil //nolint:nilerr // A run without a manifest does not exist for readers.
	}
	return manifest.Status == snapshot.Published, nil
}
