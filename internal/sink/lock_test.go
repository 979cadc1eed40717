package sink

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLockWait waits for a lock with a clock of its own: the wait is logged
// after ten seconds, and ends with an error that says who holds the lock.
func TestLockWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		holder, err := NewDir(root, DirOptions{Command: "publish"})
		require.NoError(t, err)
		unlock, err := holder.Lock(t.Context(), publishLock, Exclusive, 0)
		require.NoError(t, err)

		var log bytes.Buffer
		waiter, err := NewDir(root, DirOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		_, err = waiter.Lock(t.Context(), publishLock, Exclusive, 9*time.Second)
		require.ErrorIs(t, err, ErrLocked)
		require.Empty(t, log.String())

		began := time.Now()
		_, err = lockPublishing(t.Context(), waiter)
		require.ErrorIs(t, err, ErrLocked)
		require.WithinDuration(t, began.Add(publishPatience), time.Now(), time.Second)
		host, _ := os.Hostname()
		require.ErrorContains(t, err, `lock "publish" in `+root+": held by "+LockHolder{
			PID: os.Getpid(), Host: host, Since: began.Add(-9 * time.Second), Command: "publish",
		}.String()+", gave up after 30m0s: wait for that process or stop it, then run the command again")
		require.Contains(t, log.String(), "waiting for a lock")
		require.Contains(t, log.String(), "lock=publish waited=10s held_by_pid=")
		require.Contains(t, log.String(), " held_by_host="+host+" held_by_command=publish ")
		require.Equal(t, 30, strings.Count(log.String(), "\n"))
		require.NoError(t, unlock())
	})
}

// TestLockOfKilledProcess finds the file of a lock whose holder was killed: it
// locks nothing and its holder is not named.
func TestLockOfKilledProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := newDir(t, root)
	host, err := os.Hostname()
	require.NoError(t, err)
	path := filepath.Join(root, filepath.FromSlash(lockPath("x")))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	dead := `{"id":"A","pid":99999999,"host":"` + host + `","since":"2026-11-20T02:00:00Z"}` + "\n"
	elsewhere := `{"id":"B","pid":7,"host":"elsewhere","since":"2026-11-20T02:00:00Z","command":"run"}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(dead+"half a li\n"+elsewhere), 0o600))

	unlock, err := dir.Lock(t.Context(), "x", Shared, 0)
	require.NoError(t, err)
	_, err = newDir(t, root).Lock(t.Context(), "x", Exclusive, 0)
	require.ErrorContains(t, err, "and 1 more")
	require.NoError(t, unlock())
	require.NoFileExists(t, path)

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(elsewhere), 0o600))
	unlock, err = dir.Lock(t.Context(), "x", Exclusive, 0)
	require.NoError(t, err)
	_, err = newDir(t, root).Lock(t.Context(), "x", Shared, 0)
	require.NotContains(t, err.Error(), "more")
	require.NoError(t, unlock())
	require.Equal(t, []string{"./"}, names(tree(t, root)))
}

// TestHoldRun holds a run by several processes at once.
func TestHoldRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var releases []func() error
	for _, shard := range [][2]int{{0, 7}, {3, 8}, {0, 16}} {
		release, err := HoldRunShared(t.Context(), newDir(t, root), "night", shard[0], shard[1])
		require.NoError(t, err)
		_, err = HoldRunShared(t.Context(), newDir(t, root), "night", shard[0], shard[1])
		require.ErrorIs(t, err, ErrLocked, "the same shard")
		releases = append(releases, release)
	}
	for _, release := range releases {
		_, err := HoldRunExclusive(t.Context(), newDir(t, root), "night")
		require.ErrorIs(t, err, ErrLocked)
		require.NoError(t, release())
	}
	release, err := HoldRunExclusive(t.Context(), newDir(t, root), "night")
	require.NoError(t, err)
	other, err := HoldRunShared(t.Context(), newDir(t, root), "another", 0, 1)
	require.NoError(t, err)
	require.NoError(t, other())
	require.NoError(t, release())
	require.Equal(t, []string{"./"}, names(tree(t, root)))
}
