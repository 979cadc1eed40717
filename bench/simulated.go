package main

import (
	"bufio"
	"context"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// simulated is a simulated service in a separate process. It has the same address on all days, because a history
// belongs to one service.
type simulated struct {
	program, address string
	schools, results int
	latency          time.Duration
	env              []string
}

// simulated returns a service with an address that is currently free. It does not start the service.
func (s *settings) simulated(ctx context.Context, schools, results int, latency time.Duration) (simulated, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return simulated{}, err
	}
	return simulated{s.build, l.Addr().String(), schools, results, latency, s.env}, l.Close()
}

// serve runs the service, on the given day, while use runs with an environment that points to it.
func (s *simulated) serve(ctx context.Context, day time.Time, use func(ctx context.Context, env []string) error) error {
	cmd := exec.CommandContext(ctx, s.program, "simulate", "--addr", s.address, "--simulate-date", day.Format(time.DateOnly),
		"--schools", strconv.Itoa(s.schools), "--results", strconv.Itoa(s.results), "--latency", s.latency.String())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	env := slices.Clone(s.env)
	lines := bufio.NewScanner(out)
	for found := 0; found < 3 && lines.Scan(); {
		if variable, ok := strings.CutPrefix(lines.Text(), "export "); ok {
			env = append(env, variable)
			found++
		}
	}
	err = use(ctx, env)
	_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that the process has ended
	_ = cmd.Wait()                          // the signal makes it fail
	return err
}
