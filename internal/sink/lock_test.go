package sink_test

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

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
)

// TestLockWait waits in virtual time. The wait is logged after ten seconds, and ends with an error that contains the
// holder.
func TestLockWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		holder, err := sink.NewDir(root, sink.DirOptions{Command: "publish"})
		require.NoError(t, err)
		unlock, err := holder.Lock(t.Context(), "publish", sink.Exclusive, 0)
		require.NoError(t, err)

		var log bytes.Buffer
		waiter, err := sink.NewDir(root, sink.DirOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		_, err = waiter.Lock(t.Context(), "publish", sink.Exclusive, 9*time.Second)
		require.ErrorIs(t, err, sink.ErrLocked)
		require.Empty(t, log.String())

		began := time.Now()
		_, err = waiter.Lock(t.Context(), "publish", sink.Exclusive, 30*time.Minute)
		require.ErrorIs(t, err, sink.ErrLocked)
		require.WithinDuration(t, began.Add(30*time.Minute), time.Now(), time.Second)
		host, _ := os.Hostname()
		require.ErrorContains(t, err, `lock "publish" in `+root+": held by "+sink.LockHolder{
			PID: os.Getpid(), Host: host, Since: began.Add(-9 * time.Second), Command: "publish",
		}.String()+", gave up after 30m0s: wait for that process or stop it, then run the command again")
		require.Contains(t, log.String(), "waiting for a lock")
		require.Contains(t, log.String(), "lock=publish waited=10s held_by_pid=")
		require.Contains(t, log.String(), " held_by_host="+host+" held_by_command=publish ")
		require.Equal(t, 30, strings.Count(log.String(), "\n"))
		require.NoError(t, unlock())
	})
}

// TestLockOfKilledProcess finds the file of a lock whose holder was killed. The file is not locked, and errors do not
// contain the holder.
func TestLockOfKilledProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := storetest.NewDir(t, root, nil)
	host, err := os.Hostname()
	require.NoError(t, err)
	path := filepath.Join(root, "_staging", "~locks", "x")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	dead := `{"id":"A","pid":99999999,"host":"` + host + `","since":"2026-11-20T02:00:00Z"}` + "\n"
	elsewhere := `{"id":"B","pid":7,"host":"elsewhere","since":"2026-11-20T02:00:00Z","command":"run"}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(dead+"half a li\n"+elsewhere), 0o600))

	unlock, err := dir.Lock(t.Context(), "x", sink.Shared, 0)
	require.NoError(t, err)
	_, err = storetest.NewDir(t, root, nil).Lock(t.Context(), "x", sink.Exclusive, 0)
	require.ErrorContains(t, err, "and 1 more")
	require.NoError(t, unlock())
	require.NoFileExists(t, path)

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(elsewhere), 0o600))
	unlock, err = dir.Lock(t.Context(), "x", sink.Exclusive, 0)
	require.NoError(t, err)
	_, err = storetest.NewDir(t, root, nil).Lock(t.Context(), "x", sink.Shared, 0)
	require.NotContains(t, err.Error(), "more")
	require.NoError(t, unlock())
	require.Equal(t, []string{"./"}, storetest.Paths(t, root))
}
