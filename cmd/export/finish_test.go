//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
)

// TestFinishInterrupted checks that the command of --on-finish learns that the run was interrupted.
func TestFinishInterrupted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dest, told := filepath.Join(folder, "out"), filepath.Join(folder, "told.json")
	cmd, stderr := commandProcess(t, "run", "--simulate", "--dest", dest, "--run-id", "r1", "--datasets", "schools,test_results",
		"--simulate-latency", "300ms", "--concurrency", "1", "--on-finish", "cat > '"+told+"'")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		plans, _ := filepath.Glob(filepath.Join(dest, "_runs", "*", "plan.json"))
		return len(plans) == 1
	}, time.Minute, 10*time.Millisecond, "the run never began: %s", stderr)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), stderr)
	data, err := os.ReadFile(told)
	require.NoError(t, err, stderr)
	var end struct {
		ExitCode int    `json:"exit_code"`
		RunID    string `json:"run_id"`
		Error    string `json:"error"`
		Requests snapshot.Requests
	}
	require.NoError(t, json.Unmarshal(data, &end))
	require.Equal(t, exitInterrupted, end.ExitCode)
	require.Positive(t, end.Requests.Total)
	require.Contains(t, end.Error, "interrupted")
}

// TestFinishIsBounded checks that a command that never ends is killed, and that nothing waits for processes that a
// command has left running.
func TestFinishIsBounded(t *testing.T) {
	t.Parallel()
	a := &app{env: map[string]string{"PATH": os.Getenv("PATH")}, stderr: newScreen(&bytes.Buffer{})}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.ErrorIs(t, a.pipeToShell(ctx, "sleep 300", jsonSummary{}), context.DeadlineExceeded)
	require.Error(t, a.pipeToShell(t.Context(), "sleep 300 &", jsonSummary{}), "it has left a process running")
	require.Less(t, time.Since(began), 2*time.Minute)
}

// TestFinishKillsChildren kills a command and expects its child processes to be
// killed too. The child holds a pipe open for as long as it lives.
func TestFinishKillsChildren(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	a := &app{env: map[string]string{"PATH": os.Getenv("PATH")}, stderr: newScreen(&bytes.Buffer{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- a.pipeToShell(ctx, "sleep 300 > '"+pipe+"' & sleep 300", jsonSummary{}) }()
	reader, err := os.Open(pipe) // this returns once the child has opened it too
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, reader.SetReadDeadline(time.Now().Add(2*time.Minute)))
	rest, err := io.ReadAll(reader)
	require.NoError(t, err, "the child is still alive")
	require.Empty(t, rest)
	require.NoError(t, reader.Close())
}
