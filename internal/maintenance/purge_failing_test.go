package maintenance_test

import (
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeFailingOperation fails operations of the store, one in each dry run and each purge: a sample of
// them unless -kills is -1. The purge reports it, unless it ends exactly as undisturbed.
func TestPurgeFailingOperation(t *testing.T) {
	t.Parallel()
	nights := func(t *testing.T, store sink.Store) {
		t.Helper()
		historySite(t, store, snapshottest.Datasets("schools", "test_results"))
		snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld(), snapshottest.Datasets("schools"), snapshottest.Planned(time.Hour))
		_, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.WorldPlan("only-planned"))
		require.NoError(t, err)
	}
	type failing struct {
		setUp   func(t *testing.T, store sink.Store)
		options maintenance.PurgeOptions
	}
	ended := purgeOptions(nil, nil)
	ended.EndedForDays = 60
	unknown := purgeOptions([]string{snapshottest.Gone, "unknown"}, nil)
	unknown.AllowUnknown = true
	tests := map[string]failing{
		"schools":   {nights, unknown},
		"districts": {nights, purgeOptions(nil, []string{snapshottest.GoneDistrict})},
		"districts of pruned snapshots": {func(t *testing.T, store sink.Store) {
			t.Helper()
			nights(t, store)
			require.NoError(t, pruneTo(1)(t.Context(), store))
		}, purgeOptions(nil, []string{snapshottest.GoneDistrict})},
		"ended schools": {func(t *testing.T, store sink.Store) {
			t.Helper()
			endedSite(t, store, true)
		}, ended},
	}
	for name, options := range listedPurges(t) {
		tests[name] = failing{studentNights, options}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			test.setUp(t, snapshottest.NewDir(t, start))
			for _, test.options.DryRun = range []bool{true, false} {
				every := 8
				if test.options.DryRun {
					every = 4
				}
				failEach(t, start, test.options, sampled(every))
			}
		})
	}
}

// failEach fails some operations of a purge, one in each.
func failEach(t *testing.T, start string, options maintenance.PurgeOptions, every int) {
	t.Helper()
	purge := func(failing int64) (before int64, report *maintenance.PurgeReport, tree map[string]string, err error) {
		root := start
		if !options.DryRun {
			root = snapshottest.CopyTree(t, start)
			defer func() { require.NoError(t, os.RemoveAll(root)) }()
		}
		store := &snapshottest.Mortal{Store: snapshottest.NewDir(t, root), FailsOnce: true}
		store.Left.Store(failing)
		report, err = maintenance.Purge(t.Context(), snapshot.At(store), options)
		if err == nil {
			tree = snapshottest.Tree(t, root)
			maps.DeleteFunc(tree, func(path, _ string) bool { return path[len(path)-1] == '/' }) // empty folders
		}
		return failing - store.Left.Load(), report, tree, err
	}
	operations, want, tree, err := purge(1 << 40)
	require.NoError(t, err)
	require.Greater(t, operations, int64(20))
	for n := int64(0); n < operations; n += int64(every) {
		_, report, left, err := purge(n)
		when := fmt.Sprintf("operation %d of %d, dry run %v", n, operations, options.DryRun)
		if err == nil {
			require.Equal(t, want, report, when)
			require.Equal(t, tree, left, when)
			continue
		}
		require.ErrorIs(t, err, snapshottest.ErrKilled, when)
	}
}
