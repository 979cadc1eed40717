//go:build unix

package sink_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

// disturbed is a file system on which another process acts just before a call.
type disturbed struct {
	sink.FileSystem

	before func(call, name string)
}

func (d disturbed) OpenFile(name string, flag int, perm fs.FileMode) (sink.FileHandle, error) {
	d.before("open", name)
	f, err := d.FileSystem.OpenFile(name, flag, perm)
	return disturbedFile{f, d, name}, err
}

func (d disturbed) Lstat(name string) (fs.FileInfo, error) {
	d.before("lstat", name)
	return d.FileSystem.Lstat(name)
}

func (d disturbed) Rename(from, to string) error {
	d.before("rename", from)
	return d.FileSystem.Rename(from, to)
}

type disturbedFile struct {
	sink.FileHandle

	of   disturbed
	name string
}

func (f disturbedFile) ReadDir(n int) ([]fs.DirEntry, error) {
	f.of.before("read folder", f.name)
	return f.FileHandle.ReadDir(n)
}

// TestDirCommitsWhileAnotherProcessDoes lets another process commit a file just before each of the first process's
// calls on the staged file.
func TestDirCommitsWhileAnotherProcessDoes(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"lstat", "open", "rename"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			other := storetest.NewDir(t, root, nil)
			draft, err := other.Draft(t.Context(), "r", "table/part-0000-r.parquet")
			require.NoError(t, err)
			_, err = draft.Write([]byte("rows"))
			require.NoError(t, err)
			size, err := draft.Finish()
			require.NoError(t, err)
			staged, err := draft.Stage(t.Context())
			require.NoError(t, err)
			file := sink.File{
				Path: "table/part-0000-r.parquet", Bytes: size, SHA256: sink.Hash([]byte("rows")), Staged: staged,
			}
			var once sync.Once
			happened := false
			dir, err := sink.NewDir(root, sink.DirOptions{WrapFileSystem: func(system sink.FileSystem) sink.FileSystem {
				return disturbed{system, func(made, name string) {
					if made == call && filepath.Dir(name) == "_staging/r" {
						once.Do(func() {
							happened = true
							require.NoError(t, other.Commit(t.Context(), "r", file))
							require.NoError(t, other.Sweep(t.Context(), "r"))
						})
					}
				}}
			}})
			require.NoError(t, err)
			require.NoError(t, dir.Commit(t.Context(), "r", file))
			require.True(t, happened)
			require.Equal(t, []string{file.Path}, storetest.Paths(t, root))
		})
	}
}

// TestDirListsAFolderThatIsRemoved lets another process remove a folder after it was opened for listing.
func TestDirListsAFolderThatIsRemoved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "_runs", "r", "journal"), 0o700))
	dir, err := sink.NewDir(root, sink.DirOptions{WrapFileSystem: func(system sink.FileSystem) sink.FileSystem {
		return disturbed{system, func(made, name string) {
			if made == "read folder" {
				require.NoError(t, os.RemoveAll(filepath.Join(root, name)))
			}
		}}
	}})
	require.NoError(t, err)
	entries, err := sink.ListAll(t.Context(), dir, "_runs/r/journal/")
	require.NoError(t, err)
	require.Empty(t, entries)
}
