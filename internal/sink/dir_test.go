//go:build unix

package sink_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

func TestDirModes(t *testing.T) { //nolint:paralleltest // The umask belongs to the whole process.
	//nolint:paralleltest // As above.
	for _, test := range []struct {
		name         string
		opts         sink.DirOptions
		umask        int
		file, folder fs.FileMode
	}{
		{"private", sink.DirOptions{}, 0, 0o600, 0o700},
		{"private, narrow umask", sink.DirOptions{}, 0o777, 0o600, 0o700},
		{"for the group", sink.DirOptions{GroupReadable: true}, 0, 0o640, 0o750},
		{"for the group, narrow umask", sink.DirOptions{GroupReadable: true}, 0o077, 0o640, 0o750},
	} {
		t.Run(test.name, func(t *testing.T) {
			above := t.TempDir()
			defer syscall.Umask(syscall.Umask(test.umask))
			root := filepath.Join(above, "new", "root")
			dir, err := sink.NewDir(root, test.opts)
			require.NoError(t, err)
			require.NoError(t, dir.Write(t.Context(), "_runs/staged/plan.json", nil, sink.Condition{Absent: true}))
			require.NoError(t, dir.Write(t.Context(), "_latest.json", nil, sink.Condition{}))
			for _, path := range []string{"table/date=1/part-0000-staged.parquet", "table/date=1/x"} {
				draft, err := dir.Draft(t.Context(), "staged", path)
				require.NoError(t, err)
				size, err := draft.Finish()
				require.NoError(t, err)
				token, err := draft.Stage(t.Context())
				require.NoError(t, err)
				if path == "table/date=1/x" {
					require.NoError(t, dir.Commit(t.Context(), "staged", sink.File{Path: path, Bytes: size, Staged: token}))
				}
			}
			unlock, err := dir.Lock(t.Context(), "held", sink.Exclusive, 0)
			require.NoError(t, err)
			seen := 0
			require.NoError(t, filepath.WalkDir(above, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || path == above {
					return err
				}
				info, err := entry.Info()
				require.NoError(t, err)
				want := test.file
				if entry.IsDir() {
					want = test.folder
				}
				require.Equal(t, want, info.Mode().Perm(), path)
				seen++
				return nil
			}))
			require.Equal(t, 14, seen)
			require.NoError(t, unlock())
		})
	}
}

func TestDirKeepsTheGroupOfAFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o750|fs.ModeSetgid))
	dir, err := sink.NewDir(root, sink.DirOptions{GroupReadable: true})
	require.NoError(t, err)
	require.NoError(t, dir.Write(t.Context(), "a/b/c", []byte("x"), sink.Condition{}))
	info, err := os.Stat(filepath.Join(root, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, fs.ModeSetgid|0o750, info.Mode()&(fs.ModeSetgid|fs.ModePerm))
}

func TestDirCheck(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(filepath.Join(base, "nowhere"), filepath.Join(base, "dangling")))
	require.NoError(t, os.Symlink(base, filepath.Join(base, "link")))
	tests := []struct{ name, path, want string }{
		{"a folder", base, ""},
		{"a folder that is not there yet", filepath.Join(base, "a", "b", "c"), ""},
		{"a link to a folder", filepath.Join(base, "link"), ""},
		{"a file", file, "is a file, not a folder"},
		{"below a file", filepath.Join(file, "a", "b"), file + " is a file, not a folder"},
		{"a link to nothing", filepath.Join(base, "dangling"), "is a broken symbolic link"},
		{"a folder without write permission", "/proc/growth-data", "cannot create files in /proc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(test.path, "/proc") {
				if _, err := os.Stat("/proc/self"); err != nil {
					t.Skip("no /proc here")
				}
			}
			dir := storetest.NewDir(t, test.path, nil)
			err := dir.Check(t.Context())
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want)
				require.ErrorContains(t, err, "destination "+test.path)
				require.NotContains(t, err.Error(), "\n")
			}
			found, err := os.ReadDir(base)
			require.NoError(t, err)
			require.Len(t, found, 3, "Check leaves nothing behind")
		})
	}
	_, err := sink.NewDir("", sink.DirOptions{})
	require.Error(t, err)
}

// TestDirCheckClearsAway checks that the files of a killed Check are removed.
func TestDirCheckClearsAway(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{".growth-export-check-1", ".growth-export-check-2", ".growth-export"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	require.NoError(t, storetest.NewDir(t, root, nil).Check(t.Context()))
	require.Equal(t, []string{".growth-export"}, storetest.Paths(t, root))
}

// TestDirChecksItsPath replaces the root with another folder, as happens if a file system is mounted late. Files
// committed after that would not be at the path that the user gave.
func TestDirChecksItsPath(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	dir := storetest.NewDir(t, root, nil)
	require.NoError(t, dir.CheckCommit(t.Context(), "r", []string{"table/x"}))
	require.NoError(t, os.Rename(root, root+"-moved"))
	require.ErrorContains(t, dir.CheckCommit(t.Context(), "r", []string{"table/x"}), "moved, removed or hidden by a mount")
	require.NoError(t, os.Mkdir(root, 0o700))
	require.ErrorContains(t, dir.CheckCommit(t.Context(), "r", []string{"table/x"}), "moved, removed or hidden by a mount")
	require.NoError(t, os.Remove(root))
	require.NoError(t, os.Rename(root+"-moved", root))
	require.NoError(t, dir.CheckCommit(t.Context(), "r", []string{"table/x"}))
}

func TestDirStaysInside(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "table")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "file")))
	dir := storetest.NewDir(t, root, nil)
	ctx := t.Context()
	_, _, err := dir.Read(ctx, "file")
	require.ErrorContains(t, err, "a symbolic link leads out of the destination")
	_, err = dir.Open(ctx, "table/secret")
	require.Error(t, err)
	require.Error(t, dir.Write(ctx, "table/new", []byte("x"), sink.Condition{}))
	require.Error(t, dir.Remove(ctx, "table/secret"))
	draft, err := dir.Draft(ctx, "r", "table/data")
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	staged, err := draft.Stage(ctx)
	require.NoError(t, err)
	require.Error(t, dir.Commit(ctx, "r", sink.File{Path: "table/data", Bytes: size, Staged: staged}))
	entries, err := sink.ListAll(ctx, dir, "")
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Equal(t, []string{"secret"}, storetest.Paths(t, outside))

	t.Log("a staged name cannot name a file elsewhere")
	for _, name := range []string{"../../x", "/etc/passwd", "a/b", "", ".."} {
		_, err := dir.Holds(ctx, "r", sink.File{Path: "x", Staged: []byte(`{"name": "` + name + `"}`)})
		require.ErrorIs(t, err, sink.ErrDamaged, "%q", name)
	}
}

// TestDirKeepsLinks removes one of two files of a table whose folder is a link to another folder of the root.
func TestDirKeepsLinks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "disk", "table"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join("disk", "table"), filepath.Join(root, "table")))
	dir := storetest.NewDir(t, root, nil)
	for _, path := range []string{"table/old/x", "table/new/x"} {
		require.NoError(t, dir.Write(t.Context(), path, []byte("x"), sink.Condition{}))
	}
	require.NoError(t, dir.Remove(t.Context(), "table/old/x"))
	_, _, err := dir.Read(t.Context(), "table/new/x")
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(root, "disk", "table", "old"))
}

func TestDirWithAFileInTheWay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "table"), nil, 0o600))
	dir := storetest.NewDir(t, root, nil)
	err := dir.Write(t.Context(), "table/date/x", []byte("x"), sink.Condition{})
	require.ErrorContains(t, err, "write table/date/x in "+root)
	require.ErrorContains(t, err, "not a directory")
	require.NoDirExists(t, filepath.Join(root, "_staging"))
	_, _, err = dir.Read(t.Context(), "table/date/x")
	require.ErrorIs(t, err, sink.ErrNotFound)
	_, err = dir.Open(t.Context(), "table")
	require.NoError(t, err)

	below := storetest.NewDir(t, filepath.Join(root, "table", "deep"), nil)
	_, err = below.Draft(t.Context(), "r", "x")
	require.ErrorContains(t, err, "create destination")
}

// TestDirErrorsKeepTheirReason makes the disk full during sync, and expects an error with the reason and the path,
// without temporary names.
func TestDirErrorsKeepTheirReason(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	full := &fs.PathError{Op: "write", Path: "_staging/r/SECRETNAME", Err: syscall.ENOSPC}
	dir := storetest.NewDir(t, root, func(sink.FileHandle) error { return full })
	err := dir.Write(t.Context(), "_runs/r/plan.json", []byte("x"), sink.Condition{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "write _runs/r/plan.json in "+root+": no space left on device: free some space there")
	draft, err := dir.Draft(t.Context(), "r", "table/x")
	require.NoError(t, err)
	_, err = draft.Finish()
	require.NoError(t, err)
	_, err = draft.Stage(t.Context())
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "stage table/x in "+root)
	require.NotContains(t, err.Error(), "SECRETNAME")
	require.NoError(t, draft.Abort())
	require.Equal(t, []string{"./"}, storetest.Paths(t, root), "failed writes leave nothing behind")

	dir = storetest.NewDir(t, root, func(sink.FileHandle) error { return syscall.EDQUOT })
	err = dir.Write(t.Context(), "document", []byte("x"), sink.Condition{})
	require.ErrorContains(t, err, "quota exceeded: free some space there")
}

// TestDirMakesDurableFirst expects a staged file to be durable before its name is, and committed names to be durable
// before the next document is.
func TestDirMakesDurableFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var flushed []string
	dir := storetest.NewDir(t, root, func(f sink.FileHandle) error {
		name, err := filepath.Rel(root, f.Name())
		if err != nil {
			return err
		}
		if info, err := f.Stat(); err == nil && !info.IsDir() {
			name = filepath.Dir(name) + "/*"
		}
		flushed = append(flushed, name)
		return nil
	})
	draft, err := dir.Draft(t.Context(), "r", "table/date/x")
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	staged, err := draft.Stage(t.Context())
	require.NoError(t, err)
	require.Equal(t, "_staging/r/*", flushed[0])
	require.Subset(t, flushed[1:], []string{".", "_staging", "_staging/r"})

	file := sink.File{Path: "table/date/x", Bytes: size, Staged: staged}
	for range 2 { // The second time the file is committed already.
		flushed = nil
		require.NoError(t, dir.Commit(t.Context(), "r", file))
		require.Empty(t, flushed)
		require.NoError(t, dir.Write(t.Context(), "_runs/r/manifest.json", nil, sink.Condition{}))
		document := indexOf(flushed, "_staging/~documents/*")
		require.Less(t, indexOf(flushed, "table/date"), document)
		require.Less(t, document, indexOf(flushed, "_runs/r"))
	}
}

// TestDirReportsWhatIsNotDurable makes each sync fail in turn.
func TestDirReportsWhatIsNotDurable(t *testing.T) {
	t.Parallel()
	for _, when := range []sink.Condition{{}, {Absent: true}} {
		for n, reached := 0, true; reached; n++ {
			syncs := 0
			dir := storetest.NewDir(t, t.TempDir(), func(sink.FileHandle) error {
				if syncs++; syncs == n+1 {
					return syscall.EIO
				}
				return nil
			})
			file, err := storetest.Stage(t.Context(), dir, "r", "table/date/x", []byte("x"))
			for _, step := range []func() error{
				func() error { return dir.Commit(t.Context(), "r", file) },
				func() error { return dir.Write(t.Context(), "_runs/r/change.json", []byte("{}"), when) },
				func() error { return dir.Remove(t.Context(), "table/date/x") },
				func() error { return dir.Remove(t.Context(), "_runs/r/change.json") },
			} {
				if err == nil {
					err = step()
				}
			}
			if reached = syncs > n; reached {
				require.ErrorIs(t, err, syscall.EIO, "sync %d", n)
			} else {
				require.NoError(t, err)
				require.Greater(t, n, 8)
			}
		}
	}
}

func indexOf(list []string, wanted string) int {
	for i, s := range list {
		if s == wanted {
			return i
		}
	}
	return len(list)
}

// TestDirClearsAwayAfterTheKilled kills a conditional write to a document of a finished run, which is never swept
// again. The leftovers must still be removed.
func TestDirClearsAwayAfterTheKilled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	killed := errors.New("killed")
	dir := storetest.NewDir(t, root, func(f sink.FileHandle) error {
		left := f.Name() + "-left"
		return errors.Join(killed, os.WriteFile(left, nil, 0o600))
	})
	require.ErrorIs(t, dir.Write(t.Context(), "_runs/over/manifest.json", nil, sink.Condition{Absent: true}), killed)
	left, err := filepath.Glob(filepath.Join(root, "_staging", "*", "*-left"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	staged, err := dir.Staged(t.Context())
	require.NoError(t, err)
	require.Empty(t, staged, "it has no owner")

	again := storetest.NewDir(t, root, nil)
	require.NoError(t, again.Write(t.Context(), "_runs/next/change.json", nil, sink.Condition{Absent: true}))
	require.Equal(t, []string{"_runs/next/change.json"}, storetest.Paths(t, root))
}

func TestDirLeavesNoRootThatItDidNotNeed(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := storetest.NewDir(t, filepath.Join(base, "a", "b"), nil)
	other := storetest.NewDir(t, filepath.Join(base, "a", "b"), nil)
	unlock, err := dir.Lock(t.Context(), "run", sink.Exclusive, 0)
	require.NoError(t, err)
	_, err = other.Lock(t.Context(), "run", sink.Exclusive, 0)
	require.ErrorIs(t, err, sink.ErrLocked)
	require.NoError(t, unlock())
	require.NoDirExists(t, filepath.Join(base, "a"))

	t.Log("another Dir that had the root open creates it again")
	unlock, err = other.Lock(t.Context(), "run", sink.Exclusive, time.Minute)
	require.NoError(t, err)
	require.NoError(t, other.Write(t.Context(), "x", nil, sink.Condition{}))
	require.NoError(t, unlock())
	require.FileExists(t, filepath.Join(base, "a", "b", "x"))

	t.Log("a root that existed before is kept")
	there := storetest.NewDir(t, t.TempDir(), nil)
	unlock, err = there.Lock(t.Context(), "run", sink.Exclusive, 0)
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.DirExists(t, there.String())
}

func TestDirOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := storetest.NewDir(t, root, nil)
	_, _, err := dir.Read(t.Context(), "x")
	require.ErrorIs(t, err, sink.ErrNotFound)
	require.NoError(t, dir.Write(t.Context(), "x", []byte("1"), sink.Condition{}))
	data, _, err := storetest.NewDir(t, root, nil).Read(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
}

func TestDirLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := storetest.NewDir(t, t.TempDir(), nil)
	unlock, err := dir.Lock(t.Context(), "x", sink.Exclusive, time.Minute)
	require.NoError(t, err)
	reason := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := dir.Lock(ctx, "x", sink.Exclusive, time.Minute)
		waiting <- err
	}()
	cancel(reason)
	err = <-waiting
	require.Error(t, err)
	require.NoError(t, unlock())
}

// TestDirLockExcludes acquires and releases a lock so often that some attempts lock a file while its holder is removing
// it.
func TestDirLockExcludes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var held atomic.Int64
	var group errgroup.Group
	for range 4 {
		dir := storetest.NewDir(t, root, nil)
		group.Go(func() error {
			for taken := 0; taken < 50; {
				unlock, err := dir.Lock(t.Context(), "x", sink.Exclusive, 0)
				if errors.Is(err, sink.ErrLocked) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					return err
				}
				taken++
				if held.Add(1) > 1 {
					return errors.New("two hold the lock")
				}
				runtime.Gosched()
				held.Add(-1)
				if err := unlock(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, []string{"./"}, storetest.Paths(t, root))
}
