package servertest

import (
	"context"
	"os"
	"sync"
	"testing"
)

// Server is a server that runs until Stop is called.
type Server interface{ Stop() }

// Shared is a server for all tests of a package. It is started when the first test needs it.
type Shared[S Server] struct {
	variable string
	launch   func(ctx context.Context, program string) (S, error)

	mu      sync.Mutex
	started bool
	server  S
	err     error
}

// NewShared returns a Shared that is started with launch. The given environment variable contains the path of the
// program.
func NewShared[S Server](variable string, launch func(ctx context.Context, program string) (S, error)) *Shared[S] {
	return &Shared[S]{variable: variable, launch: launch}
}

// Get returns the server, and starts it if necessary. If it is not installed, the test is skipped or fails; see
// Program.
func (s *Shared[S]) Get(t testing.TB) S {
	t.Helper()
	program := Program(t, s.variable)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		s.server, s.err = s.launch(context.WithoutCancel(t.Context()), program)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Stop ends the server if it was started.
func (s *Shared[S]) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started && s.err == nil {
		s.server.Stop()
	}
}

// Program returns the path of the program or folder in an environment variable. If the variable is not set, the test is
// skipped, or fails if CI is set.
func Program(t testing.TB, variable string) string {
	t.Helper()
	program := os.Getenv(variable) //nolint:forbidigo // The Makefile passes programs to tests in the environment.
	if program != "" {
		return program
	}
	message := variable + " is not set: make check installs the server and sets it"
	if os.Getenv("CI") != "" { //nolint:forbidigo // The CI system sets CI in the environment.
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// Start starts a server that runs until the test ends. If it is not installed, the test is skipped or fails; see
// Program. With -short, the test is always skipped.
func Start[S Server](t testing.TB, variable string, launch func(ctx context.Context, program string) (S, error)) S {
	t.Helper()
	if testing.Short() {
		t.Skip("tests with a server take a long time")
	}
	server, err := launch(t.Context(), Program(t, variable))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}
