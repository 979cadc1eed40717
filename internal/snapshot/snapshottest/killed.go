package snapshottest

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// ErrKilled is the error of every operation of a killed process.
var ErrKilled = errors.New("the process was killed")

// Mortal is a Store whose process is killed before one of its operations. After that, locks can still be released,
// because the system does this for a killed process.
type Mortal struct {
	sink.Store

	Left atomic.Int64 // number of operations before the process is killed
	// Survives is true if an operation that only reads fails without killing the process. A kill there would leave the
	// same files as a kill before the next write.
	Survives bool
	// FailsOnce is true if the operation fails without killing the process.
	FailsOnce bool
	// Wait is called before each operation, if it is set.
	Wait func()
}

// read carries out an operation that changes nothing, unless the process is dead.
func (m *Mortal) read(do func() error) error {
	err := m.step(do)
	if m.Survives {
		m.Left.CompareAndSwap(-1, 1<<40)
	}
	return err
}

// step carries out an operation, unless the process is dead.
func (m *Mortal) step(do func() error) error {
	if m.Wait != nil {
		m.Wait()
	}
	if m.Left.Add(-1) < 0 {
		if m.FailsOnce {
			m.Left.CompareAndSwap(-1, 1<<40)
		}
		return ErrKilled
	}
	return do()
}

// readTo carries out an operation that changes nothing and has a result, unless the process is dead.
func readTo[T any](m *Mortal, do func() (T, error)) (result T, err error) {
	err = m.read(func() error {
		result, err = do()
		return err
	})
	return result, err
}

// stepTo carries out an operation that has a result, unless the process is dead.
func stepTo[T any](m *Mortal, do func() (T, error)) (result T, err error) {
	err = m.step(func() error {
		result, err = do()
		return err
	})
	return result, err
}

// Draft calls Draft of the store, unless the process is dead.
func (m *Mortal) Draft(ctx context.Context, run, path string) (sink.Draft, error) {
	return stepTo(m, func() (sink.Draft, error) {
		draft, err := m.Store.Draft(ctx, run, path)
		return &mortalDraft{Draft: draft, of: m}, err
	})
}

type mortalDraft struct {
	sink.Draft

	of *Mortal
}

func (d *mortalDraft) Write(p []byte) (int, error) {
	return stepTo(d.of, func() (int, error) { return d.Draft.Write(p) })
}

func (d *mortalDraft) Stage(ctx context.Context) ([]byte, error) {
	return stepTo(d.of, func() ([]byte, error) { return d.Draft.Stage(ctx) })
}

func (d *mortalDraft) Abort() error { return d.of.step(d.Draft.Abort) }

// Holds calls Holds of the store, unless the process is dead.
func (m *Mortal) Holds(ctx context.Context, run string, file sink.File) (bool, error) {
	return readTo(m, func() (bool, error) { return m.Store.Holds(ctx, run, file) })
}

// Intact calls Intact of the store, unless the process is dead.
func (m *Mortal) Intact(ctx context.Context, run string, file sink.File) (bool, error) {
	return readTo(m, func() (bool, error) { return m.Store.Intact(ctx, run, file) })
}

// Commit calls Commit of the store, unless the process is dead.
func (m *Mortal) Commit(ctx context.Context, run string, file sink.File) error {
	return m.step(func() error { return m.Store.Commit(ctx, run, file) })
}

// Abort calls Abort of the store, unless the process is dead.
func (m *Mortal) Abort(ctx context.Context, run string, file sink.File) error {
	return m.step(func() error { return m.Store.Abort(ctx, run, file) })
}

// Sweep calls Sweep of the store, unless the process is dead.
func (m *Mortal) Sweep(ctx context.Context, run string, keep ...sink.File) error {
	return m.step(func() error { return m.Store.Sweep(ctx, run, keep...) })
}

// Read calls Read of the store, unless the process is dead.
func (m *Mortal) Read(ctx context.Context, path string) (data []byte, version string, err error) {
	err = m.read(func() error {
		data, version, err = m.Store.Read(ctx, path)
		return err
	})
	return data, version, err
}

// Write calls Write of the store, unless the process is dead.
func (m *Mortal) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	return m.step(func() error { return m.Store.Write(ctx, path, data, when) })
}

// List calls List of the store, unless the process is dead.
func (m *Mortal) List(ctx context.Context, prefix string) iter.Seq2[sink.Entry, error] {
	if err := m.read(func() error { return nil }); err != nil {
		return func(yield func(sink.Entry, error) bool) { yield(sink.Entry{}, err) }
	}
	return m.Store.List(ctx, prefix)
}

// Open calls Open of the store, unless the process is dead.
func (m *Mortal) Open(ctx context.Context, path string) (sink.Object, error) {
	return readTo(m, func() (sink.Object, error) { return m.Store.Open(ctx, path) })
}

// Remove calls Remove of the store, unless the process is dead.
func (m *Mortal) Remove(ctx context.Context, path string) error {
	return m.step(func() error { return m.Store.Remove(ctx, path) })
}

// Lock calls Lock of the store, unless the process is dead.
func (m *Mortal) Lock(ctx context.Context, name string, mode sink.LockMode, patience time.Duration) (func() error, error) {
	return stepTo(m, func() (func() error, error) { return m.Store.Lock(ctx, name, mode, patience) })
}

// FinishAll finishes every interrupted change. It returns an error if a change cannot be finished.
func FinishAll(ctx context.Context, store sink.Store) error {
	recovered, err := snapshot.At(store).Recover(ctx)
	return errors.Join(err, recovered.Err())
}

// CopyTree copies a destination on disk and returns the path of the copy.
func CopyTree(t *testing.T, root string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	LinkTree(t, root, to)
	return to
}

// LinkTree copies a folder by linking its files, which is safe because stores never change a file once it is visible.
func LinkTree(t *testing.T, root, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Mkdir(filepath.Join(to, name), 0o700)
		}
		return os.Link(path, filepath.Join(to, name)) //nolint:gosec // A test owns the folder.
	}))
}

// Few reduces a plan to two datasets and one bucket.
func Few(p *snapshot.Plan) {
	Datasets("schools", "students")(p)
	p.Schools, p.Buckets = p.Schools[:2], p.Buckets[:1]
}

// Lockless is a Store without locks, like S3: only conditional writes keep publishers from overwriting each other.
type Lockless struct{ sink.Store }

// Lock grants every lock.
func (Lockless) Lock(context.Context, string, sink.LockMode, time.Duration) (func() error, error) {
	return func() error { return nil }, nil
}

// Info reports that the store has no locks.
func (l Lockless) Info() sink.Info {
	info := l.Store.Info()
	info.Locks = false
	return info
}
