//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
)

// onEveryKind runs a test on destinations of either kind. S3 is missing only
// where neither CI nor the Makefile runs the tests; see s3test.Start.
func onEveryKind(t *testing.T, test func(t *testing.T, g *ground)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		test(t, &ground{root: t.TempDir()})
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		test(t, groundOnS3(t))
	})
}

// ground has room for many sites of one kind.
type ground struct {
	root   string
	server *s3test.Server // nil on disk
	bucket string
	sites  atomic.Int64
}

func groundOnS3(t *testing.T) *ground {
	t.Helper()
	server := s3test.Start(t, os.Getenv)
	bucket := server.Bucket(t)
	return &ground{root: filepath.Join(server.Root, bucket), server: server, bucket: bucket}
}

func (g *ground) String() string {
	if g.server == nil {
		return "disk"
	}
	return "S3"
}

// site is a destination that is used by commands in processes of their own, and
// looked at from behind: the objects of the test's S3 server are plain files,
// too.
type site struct {
	ground *ground
	prefix string
	folder string // holds the objects
	dest   string // as --dest takes it
	// endpoint is that of the S3 server, or of a proxy before it.
	endpoint string
}

// site returns an empty destination.
func (g *ground) site() *site {
	prefix := "site-" + strconv.FormatInt(g.sites.Add(1), 10)
	s := &site{ground: g, prefix: prefix, folder: filepath.Join(g.root, prefix)}
	s.dest = s.folder
	if g.server != nil {
		s.dest, s.endpoint = "s3://"+g.bucket+"/"+prefix, g.server.Endpoint
	}
	return s
}

// flags and env are what a command needs to use the site.
func (s *site) flags() []string {
	if s.ground.server == nil {
		return []string{"--dest", s.dest}
	}
	return []string{"--dest", s.dest, "--s3-endpoint", s.endpoint, "--s3-path-style"}
}

func (s *site) env() []string {
	if s.ground.server == nil {
		return nil
	}
	return s.ground.server.Env()
}

// command is a command at the site as a process that is not started yet.
func (s *site) command(t *testing.T, name string, flags ...string) *process {
	t.Helper()
	cmd, stderr := commandProcess(t, slices.Concat([]string{name}, s.flags(), flags)...)
	cmd.Env = append(cmd.Env, s.env()...)
	stdout := &bytes.Buffer{}
	cmd.Stdout = stdout
	return &process{t: t, cmd: cmd, stdout: stdout, stderr: stderr}
}

// open reads the site's objects as the files that they are.
func (s *site) open(t *testing.T) *sink.Dir {
	t.Helper()
	store, err := sink.NewDir(s.folder, sink.DirOptions{})
	require.NoError(t, err)
	return store
}

// path is where the object at a path lies.
func (s *site) path(path string) string { return filepath.Join(s.folder, filepath.FromSlash(path)) }

func (s *site) has(path string) bool {
	_, err := os.Stat(s.path(path))
	return err == nil
}

func (s *site) readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(s.path(path))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into), path)
}

// objects lists what anybody can see.
func (s *site) objects(t *testing.T) []string {
	t.Helper()
	var paths []string
	for entry, err := range s.open(t).List(t.Context(), "") {
		require.NoError(t, err)
		paths = append(paths, entry.Path)
	}
	return paths
}

// staged lists what nobody can see yet: open uploads, or files that wait.
func (s *site) staged(t *testing.T) []string {
	t.Helper()
	var found []string
	if server := s.ground.server; server != nil {
		for _, key := range server.Uploads(t, s.ground.bucket) {
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

// manifests are those of the runs that are published and not replaced.
func (s *site) manifests(t *testing.T) []*sink.Manifest {
	t.Helper()
	var standing []*sink.Manifest
	for _, path := range s.objects(t) {
		if !strings.HasPrefix(path, "_runs/") || !strings.HasSuffix(path, "/manifest.json") {
			continue
		}
		manifest := new(sink.Manifest)
		s.readJSON(t, path, manifest)
		if manifest.Status == sink.Published {
			standing = append(standing, manifest)
		}
	}
	return standing
}

// requireReadable checks that whoever follows a pointer finds a snapshot that is
// whole, whatever is going on, and that outside of the publishing window data
// files are seen only of snapshots.
func (s *site) requireReadable(t *testing.T) {
	t.Helper()
	store := s.open(t)
	publishing, latest := false, false
	var data []string
	for _, path := range s.objects(t) {
		date, pointer := strings.CutPrefix(path, "_snapshots/")
		switch {
		case pointer:
			requireVerified(t, store, sink.VerifyTarget{SnapshotDate: strings.TrimSuffix(date, ".json")})
		case path == sink.LatestPath:
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
		requireVerified(t, store, sink.VerifyTarget{})
	}
	var named []string
	for _, manifest := range s.manifests(t) {
		for path := range hashesOf(manifest) {
			named = append(named, path)
		}
	}
	require.ElementsMatch(t, named, data, "data files are visible that no snapshot has")
}

// requireFilesOfLatest checks the files of the latest snapshot's run, which may
// have been replaced by now: its pointer follows that of the date.
func (s *site) requireFilesOfLatest(t *testing.T) {
	t.Helper()
	var latest sink.Latest
	s.readJSON(t, sink.LatestPath, &latest)
	manifest, err := sink.ReadManifest(t.Context(), s.open(t), latest.RunID)
	require.NoError(t, err)
	for path, hash := range hashesOf(manifest) {
		data, err := os.ReadFile(s.path(path))
		require.NoError(t, err)
		require.Equal(t, hash, fmt.Sprintf("%x", sha256.Sum256(data)), path)
	}
}

func requireVerified(t *testing.T, store sink.Store, target sink.VerifyTarget) {
	t.Helper()
	report, err := sink.Verify(t.Context(), store, target)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Positive(t, report.Files)
}

// requirePublished checks that the run is the only snapshot of its date, with
// exactly these files, and that nothing else is left of it than what belongs
// to a published run.
func (s *site) requirePublished(t *testing.T, run string, want map[string]string) {
	t.Helper()
	manifest, err := sink.ReadManifest(t.Context(), s.open(t), run)
	require.NoError(t, err)
	require.Equal(t, sink.Published, manifest.Status)
	require.Equal(t, want, runless(manifest))
	s.requireReadable(t)
	for _, standing := range s.manifests(t) {
		require.True(t, standing.RunID == run || standing.SnapshotDate != manifest.SnapshotDate, "%s stands beside it", standing.RunID)
	}
	var documents []string
	for _, path := range s.objects(t) {
		require.False(t, strings.HasPrefix(path, "."), path)
		// Whoever would have drawn the page may have been killed.
		if strings.HasPrefix(path, filepath.Dir(sink.PlanPath(run))+"/") && path != sink.ReportPath(run) {
			documents = append(documents, path)
		}
	}
	require.ElementsMatch(t, []string{sink.PlanPath(run), sink.ManifestPath(run), sink.LedgerPath(run)}, documents)
	require.Empty(t, s.staged(t))
}

// hashesOf are the data files of a manifest by their paths, which verify holds
// against the bytes.
func hashesOf(manifest *sink.Manifest) map[string]string {
	hashes := make(map[string]string)
	for _, table := range manifest.Tables {
		for _, file := range table.Files {
			hashes[file.Path] = file.SHA256
		}
	}
	return hashes
}

// runless are the hashes as those of any run of these rows.
func runless(manifest *sink.Manifest) map[string]string {
	hashes := make(map[string]string)
	for path, hash := range hashesOf(manifest) {
		hashes[strings.TrimSuffix(path, "-"+manifest.RunID+".parquet")] = hash
	}
	return hashes
}
