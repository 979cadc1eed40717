//go:build unix

package main

import (
	"context"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// oneChange is the store of a purge that is killed after its first change has begun.
type oneChange struct {
	sink.Store

	begun bool
}

func (s *oneChange) Write(ctx context.Context, name string, data []byte, when sink.Condition) error {
	if path.Base(name) == snapshot.ChangeName {
		if s.begun {
			return snapshottest.ErrKilled
		}
		s.begun = true
	}
	return s.Store.Write(ctx, name, data, when)
}

// TestUnfinishedPurgeIsReported kills a purge. Until it is repeated, every command says so.
func TestUnfinishedPurgeIsReported(t *testing.T) {
	t.Parallel()
	s := newPurgeDest(t)
	run := func(id string, args ...string) []string {
		return append([]string{"run", "--base-url", s.url, "--progress", "none", "--schools-per-file", "2", "--datasets", "students,schools,student_school_associations", "--run-id", id}, args...)
	}
	s.command(run("full")...)
	s.command(run("past", "--effective-date", "2026-09-15")...)
	school := s.world.Schools()[0].Bid
	_, err := maintenance.Purge(t.Context(), snapshot.At(&oneChange{Store: snapshottest.NewDir(t, s.root)}), maintenance.PurgeOptions{
		Schools: []string{school}, Now: snapshottest.PublishedAt, ToolVersion: "1.0.0",
	})
	require.ErrorIs(t, err, snapshottest.ErrKilled)
	proofs, err := filepath.Glob(filepath.Join(s.root, "_purges", "*.json"))
	require.NoError(t, err)
	require.Len(t, proofs, 1)
	proof := "_purges/" + filepath.Base(proofs[0])

	const remedy = "unless it is still running, repeat growth-export purge --dest .* with the same list"
	outputs := func(args ...string) (stdout, stderr string) {
		cmd, log := s.prepareLogged(args...)
		out, err := cmd.Output()
		require.NoError(t, err, log)
		return string(out), log.String()
	}
	requireReported := func() {
		status, _ := outputs("status")
		require.Contains(t, status, "problem: "+proof+": this purge began at ")
		require.Regexp(t, remedy, status)
		checks, _ := outputs("doctor", "--base-url", s.url)
		require.Regexp(t, "(?m)^warn  purges +"+proof+": this purge began at .*: "+remedy, checks)
		inJSON, _ := outputs("status", "--output", "json")
		require.Contains(t, inJSON, `"`+proof+": this purge")
	}
	requireReported()
	for _, command := range [][]string{{"verify"}, {"verify", "--all"}, {"history"}, {"delta-lake"}, run("again", "--replace")} {
		stdout, stderr := outputs(command...)
		require.Contains(t, stderr, "a purge has not ended", command)
		require.Contains(t, stderr, proof, command)
		require.Regexp(t, remedy, stderr, command)
		if command[0] == "run" {
			require.Contains(t, stdout, "  warning: "+proof+": this purge began at ")
		}
	}
	requireReported()

	_, stderr := outputs("purge", "--schools", school)
	require.NotContains(t, stderr, "a purge has not ended")
	status, _ := outputs("status")
	require.NotContains(t, status, "problem")
	checks, _ := outputs("doctor", "--base-url", s.url)
	require.NotContains(t, checks, "purges")
	_, stderr = outputs("history")
	require.NotContains(t, stderr, "a purge has not ended")
}
