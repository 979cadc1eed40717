//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// purgeDest is a destination with a full snapshot, an as-of snapshot, a delta run,
// and a run that is staged but not published.
type purgeDest struct {
	t     *testing.T
	world *simulator.World
	url   string
	dest  []string // flags
	env   []string
	root  string // the folder of the files
}

func newPurgeDest(t *testing.T) *purgeDest {
	t.Helper()
	world := simulator.NewWorld(simulator.Options{Seed: 3, SchoolSizes: []int{30, 12, 0, 25, 8}})
	address, stop, err := simulator.Start(context.WithoutCancel(t.Context()), simulator.New(world, simulator.ServerOptions{}), "")
	require.NoError(t, err)
	t.Cleanup(stop)
	root := filepath.Join(t.TempDir(), "out")
	return &purgeDest{t: t, world: world, url: address, dest: []string{"--dest", root}, root: root}
}

// at returns a copy of s that uses another destination.
func (s *purgeDest) at(root string, env []string, dest ...string) *purgeDest {
	other := *s
	other.root, other.env, other.dest = root, env, dest
	return &other
}

func (s *purgeDest) prepare(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd, _ := s.prepareLogged(args...)
	return cmd
}

// prepareLogged works like prepare, and also returns what the command will write to stderr.
func (s *purgeDest) prepareLogged(args ...string) (*exec.Cmd, *bytes.Buffer) {
	s.t.Helper()
	cmd, stderr := commandProcess(s.t, append(args, s.dest...)...)
	cmd.Env = append(cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret)
	cmd.Env = append(cmd.Env, s.env...)
	return cmd, stderr
}

// command runs a command to its end and returns what it wrote.
func (s *purgeDest) command(args ...string) string {
	s.t.Helper()
	cmd := s.prepare(args...)
	out, err := cmd.Output()
	require.NoError(s.t, err, cmd.Stderr)
	return string(out)
}

func (s *purgeDest) fill() {
	s.t.Helper()
	run := []string{"run", "--base-url", s.url, "--progress", "none", "--log-level", "error", "--schools-per-file", "2"}
	s.command(append(run, "--run-id", "full", "--datasets", "all", "--partition-by", "district")...)
	s.command(append(run, "--run-id", "past", "--effective-date", "2026-09-15", "--partition-by", "district")...)
	s.command(append(run, "--run-id", "changes", "--modified-since", "2020-01-01", "--partition-by", "district")...)
	s.command(append(run, "--run-id", "staged", "--shard", "0/2", "--datasets", "all", "--partition-by", "district")...)
}

// verified expects every published run to be complete.
func (s *purgeDest) verified() {
	s.t.Helper()
	for _, run := range []string{"full", "past-2026-09-15", "changes"} {
		s.command("verify", "--run-id", run)
	}
}

func (s *purgeDest) purge(args ...string) *maintenance.PurgeReport {
	s.t.Helper()
	report := new(maintenance.PurgeReport)
	require.NoError(s.t, json.Unmarshal([]byte(s.command(append([]string{"purge", "--output", "json"}, args...)...)), report))
	return report
}

// dataFiles returns the bytes of each data file.
func (s *purgeDest) dataFiles() map[string][]byte {
	s.t.Helper()
	found := make(map[string][]byte)
	err := filepath.WalkDir(s.root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(s.root, path)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(entry.Name(), "_"):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir():
			found[filepath.ToSlash(name)], err = os.ReadFile(path)
		}
		return err
	})
	require.NoError(s.t, err)
	require.NotEmpty(s.t, found)
	return found
}

// requireGone requires that the bids are gone from the raw bytes of all files, which include column bounds, and from the
// values of all pages.
func (s *purgeDest) requireGone(bids ...string) {
	s.t.Helper()
	for name, data := range s.dataFiles() {
		texts := textValues(s.t, data)
		for _, bid := range bids {
			require.False(s.t, bytes.Contains(data, []byte(bid)), "%s: %s in its bytes", name, bid)
			require.False(s.t, bytes.Contains(texts, []byte(bid)), "%s: %s in its values", name, bid)
		}
	}
}

// requireUnnamed requires that the schools are not mentioned in any manifest or report. Paths may contain a district.
func (s *purgeDest) requireUnnamed(schools ...string) {
	s.t.Helper()
	for _, pattern := range []string{"_runs/*/manifest.json", "_runs/*/report.html", "_runs/index.html"} {
		paths, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(pattern)))
		require.NoError(s.t, err)
		require.NotEmpty(s.t, paths)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(s.t, err)
			for _, bid := range schools {
				require.NotContains(s.t, string(text), bid, path)
			}
		}
	}
}

// textValues returns all strings of a Parquet file, including its dictionaries.
func textValues(t *testing.T, data []byte) []byte {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var texts []byte
	eachValue(t, file, func(v parquet.Value) {
		if v.Kind() == parquet.ByteArray {
			texts = append(append(texts, v.ByteArray()...), 0)
		}
	})
	return texts
}

// eachValue calls use with each value of a Parquet file and of its dictionaries. It does not read them with the library of
// the command.
func eachValue(t *testing.T, file *parquet.File, use func(parquet.Value)) {
	t.Helper()
	for _, group := range file.RowGroups() {
		for _, chunk := range group.ColumnChunks() {
			pages := chunk.Pages()
			for {
				page, err := pages.ReadPage()
				if err != nil {
					break
				}
				values := make([]parquet.Value, page.NumValues())
				n, _ := page.Values().ReadValues(values)
				require.Len(t, values, n)
				for _, v := range values {
					use(v)
				}
				if dictionary := page.Dictionary(); dictionary != nil {
					for i := range dictionary.Len() {
						use(dictionary.Index(int32(i)))
					}
				}
			}
			require.NoError(t, pages.Close())
		}
	}
}

// requirePurged purges a school and then the district of another one, and checks the remaining rows.
func (s *purgeDest) requirePurged() {
	s.t.Helper()
	s.fill()
	school := s.world.Schools()[0].Bid
	before := s.dataFiles()
	would := s.purge("--schools", school, "--dry-run")
	require.Equal(s.t, before, s.dataFiles())

	report := s.purge("--schools", school)
	require.Equal(s.t, would.RowsRemoved, report.RowsRemoved)
	require.Equal(s.t, []string{"staged"}, report.DroppedRuns)
	require.Len(s.t, report.Runs, 3)
	require.Positive(s.t, report.RowsRemoved["test_result_norms"])
	require.Positive(s.t, report.RowsRemoved["student_details"])
	require.Zero(s.t, report.Verification.RowsFound)
	s.requireGone(school)
	s.requireUnnamed(school)
	s.verified()
	require.FileExists(s.t, filepath.Join(s.root, filepath.FromSlash(maintenance.PurgePath(report.ID))))
	named := make(map[string]bool)
	for _, run := range report.Runs {
		for _, file := range run.Files {
			named[file.Was], named[file.Path] = true, true
		}
		page, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(snapshot.ReportPath(run.RunID))))
		require.NoError(s.t, err)
		require.True(s.t, bytes.Contains(page, []byte(maintenance.PurgePath(report.ID))), "the report of run %s mentions the purge", run.RunID)
	}
	for name, data := range s.dataFiles() {
		if !named[name] {
			require.Equal(s.t, before[name], data, "%s should not have been rewritten", name)
		}
	}
	require.Contains(s.t, s.command("purge", "--schools", school), "nothing to erase")

	other := s.world.Schools()[1]
	district := s.purge("--districts", other.DistrictBid)
	require.Contains(s.t, district.Schools, other.Bid)
	s.requireGone(append(district.Schools, other.DistrictBid)...)
	s.requireUnnamed(district.Schools...)
	s.verified()
	require.NotContains(s.t, s.command("status"), "problem")

	// Runs still work.
	s.command("run", "--base-url", s.url, "--progress", "none", "--log-level", "error", "--schools-per-file", "2",
		"--run-id", "full-again", "--datasets", "all", "--partition-by", "district", "--replace")
	s.command("verify")
}

func TestPurge(t *testing.T) {
	t.Parallel()
	s := newPurgeDest(t)
	s.requirePurged()
	require.NoDirExists(t, filepath.Join(s.root, "_staging"))
}

// TestPurgeS3 purges data in a bucket on a real S3 server.
func TestPurgeS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	s := newPurgeDest(t).at(filepath.Join(server.Root, bucket, "pre"), server.Env(),
		"--dest", "s3://"+bucket+"/pre", "--s3-endpoint", server.Endpoint, "--s3-path-style")
	s.requirePurged()
	require.Empty(t, server.Uploads(t, bucket))
	require.Contains(t, s.command("prune", "--keep", "1"), "removed ")
	s.command("verify")
}

// TestPurgeExactListing purges a staged run on a store that, like MinIO, lists
// uploads by exact key only.
func TestPurgeExactListing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	at := func(modes ...s3test.Mode) *purgeDest {
		return newPurgeDest(t).at(filepath.Join(server.Root, bucket, "pre"), server.Env(),
			"--dest", "s3://"+bucket+"/pre", "--s3-endpoint", server.Proxy(t, nil, modes...).Endpoint, "--s3-path-style")
	}
	s := at(s3test.ExactListing)
	s.command("run", "--base-url", s.url, "--progress", "none", "--log-level", "error",
		"--run-id", "staged", "--shard", "0/2", "--datasets", "students,schools")
	require.NotEmpty(t, server.Uploads(t, bucket))
	school := s.world.Schools()[0].Bid

	// No proof is written while an upload still exists.
	cmd := at(s3test.ExactListing, s3test.IgnoredAborts).prepare("purge", "--schools", school)
	require.Error(t, cmd.Run())
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	require.Regexp(t, `abort the upload of s3://.*/part-0000-staged.parquet: .* the upload is still there`, cmd.Stderr)
	require.NotContains(t, s.command("purge", "--schools", "nobody", "--allow-unknown"), "proof")

	report := s.purge("--schools", school)
	require.Equal(t, []string{"staged"}, report.DroppedRuns)
	require.NotContains(t, strings.Join(server.Uploads(t, bucket), "\n"), ".parquet")
	require.Contains(t, strings.Join(report.NotReached, "\n"), "this store lists uploads by exact key only")
	require.FileExists(t, filepath.Join(s.root, filepath.FromSlash(maintenance.PurgePath(report.ID))))
}

// TestPurgeThenRun purges the four of ten schools that the service no longer lists. The next run is not held back for having
// fewer rows and schools, as it would be without the purge.
func TestPurgeThenRun(t *testing.T) {
	t.Parallel()
	sizes := []int{3, 2, 4, 3, 2, 3, 4, 2, 3, 2}
	world := simulator.NewWorld(simulator.Options{Seed: 3, SchoolSizes: sizes})
	var service atomic.Pointer[simulator.Server]
	service.Store(simulator.New(world, simulator.ServerOptions{}))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { service.Load().ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	root := filepath.Join(t.TempDir(), "out")
	s := &purgeDest{t: t, world: world, url: front.URL + service.Load().BasePath(), dest: []string{"--dest", root}, root: root}
	today := time.Now().UTC()
	run := func(date time.Time) []string {
		return []string{
			"run", "--base-url", s.url, "--progress", "none", "--log-level", "error",
			"--snapshot-date", date.Format(time.DateOnly), "--backdate",
		}
	}
	s.command(run(today.AddDate(0, 0, -1))...)

	fewer := simulator.NewWorld(simulator.Options{Seed: 3, SchoolSizes: sizes[:6]})
	service.Store(simulator.New(fewer, simulator.ServerOptions{}))
	var ended []string
	for _, school := range world.Schools()[6:] {
		ended = append(ended, school.Bid)
	}
	held := s.prepare(run(today)...)
	require.Error(t, held.Run())
	require.Equal(t, exitHeld, held.ProcessState.ExitCode(), held.Stderr)

	report := s.purge("--schools", strings.Join(ended, ","))
	require.Len(t, report.Runs, 1)
	s.command("verify")
	s.command(run(today)...)
	s.command("verify")
}

// TestPurgeScratch purges a district that a school has left. The history is rebuilt in the scratch folder, because the
// system's temporary folder does not exist.
func TestPurgeScratch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := &purgeDest{t: t, dest: []string{"--dest", root}, root: root}
	store := snapshottest.NewDir(t, root)
	for i, date := range []string{snapshottest.EarlierDate, snapshottest.Today} {
		snapshottest.PublishWorld(t, store, "night-"+date, snapshottest.OnDate(date), snapshottest.Datasets("students"), func(p *snapshot.Plan) {
			p.Schools[1].District = []string{snapshottest.GoneDistrict, snapshottest.StaysToo}[i]
		})
		s.command("history")
	}
	s.env = []string{"TMPDIR=" + filepath.Join(root, "missing")}
	report := s.purge("--districts", snapshottest.GoneDistrict, "--scratch", t.TempDir())
	require.Equal(t, "done", report.State)
	s.command("verify", "--history")
	require.NotContains(t, strings.Join(report.NotReached, "\n"), "coverage", "the history was rebuilt")
}

// TestPurgeKilled kills purges with SIGKILL at random moments. After each kill, every run is complete, and repeating the
// command gives the same result.
func TestPurgeKilled(t *testing.T) {
	t.Parallel()
	s := newPurgeDest(t)
	s.fill()
	school := s.world.Schools()[0].Bid
	undisturbed := s.at(filepath.Join(t.TempDir(), "undisturbed"), nil)
	undisturbed.dest = []string{"--dest", undisturbed.root}
	require.NoError(t, os.CopyFS(undisturbed.root, os.DirFS(s.root)))
	began := time.Now()
	want := undisturbed.purge("--schools", school)
	duration := time.Since(began)

	random := rand.New(rand.NewPCG(11, 0))
	for kills := 0; kills < 5; {
		k := s.at(filepath.Join(t.TempDir(), "killed"), nil)
		k.dest = []string{"--dest", k.root}
		require.NoError(t, os.CopyFS(k.root, os.DirFS(s.root)))
		for {
			cmd := k.prepare("purge", "--schools", school)
			require.NoError(t, cmd.Start())
			timer := time.AfterFunc(time.Duration(random.Int64N(int64(duration))), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
			_ = cmd.Wait() // ProcessState holds the result.
			timer.Stop()
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			require.True(t, ok)
			if !status.Signaled() {
				require.Zero(t, cmd.ProcessState.ExitCode(), cmd.Stderr)
				break
			}
			kills++
			k.verified()
		}
		k.verified()
		require.NoDirExists(t, filepath.Join(k.root, "_staging"))
		require.Equal(t, undisturbed.dataFiles(), k.dataFiles())
		proofs, err := filepath.Glob(filepath.Join(k.root, "_purges", "*.json"))
		require.NoError(t, err)
		require.Len(t, proofs, 1, "one purge leaves one proof")
		data, err := os.ReadFile(proofs[0])
		require.NoError(t, err)
		var got maintenance.PurgeReport
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, want.RowsRemoved, got.RowsRemoved)
		require.Equal(t, want.Runs, got.Runs)
		require.Equal(t, want.DroppedRuns, got.DroppedRuns)
		require.Equal(t, "done", got.State)
		require.True(t, slices.IsSorted(got.DroppedRuns))
	}
}
