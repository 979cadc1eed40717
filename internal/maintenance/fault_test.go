package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// sampled skips most of the points of a test, unless -kills is -1.
func sampled(every int) int {
	switch {
	case *kills < 0:
		return 1
	case testing.Short():
		return 5 * every
	}
	return every
}

// exportNight does what the command run does at its destination: it stages the files that are not staged yet and
// publishes the run.
func exportNight(ctx context.Context, store sink.Store) (err error) {
	if err := store.Check(ctx); err != nil {
		return err
	}
	if err := snapshottest.FinishAll(ctx, store); err != nil {
		return err
	}
	release, err := snapshot.At(store).HoldRunShared(ctx, snapshottest.LatestRun, 0, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	plan, err := snapshot.At(store).CreatePlan(ctx, snapshottest.WorldPlan(snapshottest.LatestRun, snapshottest.Datasets("schools", "students")))
	if err != nil {
		return err
	}
	g, err := snapshot.At(store).Collect(ctx, plan)
	if err != nil {
		return err
	}
	for _, unit := range g.Missing {
		if err := snapshottest.StageWorldTask(ctx, store, plan, unit, snapshottest.PurgeWorld()); err != nil {
			return err
		}
	}
	if g, err = snapshot.At(store).Collect(ctx, plan); err != nil {
		return err
	}
	_, err = snapshot.At(store).Publish(ctx, g, snapshottest.Options())
	return err
}

func purgeNights(ctx context.Context, store sink.Store) error {
	options := purgeOptions([]string{snapshottest.Gone}, nil)
	options.AllowUnknown = true
	_, err := maintenance.Purge(ctx, snapshot.At(store), options)
	return err
}

// commands returns the commands to run at a destination that already has the previous day's snapshot.
func commands() []func(context.Context, sink.Store) error {
	return []func(context.Context, sink.Store) error{exportNight, purgeNights}
}

// yesterday creates a destination with the previous day's snapshot.
func yesterday(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	snapshottest.PublishWorld(t, snapshottest.NewDir(t, root), snapshottest.EarlierRun, snapshottest.OnDate(snapshottest.EarlierDate), snapshottest.Datasets("schools", "students"))
	return root
}

// settled returns a tree without the proofs of purges, because a repeated purge writes two, and without files that the
// next writer removes: temporary documents and the files of locks that are not held.
func settled(t *testing.T, root string) map[string]string {
	t.Helper()
	all := snapshottest.Tree(t, root)
	maps.DeleteFunc(all, func(name, _ string) bool {
		return strings.HasPrefix(name, "_purges/") || strings.HasPrefix(name, "_staging/~locks") ||
			strings.HasPrefix(name, "_staging/~documents")
	})
	return all
}

// TestFailingCall makes each file system call of a run and a purge fail in turn. The command either reports an error
// that says where it occurred, or has done all its work. Snapshots are complete at any time, and running the command
// again has exactly the same result.
func TestFailingCall(t *testing.T) {
	t.Parallel()
	start := yesterday(t)
	undisturbed := snapshottest.CopyTree(t, start)
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
				requireRepaired(t, snapshottest.CopyTree(t, start), want, i, n)
			}
		})
	}
}

// requireRepaired makes the n-th call of a command fail, runs the command again if it reports an error, and then runs
// the commands that follow.
func requireRepaired(t *testing.T, root string, want map[string]string, failing int, n int64) {
	t.Helper()
	when := fmt.Sprintf("command %d, call %d", failing, n)
	reported := false
	for i, do := range commands() {
		if i == failing {
			store, _ := faulty(t, root, n)
			err := do(t.Context(), store)
			requireSoundPointers(t, root, when)
			if reported = err != nil; !reported {
				continue
			}
			require.ErrorIs(t, err, syscall.EIO, when)
		}
		require.NoError(t, do(t.Context(), snapshottest.NewDir(t, root)), when)
	}
	got := settled(t, root)
	if !reported { // The command may leave an empty folder.
		maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	}
	require.ElementsMatch(t, snapshottest.Names(want), snapshottest.Names(got), when)
	require.Equal(t, want, got, when)
}

// requireSoundPointers verifies each run that a pointer refers to, and requires every visible data file to belong to
// such a run or to a run that is being changed.
func requireSoundPointers(t *testing.T, root, when string) {
	t.Helper()
	store, err := sink.NewDir(root, sink.DirOptions{})
	require.NoError(t, err, when)
	catalog := snapshot.At(store)
	pointers, err := sink.ListAll(t.Context(), store, "_snapshots/")
	require.NoError(t, err, when)
	require.NotEmpty(t, pointers, when)
	var named []string
	for _, entry := range pointers {
		date, ok := strings.CutSuffix(path.Base(entry.Path), ".json")
		if !ok {
			continue // left by a check that could not remove it
		}
		report, err := maintenance.Verify(t.Context(), catalog, maintenance.VerifyTarget{SnapshotDate: date})
		require.NoError(t, err, when)
		require.Empty(t, report.Problems, when)
		manifest, err := catalog.ReadManifest(t.Context(), report.RunID)
		require.NoError(t, err, when)
		named = slices.AppendSeq(named, maps.Keys(manifest.Paths()))
	}
	changing, err := catalog.Changes(t.Context(), func(*snapshot.Change) bool { return true })
	require.NoError(t, err, when)
	visible, err := filepath.Glob(filepath.Join(root, "*", "snapshot_date=*", "*.parquet"))
	require.NoError(t, err)
	for _, name := range visible {
		name, err := filepath.Rel(root, name)
		require.NoError(t, err)
		name = filepath.ToSlash(name)
		require.True(t, slices.Contains(named, name) || changing[sink.Owner(name)] != nil, "%s: %s is visible", when, name)
	}
}

// faulty returns a destination whose n-th call fails, and a counter of the calls.
func faulty(t *testing.T, root string, n int64) (*sink.Dir, *atomic.Int64) {
	t.Helper()
	calls := new(atomic.Int64)
	return snapshottest.NewDirOn(t, root, func(r sink.FileSystem) sink.FileSystem {
		return snapshottest.Tap{FileSystem: r, Before: func(call, name string) error {
			if calls.Add(1)-1 == n {
				return &fs.PathError{Op: call, Path: name, Err: syscall.EIO}
			}
			return nil
		}}
	}), calls
}
