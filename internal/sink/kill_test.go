package sink

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
)

// finish does what the next command does: it finishes what was begun, and
// publishes the run if that had not begun.
func finish(ctx context.Context, store Store, run string) error {
	if err := finishAll(ctx, store); err != nil {
		return err
	}
	plan, err := ReadPlan(ctx, store, run)
	if err != nil {
		return err
	}
	g, err := Gather(ctx, store, plan)
	if err != nil {
		return err
	}
	_, err = Publish(ctx, store, g, options())
	return err
}

// TestKilledAnywhere kills a publishing before every operation and expects the next command to come to the very same end.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// every is 1 to be killed before each operation, more to pass over
		// some: a kill costs dear, and most steps are those of other tests.
		every int
		setUp func(t *testing.T, store Store)
	}{
		{"the first run", 1, func(t *testing.T, store Store) {
			t.Helper()
			stageRun(t, store, newPlan("new", few), nil)
		}},
		{"a run that replaces the latest", 1, func(t *testing.T, store Store) {
			t.Helper()
			takeSnapshot(t, store, newPlan("earlier", few, onDate("2026-11-19")))
			takeSnapshot(t, store, newPlan("old", datasets("schools", "districts")))
			stageRun(t, store, newPlan("new", few, planned(time.Hour), func(p *Plan) { p.Replace = true }), nil)
		}},
		{"an as-of run", 4, func(t *testing.T, store Store) {
			t.Helper()
			takeSnapshot(t, store, newPlan("full", few))
			past := func(p *Plan) { p.Kind, p.SnapshotDate = AsOf, "2025-09-01" }
			takeSnapshot(t, store, newPlan("old", few, past))
			stageRun(t, store, newPlan("new", few, past), nil)
		}},
		{"a delta run", 3, func(t *testing.T, store Store) {
			t.Helper()
			takeSnapshot(t, store, newPlan("full", few))
			stageRun(t, store, newPlan("new", few, func(p *Plan) { p.Kind = Delta }), nil)
		}},
		{"a run that was begun and lost its date meanwhile", 1, func(t *testing.T, store Store) {
			t.Helper()
			stageRun(t, store, newPlan("new", few), nil)
			begun, _, err := beginPublishing(t.Context(), store, gather(t, store, "new"), options(), "")
			require.NoError(t, err)
			require.NoError(t, store.Commit(t.Context(), "new", begun.files()[0]))
			takeSnapshot(t, store, newPlan("later", few, planned(time.Hour)))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			test.setUp(t, newDir(t, start))

			undisturbed := copyTree(t, start)
			counter := &mortal{Store: newDir(t, undisturbed)}
			counter.left.Store(1 << 40)
			require.NoError(t, finish(t.Context(), counter, "new"))
			want := tree(t, undisturbed)
			operations := int(1<<40 - counter.left.Load())
			require.Greater(t, operations, 20)
			require.NotContains(t, want, "_staging/")

			for n := 0; n < operations; n += test.every {
				requireSameEnd(t, copyTree(t, start), want, n, "new")
			}
		})
	}
}

func requireSameEnd(t *testing.T, root string, want map[string]string, n int, run string) {
	t.Helper()
	dead := &mortal{Store: newDir(t, root)}
	dead.left.Store(int64(n))
	when := fmt.Sprintf("killed after %d operations", n)
	require.ErrorIs(t, finish(t.Context(), dead, run), errKilled, when)

	// Whatever the pointers of dates name is whole at any time.
	alive := newDir(t, root)
	pointers, err := ListAll(t.Context(), alive, "_snapshots/")
	require.NoError(t, err)
	for _, entry := range pointers {
		date := filepath.Base(entry.Path)[:len(today)]
		report, err := Verify(t.Context(), alive, VerifyTarget{SnapshotDate: date})
		require.NoError(t, err, when)
		require.Empty(t, report.Problems, when)
	}
	require.NoError(t, finish(t.Context(), alive, run), when)
	got := tree(t, root)
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
			takeSnapshot(t, newDir(t, start), newPlan("old", few))
			stageRun(t, newDir(t, start), newPlan("a", few, planned(time.Hour)), nil)
			stageRun(t, newDir(t, start), newPlan("b", few, planned(2*time.Hour)), nil)
			for range 10 {
				root := copyTree(t, start)
				var group errgroup.Group
				for _, run := range []string{"a", "b"} {
					var store Store = newDir(t, root)
					if !locks {
						store = lockless{store}
					}
					group.Go(func() error {
						plan, err := ReadPlan(t.Context(), store, run)
						if err != nil {
							return err
						}
						g, err := Gather(t.Context(), store, plan)
						if err != nil {
							return err
						}
						_, err = Publish(t.Context(), store, g, options())
						if errors.Is(err, ErrConflict) {
							err = nil // the other one won
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

// requireOneWinner expects that one of the runs is the published snapshot of
// today, and that nothing is left of the data of the others.
func requireOneWinner(t *testing.T, root string, runs []string) {
	t.Helper()
	store := newDir(t, root)
	winner := requireVerified(t, store, VerifyTarget{}).RunID
	named := make(map[string]bool)
	for _, run := range runs {
		m, err := ReadManifest(t.Context(), store, run)
		require.NoError(t, err)
		want := Replaced
		if run == winner {
			want = Published
			for _, table := range m.Tables {
				for _, file := range table.Files {
					named[file.Path] = true
				}
			}
		}
		require.Equal(t, want, m.Status, "run %s, %s has won", run, winner)
	}
	for name := range tree(t, root) {
		if name[0] != '_' {
			require.True(t, named[name], "%s is not of %s, which has won", name, winner)
		}
		require.NotContains(t, name, "_staging")
		require.NotContains(t, name, "change.json")
	}
	requireVerified(t, store, VerifyTarget{SnapshotDate: today})
}

func TestManyPublishersOfARun(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	takeSnapshot(t, newDir(t, start), newPlan("old", few))
	stageRun(t, newDir(t, start), newPlan("new", few, planned(time.Hour)), nil)
	undisturbed := copyTree(t, start)
	require.NoError(t, finish(t.Context(), newDir(t, undisturbed), "new"))
	want := tree(t, undisturbed)
	for _, locks := range []bool{true, false} {
		t.Run(fmt.Sprintf("locks %v", locks), func(t *testing.T) {
			t.Parallel()
			for range 5 {
				root := copyTree(t, start)
				var group errgroup.Group
				for range 3 {
					var store Store = newDir(t, root)
					if !locks {
						store = lockless{store}
					}
					group.Go(func() error {
						plan, err := ReadPlan(t.Context(), store, "new")
						if err != nil {
							return err
						}
						g, err := Gather(t.Context(), store, plan)
						if err != nil {
							return err
						}
						_, err = Publish(t.Context(), store, g, options())
						if _, missing := errors.AsType[*MissingError](err); missing {
							// Another one was through with it while this one gathered.
							err = finishAll(t.Context(), store)
						}
						return err
					})
				}
				require.NoError(t, group.Wait())
				require.NoError(t, finish(t.Context(), newDir(t, root), "new"))
				require.Equal(t, want, tree(t, root))
			}
		})
	}
}
