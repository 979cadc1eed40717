package sink

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDirSyncsWhatOthersMade takes over from a publisher that was killed after
// its last rename: the folders that it made, and theirs, are synced before the
// manifest is written.
func TestDirSyncsWhatOthersMade(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "dest")
	killed := newDir(t, root)
	stageRun(t, killed, newPlan("night", few), nil)
	_, files := gather(t, killed, "night").manifest()
	for _, file := range files {
		require.NoError(t, killed.Commit(t.Context(), "night", file))
	}
	var mu sync.Mutex
	var synced []string
	second := newDirOn(t, root, func(system FileSystem) FileSystem {
		after := func(call, name, to string, _ []byte) {
			mu.Lock()
			defer mu.Unlock()
			if call == "sync" {
				synced = append(synced, name)
			}
			if to == ManifestPath("night") {
				require.Subset(t, synced, []string{".", "schools", "schools/snapshot_date=" + today})
			}
		}
		return tap{FileSystem: system, before: func(string, string) error { return nil }, after: after}
	})
	publishRun(t, second, "night")
	require.Contains(t, synced, "schools")
}

// TestObstacles puts something in the place of a table's folder.
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
			store := newDir(t, root)
			stageRun(t, store, newPlan("night", few), nil)
			path := filepath.Join(root, "schools")
			test.put(t, path)
			before := below(t, root)

			_, err := Publish(t.Context(), store, gather(t, store, "night"), options())
			require.ErrorContains(t, err, test.says)
			require.NotErrorIs(t, err, ErrStagedLost)
			require.Equal(t, before, below(t, root))

			// Commit finds the same: it may have been put there since.
			_, files := gather(t, store, "night").manifest()
			for _, file := range files {
				if filepath.Dir(filepath.Dir(file.Path)) == "schools" {
					err = store.Commit(t.Context(), "night", file)
				}
			}
			require.ErrorContains(t, err, test.says)
			require.NotErrorIs(t, err, ErrStagedLost)

			require.NoError(t, os.RemoveAll(path))
			publishRun(t, store, "night")
		})
	}
}

// otherDevice is a file system whose folder of schools is a mount.
type otherDevice struct{ FileSystem }

func (o otherDevice) Rename(from, to string) error {
	if strings.HasPrefix(to, "schools/") {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return o.FileSystem.Rename(from, to)
}

// TestMountInTheWay finds before anything is visible that files cannot be moved
// to the folder of a table.
func TestMountInTheWay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDirOn(t, root, func(r FileSystem) FileSystem { return otherDevice{r} })
	stageRun(t, store, newPlan("night", few), nil)
	require.NoError(t, os.Mkdir(filepath.Join(root, "schools"), 0o700))
	before := below(t, root)
	_, err := Publish(t.Context(), store, gather(t, store, "night"), options())
	require.ErrorContains(t, err, "cannot move files to schools")
	require.ErrorContains(t, err, "keep the whole destination on one file system")
	require.Equal(t, before, below(t, root))
}
