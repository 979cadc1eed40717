package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long a server may take to start. It allows for a busy machine.
const patience = time.Minute

// Process is a running server.
type Process struct {
	// Address is the host and port of the server.
	Address string

	command *exec.Cmd
	output  bytes.Buffer
	exited  chan struct{}
}

// Launch starts a program that listens on a free local port, and waits until the program accepts connections. The
// function configure returns the program's arguments for that port, and its environment. If the environment is nil, the
// program inherits the environment of this process. The caller must call Stop.
func Launch(ctx context.Context, program string, configure func(address string) (args, env []string)) (*Process, error) {
	var err error
	for range 10 { // Another process may have taken the port.
		var p *Process
		if p, err = launch(ctx, program, configure); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
}

func launch(ctx context.Context, program string, configure func(address string) (args, env []string)) (*Process, error) {
	// The port is below 32768, because a process that requests any free port gets a port above 32767. In that range,
	// another test could get this port before the server does, and would be mistaken for the server.
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
	if err != nil {
		return nil, err
	}
	p := &Process{Address: listener.Addr().String(), exited: make(chan struct{})}
	if err := listener.Close(); err != nil {
		return nil, err
	}
	args, env := configure(p.Address)
	// The program ends when Stop is called, not when ctx is done.
	p.command = exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // The Makefile installs the program.
	p.command.Env, p.command.Stdout, p.command.Stderr = env, &p.output, &p.output
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait() // Wait returns an error when Stop kills the program.
		close(p.exited)
	}()
	if err := p.await(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(p.output.String()))
	}
	return p, nil
}

// await waits until the server accepts connections.
func (p *Process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var dialer net.Dialer
	for {
		if conn, err := dialer.DialContext(ctx, "tcp", p.Address); err == nil {
			return conn.Close()
		}
		select {
		case <-p.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Stop ends the server.
func (p *Process) Stop() {
	_ = p.command.Process.Kill() // The process may already have ended.
	<-p.exited
}
