//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is the command in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bytes.Buffer
	stderr *bytes.Buffer
	kill   moment // nil for never
	delay  time.Duration
}

// ending is how a process ended.
type ending struct {
	killed         bool
	code           int // -1 if it was killed
	stdout, stderr string
}

// moment returns when a process is to be killed, or when ctx is done, whichever
// comes first.
type moment func(ctx context.Context)

// in is a while from now.
func in(wait time.Duration) moment {
	return func(ctx context.Context) {
		if wait == 0 {
			return
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// onceThere is a while after a file is there.
func onceThere(path string, wait time.Duration) moment {
	return func(ctx context.Context) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := os.Stat(path); err == nil {
				in(wait)(ctx)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// onceContained is when a file that matches the pattern holds the text.
func onceContained(pattern, text string) moment {
	return func(ctx context.Context) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			files, err := filepath.Glob(pattern)
			for _, file := range files {
				if data, readErr := os.ReadFile(file); readErr == nil && strings.Contains(string(data), text) {
					return
				}
			}
			if err != nil {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// end runs the process to its end, or until that moment; nil is never.
func (p *process) end(when moment) ending {
	p.t.Helper()
	p.kill = when
	return together(p)[0]
}

// together starts processes one after the other, each after its delay, and
// awaits them all.
func together(processes ...*process) []ending {
	for _, p := range processes {
		p.t.Helper()
		in(p.delay)(p.t.Context())
		require.NoError(p.t, p.cmd.Start())
	}
	endings := make([]ending, len(processes))
	var running sync.WaitGroup
	for i, p := range processes {
		running.Go(func() { endings[i] = p.await() })
	}
	running.Wait()
	return endings
}

// await waits for a process that is running, and kills it when that is asked.
func (p *process) await() ending {
	ctx, cancel := context.WithCancel(p.t.Context())
	var killer sync.WaitGroup
	if p.kill != nil {
		killer.Go(func() {
			if p.kill(ctx); ctx.Err() == nil {
				_ = p.cmd.Process.Kill() // It may have ended.
			}
		})
	}
	_ = p.cmd.Wait() // Its state says it better.
	cancel()
	killer.Wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ending{
		killed: ok && status.Signaled() && status.Signal() == syscall.SIGKILL,
		code:   p.cmd.ProcessState.ExitCode(), stdout: p.stdout.String(), stderr: p.stderr.String(),
	}
}
