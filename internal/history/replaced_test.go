package history_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/internal/wording"
)

// TestReplacedSnapshotIsFoldedAgain replaces a snapshot while it is being folded, which removes its files.
func TestReplacedSnapshotIsFoldedAgain(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	require.NoError(t, nightOf(0, []string{"1"}, 0).publish(t.Context(), store))
	replaced := &meddler{Store: store, act: func(ctx context.Context) error {
		other := nightOf(0, []string{"1"}, 1)
		other.run = "other"
		return other.publish(ctx, store)
	}}
	_, err := update(t.Context(), t, replaced, false)
	require.NoError(t, err)
	current, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	require.Equal(t, "other", current.Manifest.Snapshots[0].RunID)
}

// TestReplacedByOneThatIsLeftOut replaces a folded snapshot by one that has only some schools. If it is the newest, its
// date is removed from the history, even if a rebuild is not possible because earlier snapshots are pruned. If it is
// older, nothing changes and the error contains the date.
func TestReplacedByOneThatIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		date   int
		pruned bool
	}{{0, false}, {1, false}, {2, false}, {2, true}} {
		date := c.date
		root := t.TempDir()
		store := snapshottest.NewDir(t, root)
		last := max(1, date)
		want := map[string]string{}
		for i := range last + 1 {
			require.NoError(t, nightOf(i, []string{strconv.Itoa(i)}, i).publish(t.Context(), store))
			_, err := update(t.Context(), t, store, false)
			require.NoError(t, err)
			if i < last || date < last {
				want = historyFiles(t, root)
			}
		}
		if c.pruned {
			for i := range last {
				nightOf(i, nil, 0).prune(t, root)
			}
			ignorePrevious(want)
		}
		other := nightOf(date, []string{"9"}, 0)
		other.run, other.only = "other", other.schools
		require.NoError(t, other.publish(t.Context(), store))
		report, err := update(t.Context(), t, store, false)
		if date < last {
			needs, ok := errors.AsType[*history.NeedsRebuildError](err)
			require.True(t, ok, err)
			require.Equal(t, []string{other.date}, needs.Dates)
		} else {
			require.NoError(t, err)
			require.Equal(t, "other", report.LeftOut[0].RunID)
		}
		got := historyFiles(t, root)
		if c.pruned {
			ignorePrevious(got)
		}
		require.Equal(t, want, got)
		if date < last {
			continue
		}
		again := nightOf(date, []string{"1"}, 0)
		again.run = "again"
		require.NoError(t, again.publish(t.Context(), store))
		_, err = update(t.Context(), t, store, false)
		require.NoError(t, err)
		if c.pruned {
			next := nightOf(date, []string{"2"}, 0)
			next.run = "next"
			require.NoError(t, next.publish(t.Context(), store))
			_, err = update(t.Context(), t, store, false)
			require.NoError(t, err, "the fold can be undone")
			continue
		}
		folded := historyFiles(t, root)
		_, err = update(t.Context(), t, store, true)
		require.NoError(t, err)
		require.Equal(t, folded, historyFiles(t, root))
	}
}

// ignorePrevious removes the documents that depend on whether a fold was undone: only a fold knows the files before it.
func ignorePrevious(files map[string]string) {
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, "_history") })
}

// TestPurgeAfterTheLastFoldWasUndone purges a school from a history whose last date was replaced and left out, so that it
// does not know the files before its last fold.
func TestPurgeAfterTheLastFoldWasUndone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	for i := range 3 {
		n := nightOf(i, []string{strconv.Itoa(i)}, i)
		require.NoError(t, n.publish(t.Context(), store))
		_, err := update(t.Context(), t, store, false)
		require.NoError(t, err)
		if i < 2 {
			n.prune(t, root)
		}
	}
	other := nightOf(2, []string{"9"}, 0)
	other.run, other.only = "other", other.schools
	require.NoError(t, other.publish(t.Context(), store))
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)

	_, err = maintenance.Purge(t.Context(), snapshot.At(store), maintenance.PurgeOptions{Schools: []string{"s"}, Now: snapshottest.PublishedAt})
	require.NoError(t, err)
	require.Empty(t, rowsOf(t, store))
	next := nightOf(3, []string{"1"}, 0)
	require.NoError(t, next.publish(t.Context(), store))
	_, err = update(t.Context(), t, store, false)
	require.NoError(t, err)
	require.NotEmpty(t, rowsOf(t, store))
}

// TestOnlySnapshotIsReplaced replaces the only snapshot of a history. The history begins again with one of another scope,
// but cannot hold one of some schools.
func TestOnlySnapshotIsReplaced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	require.NoError(t, nightOf(0, []string{"1"}, 0).publish(t.Context(), store))
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)

	some := nightOf(0, []string{"2"}, 0)
	some.run, some.only = "some", some.schools
	require.NoError(t, some.publish(t.Context(), store))
	before := historyFiles(t, root)
	for _, rebuild := range []bool{false, true} {
		_, err = update(t.Context(), t, store, rebuild)
		advised, ok := errors.AsType[*wording.AdvisedError](err)
		require.True(t, ok, err)
		require.Contains(t, advised.Advice, "of all schools and students for "+some.date)
		require.Equal(t, before, historyFiles(t, root))
	}

	other := nightOf(0, []string{"3"}, 0)
	other.run, other.removed = "other", true
	require.NoError(t, other.publish(t.Context(), store))
	report, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	require.Empty(t, report.LeftOut)
	current, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	require.Equal(t, "other", current.Manifest.Snapshots[0].RunID)
	require.True(t, current.Manifest.Scope.IncludeRemoved)
	folded := historyFiles(t, root)
	_, err = update(t.Context(), t, store, true)
	require.NoError(t, err)
	require.Equal(t, folded, historyFiles(t, root))
}

// prune removes the night's snapshot from the destination.
func (n *night) prune(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(root, snapshot.PointerPath(snapshot.Full, n.date))))
	folders, err := filepath.Glob(filepath.Join(root, "*", "snapshot_date="+n.date))
	require.NoError(t, err)
	for _, folder := range append(folders, filepath.Join(root, "_runs", n.run)) {
		require.NoError(t, os.RemoveAll(folder))
	}
}

// TestReplacedSnapshotAfterTableWasEmpty replaces a snapshot that brought rows back to a table without open versions,
// and folds it again. The versions that had ended before are kept.
func TestReplacedSnapshotAfterTableWasEmpty(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	other := nightOf(2, []string{"3"}, 0)
	other.run = "other"
	for _, n := range []*night{nightOf(0, []string{"1"}, 0), nightOf(1, nil, 0), nightOf(2, []string{"2"}, 0), other} {
		require.NoError(t, n.publish(t.Context(), store))
		_, err := update(t.Context(), t, store, false)
		require.NoError(t, err)
	}
	folded := historyFiles(t, root)
	_, err := update(t.Context(), t, store, true)
	require.NoError(t, err)
	require.Equal(t, historyFiles(t, root), folded)
}
