//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
)

// defaultKills makes the tests of kills short.
const defaultKills = 6

var (
	kills    = flag.Int("kills", defaultKills, "SIGKILLs of TestKill on each kind of destination, 0 for unlimited")
	killSeed = flag.Uint64("kill-seed", 1, "seed of the random choices of TestKill and other tests")
)

// TestKill kills runs with SIGKILL at random moments, publishing included, and
// repeats the command, or publish, until it succeeds. Nothing staged is requested
// again, no part of a snapshot is visible outside the publishing window, every
// pointer always leads to a complete snapshot, the bytes equal an undisturbed
// run's, and nothing is left behind.
func TestKill(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, g *testStorage) {
		t.Helper()
		scenarios := []*scenario{
			newScenario(t, simulator.Options{Seed: 5, SchoolSizes: []int{0, 40, 1, 60, 25, 90, 10, 30}},
				simulator.ServerOptions{Latency: 4 * time.Millisecond}, "--schools-per-file", "2",
				"--datasets", "schools,students,test_results"),
			newScenario(t, simulator.Options{Seed: 6, SchoolSizes: []int{4, 0, 3}, Districts: 2},
				simulator.ServerOptions{Latency: time.Millisecond}, "--schools-per-file", "1", "--datasets", "all"),
		}
		c := &killTest{t: t, random: rand.New(rand.NewPCG(*killSeed, uint64(len(g.String()))))}
		var faulty *s3test.Proxy
		if g.server != nil {
			faulty = g.server.Proxy(t, s3test.Share(*killSeed, 0.05))
		}
		logged, enough := 0, func() bool { return c.kills >= *kills && *kills > 0 }
		for i := 0; !enough(); i++ {
			c.dest, c.scenario = g.newDest(), scenarios[i%len(scenarios)]
			if faulty != nil && i%2 == 1 {
				c.dest.endpoint = faulty.Endpoint
			}
			c.measure()
			// Each run replaces the previous one.
			for n := 0; n < runsPerDest && !enough(); n++ {
				c.publish(fmt.Sprintf("night-%d", n))
			}
			c.dest.command(t, "verify").runOK()
			c.dest.removeAll(t)
			if c.kills-logged >= 25 || enough() {
				logged = c.kills
				t.Logf("%s: %d kills, %d of them while publishing and %d of shards, over %d runs, seed %d",
					g, c.kills, c.publishing, c.sharded, c.runs, *killSeed)
			}
		}
	}
	onDiskAndS3(t, test)
	onClouds(t, test)
}

// runsPerDest is the number of runs that TestKill publishes at a destination, each replacing the previous one.
const runsPerDest = 6

// killTest kills commands.
type killTest struct {
	t        *testing.T
	random   *rand.Rand
	dest     *testDest
	scenario *scenario
	// runTime is the duration of a run, and publishTime of its publishing.
	runTime, publishTime time.Duration

	kills, publishing, sharded, runs int
}

// measure publishes an undisturbed run, to be replaced.
func (c *killTest) measure() {
	c.t.Helper()
	const run = "measured"
	began, publishing := time.Now(), time.Time{}
	result := c.scenario.run(c.t, c.dest, run).runUntil(func(ctx context.Context) {
		c.dest.afterExists(snapshot.ChangePath(run), 0)(ctx)
		publishing = time.Now()
		<-ctx.Done() // The process ended by itself.
	})
	require.Zero(c.t, result.code, result.stderr)
	c.runTime, c.publishTime = time.Since(began), time.Since(publishing)
	c.scenario.requirePublished(c.t, c.dest, run)
}

// publish repeats random commands, killing some, until the run is published. Some
// runs have two shards.
func (c *killTest) publish(run string) {
	c.t.Helper()
	commands := []func(string) bool{c.tryRun, c.tryRun, c.tryRun, c.tryPublish}
	if c.random.IntN(4) == 0 {
		commands = []func(string) bool{c.tryShard("0/2"), c.tryShard("1/2"), c.tryPublish}
	}
	for done := false; !done; {
		staged := c.scenario.alreadyStaged(c.t, c.dest, run)
		c.scenario.server.ResetLog()
		done = commands[c.random.IntN(len(commands))](run)
		c.scenario.requireNotRequested(c.t, staged)
		c.dest.requireReadable(c.t)
	}
	c.runs++
	c.scenario.requirePublished(c.t, c.dest, run)
}

// tryRun reports whether the command run was not killed.
func (c *killTest) tryRun(run string) (done bool) {
	c.t.Helper()
	result := c.runAndKill(c.scenario.run(c.t, c.dest, run), run)
	if !result.killed {
		require.Zero(c.t, result.code, result.stderr)
	}
	return !result.killed
}

// tryShard returns a function that runs a shard and reports whether the run is
// published: a shard only finishes a publishing that was killed.
func (c *killTest) tryShard(shard string) func(run string) (done bool) {
	return func(run string) bool {
		c.t.Helper()
		result := c.runAndKill(c.scenario.run(c.t, c.dest, run, "--shard", shard), run)
		if result.killed {
			c.sharded++
			return false
		}
		require.Zero(c.t, result.code, result.stderr)
		return strings.Contains(result.stdout, "Already published")
	}
}

// tryPublish reports whether the command publish was not killed and has published
// the run, which must have been staged.
func (c *killTest) tryPublish(run string) (done bool) {
	c.t.Helper()
	result := c.runAndKill(c.scenario.publish(c.t, c.dest, run), run)
	switch {
	case result.killed, result.code == exitOK:
		return !result.killed
	case c.dest.has(snapshot.PlanPath(run)):
		require.Equal(c.t, exitFailed, result.code, result.stderr)
		require.Contains(c.t, result.stderr, "are not staged")
	default:
		require.Equal(c.t, exitUsage, result.code, result.stderr)
		require.Contains(c.t, result.stderr, "there is no run "+run)
	}
	return false
}

// runAndKill runs a process and kills it at a random moment, or while it publishes,
// unless it ends before that.
func (c *killTest) runAndKill(p *process, run string) processResult {
	c.t.Helper()
	// Early kills are more useful, because the more is staged, the sooner a run is done.
	kill := afterDelay(min(c.randomBelow(c.runTime), c.randomBelow(c.runTime)))
	if c.random.IntN(3) == 0 && !c.dest.has(snapshot.ChangePath(run)) {
		kill = c.dest.afterExists(snapshot.ChangePath(run), c.randomBelow(c.publishTime))
	}
	result := p.runUntil(kill)
	if result.killed {
		c.kills++
		if c.dest.has(snapshot.ChangePath(run)) {
			c.publishing++
		}
	}
	return result
}

func (c *killTest) randomBelow(limit time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(limit)))
}
