//go:build unix

package main

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/snapshot"
)

var rounds = flag.Int("rounds", 3, "rounds of the tests of two processes at once")

// TestTwoProcessesOfARun starts the same command twice. On disk, a lock keeps the second process out; on S3, without
// locks, both do the work. Either way there is one complete snapshot, and each process reports that the run is
// published or that another process is working on it.
func TestTwoProcessesOfARun(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, g *testStorage) {
		t.Helper()
		n := newScenario(t, simulator.Options{Seed: 9, SchoolSizes: []int{9, 0, 31, 4, 17}},
			simulator.ServerOptions{Latency: 3 * time.Millisecond}, "--schools-per-file", "2", "--datasets", "schools,students,test_results")
		random := rand.New(rand.NewPCG(*killSeed, 0))
		for round := range *rounds {
			s := g.newDest()
			const run = "twice"
			published := 0
			second := n.run(t, s, run)
			second.delay = time.Duration(random.IntN(400)) * time.Millisecond
			for _, end := range runTogether(n.run(t, s, run), second) {
				switch end.code {
				case exitOK:
					published++
				case exitFailed:
					require.Contains(t, end.stderr, "another process", "round %d", round)
				default:
					require.Fail(t, end.stderr, "round %d: exit code %d", round, end.code)
				}
			}
			require.Positive(t, published)
			n.requirePublished(t, s, run)
		}
	}
	onDiskAndS3(t, test)
	onClouds(t, test)
}

// TestTwoRunsOfADate publishes two staged runs of the same date at once. The one planned later wins; the other one
// reports this, or is published first.
func TestTwoRunsOfADate(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, g *testStorage) {
		t.Helper()
		n := newScenario(t, simulator.Options{Seed: 9, SchoolSizes: []int{9, 0, 31}},
			simulator.ServerOptions{}, "--datasets", "schools,students,test_results")
		for round := range *rounds {
			s := g.newDest()
			runs := []string{"evening", "night"}
			for _, run := range runs {
				// The only bucket belongs to the first shard.
				n.run(t, s, run, "--shard", "0/2").runOK()
			}
			results := runTogether(n.publish(t, s, runs[0]), n.publish(t, s, runs[1]))
			winner := s.currentManifests(t)
			require.Len(t, winner, 1)
			for i, end := range results {
				switch {
				case end.code == exitOK:
				case runs[i] == winner[0].RunID:
					require.Fail(t, end.stderr, "round %d: it is published, and reports an error", round)
				default:
					require.Equal(t, exitFailed, end.code, end.stderr)
					require.Contains(t, end.stderr, "a run planned later was published as the snapshot of "+winner[0].SnapshotDate)
				}
			}
			n.requirePublished(t, s, winner[0].RunID)
			loser, err := snapshot.At(s.open(t)).ReadManifest(t.Context(), runs[0])
			if winner[0].RunID == runs[0] {
				loser, err = snapshot.At(s.open(t)).ReadManifest(t.Context(), runs[1])
			}
			require.NoError(t, err)
			require.Equal(t, snapshot.Replaced, loser.Status)
		}
	}
	onDiskAndS3(t, test)
	onClouds(t, test)
}
