package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

var errKilled = errors.New("the process was killed")

// mortal is a Store whose process is killed before one of its operations. The
// locks of a killed process are given up, as the system does.
type mortal struct {
	Store

	left atomic.Int64 // operations that it lives to see
	// wait is called before each operation, if it is set.
	wait func()
}

// step does an operation, unless the process is dead.
func (m *mortal) step(do func() error) error {
	if m.wait != nil {
		m.wait()
	}
	if m.left.Add(-1) < 0 {
		return errKilled
	}
	return do()
}

func (m *mortal) Draft(ctx context.Context, run, path string) (Draft, error) {
	var draft Draft
	err := m.step(func() (err error) {
		draft, err = m.Store.Draft(ctx, run, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &mortalDraft{Draft: draft, of: m}, nil
}

type mortalDraft struct {
	Draft

	of *mortal
}

func (d *mortalDraft) Write(p []byte) (n int, err error) {
	err = d.of.step(func() error {
		n, err = d.Draft.Write(p)
		return err
	})
	return n, err
}

func (d *mortalDraft) Stage(ctx context.Context) (staged []byte, err error) {
	err = d.of.step(func() error {
		staged, err = d.Draft.Stage(ctx)
		return err
	})
	return staged, err
}

func (d *mortalDraft) Abort() error { return d.of.step(d.Draft.Abort) }

func (m *mortal) Holds(ctx context.Context, run string, file File) (holds bool, err error) {
	err = m.step(func() error {
		holds, err = m.Store.Holds(ctx, run, file)
		return err
	})
	return holds, err
}

func (m *mortal) Intact(ctx context.Context, run string, file File) (intact bool, err error) {
	err = m.step(func() error {
		intact, err = m.Store.Intact(ctx, run, file)
		return err
	})
	return intact, err
}

func (m *mortal) Commit(ctx context.Context, run string, file File) error {
	return m.step(func() error { return m.Store.Commit(ctx, run, file) })
}

func (m *mortal) Abort(ctx context.Context, run string, file File) error {
	return m.step(func() error { return m.Store.Abort(ctx, run, file) })
}

func (m *mortal) Sweep(ctx context.Context, run string) error {
	return m.step(func() error { return m.Store.Sweep(ctx, run) })
}

func (m *mortal) Read(ctx context.Context, path string) (data []byte, version string, err error) {
	err = m.step(func() error {
		data, version, err = m.Store.Read(ctx, path)
		return err
	})
	return data, version, err
}

func (m *mortal) Write(ctx context.Context, path string, data []byte, when Condition) error {
	return m.step(func() error { return m.Store.Write(ctx, path, data, when) })
}

func (m *mortal) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	if err := m.step(func() error { return nil }); err != nil {
		return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
	}
	return m.Store.List(ctx, prefix)
}

func (m *mortal) Open(ctx context.Context, path string) (object Object, err error) {
	err = m.step(func() error {
		object, err = m.Store.Open(ctx, path)
		return err
	})
	return object, err
}

func (m *mortal) Remove(ctx context.Context, path string) error {
	return m.step(func() error { return m.Store.Remove(ctx, path) })
}

func (m *mortal) Lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (unlock func() error, err error) {
	err = m.step(func() error {
		unlock, err = m.Store.Lock(ctx, name, mode, patience)
		return err
	})
	return unlock, err
}

// finishAll finishes every publishing that was cut short.
func finishAll(ctx context.Context, store Store) error {
	recovered, err := Recover(ctx, store)
	return errors.Join(err, recovered.Err())
}

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
	pointers, err := ListAll(t.Context(), alive, snapshotPrefix)
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

// copyTree returns a copy of a destination. Its files are links, which is as
// good, for a Dir never writes into a file that has a name.
func copyTree(t *testing.T, root string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Mkdir(filepath.Join(to, name), 0o700)
		}
		return os.Link(path, filepath.Join(to, name))
	}))
	return to
}

// few makes a plan small: two tables, one bucket.
func few(p *Plan) {
	datasets("schools", "students")(p)
	p.Schools, p.Buckets = p.Schools[:2], p.Buckets[:1]
}

// lockless is a Store without locks, as S3 is: the conditional writes alone
// keep publishers apart.
type lockless struct{ Store }

func (lockless) Lock(context.Context, string, LockMode, time.Duration) (func() error, error) {
	return func() error { return nil }, nil
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
		require.NotContains(t, name, changeName)
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
