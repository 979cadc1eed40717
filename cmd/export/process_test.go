//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process runs the command as a process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bytes.Buffer
	stderr *bytes.Buffer
	kill   waitFunc // nil for never
	delay  time.Duration
}

// processResult is the outcome of a process.
type processResult struct {
	killed         bool
	code           int // -1 if it was killed
	stdout, stderr string
}

// waitFunc returns at the moment at which a process is to be killed, or when ctx is done.
type waitFunc func(ctx context.Context)

func afterDelay(delay time.Duration) waitFunc {
	return func(ctx context.Context) {
		if delay == 0 {
			return
		}
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// afterCondition waits until the condition holds.
func afterCondition(holds func() bool) waitFunc {
	return func(ctx context.Context) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !holds() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// afterFileContains waits until a file that matches the pattern contains the text.
func afterFileContains(pattern, text string) waitFunc {
	return afterCondition(func() bool {
		files, _ := filepath.Glob(pattern)
		return slices.ContainsFunc(files, func(file string) bool {
			data, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(data), text)
		})
	})
}

// run runs the process to its end.
func (p *process) run() processResult {
	p.t.Helper()
	return p.runUntil(nil)
}

// runOK runs the process to its end, which must be exit code 0.
func (p *process) runOK() processResult {
	p.t.Helper()
	result := p.run()
	require.Zero(p.t, result.code, result.stderr)
	return result
}

// runUntil runs the process to its end, or kills it when the function returns.
func (p *process) runUntil(kill waitFunc) processResult {
	p.t.Helper()
	p.kill = kill
	return runTogether(p)[0]
}

// runTogether starts the processes in turn, each after its delay, and waits for all.
func runTogether(processes ...*process) []processResult {
	for _, p := range processes {
		p.t.Helper()
		afterDelay(p.delay)(p.t.Context())
		require.NoError(p.t, p.cmd.Start())
	}
	results := make([]processResult, len(processes))
	var running sync.WaitGroup
	for i, p := range processes {
		running.Go(func() { results[i] = p.await() })
	}
	running.Wait()
	return results
}

// await waits for a started process, and kills it when p.kill returns.
func (p *process) await() processResult {
	ctx, cancel := context.WithCancel(p.t.Context())
	var killer sync.WaitGroup
	if p.kill != nil {
		killer.Go(func() {
			if p.kill(ctx); ctx.Err() == nil {
				_ = p.cmd.Process.Kill() // It may have ended.
			}
		})
	}
	_ = p.cmd.Wait() // The state holds the result.
	cancel()
	killer.Wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return processResult{
		killed: ok && status.Signaled() && status.Signal() == syscall.SIGKILL,
		code:   p.cmd.ProcessState.ExitCode(), stdout: p.stdout.String(), stderr: p.stderr.String(),
	}
}
