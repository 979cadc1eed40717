//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/snapshot"
)

// TestResumedFanOutRepeatsLittle kills a run of all datasets after half of its requests, nearly all of which belong to
// fan-outs. Its files are the same as without the kill, at most a tenth of the requests are repeated, and no saved rows
// are left behind.
func TestResumedFanOutRepeatsLittle(t *testing.T) {
	t.Parallel()
	serve := func() *scenario {
		return newScenario(t, simulator.Options{Seed: 3, SchoolSizes: []int{0, 160, 1, 190, 220, 275, 250, 130, 300, 145, 310, 180}},
			simulator.ServerOptions{Latency: 2 * time.Millisecond}, "--datasets", "all", "--concurrency", "8")
	}
	quiet := serve()
	expected := quiet.expectedFiles(t, today())
	total := len(quiet.server.Log())
	require.Greater(t, total, 2000)
	onDiskAndS3(t, func(t *testing.T, g *testStorage) {
		t.Helper()
		n := serve()
		s := g.newDest()
		killed := n.run(t, s, "night").runUntil(afterCondition(func() bool { return len(n.server.Log()) >= total/2 }))
		require.True(t, killed.killed)
		asked := make(map[string]bool)
		for _, r := range n.server.Log() {
			asked[r.Path+"?"+r.Query.Encode()] = true
		}
		n.server.ResetLog()
		result := n.run(t, s, "night").runOK()
		require.Empty(t, result.stderr)
		repeated := 0
		for _, r := range n.server.Log() {
			if r.Operation != simulator.OperationToken && asked[r.Path+"?"+r.Query.Encode()] {
				repeated++
			}
		}
		t.Logf("%d of %d requests were repeated", repeated, total)
		require.LessOrEqual(t, repeated, total/10)
		s.requirePublished(t, "night", expected)
		for _, path := range s.objects(t) {
			require.False(t, strings.HasPrefix(path, "_runs/night/"+snapshot.CheckpointFolder), path)
		}
	})
}
