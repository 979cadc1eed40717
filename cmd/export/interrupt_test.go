//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
)

// TestInterrupt interrupts a run: it exits with 130, publishes nothing, and says how to resume it,
// in JSON too. Resuming it then works.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dest := filepath.Join(t.TempDir(), "out")
			args := []string{
				"run", "--simulate", "--dest", dest, "--run-id", "r1", "--datasets", "schools,test_results", "--schools-per-file", "1",
				"--simulate-schools", "8", "--simulate-sizes", "3,2,5,1", "--simulate-results", "50",
			}
			cmd, stderr := commandProcess(t, append(args, "--simulate-latency", "300ms", "--concurrency", "1", "--output", "json")...)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				plans, _ := filepath.Glob(filepath.Join(dest, "_runs", "*", "plan.json"))
				return len(plans) == 1
			}, time.Minute, 10*time.Millisecond, "the run never began: %s", stderr)
			require.NoError(t, cmd.Process.Signal(signal))
			asked := time.Now()
			require.Error(t, cmd.Wait())
			require.Less(t, time.Since(asked), 30*time.Second)
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), stderr)
			require.Contains(t, stderr.String(), "interrupted: run r1 is not published; the same command resumes it")
			require.Contains(t, requireErrorAsJSON(t, stdout.Bytes(), exitInterrupted), "the same command resumes it")
			require.NoDirExists(t, filepath.Join(dest, "test_results"))
			require.NoFileExists(t, filepath.Join(dest, "_latest.json"))

			again, stderr := commandProcess(t, args...)
			require.NoError(t, again.Run(), stderr)
			require.FileExists(t, filepath.Join(dest, "_latest.json"))
		})
	}
}

// TestInterruptedSimulate expects simulate to serve until it is interrupted.
func TestInterruptedSimulate(t *testing.T) {
	t.Parallel()
	cmd, stderr := commandProcess(t, "simulate", "--schools", "2")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	first := make([]byte, 200)
	n, err := out.Read(first)
	require.NoError(t, err, stderr)
	served := regexp.MustCompile(`^export GROWTH_EXPORT_BASE_URL=http://(127\.0\.0\.1:\d+)/sim\n`).FindStringSubmatch(string(first[:n]))
	require.NotNil(t, served, string(first[:n]))
	second, complaint := commandProcess(t, "simulate", "--addr", served[1])
	require.Error(t, second.Run())
	require.Equal(t, exitUsage, second.ProcessState.ExitCode())
	require.Regexp(t, `^growth-export: --addr: .*in use; port 0 picks a free port\n$`, complaint.String())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), stderr)
}

// TestAwaitDoesNotWaitForever expects await to give up on work that ignores its context.
func TestAwaitDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stuck := make(chan struct{})
		defer close(stuck)
		started := time.Now()
		_, err := await(ctx, func() (*pipeline.Summary, error) {
			<-stuck
			return nil, nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, interruptGrace, time.Since(started))
	})
}
