package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
)

func conditions(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	ctx := t.Context()
	for _, path := range []string{"_latest.json", "_snapshots/2026-11-20.json", "_runs/r/journal/0001-x.json"} {
		_, _, err := store.Read(ctx, path)
		require.ErrorIs(t, err, sink.ErrNotFound)
		require.ErrorIs(t, store.Write(ctx, path, []byte("x"), sink.Condition{Version: "none"}), sink.ErrConflict)
		require.NoError(t, store.Write(ctx, path, []byte("first"), sink.Condition{Absent: true}))
		require.ErrorIs(t, store.Write(ctx, path, []byte("x"), sink.Condition{Absent: true}), sink.ErrConflict)
		data, first, err := store.Read(ctx, path)
		require.NoError(t, err)
		require.Equal(t, "first", string(data))
		require.NotEmpty(t, first)

		require.NoError(t, store.Write(ctx, path, []byte("the second"), sink.Condition{Version: first}))
		require.ErrorIs(t, d.Open(t).Write(ctx, path, []byte("x"), sink.Condition{Version: first}), sink.ErrConflict)
		data, second, err := d.Open(t).Read(ctx, path)
		require.NoError(t, err)
		require.Equal(t, "the second", string(data))
		require.NotEqual(t, first, second)

		require.NoError(t, store.Write(ctx, path, []byte("3"), sink.Condition{}))
		require.ErrorIs(t, store.Write(ctx, path, []byte("x"), sink.Condition{Version: second}), sink.ErrConflict)
		require.Equal(t, "3", string(content(t, store, path)))
		require.Empty(t, d.Leftovers(t))
	}
}

func firstWriter(t *testing.T, d Destination) {
	t.Helper()
	stores := []sink.Store{d.Open(t), d.Open(t), d.Open(t)}
	for round := range 5 {
		path := fmt.Sprintf("_runs/run-%d/plan.json", round)
		var winner atomic.Int64
		var group errgroup.Group
		for writer := range 9 {
			group.Go(func() error {
				err := stores[writer%3].Write(t.Context(), path, []byte(strconv.Itoa(writer)), sink.Condition{Absent: true})
				if errors.Is(err, sink.ErrConflict) {
					return nil
				}
				if err == nil && winner.Swap(int64(writer)+1) != 0 {
					return errors.New("two writers created the document")
				}
				return err
			})
		}
		require.NoError(t, group.Wait())
		require.Equal(t, strconv.FormatInt(winner.Load()-1, 10), string(content(t, stores[0], path)))
	}
	require.Empty(t, d.Leftovers(t))
}

func counter(t *testing.T, d Destination) {
	t.Helper()
	const writers, each = 4, 5
	path := "_snapshots/2026-11-20.json"
	require.NoError(t, d.Open(t).Write(t.Context(), path, []byte("0"), sink.Condition{Absent: true}))
	var group errgroup.Group
	for range writers {
		store := d.Open(t)
		group.Go(func() error {
			for done := 0; done < each; {
				data, version, err := store.Read(t.Context(), path)
				if err != nil {
					return err
				}
				n, err := strconv.Atoi(string(data))
				if err != nil {
					return err
				}
				err = store.Write(t.Context(), path, []byte(strconv.Itoa(n+1)), sink.Condition{Version: version})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, sink.ErrConflict):
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, strconv.Itoa(writers*each), string(content(t, d.Open(t), path)))
}

func listing(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	require.Empty(t, paths(t, store, ""))
	want := []string{"a-b", "a.b", "a/b-c", "a/b/c", "a/b/d", "a/c", "a0", "b/a", "snapshot_date=1/x"}
	for i := range want {
		path := want[(i*5)%len(want)]
		require.NoError(t, store.Write(t.Context(), path, []byte(path), sink.Condition{}))
	}
	require.Equal(t, want, paths(t, store, ""))
	for _, prefix := range []string{"a", "a/", "a/b", "a/b/", "a/b/c", "b", "snapshot_date=", "none", "none/", "_staging/", "a-b/"} {
		var some []string
		for _, path := range want {
			if strings.HasPrefix(path, prefix) {
				some = append(some, path)
			}
		}
		require.Equal(t, some, paths(t, store, prefix), "prefix %q", prefix)
	}
	for entry, err := range store.List(t.Context(), "a/") {
		require.NoError(t, err)
		require.EqualValues(t, len(entry.Path), entry.Bytes)
		require.WithinDuration(t, time.Now(), entry.Modified, time.Hour)
		break // A caller may stop a listing early.
	}
}

func oddNames(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	for _, name := range []string{
		"with blank", "per%20cent", "100%", "plus+and&", "what?#", "quote'\"", "ünï/çødé-日本", "eq=ual,s;",
		"...", ".hidden", "a\tb", strings.Repeat("x", 255), "deep/" + strings.Repeat("d/", 50) + "end",
	} {
		file := stage(t, store, name, []byte(name))
		require.NoError(t, store.Commit(t.Context(), owner, file), "%q", name)
		requireSame(t, []byte(name), content(t, store, name))
		require.Contains(t, paths(t, store, ""), name)
		require.NoError(t, store.Remove(t.Context(), name))
		require.NoError(t, store.Write(t.Context(), name, []byte(name), sink.Condition{Absent: true}), "%q", name)
		require.Equal(t, []string{name}, paths(t, store, ""))
		require.NoError(t, store.Remove(t.Context(), name))
	}
	for _, odd := range []string{"..", ".", "~locks", "a/../..", "", "run id"} {
		file, err := Stage(t.Context(), store, odd, "file", noise(10))
		require.NoError(t, err)
		holds, err := store.Holds(t.Context(), odd, file)
		require.NoError(t, err)
		require.True(t, holds)
		require.NoError(t, store.Commit(t.Context(), odd, file))
		require.NoError(t, store.Sweep(t.Context(), odd))
		require.NoError(t, store.Remove(t.Context(), "file"))
	}
	require.NoError(t, store.Sweep(t.Context(), owner))
	require.Empty(t, d.Leftovers(t))
}

func badPaths(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	for _, path := range []string{"", ".", "..", "../x", "a/../../x", "/x", "a//b", "a/", "a/./b", "_staging/x"} {
		for _, err := range call(t.Context(), store, path) {
			require.ErrorContains(t, err, "is not a valid path", "%q", path)
		}
	}
	require.Empty(t, paths(t, store, ""))
	require.Empty(t, d.Leftovers(t))
}

// call calls every method that takes a path and returns their errors.
func call(ctx context.Context, store sink.Store, path string) []error {
	_, draft := store.Draft(ctx, owner, path)
	_, holds := store.Holds(ctx, owner, sink.File{Path: path})
	_, _, read := store.Read(ctx, path)
	_, open := store.Open(ctx, path)
	return []error{
		draft, holds, read, open, store.Commit(ctx, owner, sink.File{Path: path}),
		store.Write(ctx, path, nil, sink.Condition{}), store.Remove(ctx, path),
	}
}

func removing(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	require.NoError(t, store.Remove(t.Context(), "a/b/c"))
	for _, path := range []string{"a/b/c", "a/b/d"} {
		require.NoError(t, store.Write(t.Context(), path, []byte("x"), sink.Condition{}))
	}
	require.NoError(t, store.Remove(t.Context(), "a/b/c"))
	require.NoError(t, store.Remove(t.Context(), "a/b/c"))
	require.Equal(t, []string{"a/b/d"}, paths(t, store, ""))
	require.NoError(t, store.Remove(t.Context(), "a/b/d"))
	require.Empty(t, paths(t, store, ""))
	require.Empty(t, d.Leftovers(t), "the folders are gone too")
	require.NoError(t, store.Write(t.Context(), "a/b/c", []byte("x"), sink.Condition{}))
}

func concurrent(t *testing.T, d Destination) {
	t.Helper()
	stores := []sink.Store{d.Open(t), d.Open(t)}
	var group errgroup.Group
	const workers, each = 8, 6
	for worker := range workers {
		store := stores[worker%2]
		group.Go(func() error {
			for i := range each {
				// Folders are created and removed while other goroutines create files in them.
				path := fmt.Sprintf("table-%d/date/part-%d-%d", i, worker, i)
				file, err := Stage(t.Context(), store, owner, path, []byte(path))
				if err != nil {
					return err
				}
				document := fmt.Sprintf("_runs/run-1/journal/%d-%d.json", worker, i)
				if err := errors.Join(
					store.Write(t.Context(), document, []byte(path), sink.Condition{}),
					store.Commit(t.Context(), owner, file),
					store.Remove(t.Context(), document),
				); err != nil {
					return err
				}
				if i%2 == 0 {
					if err := store.Remove(t.Context(), path); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	found := paths(t, stores[0], "")
	require.Len(t, found, workers*each/2)
	for _, path := range found {
		require.Equal(t, path, string(content(t, stores[1], path)))
	}
	require.NoError(t, stores[0].Sweep(t.Context(), owner))
	require.Empty(t, d.Leftovers(t))
}

func check(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	require.NoError(t, store.Check(t.Context()))
	require.Empty(t, paths(t, store, ""))
	require.Empty(t, d.Leftovers(t))
	require.NoError(t, store.Write(t.Context(), "document", []byte("x"), sink.Condition{}))
	require.NoError(t, store.Check(t.Context()))
	listed, err := store.ListsStaged(t.Context())
	require.NoError(t, err)
	require.True(t, listed)
	require.Empty(t, d.Leftovers(t))
	require.Equal(t, []string{"document"}, paths(t, store, ""))
	require.NotEmpty(t, store.String())
}

// described checks the Info with which readers find the destination, and that CheckReading succeeds after the first
// write.
func described(t *testing.T, d Destination) {
	t.Helper()
	store, other := d.Open(t), d.Open(t)
	info := store.Info()
	require.Equal(t, info, other.Info(), "it is the same for all stores of the destination")
	require.NotEmpty(t, info.URL)
	require.NotEmpty(t, info.HadoopURL)
	for _, url := range []string{info.URL, info.HadoopURL} {
		require.False(t, strings.HasSuffix(url, "/"), url)
	}
	require.NotContains(t, info.Session, "\n")
	if info.Folder == "" {
		require.Contains(t, info.URL, "://", "readers on other machines can find the destination")
		require.NotEmpty(t, info.Permissions)
	} else {
		require.Equal(t, filepath.ToSlash(info.Folder), info.URL)
	}
	require.NoError(t, store.Write(t.Context(), "document", []byte("x"), sink.Condition{}))
	require.NoError(t, store.CheckReading(t.Context()))
	require.Empty(t, d.Leftovers(t))
}

// requireLocked requires that a lock is held by a Store of this process. On a store without locks, it requires that
// Lock succeeds.
func requireLocked(t *testing.T, store sink.Store, name string, mode sink.LockMode) {
	t.Helper()
	unlock, err := store.Lock(t.Context(), name, mode, 0)
	if !store.Info().Locks {
		require.NoError(t, err)
		require.NoError(t, unlock())
		return
	}
	require.ErrorIs(t, err, sink.ErrLocked)
	locked, ok := errors.AsType[*sink.LockedError](err)
	require.True(t, ok)
	require.NotEmpty(t, locked.Holders)
	require.Equal(t, os.Getpid(), locked.Holders[0].PID)
}

func locks(t *testing.T, d Destination) {
	t.Helper()
	one, other := d.Open(t), d.Open(t)
	excludes := one.Info().Locks
	unlock, err := one.Lock(t.Context(), "publish", sink.Exclusive, 0)
	require.NoError(t, err)
	for _, store := range []sink.Store{one, other} {
		requireLocked(t, store, "publish", sink.Exclusive)
		if excludes {
			soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err = store.Lock(soon, "publish", sink.Exclusive, time.Minute)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	elsewhere, err := other.Lock(t.Context(), "another/../name", sink.Exclusive, 0)
	require.NoError(t, err)
	require.NoError(t, elsewhere())
	require.Empty(t, paths(t, one, ""))
	require.NoError(t, unlock())
	require.Empty(t, d.Leftovers(t))

	// All waiting goroutines get the lock, one after another.
	var held atomic.Int64
	var group errgroup.Group
	for i := range 6 {
		group.Go(func() error {
			unlock, err := []sink.Store{one, other}[i%2].Lock(t.Context(), "publish", sink.Exclusive, time.Minute)
			if err != nil {
				return err
			}
			if held.Add(1) > 1 && excludes {
				return errors.New("two goroutines hold the lock")
			}
			held.Add(-1)
			return unlock()
		})
	}
	require.NoError(t, group.Wait())
	require.Empty(t, d.Leftovers(t))
}

func sharedLocks(t *testing.T, d Destination) {
	t.Helper()
	one, other := d.Open(t), d.Open(t)
	first, err := one.Lock(t.Context(), "run", sink.Shared, 0)
	require.NoError(t, err)
	requireLocked(t, other, "run", sink.Exclusive)
	second, err := other.Lock(t.Context(), "run", sink.Shared, 0)
	require.NoError(t, err)
	third, err := one.Lock(t.Context(), "run", sink.Shared, 0)
	require.NoError(t, err)
	for _, unlock := range []func() error{first, third} {
		require.NoError(t, unlock())
		requireLocked(t, one, "run", sink.Exclusive)
	}
	require.NoError(t, second())
	require.Empty(t, d.Leftovers(t))

	unlock, err := other.Lock(t.Context(), "run", sink.Exclusive, 0)
	require.NoError(t, err)
	requireLocked(t, one, "run", sink.Shared)
	require.NoError(t, unlock())
	require.Empty(t, d.Leftovers(t))
}

func cancelled(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	stage(t, store, dataPath(owner, 0), noise(10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range append(call(ctx, store, dataPath(owner, 0)), store.Check(ctx)) {
		require.ErrorIs(t, err, context.Canceled)
	}
	for _, err := range store.List(ctx, "") {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, store.Sweep(t.Context(), owner))
	require.Empty(t, d.Leftovers(t))
}
