package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// finish does what the next command does: it finishes interrupted changes, and publishes the run if no change had
// begun.
func finish(ctx context.Context, store sink.Store, run string) error {
	if err := snapshottest.FinishAll(ctx, store); err != nil {
		return err
	}
	plan, err := snapshot.At(store).ReadPlan(ctx, run)
	if err != nil {
		return err
	}
	g, err := snapshot.At(store).Collect(ctx, plan)
	if err != nil {
		return err
	}
	_, err = snapshot.At(store).Publish(ctx, g, snapshottest.Options())
	return err
}

// TestKilledAnywhere kills a Publish before every write, fails every read of it, and expects exactly the same result
// from the next command. If Publish does not report an error, the result must already be there.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// every is 1 to kill the process before each operation, and higher to skip some: kills are expensive, and other
		// tests cover most steps.
		every int
		setUp func(t *testing.T, store sink.Store)
	}{
		{"the first run", 1, func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("new", snapshottest.Few), nil)
		}},
		{"a run that replaces the latest", 1, func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("earlier", snapshottest.Few, snapshottest.OnDate("2026-11-19")))
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("old", snapshottest.Datasets("schools", "districts")))
			snapshottest.StageRun(t, store, snapshottest.NewPlan("new", snapshottest.Few, snapshottest.Planned(time.Hour), func(p *snapshot.Plan) { p.Replace = true }), nil)
		}},
		{"an as-of run", 4, func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full", snapshottest.Few))
			past := func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, "2025-09-01" }
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("old", snapshottest.Few, past))
			snapshottest.StageRun(t, store, snapshottest.NewPlan("new", snapshottest.Few, past), nil)
		}},
		{"a delta run", 3, func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("full", snapshottest.Few))
			snapshottest.StageRun(t, store, snapshottest.NewPlan("new", snapshottest.Few, func(p *snapshot.Plan) { p.Kind = snapshot.Delta }), nil)
		}},
		{"a run that lost its date after it began to be published", 1, func(t *testing.T, store sink.Store) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("new", snapshottest.Few), nil)
			begun, _, err := snapshot.BeginPublishing(snapshot.At(store), t.Context(), snapshottest.Collect(t, store, "new"), snapshottest.Options(), "")
			require.NoError(t, err)
			require.NoError(t, store.Commit(t.Context(), "new", begun.Files()[0]))
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("later", snapshottest.Few, snapshottest.Planned(time.Hour)))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			test.setUp(t, snapshottest.NewDir(t, start))

			undisturbed := snapshottest.CopyTree(t, start)
			counter := &snapshottest.Mortal{Store: snapshottest.NewDir(t, undisturbed)}
			counter.Left.Store(1 << 40)
			require.NoError(t, finish(t.Context(), counter, "new"))
			want := snapshottest.Tree(t, undisturbed)
			operations := int(1<<40 - counter.Left.Load())
			require.Greater(t, operations, 20)
			require.NotContains(t, want, "_staging/")

			for n := 0; n < operations; n += test.every {
				requireSameEnd(t, snapshottest.CopyTree(t, start), want, n, "new")
			}
		})
	}
}

func requireSameEnd(t *testing.T, root string, want map[string]string, n int, run string) {
	t.Helper()
	dead := &snapshottest.Mortal{Store: snapshottest.NewDir(t, root), Survives: true}
	dead.Left.Store(int64(n))
	when := fmt.Sprintf("after %d operations", n)
	err := finish(t.Context(), dead, run)
	if err == nil {
		require.Equal(t, want, snapshottest.Tree(t, root), when)
	} else {
		require.ErrorIs(t, err, snapshottest.ErrKilled, when)
	}

	// Every run that a pointer refers to is complete at any time.
	alive := snapshottest.NewDir(t, root)
	pointers, err := sink.ListAll(t.Context(), alive, "_snapshots/")
	require.NoError(t, err)
	for _, entry := range pointers {
		date := filepath.Base(entry.Path)[:len(snapshottest.Today)]
		report, err := maintenance.Verify(t.Context(), snapshot.At(alive), maintenance.VerifyTarget{SnapshotDate: date})
		require.NoError(t, err, when)
		require.Empty(t, report.Problems, when)
	}
	require.NoError(t, finish(t.Context(), alive, run), when)
	got := snapshottest.Tree(t, root)
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)), when)
	require.Equal(t, want, got, when)
	require.NoError(t, os.RemoveAll(root))
}

func TestTwoPublishersOfADate(t *testing.T) {
	t.Parallel()
	for _, locks := range []bool{true, false} {
		t.Run(fmt.Sprintf("locks %v", locks), func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			snapshottest.TakeSnapshot(t, snapshottest.NewDir(t, start), snapshottest.NewPlan("old", snapshottest.Few))
			snapshottest.StageRun(t, snapshottest.NewDir(t, start), snapshottest.NewPlan("a", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
			snapshottest.StageRun(t, snapshottest.NewDir(t, start), snapshottest.NewPlan("b", snapshottest.Few, snapshottest.Planned(2*time.Hour)), nil)
			for range 10 {
				root := snapshottest.CopyTree(t, start)
				var group errgroup.Group
				for _, run := range []string{"a", "b"} {
					var store sink.Store = snapshottest.NewDir(t, root)
					if !locks {
						store = snapshottest.Lockless{Store: store}
					}
					group.Go(func() error {
						plan, err := snapshot.At(store).ReadPlan(t.Context(), run)
						if err != nil {
							return err
						}
						g, err := snapshot.At(store).Collect(t.Context(), plan)
						if err != nil {
							return err
						}
						_, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
						if errors.Is(err, sink.ErrConflict) {
							err = nil // the other run won
						}
						return err
					})
				}
				require.NoError(t, group.Wait())
				requireOneWinner(t, root, []string{"old", "a", "b"})
			}
		})
	}
}

// requireOneWinner requires that one of the runs is the published snapshot of today, and that no data of the others is
// left.
func requireOneWinner(t *testing.T, root string, runs []string) {
	t.Helper()
	store := snapshottest.NewDir(t, root)
	winner := snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{}).RunID
	named := make(map[string]bool)
	for _, run := range runs {
		m, err := snapshot.At(store).ReadManifest(t.Context(), run)
		require.NoError(t, err)
		want := snapshot.Replaced
		if run == winner {
			want = snapshot.Published
			for _, table := range m.Tables {
				for _, file := range table.Files {
					named[file.Path] = true
				}
			}
		}
		require.Equal(t, want, m.Status, "run %s, %s has won", run, winner)
	}
	for name := range snapshottest.Tree(t, root) {
		if name[0] != '_' {
			require.True(t, named[name], "%s does not belong to %s, which has won", name, winner)
		}
		require.NotContains(t, name, "_staging")
		require.NotContains(t, name, "change.json")
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today})
}

func TestManyPublishersOfARun(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	snapshottest.TakeSnapshot(t, snapshottest.NewDir(t, start), snapshottest.NewPlan("old", snapshottest.Few))
	snapshottest.StageRun(t, snapshottest.NewDir(t, start), snapshottest.NewPlan("new", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
	undisturbed := snapshottest.CopyTree(t, start)
	require.NoError(t, finish(t.Context(), snapshottest.NewDir(t, undisturbed), "new"))
	want := snapshottest.Tree(t, undisturbed)
	for _, locks := range []bool{true, false} {
		t.Run(fmt.Sprintf("locks %v", locks), func(t *testing.T) {
			t.Parallel()
			for range 5 {
				root := snapshottest.CopyTree(t, start)
				var group errgroup.Group
				for range 3 {
					var store sink.Store = snapshottest.NewDir(t, root)
					if !locks {
						store = snapshottest.Lockless{Store: store}
					}
					group.Go(func() error {
						plan, err := snapshot.At(store).ReadPlan(t.Context(), "new")
						if err != nil {
							return err
						}
						g, err := snapshot.At(store).Collect(t.Context(), plan)
						if err != nil {
							return err
						}
						_, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
						if _, missing := errors.AsType[*snapshot.MissingError](err); missing {
							// Another process finished publishing the run while this one was staging.
							err = snapshottest.FinishAll(t.Context(), store)
						}
						return err
					})
				}
				require.NoError(t, group.Wait())
				require.NoError(t, finish(t.Context(), snapshottest.NewDir(t, root), "new"))
				require.Equal(t, want, snapshottest.Tree(t, root))
			}
		})
	}
}
