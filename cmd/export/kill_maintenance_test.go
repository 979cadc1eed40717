//go:build unix

package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestKillPurgeAndPrune kills purge and prune with SIGKILL at random moments, with other commands in between, and
// repeats them until they succeed. Every pointer leads to a complete snapshot at any time, no other data files are
// visible unless a change is unfinished, and the files at the end equal those of undisturbed commands. On emulated cloud
// storage, the test runs only if -kills is not the default.
func TestKillPurgeAndPrune(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{
		{"purge", "--districts", snapshottest.GoneDistrict},
		{"prune", "--keep", "1"},
	} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			test := func(t *testing.T, g *testStorage) {
				t.Helper()
				start := g.newDest()
				fillForMaintenance(t, start)
				undisturbed := start.copy(t)
				began := time.Now()
				undisturbed.maintain(t, command).runOK()
				c := &killTest{t: t, random: rand.New(rand.NewPCG(*killSeed, uint64(len(g.String()))))}
				c.runTime = time.Since(began)
				want := undisturbed.settledFiles(t)
				for c.kills < *kills || *kills == 0 {
					c.dest = start.copy(t)
					c.killUntilDone(command)
					require.Equal(t, want, c.dest.settledFiles(t))
					c.dest.requireNothingStaged(t)
					c.dest.removeAll(t)
					if c.runs++; c.runs%100 == 0 {
						t.Logf("%s on %s: %d kills, %d of them during a change", command[0], g, c.kills, c.publishing)
					}
				}
				t.Logf("%s on %s: %d kills, %d of them during a change, seed %d", command[0], g, c.kills, c.publishing, *killSeed)
			}
			onDiskAndS3(t, test)
			if *kills != defaultKills {
				onClouds(t, test)
			}
		})
	}
}

// fillForMaintenance publishes snapshots of several dates.
func fillForMaintenance(t *testing.T, s *testDest) {
	t.Helper()
	var store sink.Store
	if server := s.storage.server; server != nil {
		store = server.Open(t, s.storage.bucket, s.prefix)
	} else {
		store = s.open(t)
	}
	for _, date := range []string{"2026-11-17", "2026-11-18", "2026-11-19"} {
		snapshottest.PublishWorld(t, store, "run-"+date, snapshottest.OnDate(date), snapshottest.Datasets("schools", "test_results"))
	}
}

// killUntilDone repeats the command until it is not killed. In between, other commands may finish its interrupted
// changes.
func (c *killTest) killUntilDone(command []string) {
	c.t.Helper()
	changing := func() bool {
		if c.dest.storage.cloud != nil {
			entries, _ := sink.ListAll(context.Background(), c.dest.open(c.t), "_runs/")
			return slices.ContainsFunc(entries, func(e sink.Entry) bool { return strings.HasSuffix(e.Path, "/"+snapshot.ChangeName) })
		}
		found, err := filepath.Glob(c.dest.path("_runs/*/" + snapshot.ChangeName))
		return err == nil && len(found) > 0
	}
	for {
		kill := afterDelay(c.randomBelow(c.runTime))
		if c.random.IntN(2) == 0 {
			kill = func(ctx context.Context) {
				afterCondition(changing)(ctx)
				afterDelay(c.randomBelow(c.runTime / 8))(ctx)
			}
		}
		result := c.dest.maintain(c.t, command).runUntil(kill)
		c.dest.requireReadable(c.t)
		if !result.killed {
			require.Zero(c.t, result.code, result.stderr)
			return
		}
		c.kills++
		if changing() {
			c.publishing++
		}
		switch c.random.IntN(6) {
		case 0:
			c.dest.maintain(c.t, []string{"prune", "--keep", "100"}).runOK()
		case 1:
			c.dest.maintain(c.t, []string{"purge", "--schools", "unknown", "--allow-unknown"}).runOK()
		default:
			continue
		}
		require.False(c.t, changing(), "the change was not finished")
		c.dest.requireReadable(c.t)
	}
}

func (s *testDest) maintain(t *testing.T, command []string) *process {
	t.Helper()
	return s.command(t, command[0], append(command[1:], "--log-level", "error")...)
}

// copy returns a copy of the destination.
func (s *testDest) copy(t *testing.T) *testDest {
	t.Helper()
	to := s.storage.newDest()
	if s.storage.cloud == nil {
		snapshottest.LinkTree(t, s.folder, to.folder)
		return to
	}
	for _, path := range s.objects(t) {
		require.NoError(t, to.open(t).Write(t.Context(), path, s.read(t, path), sink.Condition{}))
	}
	return to
}

// requireNothingStaged expects that status --clean removes the leftovers of a command that was killed after its
// changes.
func (s *testDest) requireNothingStaged(t *testing.T) {
	t.Helper()
	s.command(t, "status", "--clean").runOK()
	require.Empty(t, s.staged(t))
}

// settledFiles returns the hashes of the data files of each run by path, and the paths of all other objects with empty
// hashes. It omits HTML pages. It also omits the proofs and reports of purges, because they contain the time or are
// missing if the purge was killed at its end, and the document of a killed test of conditional writes, which a command
// removes ten minutes later.
func (s *testDest) settledFiles(t *testing.T) map[string]string {
	t.Helper()
	s.command(t, "verify").runOK()
	files := make(map[string]string)
	for _, path := range s.objects(t) {
		page := path == snapshot.IndexPath || filepath.Base(path) == filepath.Base(snapshot.ReportPath("run"))
		if !strings.HasPrefix(path, "_purges/") && !strings.HasPrefix(path, "_doctor/") && !page {
			files[path] = ""
		}
	}
	for _, manifest := range s.currentManifests(t) {
		requireVerified(t, s.open(t), maintenance.VerifyTarget{RunID: manifest.RunID})
		maps.Copy(files, fileHashes(manifest))
	}
	return files
}
