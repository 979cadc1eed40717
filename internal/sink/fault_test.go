package sink

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var everyFault = flag.Bool("every-fault", false, "fail every call and lose power at every point, not just at some")

// sampled skips most of the points of a test, unless all are requested.
func sampled(every int) int {
	if *everyFault {
		return 1
	}
	return every
}

// exportNight does what the command run does at its destination: it stages what
// is not staged yet and publishes it.
func exportNight(ctx context.Context, store Store) (err error) {
	if err := store.Check(ctx); err != nil {
		return err
	}
	if err := finishAll(ctx, store); err != nil {
		return err
	}
	release, err := HoldRunShared(ctx, store, latestRun, 0, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	plan, err := CreatePlan(ctx, store, worldPlan(latestRun, datasets("schools", "students")))
	if err != nil {
		return err
	}
	g, err := Gather(ctx, store, plan)
	if err != nil {
		return err
	}
	for _, unit := range g.Missing {
		if err := stageWorldUnit(ctx, store, plan, unit, purgeWorld()); err != nil {
			return err
		}
	}
	if g, err = Gather(ctx, store, plan); err != nil {
		return err
	}
	_, err = Publish(ctx, store, g, options())
	return err
}

func purgeNights(ctx context.Context, store Store) error {
	options := purgeOptions([]string{gone}, nil)
	options.AllowUnknown = true
	_, err := Purge(ctx, store, options)
	return err
}

// commands are what happens at a destination that has a snapshot of the day
// before already.
func commands() []func(context.Context, Store) error {
	return []func(context.Context, Store) error{exportNight, purgeNights}
}

// yesterday makes a destination with the snapshot of the day before.
func yesterday(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	publishWorld(t, newDir(t, root), earlierRun, onDate(earlierDate), datasets("schools", "students"))
	return root
}

// settled is a tree without the proofs of purges, which a purge that is done
// twice writes twice, and without what the next writer clears away: the files of
// locks, which lock nothing once they are not held, and temporary documents.
func settled(t *testing.T, root string) map[string]string {
	t.Helper()
	all := tree(t, root)
	maps.DeleteFunc(all, func(name, _ string) bool {
		return strings.HasPrefix(name, "_purges/") || strings.HasPrefix(name, "_staging/~locks") ||
			strings.HasPrefix(name, "_staging/~documents")
	})
	return all
}

// TestFailingCall has a call of the file system fail, one after the other over
// a run and a purge, and expects an error that says where, complete snapshots
// at any time, and exactly the same result once the command is run again.
func TestFailingCall(t *testing.T) {
	t.Parallel()
	start := yesterday(t)
	undisturbed := copyTree(t, start)
	var counts []int64
	for _, do := range commands() {
		store, calls := faulty(t, undisturbed, -1)
		require.NoError(t, do(t.Context(), store))
		counts = append(counts, calls.Load())
	}
	want := settled(t, undisturbed)
	for i, test := range []struct {
		name  string
		every int
	}{{"run", 11}, {"purge", 61}} {
		require.Greater(t, counts[i], int64(200))
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for n := int64(0); n < counts[i]; n += int64(sampled(test.every)) {
				requireRepaired(t, copyTree(t, start), want, i, n)
			}
		})
	}
}

// requireRepaired fails the n-th call of a command, and runs it and those after
// it again.
func requireRepaired(t *testing.T, root string, want map[string]string, failing int, n int64) {
	t.Helper()
	when := fmt.Sprintf("command %d, call %d", failing, n)
	for i, do := range commands() {
		if i == failing {
			store, _ := faulty(t, root, n)
			if err := do(t.Context(), store); err != nil {
				require.ErrorIs(t, err, syscall.EIO, when)
			}
			requireSoundPointers(t, root, when)
		}
		require.NoError(t, do(t.Context(), newDir(t, root)), when)
	}
	got := settled(t, root)
	require.ElementsMatch(t, names(want), names(got), when)
	require.Equal(t, want, got, when)
}

// requireSoundPointers verifies each run that a pointer names, and finds no data
// file that no run is about to publish or has published.
func requireSoundPointers(t *testing.T, root, when string) {
	t.Helper()
	store := newDir(t, root)
	pointers, err := ListAll(t.Context(), store, "_snapshots/")
	require.NoError(t, err, when)
	require.NotEmpty(t, pointers, when)
	pointed := make(map[string]bool)
	for _, entry := range pointers {
		report, err := Verify(t.Context(), store, VerifyTarget{SnapshotDate: strings.TrimSuffix(path.Base(entry.Path), ".json")})
		require.NoError(t, err, when)
		require.Empty(t, report.Problems, when)
		pointed[report.RunID] = true
	}
	publishing, err := runsChanging(t.Context(), store, (*Change).publishes)
	require.NoError(t, err, when)
	for _, run := range publishing {
		pointed[run] = true
	}
	visible, err := filepath.Glob(filepath.Join(root, "*", "snapshot_date=*", "*.parquet"))
	require.NoError(t, err)
	for _, name := range visible {
		require.True(t, pointed[Owner(filepath.ToSlash(name))], "%s: %s is visible", when, name)
	}
}

// faulty is a destination whose n-th call fails, and a counter of the calls.
func faulty(t *testing.T, root string, n int64) (*Dir, *atomic.Int64) {
	t.Helper()
	calls := new(atomic.Int64)
	return newDirOn(t, root, func(r FileSystem) FileSystem {
		return tap{FileSystem: r, before: func(call, name string) error {
			if calls.Add(1)-1 == n {
				return &fs.PathError{Op: call, Path: name, Err: syscall.EIO}
			}
			return nil
		}}
	}), calls
}
