//go:build unix

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// TestPurgeOfBusyRun purges while processes work on a run, with other shard counts than planned. Each process blocks
// the purge until it is killed, and the error names the process.
func TestPurgeOfBusyRun(t *testing.T) {
	t.Parallel()
	n := newScenario(t, simulator.Options{Seed: 8, SchoolSizes: []int{9, 3, 31, 4}}, simulator.ServerOptions{}, "--schools-per-file", "1")
	n.server.SetFaults([]simulator.Fault{{Operation: "test_results", Kind: simulator.FaultStall}})
	s := (&testStorage{root: t.TempDir()}).newDest()
	school := n.world.Schools()[0].Bid
	const run = "busy"
	shards := []string{"0/7", "3/8", "0/16"}
	kills := make([]chan struct{}, len(shards))
	results := make(chan processResult, len(shards))
	var workers []*process
	for i, shard := range shards {
		kills[i] = make(chan struct{})
		worker := n.run(t, s, run, "--shard", shard)
		worker.kill = func(ctx context.Context) {
			select {
			case <-kills[i]:
			case <-ctx.Done():
			}
		}
		workers = append(workers, worker)
		require.NoError(t, worker.cmd.Start())
		go func() { results <- worker.await() }()
	}
	for _, shard := range shards {
		var i, of int
		_, err := fmt.Sscanf(shard, "%d/%d", &i, &of)
		require.NoError(t, err)
		lock := "_staging/~locks/" + sink.Escape(fmt.Sprintf("run %s, shard %d of %d", run, i, of))
		require.Eventually(t, func() bool { return s.has(lock) }, time.Minute, 10*time.Millisecond)
	}
	require.Eventually(t, func() bool { return s.has(snapshot.PlanPath(run)) }, time.Minute, 10*time.Millisecond)

	for i := range shards {
		refused := s.command(t, "purge", "--schools", school).run()
		require.Equal(t, exitFailed, refused.code, refused.stderr)
		named := slices.ContainsFunc(workers[i:], func(w *process) bool {
			return strings.Contains(refused.stderr, fmt.Sprintf("run %s is held by process %d on host", run, w.cmd.Process.Pid))
		})
		require.True(t, named, refused.stderr)
		require.Contains(t, refused.stderr, "growth-export run, since")
		close(kills[i])
		if i == len(shards)-1 {
			break
		}
		require.Eventually(t, func() bool { return workers[i].cmd.Process.Signal(syscall.Signal(0)) != nil }, time.Minute, 10*time.Millisecond)
	}
	for range shards {
		result := <-results
		require.True(t, result.killed, result.stderr)
	}
	s.command(t, "purge", "--schools", school).runOK()
	require.Empty(t, s.staged(t))
}
