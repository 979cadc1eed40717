//go:build unix

package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/snapshot"
)

// TestThreeShards takes a snapshot with three processes that start at the same time. One of them is
// killed. publish reports this, and the killed process is run again.
func TestThreeShards(t *testing.T) {
	t.Parallel()
	onDiskAndS3(t, func(t *testing.T, g *testStorage) {
		t.Helper()
		n := newScenario(t, simulator.Options{Seed: 8, SchoolSizes: []int{9, 0, 31, 4, 17, 1, 22, 8, 13, 5}},
			simulator.ServerOptions{}, "--schools-per-file", "2")
		s := g.newDest()
		n.expectedFiles(t, today())
		const run, shards, dead = "sharded", 3, 1
		shard := func(i int) *process { return n.run(t, s, run, "--shard", fmt.Sprintf("%d/%d", i, shards)) }

		// A school of the second bucket, which belongs to the killed shard, never answers.
		var bids []string
		for _, school := range n.world.Schools() {
			bids = append(bids, school.Bid)
		}
		slices.Sort(bids)
		n.server.SetFaults([]simulator.Fault{{Operation: "test_results", School: bids[2], Kind: simulator.FaultStall}})
		processes := []*process{shard(0), shard(1), shard(2)}
		processes[dead].kill = s.afterExists(snapshot.CheckpointPath(run, 1, "students"), 0)
		for i, end := range runTogether(processes...) {
			if i == dead {
				require.True(t, end.killed, end.stderr)
				continue
			}
			require.Zero(t, end.code, end.stderr)
			require.Contains(t, end.stdout, "Staged: ")
		}
		n.server.SetFaults(nil)
		plan := s.read(t, snapshot.PlanPath(run))

		early := n.publish(t, s, run).run()
		require.Equal(t, exitFailed, early.code, early.stderr)
		require.Contains(t, early.stderr, "test_results of bucket 1")
		require.NotContains(t, early.stderr, "of bucket 0")
		s.requireReadable(t)
		require.Empty(t, s.currentManifests(t))

		n.resume(t, s, run, shard(dead))
		n.publish(t, s, run).runOK()
		n.requirePublished(t, s, run)

		n.server.ResetLog()
		require.Contains(t, shard(0).runOK().stdout, "Already published")
		require.Empty(t, n.server.Log())
		n.requirePublished(t, s, run)
		require.Equal(t, string(plan), string(s.read(t, snapshot.PlanPath(run))), "every shard follows the plan that the first one wrote")
	})
}

var shardSchools = flag.Int("shard-schools", 0, "schools of TestShardsAtOnce, which then checks how much of the rate is used; 0 for a few")

// TestShardsAtOnce runs more shards than machines. The machines use the rate of all shards and no more, no shard is without
// schools, and the files equal the output of one process.
func TestShardsAtOnce(t *testing.T) {
	t.Parallel()
	schools, shards, machines, total := 40, 5, 3, 60.
	if *shardSchools > 0 {
		schools, shards, machines, total = *shardSchools, 32, 8, 100
	}
	sizes := make([]int, schools)
	for i := range sizes {
		sizes[i] = []int{1, 2, 5, 100, 3, 20, 50}[i%7]
	}
	n := newScenario(t, simulator.Options{Seed: 8, SchoolSizes: sizes}, simulator.ServerOptions{Latency: 20 * time.Millisecond})
	s := (&testStorage{root: t.TempDir()}).newDest()
	const run = "sharded"
	waiting := make(chan *process, shards)
	for i := range shards {
		waiting <- n.run(t, s, run, "--shard", fmt.Sprintf("%d/%d", i, shards), "--shards-at-once", strconv.Itoa(machines),
			"--rate-total", fmt.Sprint(total))
	}
	close(waiting)
	var working sync.WaitGroup
	for range machines {
		working.Go(func() {
			for p := range waiting {
				p.runOK()
			}
		})
	}
	working.Wait()
	log := n.server.Log()
	requests, took := float64(len(log)), log[len(log)-1].Time.Sub(log[0].Time).Seconds()
	t.Logf("%.0f requests in %.1f s: %.1f of %.0f a second", requests, took, requests/took, total)
	require.Less(t, requests/took, 1.03*total)
	if *shardSchools > 0 {
		require.Greater(t, requests/took, 0.85*total)
	}

	plan, err := snapshot.At(s.open(t)).ReadPlan(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, 8, plan.SchoolsPerFile)
	require.GreaterOrEqual(t, len(plan.Buckets), shards)
	n.publish(t, s, run).runOK()
	n.flags = append(n.flags, "--schools-per-file", "8")
	n.requirePublished(t, s, run)
}
