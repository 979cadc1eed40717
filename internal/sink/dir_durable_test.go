package sink

import (
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// slowSync is a file system on which Sync waits for proceed.
type slowSync struct {
	FileSystem

	entered, proceed chan struct{}
}

func (s slowSync) OpenFile(name string, flag int, perm fs.FileMode) (FileHandle, error) {
	f, err := s.FileSystem.OpenFile(name, flag, perm)
	return slowFile{f, s}, err
}

type slowFile struct {
	FileHandle

	of slowSync
}

func (f slowFile) Sync() error {
	f.of.entered <- struct{}{}
	<-f.of.proceed
	return nil
}

// TestDirSyncWaits syncs a change in a folder from two goroutines. The second one must return only when the folder is
// durable.
func TestDirSyncWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, err := NewDir(t.TempDir(), DirOptions{})
		require.NoError(t, err)
		root, err := d.open(true)
		require.NoError(t, err)
		require.NoError(t, d.makeFolder(root, "a"))
		require.NoError(t, d.sync(root))
		entered, proceed := make(chan struct{}, 2), make(chan struct{})
		root = slowSync{root, entered, proceed}
		d.changed("a")
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- d.sync(root) }()
		<-entered
		go func() { second <- d.sync(root) }()
		synctest.Wait()
		require.Empty(t, second, "it returned before the folder was durable")
		close(proceed)
		require.NoError(t, <-first)
		require.NoError(t, <-second)
	})
}
