package storetest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

// NewDir returns a Dir that calls sync instead of syncing a file or folder. If sync is nil, nothing is synced, which
// saves time.
func NewDir(t *testing.T, root string, sync func(sink.FileHandle) error) *sink.Dir {
	t.Helper()
	if sync == nil {
		sync = func(sink.FileHandle) error { return nil }
	}
	dir, err := sink.NewDir(root, sink.DirOptions{WrapFileSystem: func(system sink.FileSystem) sink.FileSystem {
		return syncHook{system, sync}
	}})
	require.NoError(t, err)
	return dir
}

type syncHook struct {
	sink.FileSystem

	sync func(sink.FileHandle) error
}

// OpenFile opens a file whose Sync method calls the hook.
func (h syncHook) OpenFile(name string, flag int, perm fs.FileMode) (sink.FileHandle, error) {
	f, err := h.FileSystem.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return hookedFile{f, h.sync}, nil
}

type hookedFile struct {
	sink.FileHandle

	sync func(sink.FileHandle) error
}

// Sync calls the hook.
func (f hookedFile) Sync() error { return f.sync(f.FileHandle) }

// Tree maps the path of every file below root to the file's content. Empty folders are included, with a trailing slash.
func Tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			data, err := os.ReadFile(path)
			found[filepath.ToSlash(name)] = string(data)
			return err
		}
		if inside, err := os.ReadDir(path); err != nil || len(inside) == 0 {
			found[filepath.ToSlash(name)+"/"] = ""
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// Paths returns the paths in Tree, sorted.
func Paths(t *testing.T, root string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(Tree(t, root)))
}

// FilesIn returns the names of the files and folders in a folder.
func FilesIn(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
