package main

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

// impatient is a store whose user loses patience before the n-th request.
type impatient struct {
	sink.Store

	left      int
	interrupt context.CancelFunc
}

func (s *impatient) request() {
	if s.left--; s.left == 0 {
		s.interrupt()
	}
}

func (s *impatient) Draft(ctx context.Context, run, path string) (sink.Draft, error) {
	s.request()
	return s.Store.Draft(ctx, run, path)
}

func (s *impatient) Commit(ctx context.Context, run string, file sink.File) error {
	s.request()
	return s.Store.Commit(ctx, run, file)
}

func (s *impatient) Read(ctx context.Context, path string) ([]byte, string, error) {
	s.request()
	return s.Store.Read(ctx, path)
}

func (s *impatient) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	s.request()
	return s.Store.Write(ctx, path, data, when)
}

func (s *impatient) Holds(ctx context.Context, run string, file sink.File) (bool, error) {
	s.request()
	return s.Store.Holds(ctx, run, file)
}

func (s *impatient) Lock(ctx context.Context, name string, mode sink.LockMode, patience time.Duration) (func() error, error) {
	s.request()
	return s.Store.Lock(ctx, name, mode, patience)
}

// filesBelow lists all there is in a folder.
func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if path != folder {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// TestInterruptedDoctor leaves nothing, wherever it is interrupted.
func TestInterruptedDoctor(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		dest := t.TempDir()
		dir, err := sink.NewDir(dest, sink.DirOptions{})
		require.NoError(t, err)
		store := &impatient{Store: dir, left: n, interrupt: cancel}
		try := &tryout{checkup: &checkup{}, store: store, run: trialRun(time.Now()), onDisk: true, overheard: &overheard{}}
		try.examine(ctx, "")
		require.Empty(t, filesBelow(t, dest), "interrupted before request %d", n)
		done := ctx.Err() == nil
		cancel()
		if done {
			require.Greater(t, n, 10)
			return
		}
	}
}

// TestDoctorClearsAway what a killed one has left, and not what another is at.
func TestDoctorClearsAway(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	dir, err := sink.NewDir(dest, sink.DirOptions{})
	require.NoError(t, err)
	ctx, now := t.Context(), time.Now()
	leave := func(began time.Time) (run string) {
		try := &tryout{checkup: &checkup{}, store: dir, run: trialRun(began), onDisk: true}
		file, document := trialPaths(try.run)
		_, err := try.draft(ctx, file, trialContent())
		require.NoError(t, err)
		require.NoError(t, dir.Write(ctx, document, trialContent(), sink.Condition{}))
		return try.run
	}
	killed, other := leave(now.Add(-time.Hour)), leave(now)
	require.NoError(t, dir.Write(ctx, trialFolder+"notes.json", trialContent(), sink.Condition{}))
	require.Zero(t, examine(t, nil, "--simulate", "--dest", dest).code)
	left := filesBelow(t, dest)
	_, document := trialPaths(other)
	require.Contains(t, left, filepath.Join(dest, document))
	require.Contains(t, left, filepath.Join(dest, trialFolder, "notes.json"))
	for _, path := range left {
		require.NotContains(t, path, killed)
	}
	staged, err := dir.Staged(ctx)
	require.NoError(t, err)
	require.Contains(t, staged, other)
}
