package snapshot_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestDirSyncsFoldersOfOthers takes over from a publisher that was killed after its last rename. The folders that the
// publisher created, and the folders above them, are synced before the manifest is written.
func TestDirSyncsFoldersOfOthers(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "dest")
	killed := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, killed, snapshottest.NewPlan("night", snapshottest.Few), nil)
	_, files := snapshottest.Collect(t, killed, "night").Manifest()
	for _, file := range files {
		require.NoError(t, killed.Commit(t.Context(), "night", file))
	}
	var mu sync.Mutex
	var synced []string
	second := snapshottest.NewDirOn(t, root, func(system sink.FileSystem) sink.FileSystem {
		after := func(call, name, to string, _ []byte) {
			mu.Lock()
			defer mu.Unlock()
			if call == "sync" {
				synced = append(synced, name)
			}
			if to == snapshot.ManifestPath("night") {
				require.Subset(t, synced, []string{".", "schools", "schools/snapshot_date=" + snapshottest.Today})
			}
		}
		return snapshottest.Tap{FileSystem: system, Before: func(string, string) error { return nil }, After: after}
	})
	snapshottest.PublishRun(t, second, "night")
	require.Contains(t, synced, "schools")
}

// TestObstacles puts a file or a link in the place of a table's folder.
func TestObstacles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		put  func(t *testing.T, path string)
		says string
	}{
		{"a file", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		}, "schools is a file where a folder belongs: move it away"},
		{"a link out of the destination", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Symlink(t.TempDir(), path))
		}, "schools is a symbolic link that does not lead to a folder of the destination"},
		{"a link to nothing", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Symlink("nothing", path))
		}, "schools is a symbolic link that does not lead to a folder of the destination"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.StageRun(t, store, snapshottest.NewPlan("night", snapshottest.Few), nil)
			path := filepath.Join(root, "schools")
			test.put(t, path)
			before := snapshottest.Below(t, root)

			_, err := snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "night"), snapshottest.Options())
			require.ErrorContains(t, err, test.says)
			require.NotErrorIs(t, err, sink.ErrStagedLost)
			require.Equal(t, before, snapshottest.Below(t, root))

			// Commit finds the obstacle too, because it may have appeared later.
			_, files := snapshottest.Collect(t, store, "night").Manifest()
			for _, file := range files {
				if filepath.Dir(filepath.Dir(file.Path)) == "schools" {
					err = store.Commit(t.Context(), "night", file)
				}
			}
			require.ErrorContains(t, err, test.says)
			require.NotErrorIs(t, err, sink.ErrStagedLost)

			require.NoError(t, os.RemoveAll(path))
			snapshottest.PublishRun(t, store, "night")
		})
	}
}

// TestMountInTheWay expects an error before anything is visible if files cannot be moved to the folder of a table or of
// the pointers.
func TestMountInTheWay(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"schools", "_snapshots"} {
		root := t.TempDir()
		store := snapshottest.NewDirOn(t, root, func(r sink.FileSystem) sink.FileSystem {
			return snapshottest.Mounted{FileSystem: r, Below: folder + "/"}
		})
		snapshottest.StageRun(t, store, snapshottest.NewPlan("night", snapshottest.Few), nil)
		require.NoError(t, os.Mkdir(filepath.Join(root, folder), 0o700))
		before := snapshottest.Below(t, root)
		_, err := snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "night"), snapshottest.Options())
		require.ErrorContains(t, err, "cannot move files to "+folder)
		require.ErrorContains(t, err, "keep the whole destination on one file system")
		require.Equal(t, before, snapshottest.Below(t, root))
	}
}
