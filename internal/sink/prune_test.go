package sink

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pruneSite is a destination of a week of full snapshots, one of them replaced,
// three as-of snapshots and two sets of changes.
func pruneSite(t *testing.T, store Store) {
	t.Helper()
	for _, day := range []string{"14", "15", "16", "17"} {
		takeSnapshot(t, store, newPlan("full-"+day, few, onDate("2026-11-"+day)))
	}
	takeSnapshot(t, store, newPlan("again-14", few, onDate("2026-11-14"), planned(time.Hour)))
	filtered := func(p *Plan) { p.Scope.Schools = []string{"s1"} }
	takeSnapshot(t, store, newPlan("filtered-18", few, onDate("2026-11-18"), filtered))
	takeSnapshot(t, store, newPlan("filtered-19", few, onDate("2026-11-19"), filtered))
	for month, taken := range map[string]string{"09": "2026-11-19", "10": "2026-11-10", "11": "2026-11-11"} {
		takeSnapshot(t, store, newPlan("as-of-"+month, few, onDate(taken), func(p *Plan) {
			p.Kind, p.SnapshotDate = AsOf, "2025-"+month+"-01"
		}))
	}
	for _, hour := range []string{"1", "2"} {
		takeSnapshot(t, store, newPlan("delta-"+hour, few, onDate("2026-11-15"), func(p *Plan) {
			p.Kind = Delta
			p.PlannedAt = p.PlannedAt.Add(time.Duration(hour[0]-'0') * time.Hour)
		}))
	}
}

func removedRuns(r *PruneReport) []string {
	var runs []string
	for _, run := range r.Removed {
		runs = append(runs, run.RunID)
	}
	slices.Sort(runs)
	return runs
}

func TestPrune(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options PruneOptions
		removed []string
		kept    int
	}{
		{"one of each kind", PruneOptions{Keep: 1}, []string{
			"again-14", "as-of-09", "as-of-10", "delta-1", "filtered-18", "full-14", "full-15", "full-16",
		}, 4},
		{"four of each kind", PruneOptions{Keep: 4}, []string{"again-14", "full-14", "full-15"}, 9},
		{"many", PruneOptions{Keep: 100}, nil, 11},
		{"five days", PruneOptions{KeepDays: 5}, []string{"again-14", "full-14", "as-of-10", "as-of-11"}, 8},
		{"one day", PruneOptions{KeepDays: 1}, []string{
			"again-14", "as-of-10", "as-of-11", "delta-1", "delta-2", "filtered-18", "full-14", "full-15", "full-16",
		}, 3},
		{"many days", PruneOptions{KeepDays: 1000}, nil, 11},
	}
	start := t.TempDir()
	pruneSite(t, newDir(t, start))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := copyTree(t, start)
			store := newDir(t, root)
			before := tree(t, root)
			test.options.Now, test.options.DryRun = publishedAt, true
			would, err := Prune(t.Context(), store, test.options)
			require.NoError(t, err)
			require.Equal(t, before, tree(t, root))

			test.options.DryRun = false
			report, err := Prune(t.Context(), store, test.options)
			require.NoError(t, err)
			require.Equal(t, would.Removed, report.Removed)
			slices.Sort(test.removed)
			require.Equal(t, test.removed, removedRuns(report))
			require.Equal(t, test.kept, report.Kept)
			require.Equal(t, test.kept, would.Kept)

			after := tree(t, root)
			for name, text := range after {
				require.Equal(t, before[name], text, name)
			}
			for name := range before {
				ours := slices.ContainsFunc(test.removed, func(run string) bool { return strings.Contains(name, run) })
				_, there := after[name]
				if !strings.HasPrefix(name, "_snapshots/") && !strings.HasPrefix(name, "_as_of/") {
					require.Equal(t, !ours, there, name)
				}
			}
			runs, err := Runs(t.Context(), store)
			require.NoError(t, err)
			for _, run := range runs {
				if run.State == StatePublished {
					requireVerified(t, store, VerifyTarget{RunID: run.RunID})
				}
			}
			requireVerified(t, store, VerifyTarget{})
			again, err := Prune(t.Context(), store, test.options)
			require.NoError(t, err)
			require.Empty(t, again.Removed)
		})
	}
}

// TestPruneLeaves what is not published, what it cannot judge, and tells of it.
func TestPruneLeaves(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	pruneSite(t, store)
	stageRun(t, store, newPlan("staged", few, onDate("2026-11-01")), nil)
	require.NoError(t, os.WriteFile(filepath.Join(root, ManifestPath("full-15")), []byte("{"), 0o600))
	_, err := Prune(t.Context(), store, PruneOptions{Keep: 1, Now: publishedAt})
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, ManifestPath("full-15"))
	left := slices.Collect(maps.Keys(tree(t, root)))
	require.Contains(t, left, PlanPath("full-15"))
	require.Contains(t, left, PlanPath("staged"))
	require.NotContains(t, left, PlanPath("full-16"))
	publishRun(t, store, "staged")

	for _, options := range []PruneOptions{{}, {Keep: 1, KeepDays: 1}} {
		_, err := Prune(t.Context(), store, options)
		require.Error(t, err)
	}
}

// TestPruneKilledAnywhere kills a pruning before its operations: readers by
// pointer find whole snapshots alone, and the next prune, which keeps more,
// finishes what was begun.
func TestPruneKilledAnywhere(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	store := newDir(t, start)
	for _, day := range []string{"17", "18", "19"} {
		takeSnapshot(t, store, newPlan("full-"+day, few, onDate("2026-11-"+day)))
	}
	prune := func(ctx context.Context, store Store) error {
		_, err := Prune(ctx, store, PruneOptions{Keep: 1, Now: publishedAt})
		return err
	}
	requireKilledAnywhere(t, start, prune, "full-17", "full-18", "full-19")

	// Killed once the pointer is gone, and then nothing would be removed any more.
	for n := 0; n < 60; n += 3 {
		root := copyTree(t, start)
		dead := &mortal{Store: newDir(t, root)}
		dead.left.Store(int64(n))
		require.ErrorIs(t, prune(t.Context(), dead), errKilled)
		alive := newDir(t, root)
		_, err := Prune(t.Context(), alive, PruneOptions{Keep: 100, Now: publishedAt})
		require.NoError(t, err)
		runs, err := Runs(t.Context(), alive)
		require.NoError(t, err)
		for _, run := range runs {
			requireVerified(t, alive, VerifyTarget{SnapshotDate: run.SnapshotDate})
			requireVerified(t, alive, VerifyTarget{RunID: run.RunID})
		}
		require.NoError(t, os.RemoveAll(root))
	}
}

// stuck is a store whose locks cannot be given up.
type stuck struct{ Store }

var errStuck = errors.New("the lock is stuck")

func (stuck) Lock(context.Context, string, LockMode, time.Duration) (func() error, error) {
	return func() error { return errStuck }, nil
}

// TestLockThatCannotBeGivenUp is told of, though what was asked for is done.
func TestLockThatCannotBeGivenUp(t *testing.T) {
	t.Parallel()
	store := stuck{newDir(t, t.TempDir())}
	pruned, err := Prune(t.Context(), store, PruneOptions{Keep: 1, Now: morning})
	require.ErrorIs(t, err, errStuck)
	require.Empty(t, pruned.Removed)
	purged, err := Purge(t.Context(), store, PurgeOptions{Schools: []string{"x"}, AllowUnknown: true, Now: morning})
	require.ErrorIs(t, err, errStuck)
	require.Empty(t, purged.Runs)
}
