//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// TestLifeInClouds runs every command on a destination in a cloud, kills two of them, and expects the files that the
// same commands make on disk if they are not killed.
func TestLifeInClouds(t *testing.T) {
	t.Parallel()
	disk := (&testStorage{root: t.TempDir()}).newDest()
	live(t, disk)
	want := disk.tableFiles(t)
	require.Greater(t, len(want), 20)
	onClouds(t, func(t *testing.T, g *testStorage) {
		t.Helper()
		s := g.newDest()
		live(t, s)
		require.Equal(t, want, s.tableFiles(t))
		require.Empty(t, s.staged(t))
		require.Contains(t, s.command(t, "sql").runOK().stdout, "'"+s.open(t).Info().URL+"/students/")
	})
}

// live runs commands on a destination. In a cloud, one is killed while it stages and one while it publishes.
func live(t *testing.T, s *testDest) {
	t.Helper()
	cloud := s.storage.cloud != nil
	doctor := s.command(t, "doctor", "--simulate").runOK()
	require.NotContains(t, doctor.stdout, "warn ")
	dates := []string{time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), time.Now().UTC().Format(time.DateOnly)}
	run := func(id, date string, more ...string) *process {
		return s.command(t, "run", append(more, "--simulate", "--simulate-schools", "4", "--schools-per-file", "1",
			"--datasets", "schools,students,test_results", "--run-id", id, "--snapshot-date", date, "--delta-lake", "--history")...)
	}
	if cloud {
		killed := run("one", dates[0]).runUntil(s.afterExists(snapshot.PlanPath("one"), 20*time.Millisecond))
		require.True(t, killed.killed, killed.stderr)
		require.Empty(t, s.currentManifests(t))
	}
	run("one", dates[0]).runOK()
	run("two", dates[1]).runOK()
	if cloud {
		killed := run("three", dates[1], "--replace").runUntil(s.afterExists(snapshot.ChangePath("three"), 0))
		require.True(t, killed.killed, killed.stderr)
		s.requireReadable(t)
		s.command(t, "publish", "--run-id", "three", "--history").runOK()
	} else {
		run("three", dates[1], "--replace").runOK()
	}
	var plan snapshot.Plan
	s.readJSON(t, snapshot.PlanPath("three"), &plan)
	s.command(t, "purge", "--schools", plan.Schools[0].Bid).runOK()
	s.command(t, "verify", "--all").runOK()
	s.command(t, "prune", "--keep", "1").runOK()
	s.command(t, "history").runOK()
	s.command(t, "delta-lake").runOK()
	require.Contains(t, s.command(t, "verify", "--all").runOK().stdout, "OK: the Delta logs of")
	require.Contains(t, s.command(t, "status", "--clean").runOK().stdout, "three")
}

// tableFiles returns the hashes of the data files of snapshots and the history by their paths. The paths lack the owner,
// which in the history contains the random id of a purge.
func (s *testDest) tableFiles(t *testing.T) map[string]string {
	t.Helper()
	hashes := make(map[string]string)
	for _, path := range s.objects(t) {
		if strings.HasSuffix(path, ".parquet") && !strings.HasPrefix(path, "_") && !strings.Contains(path, "_delta_log") {
			hashes[path[:strings.LastIndexByte(path, '-')]] = sink.Hash(s.read(t, path))
		}
	}
	return hashes
}
