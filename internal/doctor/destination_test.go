package doctor_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/doctor"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
)

// stopping is a store that stops before the n-th request: it calls stop or, if stop is nil, fails from then on, as if
// the process had been killed.
type stopping struct {
	sink.Store

	left int
	stop func()
}

var errKilled = errors.New("killed")

func (s *stopping) request() error {
	if s.left--; s.left == 0 && s.stop != nil {
		s.stop()
	}
	if s.left <= 0 && s.stop == nil {
		return errKilled
	}
	return nil
}

func (s *stopping) Draft(ctx context.Context, run, path string) (sink.Draft, error) {
	if err := s.request(); err != nil {
		return nil, err
	}
	return s.Store.Draft(ctx, run, path)
}

func (s *stopping) Commit(ctx context.Context, run string, file sink.File) error {
	if err := s.request(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, run, file)
}

func (s *stopping) Abort(ctx context.Context, run string, file sink.File) error {
	if err := s.request(); err != nil {
		return err
	}
	return s.Store.Abort(ctx, run, file)
}

func (s *stopping) Sweep(ctx context.Context, run string, keep ...sink.File) error {
	if err := s.request(); err != nil {
		return err
	}
	return s.Store.Sweep(ctx, run, keep...)
}

func (s *stopping) Read(ctx context.Context, path string) ([]byte, string, error) {
	if err := s.request(); err != nil {
		return nil, "", err
	}
	return s.Store.Read(ctx, path)
}

func (s *stopping) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := s.request(); err != nil {
		return err
	}
	return s.Store.Write(ctx, path, data, when)
}

func (s *stopping) Remove(ctx context.Context, path string) error {
	if err := s.request(); err != nil {
		return err
	}
	return s.Store.Remove(ctx, path)
}

func (s *stopping) List(ctx context.Context, prefix string) iter.Seq2[sink.Entry, error] {
	if err := s.request(); err != nil {
		return func(yield func(sink.Entry, error) bool) { yield(sink.Entry{}, err) }
	}
	return s.Store.List(ctx, prefix)
}

func (s *stopping) Holds(ctx context.Context, run string, file sink.File) (bool, error) {
	if err := s.request(); err != nil {
		return false, err
	}
	return s.Store.Holds(ctx, run, file)
}

func (s *stopping) Lock(ctx context.Context, name string, mode sink.LockMode, patience time.Duration) (func() error, error) {
	if err := s.request(); err != nil {
		return nil, err
	}
	return s.Store.Lock(ctx, name, mode, patience)
}

// onDisk returns a destination in a folder that need not exist.
func onDisk(t *testing.T, folder string) doctor.Destination {
	t.Helper()
	store, err := sink.NewDir(folder, sink.DirOptions{})
	require.NoError(t, err)
	return doctor.Destination{Store: store, Scratch: t.TempDir(), PartitionBy: snapshot.NotPartitioned, Now: time.Now}
}

// filesBelow lists everything in a folder.
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

// TestInterrupted checks that nothing is left behind wherever a check is interrupted.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		d := onDisk(t, t.TempDir())
		d.Store = &stopping{Store: d.Store, left: n, stop: cancel}
		doctor.CheckDestination(ctx, d)
		require.Empty(t, filesBelow(t, d.Store.Info().Folder), "interrupted before request %d", n)
		done := ctx.Err() == nil
		cancel()
		if done {
			require.Greater(t, n, 10)
			return
		}
	}
}

// TestRemovesStale checks that the leftovers of a killed doctor are removed, but not the files of a doctor that may
// still be running.
func TestRemovesStale(t *testing.T) {
	t.Parallel()
	most := 0
	for n := 1; ; n += 3 {
		d := onDisk(t, t.TempDir())
		killed := d
		killed.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		dying := &stopping{Store: d.Store, left: n}
		killed.Store = dying
		doctor.CheckDestination(t.Context(), killed)
		most = max(most, len(filesBelow(t, d.Store.Info().Folder)))

		for _, f := range doctor.CheckDestination(t.Context(), d) {
			require.NotEqual(t, doctor.Fail, f.State, "%v", f)
		}
		require.Empty(t, filesBelow(t, d.Store.Info().Folder), "killed before request %d", n)
		if dying.left > 0 {
			break
		}
	}
	require.Positive(t, most)

	d := onDisk(t, t.TempDir())
	working := d
	working.Store = &stopping{Store: d.Store, left: 8} // a file is staged
	doctor.CheckDestination(t.Context(), working)
	require.NoError(t, d.Store.Write(t.Context(), "_doctor/notes.json", []byte("{}"), sink.Condition{}))
	before := filesBelow(t, d.Store.Info().Folder)
	require.Greater(t, len(before), 2)
	doctor.CheckDestination(t.Context(), d)
	require.Equal(t, before, filesBelow(t, d.Store.Info().Folder))
}

// TestRemovesStaleUploads does the same on S3, where a killed doctor leaves an upload behind.
func TestRemovesStaleUploads(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	store := server.Open(t, bucket, "some/prefix")
	d := doctor.Destination{Store: store, Scratch: t.TempDir(), PartitionBy: snapshot.NotPartitioned, Now: time.Now}
	most := 0
	for n := 2; n < 12; n++ {
		killed := d
		killed.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		killed.Store = &stopping{Store: store, left: n}
		doctor.CheckDestination(t.Context(), killed)
		most = max(most, len(server.Uploads(t, bucket)))
	}
	require.Positive(t, most)
	for _, f := range doctor.CheckDestination(t.Context(), d) {
		require.NotEqual(t, doctor.Fail, f.State, "%v", f)
	}
	require.Empty(t, server.Uploads(t, bucket))
	found, err := filepath.Glob(filepath.Join(server.Root, bucket, "some", "prefix", "*"))
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestFreeSpace expects a warning if there is less free space than the size of the latest snapshot.
func TestFreeSpace(t *testing.T) {
	t.Parallel()
	d := onDisk(t, filepath.Join(t.TempDir(), "not", "there", "yet"))
	finding(t, doctor.CheckDestination(t.Context(), d), doctor.FreeSpace, doctor.OK)
	require.NoDirExists(t, d.Store.Info().Folder)

	d = onDisk(t, t.TempDir())
	ctx := t.Context()
	manifest := []byte(`{"format_version": 1, "run_id": "huge", "status": "published", "snapshot_date": "2026-11-20",
		"tables": {"schools": {"files": [{"path": "x", "bytes": 4611686018427387904}]}}}`)
	require.NoError(t, d.Store.Write(ctx, "_runs/huge/manifest.json", manifest, sink.Condition{}))
	require.NoError(t, d.Store.Write(ctx, "_latest.json", []byte(`{"format_version": 1, "run_id": "huge"}`), sink.Condition{}))
	findings := doctor.CheckDestination(ctx, d)
	finding(t, findings, doctor.Snapshot, doctor.OK)
	_, text := finding(t, findings, doctor.FreeSpace, doctor.Warn)
	require.Contains(t, text, "a run may need")
}

// TestDamagedDestination checks that an unreadable pointer is reported and not changed.
func TestDamagedDestination(t *testing.T) {
	t.Parallel()
	d := onDisk(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(d.Store.Info().Folder, "_latest.json"), []byte("{"), 0o600))
	_, text := finding(t, doctor.CheckDestination(t.Context(), d), doctor.Snapshot, doctor.Fail)
	require.Contains(t, text, "growth-export verify")
	require.Len(t, filesBelow(t, d.Store.Info().Folder), 1)
}

// racy is a store without locks that honors the conditions of consecutive writes, but not of concurrent ones.
type racy struct {
	sink.Store

	mu      sync.Mutex
	waiting map[string]chan struct{} // closed once a second writer has arrived
}

func (r *racy) Info() sink.Info { return sink.Info{Conditions: "use another store"} }

func (r *racy) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if !strings.Contains(path, "-race-") {
		return r.Store.Write(ctx, path, data, when)
	}
	r.mu.Lock()
	second, late := r.waiting[path]
	if !late {
		second = make(chan struct{})
		r.waiting[path] = second
	} else {
		delete(r.waiting, path)
		close(second)
	}
	r.mu.Unlock()
	<-second
	return r.Store.Write(ctx, path, data, sink.Condition{})
}

// TestRacingWriters checks that a store is reported on which two concurrent writers succeed.
func TestRacingWriters(t *testing.T) {
	t.Parallel()
	d := onDisk(t, t.TempDir())
	dir := d.Store
	d.Store = &racy{Store: dir, waiting: make(map[string]chan struct{})}
	_, text := finding(t, doctor.CheckDestination(t.Context(), d), doctor.Conditions, doctor.Warn)
	require.Contains(t, text, "the store lets writers overwrite each other: of 6 that wrote at once, several succeeded")
	require.Contains(t, text, "use another store, or "+doctor.OnePublisher)
	require.Empty(t, filesBelow(t, dir.Info().Folder))
}

// TestOtherStores checks stores that differ from S3.
func TestOtherStores(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, test := range []struct {
		name, check, text string
		state             doctor.State
		mode              s3test.Mode
	}{
		{"ETags without quotes", doctor.Conditions, "ETags are sent without quotes", doctor.OK, server.UnquotedETags},
		{"weak ETags", doctor.Conditions, "nothing can be published here", doctor.Fail, s3test.WeakETags},
		{"ignored conditions", doctor.Conditions, "ignores the conditions", doctor.Warn, server.IgnoredConditions},
		{"aborts that remove objects", doctor.Delete, "removes a committed file", doctor.Warn, server.AbortedObjects},
		{"empty lists of parts", doctor.Stage, "a file was staged and dropped", doctor.OK, s3test.EmptyParts},
		{"no uploads yet", doctor.List, "can be listed", doctor.OK, s3test.OtherMissing},
		{"refused checksums", doctor.Conditions, "the second of two writers is refused;", doctor.OK, s3test.RefusedChecksums},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bucket := server.Bucket(t)
			opts := server.Options(t, bucket, "pre")
			opts.Endpoint = server.Proxy(t, nil, test.mode).Endpoint
			store, err := s3.New(t.Context(), opts)
			require.NoError(t, err)
			findings := doctor.CheckDestination(t.Context(), doctor.Destination{
				Store: store, Scratch: t.TempDir(), PartitionBy: snapshot.NotPartitioned, Now: time.Now,
			})
			_, text := finding(t, findings, test.check, test.state)
			require.Contains(t, text, test.text)
			for _, f := range findings {
				require.True(t, f.Check == test.check || f.State == doctor.OK || f.Check == doctor.Scratch, "%v", f)
			}
			require.Empty(t, server.Uploads(t, bucket))
			require.NoDirExists(t, filepath.Join(server.Root, bucket, "pre"))
		})
	}
}

// TestKilledConditions checks that the document of a killed test of conditions is removed.
func TestKilledConditions(t *testing.T) {
	t.Parallel()
	store := onDisk(t, t.TempDir()).Store
	_, err := doctor.AdaptConditions(t.Context(), &stopping{Store: store, left: 3}, time.Now().Add(-time.Hour))
	require.ErrorIs(t, err, errKilled)
	require.NotEmpty(t, filesBelow(t, store.Info().Folder))
	ignored, err := doctor.AdaptConditions(t.Context(), store, time.Now())
	require.NoError(t, err)
	require.False(t, ignored)
	require.Empty(t, filesBelow(t, store.Info().Folder))
}
