package history_test

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestFullDisk makes each write of a fold fail in turn because the disk is full. The fold reports this in one line and
// loses nothing. Once there is space, the next fold makes the same files as an undisturbed one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	store := snapshottest.NewDir(t, start)
	require.NoError(t, nightOf(0, []string{"1", "2"}, 1).publish(t.Context(), store))
	_, err := update(t.Context(), t, store, false)
	require.NoError(t, err)
	require.NoError(t, nightOf(1, []string{"2", "3"}, 2).publish(t.Context(), store))
	before := historyFiles(t, start)

	undisturbed := snapshottest.CopyTree(t, start)
	room := int64(1 << 40)
	limited, left := fillingDisk(t, undisturbed, room)
	_, err = update(t.Context(), t, limited, false)
	require.NoError(t, err)
	writes := room - left.Load()
	require.Greater(t, writes, int64(10))
	want := historyFiles(t, undisturbed)

	for n := range writes {
		root := snapshottest.CopyTree(t, start)
		limited, _ := fillingDisk(t, root, n)
		_, err := update(t.Context(), t, limited, false)
		require.ErrorIs(t, err, syscall.ENOSPC, n)
		require.NotContains(t, err.Error(), "\n", n)
		require.Contains(t, err.Error(), "no space left on device", n)
		left := historyFiles(t, root)
		for path, content := range before {
			if path != snapshot.HistoryPointerPath && left[snapshot.HistoryPointerPath] == before[snapshot.HistoryPointerPath] {
				require.Equal(t, content, left[path], "write %d: %s", n, path)
			}
		}
		current, err := snapshot.At(snapshottest.NewDir(t, root)).ReadHistory(t.Context())
		require.NoError(t, err, n)
		require.Contains(t, []string{dateOf(0), dateOf(1)}, current.Manifest.Through(), n)
		for _, file := range current.Manifest.Files() {
			require.FileExists(t, filepath.Join(root, file.Path), n)
		}

		_, err = update(t.Context(), t, snapshottest.NewDir(t, root), false)
		require.NoError(t, err, n)
		got := historyFiles(t, root)
		maps.DeleteFunc(got, func(path, _ string) bool { return strings.HasPrefix(path, "_staging/") && strings.HasSuffix(path, "/") })
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)), n)
		require.Equal(t, want, got, n)
	}
}

// fillingDisk returns a destination on a disk with room for some writes, and the number of writes left.
func fillingDisk(t *testing.T, root string, room int64) (*sink.Dir, *atomic.Int64) {
	t.Helper()
	left := new(atomic.Int64)
	left.Store(room)
	return snapshottest.NewDirOn(t, root, func(r sink.FileSystem) sink.FileSystem {
		return snapshottest.Tap{FileSystem: r, Before: func(call, name string) error {
			if (call == "write" || call == "mkdir") && left.Add(-1) < 0 {
				return &fs.PathError{Op: call, Path: name, Err: syscall.ENOSPC}
			}
			return nil
		}}
	}), left
}
