//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
)

// onDiskAndS3 runs a test with both kinds of destination. S3 may be missing only
// outside of CI; see s3test.Start.
func onDiskAndS3(t *testing.T, test func(t *testing.T, g *testStorage)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		test(t, &testStorage{root: t.TempDir()})
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		test(t, newS3Storage(t))
	})
}

// testStorage holds destinations: a folder, a bucket, or part of a cloud.
type testStorage struct {
	root   string
	server *s3test.Server // nil if it is not S3
	bucket string
	cloud  testCloud // nil on disk and S3
	dests  atomic.Int64
}

// testCloud is the emulator of a cloud's store. Tests read its objects through the store.
type testCloud interface {
	String() string
	// dest returns the URL of a destination, and flags and env make a command use it.
	dest(prefix string) string
	flags() []string
	env() []string
	open(prefix string) sink.Store
	// staged returns the paths of staged files at a destination.
	staged(t *testing.T, prefix string) []string
}

// onClouds runs a test with the emulator of each cloud. One may be missing only outside of CI.
func onClouds(t *testing.T, test func(t *testing.T, g *testStorage)) {
	t.Helper()
	for name, start := range testClouds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &testStorage{cloud: start(t)})
		})
	}
}

// testClouds returns the functions that start the emulators.
func testClouds() map[string]func(t *testing.T) testCloud {
	return map[string]func(t *testing.T) testCloud{"Azure": newAzureCloud, "Google": newGoogleCloud}
}

func newS3Storage(t *testing.T) *testStorage {
	t.Helper()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	return &testStorage{root: filepath.Join(server.Root, bucket), server: server, bucket: bucket}
}

func (g *testStorage) String() string {
	switch {
	case g.cloud != nil:
		return g.cloud.String()
	case g.server != nil:
		return "S3"
	}
	return "disk"
}

// testDest is a destination of commands that run as processes. Tests read its files
// directly; the S3 server of the tests stores objects as files, too. Objects in a
// cloud are read through its store.
type testDest struct {
	storage *testStorage
	prefix  string
	folder  string // of the objects; not in a cloud
	dest    string // as --dest takes it
	// endpoint is the S3 server or a proxy in front of it.
	endpoint string
}

// newDest returns an empty destination.
func (g *testStorage) newDest() *testDest {
	prefix := "dest-" + strconv.FormatInt(g.dests.Add(1), 10)
	s := &testDest{storage: g, prefix: prefix, folder: filepath.Join(g.root, prefix)}
	switch {
	case g.cloud != nil:
		s.dest, s.folder = g.cloud.dest(prefix), ""
	case g.server != nil:
		s.dest, s.endpoint = "s3://"+g.bucket+"/"+prefix, g.server.Endpoint
	default:
		s.dest = s.folder
	}
	return s
}

// flags and env make a command use the destination.
func (s *testDest) flags() []string {
	flags := []string{"--dest", s.dest}
	switch {
	case s.storage.cloud != nil:
		flags = append(flags, s.storage.cloud.flags()...)
	case s.storage.server != nil:
		flags = append(flags, "--s3-endpoint", s.endpoint, "--s3-path-style")
	}
	return flags
}

func (s *testDest) env() []string {
	switch {
	case s.storage.cloud != nil:
		return s.storage.cloud.env()
	case s.storage.server != nil:
		return s.storage.server.Env()
	}
	return nil
}

// command returns a process that is not started yet.
func (s *testDest) command(t *testing.T, name string, flags ...string) *process {
	t.Helper()
	cmd, stderr := commandProcess(t, slices.Concat([]string{name}, s.flags(), flags)...)
	cmd.Env = append(cmd.Env, s.env()...)
	stdout := &bytes.Buffer{}
	cmd.Stdout = stdout
	return &process{t: t, cmd: cmd, stdout: stdout, stderr: stderr}
}

// open returns a store that reads the objects as files, or the store in the cloud.
func (s *testDest) open(t *testing.T) sink.Store {
	t.Helper()
	if s.storage.cloud != nil {
		return s.storage.cloud.open(s.prefix)
	}
	store, err := sink.NewDir(s.folder, sink.DirOptions{})
	require.NoError(t, err)
	return store
}

// path returns the file of an object, which must not be in a cloud.
func (s *testDest) path(path string) string { return filepath.Join(s.folder, filepath.FromSlash(path)) }

func (s *testDest) has(path string) bool { return s.exists(context.Background(), path) }

func (s *testDest) exists(ctx context.Context, path string) bool {
	if s.storage.cloud != nil {
		_, _, err := s.storage.cloud.open(s.prefix).Read(ctx, path)
		return err == nil
	}
	_, err := os.Stat(s.path(path))
	return err == nil
}

// read returns an object.
func (s *testDest) read(t *testing.T, path string) []byte {
	t.Helper()
	if s.storage.cloud != nil {
		data, _, err := s.storage.cloud.open(s.prefix).Read(t.Context(), path)
		require.NoError(t, err)
		return data
	}
	data, err := os.ReadFile(s.path(path))
	require.NoError(t, err)
	return data
}

func (s *testDest) readJSON(t *testing.T, path string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(s.read(t, path), into), path)
}

// afterExists waits for an object and then for the delay.
func (s *testDest) afterExists(path string, delay time.Duration) waitFunc {
	return func(ctx context.Context) {
		afterCondition(func() bool { return s.exists(ctx, path) })(ctx)
		afterDelay(delay)(ctx)
	}
}

// removeAll removes the destination.
func (s *testDest) removeAll(t *testing.T) {
	t.Helper()
	if s.storage.cloud != nil {
		require.NoError(t, sink.RemoveAll(t.Context(), s.open(t), s.objects(t)))
		return
	}
	require.NoError(t, os.RemoveAll(s.folder))
}

// objects lists what readers see.
func (s *testDest) objects(t *testing.T) []string {
	t.Helper()
	var paths []string
	for entry, err := range s.open(t).List(t.Context(), "") {
		require.NoError(t, err)
		paths = append(paths, entry.Path)
	}
	return paths
}

// staged lists what readers do not see: open uploads, or files under _staging.
func (s *testDest) staged(t *testing.T) []string {
	t.Helper()
	if s.storage.cloud != nil {
		return s.storage.cloud.staged(t, s.prefix)
	}
	var found []string
	if server := s.storage.server; server != nil {
		for _, key := range server.Uploads(t, s.storage.bucket) {
			if path, under := strings.CutPrefix(key, s.prefix+"/"); under {
				found = append(found, path)
			}
		}
		return found
	}
	err := filepath.WalkDir(filepath.Join(s.folder, "_staging"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	require.NoError(t, err)
	return found
}

// currentManifests returns the manifests of runs that are published and not replaced.
func (s *testDest) currentManifests(t *testing.T) []*snapshot.Manifest {
	t.Helper()
	var current []*snapshot.Manifest
	for _, path := range s.objects(t) {
		if !strings.HasPrefix(path, "_runs/") || !strings.HasSuffix(path, "/manifest.json") {
			continue
		}
		manifest := new(snapshot.Manifest)
		s.readJSON(t, path, manifest)
		if manifest.Status == snapshot.Published {
			current = append(current, manifest)
		}
	}
	return current
}

// requireReadable checks that every pointer leads to a complete snapshot, and that
// outside of the publishing window all visible data files belong to snapshots.
func (s *testDest) requireReadable(t *testing.T) {
	t.Helper()
	store := s.open(t)
	publishing, latest := false, false
	var data []string
	for _, path := range s.objects(t) {
		date, pointer := strings.CutPrefix(path, "_snapshots/")
		switch {
		case strings.Contains(path, "/.growth-export-check-"): // left by a killed command; the next one removes it
		case pointer:
			requireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: strings.TrimSuffix(date, ".json")})
		case path == snapshot.LatestPath:
			latest = true
		case strings.HasSuffix(path, "/change.json"):
			publishing = true
		case !strings.HasPrefix(path, "_") && !strings.HasPrefix(path, "."):
			data = append(data, path)
		}
	}
	if publishing {
		if latest {
			s.requireFilesOfLatest(t)
		}
		return
	}
	if latest {
		requireVerified(t, store, maintenance.VerifyTarget{})
	}
	var named []string
	for _, manifest := range s.currentManifests(t) {
		for path := range fileHashes(manifest) {
			named = append(named, path)
		}
	}
	require.ElementsMatch(t, named, data, "data files are visible without a snapshot")
}

// requireFilesOfLatest checks the files of the run in _latest.json. That run may already have been replaced, because
// the pointer of the date changes first.
func (s *testDest) requireFilesOfLatest(t *testing.T) {
	t.Helper()
	var latest snapshot.Latest
	s.readJSON(t, snapshot.LatestPath, &latest)
	manifest, err := snapshot.At(s.open(t)).ReadManifest(t.Context(), latest.RunID)
	require.NoError(t, err)
	for path, hash := range fileHashes(manifest) {
		require.Equal(t, hash, sink.Hash(s.read(t, path)), path)
	}
}

func requireVerified(t *testing.T, store sink.Store, target maintenance.VerifyTarget) {
	t.Helper()
	report, err := maintenance.Verify(t.Context(), snapshot.At(store), target)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Positive(t, report.Files)
}

// requirePublished checks that the run is the only snapshot of its date, with
// exactly these files, and that it left nothing else behind.
func (s *testDest) requirePublished(t *testing.T, run string, want map[string]string) {
	t.Helper()
	manifest, err := snapshot.At(s.open(t)).ReadManifest(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, snapshot.Published, manifest.Status)
	require.Equal(t, want, hashesWithoutRun(manifest))
	s.requireReadable(t)
	for _, other := range s.currentManifests(t) {
		require.True(t, other.RunID == run || other.SnapshotDate != manifest.SnapshotDate, "%s is published too", other.RunID)
	}
	var documents []string
	for _, path := range s.objects(t) {
		require.False(t, strings.HasPrefix(filepath.Base(path), "."), path)
		// The process may have been killed before it wrote the report.
		if strings.HasPrefix(path, filepath.Dir(snapshot.PlanPath(run))+"/") && path != snapshot.ReportPath(run) {
			documents = append(documents, path)
		}
	}
	require.ElementsMatch(t, []string{snapshot.PlanPath(run), snapshot.ManifestPath(run), snapshot.LedgerPath(run)}, documents)
	require.Empty(t, s.staged(t))
}

// fileHashes returns the hashes of a manifest's data files by path; verify compares
// them with the bytes.
func fileHashes(manifest *snapshot.Manifest) map[string]string {
	hashes := make(map[string]string)
	for _, table := range manifest.Tables {
		for _, file := range table.Files {
			hashes[file.Path] = file.SHA256
		}
	}
	return hashes
}

// hashesWithoutRun returns the hashes by paths without the run id, equal for all
// runs of the same rows.
func hashesWithoutRun(manifest *snapshot.Manifest) map[string]string {
	hashes := make(map[string]string)
	for path, hash := range fileHashes(manifest) {
		hashes[strings.TrimSuffix(path, "-"+manifest.RunID+".parquet")] = hash
	}
	return hashes
}
