//go:build unix

package sink

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
)

func TestDirModes(t *testing.T) { //nolint:paralleltest // The umask is the whole process's.
	//nolint:paralleltest // Nor can its parts be.
	for _, test := range []struct {
		name         string
		opts         DirOptions
		umask        int
		file, folder fs.FileMode
	}{
		{"private", DirOptions{}, 0, 0o600, 0o700},
		{"private, narrow umask", DirOptions{}, 0o777, 0o600, 0o700},
		{"for the group", DirOptions{GroupReadable: true}, 0, 0o640, 0o750},
		{"for the group, narrow umask", DirOptions{GroupReadable: true}, 0o077, 0o640, 0o750},
	} {
		t.Run(test.name, func(t *testing.T) {
			above := t.TempDir()
			defer syscall.Umask(syscall.Umask(test.umask))
			root := filepath.Join(above, "new", "root")
			dir, err := NewDir(root, test.opts)
			require.NoError(t, err)
			stageRun(t, dir, newPlan("staged", few), nil)
			takeSnapshot(t, dir, newPlan("published", few))
			unlock, err := dir.Lock(t.Context(), "held", Exclusive, 0)
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
			require.Greater(t, seen, 20)
			require.NoError(t, unlock())
		})
	}
}

func TestDirKeepsTheGroupOfAFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o750|fs.ModeSetgid))
	dir, err := NewDir(root, DirOptions{GroupReadable: true})
	require.NoError(t, err)
	require.NoError(t, dir.Write(t.Context(), "a/b/c", []byte("x"), Condition{}))
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
		{"a link to nothing", filepath.Join(base, "dangling"), "is a symbolic link to nothing"},
		{"a place where nothing can be made", "/proc/growth-data", "cannot make files in /proc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(test.path, "/proc") {
				if _, err := os.Stat("/proc/self"); err != nil {
					t.Skip("no /proc here")
				}
			}
			dir := newDir(t, test.path)
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
			require.Len(t, found, 3, "it leaves nothing")
		})
	}
	_, err := NewDir("", DirOptions{})
	require.Error(t, err)
}

// TestDirCheckClearsAway removes what a check left that was killed.
func TestDirCheckClearsAway(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{".growth-export-check-1", ".growth-export-check-2", ".growth-export"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	require.NoError(t, newDir(t, root).Check(t.Context()))
	require.Equal(t, []string{".growth-export"}, names(tree(t, root)))
}

func TestDirStaysInside(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "table")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "file")))
	dir := newDir(t, root)
	ctx := t.Context()
	_, _, err := dir.Read(ctx, "file")
	require.Error(t, err)
	_, err = dir.Open(ctx, "table/secret")
	require.Error(t, err)
	require.Error(t, dir.Write(ctx, "table/new", []byte("x"), Condition{}))
	require.Error(t, dir.Remove(ctx, "table/secret"))
	draft, err := dir.Draft(ctx, "r", "table/data")
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	staged, err := draft.Stage(ctx)
	require.NoError(t, err)
	require.Error(t, dir.Commit(ctx, "r", File{Path: "table/data", Bytes: size, Staged: staged}))
	entries, err := list(ctx, dir, "")
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Equal(t, []string{"secret"}, names(tree(t, outside)))

	t.Log("a journal cannot name a file elsewhere")
	for _, name := range []string{"../../x", "/etc/passwd", "a/b", "", ".."} {
		_, err := dir.Holds(ctx, "r", File{Path: "x", Staged: []byte(`{"name": "` + name + `"}`)})
		require.ErrorIs(t, err, ErrDamaged, "%q", name)
	}
}

func TestDirWithAFileInTheWay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "table"), nil, 0o600))
	dir := newDir(t, root)
	err := dir.Write(t.Context(), "table/date/x", []byte("x"), Condition{})
	require.ErrorContains(t, err, "write table/date/x in "+root)
	require.ErrorContains(t, err, "not a directory")
	require.NoDirExists(t, filepath.Join(root, "_staging"))
	_, _, err = dir.Read(t.Context(), "table/date/x")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = dir.Open(t.Context(), "table")
	require.NoError(t, err)

	below := newDir(t, filepath.Join(root, "table", "deep"))
	_, err = below.Draft(t.Context(), "r", "x")
	require.ErrorContains(t, err, "make destination")
}

// TestDirErrorsKeepTheirReason has a disk fill up as files are made durable,
// and expects the reason and the path, and no temporary name.
func TestDirErrorsKeepTheirReason(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := newDir(t, root)
	full := &fs.PathError{Op: "write", Path: "_staging/r/SECRETNAME", Err: syscall.ENOSPC}
	dir.flush = func(osFile) error { return full }
	err := dir.Write(t.Context(), "_runs/r/plan.json", []byte("x"), Condition{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "write _runs/r/plan.json in "+root+": no space left on device")
	draft, err := dir.Draft(t.Context(), "r", "table/x")
	require.NoError(t, err)
	_, err = draft.Finish()
	require.NoError(t, err)
	_, err = draft.Stage(t.Context())
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "stage table/x in "+root)
	require.NotContains(t, err.Error(), "SECRETNAME")
	require.NoError(t, draft.Abort())
	require.Equal(t, []string{"./"}, names(tree(t, root)), "nothing is left of what could not be written")
}

// TestDirMakesDurableFirst holds the order in which things become durable:
// staged bytes before the name of the file, committed names before a document
// that tells of them.
func TestDirMakesDurableFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := newDir(t, root)
	var flushed []string
	dir.flush = func(f osFile) error {
		name, err := filepath.Rel(root, f.Name())
		if err != nil {
			return err
		}
		if info, err := f.Stat(); err == nil && !info.IsDir() {
			name = filepath.Dir(name) + "/*"
		}
		flushed = append(flushed, name)
		return nil
	}
	draft, err := dir.Draft(t.Context(), "r", "table/date/x")
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	staged, err := draft.Stage(t.Context())
	require.NoError(t, err)
	require.Equal(t, "_staging/r/*", flushed[0])
	require.Subset(t, flushed[1:], []string{".", "_staging", "_staging/r"})

	file := File{Path: "table/date/x", Bytes: size, Staged: staged}
	for range 2 { // also where another process has committed before
		flushed = nil
		require.NoError(t, dir.Commit(t.Context(), "r", file))
		require.Empty(t, flushed)
		require.NoError(t, dir.Write(t.Context(), "_runs/r/manifest.json", nil, Condition{}))
		document := indexOf(flushed, "_staging/r/*")
		require.Less(t, indexOf(flushed, "table/date"), document)
		require.Less(t, document, indexOf(flushed, "_runs/r"))
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

// TestDirClearsAwayAfterTheKilled writes a document of a run that is over, as
// when it is marked replaced, and is killed: nobody will sweep that run again.
func TestDirClearsAwayAfterTheKilled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := newDir(t, root)
	killed := errors.New("killed")
	dir.flush = func(f osFile) error {
		left := f.Name() + "-left"
		return errors.Join(killed, os.WriteFile(left, nil, 0o600))
	}
	require.ErrorIs(t, dir.Write(t.Context(), "_runs/over/manifest.json", nil, Condition{Absent: true}), killed)
	left, err := filepath.Glob(filepath.Join(root, "_staging", "*", "*-left"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	staged, err := dir.Staged(t.Context())
	require.NoError(t, err)
	require.Empty(t, staged, "it is no run's")

	again := newDir(t, root)
	require.NoError(t, again.Write(t.Context(), "_runs/next/intent.json", nil, Condition{Absent: true}))
	require.Equal(t, []string{"_runs/next/intent.json"}, names(tree(t, root)))
}

func TestDirLeavesNoRootThatItDidNotNeed(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := newDir(t, filepath.Join(base, "a", "b"))
	other := newDir(t, filepath.Join(base, "a", "b"))
	unlock, err := dir.Lock(t.Context(), "run", Exclusive, 0)
	require.NoError(t, err)
	_, err = other.Lock(t.Context(), "run", Exclusive, 0)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, unlock())
	require.NoDirExists(t, filepath.Join(base, "a"))

	t.Log("whoever had it open goes on with a new one")
	unlock, err = other.Lock(t.Context(), "run", Exclusive, time.Minute)
	require.NoError(t, err)
	require.NoError(t, other.Write(t.Context(), "x", nil, Condition{}))
	require.NoError(t, unlock())
	require.FileExists(t, filepath.Join(base, "a", "b", "x"))

	t.Log("a root that was there stays")
	there := newDir(t, t.TempDir())
	unlock, err = there.Lock(t.Context(), "run", Exclusive, 0)
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.DirExists(t, there.path)
}

func TestDirOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := newDir(t, root)
	_, _, err := dir.Read(t.Context(), "x")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, dir.Write(t.Context(), "x", []byte("1"), Condition{}))
	data, _, err := newDir(t, root).Read(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
}

func TestDirLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := newDir(t, t.TempDir())
	unlock, err := dir.Lock(t.Context(), "x", Exclusive, time.Minute)
	require.NoError(t, err)
	reason := errors.New("the user has had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := dir.Lock(ctx, "x", Exclusive, time.Minute)
		waiting <- err
	}()
	cancel(reason)
	err = <-waiting
	require.Error(t, err)
	require.NoError(t, unlock())
}

// TestDirLockIsOnePersons has many come and go, so that some lock the file of a
// lock that its holder is removing.
func TestDirLockIsOnePersons(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var held atomic.Int64
	var group errgroup.Group
	for range 4 {
		dir := newDir(t, root)
		group.Go(func() error {
			for taken := 0; taken < 50; {
				unlock, err := dir.Lock(t.Context(), "x", Exclusive, 0)
				if errors.Is(err, ErrLocked) {
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
	require.Equal(t, []string{"./"}, names(tree(t, root)))
}
