//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
)

var (
	kills    = flag.Int("kills", 25, "SIGKILLs of TestKill on each kind of destination, 0 for no end")
	killSeed = flag.Uint64("kill-seed", 1, "seed of the moments at which TestKill kills, and of what other tests choose")
)

// TestKill ends runs by SIGKILL at random moments, publishing included, and
// gives the same command again, or publish, until it is done: nothing that was
// staged is fetched again, no half of a snapshot is seen outside the publishing
// window, whoever follows a pointer finds a whole one at any time, the bytes are
// those of an undisturbed run, and nothing is left lying about.
func TestKill(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, g *ground) {
		t.Helper()
		nights := []*night{
			newNight(t, simulator.Options{Seed: 5, SchoolSizes: []int{0, 40, 1, 60, 25, 90, 10, 30}},
				simulator.ServerOptions{Latency: 4 * time.Millisecond}, "--schools-per-file", "2"),
			newNight(t, simulator.Options{Seed: 6, SchoolSizes: []int{12, 0, 7}, Districts: 2},
				simulator.ServerOptions{Latency: time.Millisecond}, "--schools-per-file", "1", "--datasets", "all"),
		}
		c := &killer{t: t, random: rand.New(rand.NewPCG(*killSeed, uint64(len(g.String()))))}
		var faulty *s3test.Proxy
		if g.server != nil {
			faulty = g.server.Proxy(t, s3test.Share(*killSeed, 0.05))
		}
		told, enough := 0, func() bool { return c.kills >= *kills && *kills > 0 }
		for i := 0; !enough(); i++ {
			c.site, c.night = g.site(), nights[i%len(nights)]
			if faulty != nil && i%2 == 1 {
				c.site.endpoint = faulty.Endpoint
			}
			c.measure()
			// Each run replaces the one before.
			for n := 0; n < runsPerSite && !enough(); n++ {
				c.publish(fmt.Sprintf("night-%d", n))
			}
			verify := c.site.command(t, "verify").end(nil)
			require.Zero(t, verify.code, verify.stderr)
			require.NoError(t, os.RemoveAll(c.site.folder))
			if c.kills-told >= 25 || enough() {
				told = c.kills
				t.Logf("%s: %d kills, %d of them while publishing, over %d runs, seed %d", g, c.kills, c.publishing, c.runs, *killSeed)
			}
		}
	})
}

// runsPerSite are those that TestKill publishes at a destination, one after the
// other, before it goes on with another one.
const runsPerSite = 6

// killer kills commands.
type killer struct {
	t      *testing.T
	random *rand.Rand
	site   *site
	night  *night
	// whole is how long a command takes, and window how long of it publishing.
	whole, window time.Duration

	kills, publishing, runs int
}

// measure publishes a run that nobody disturbs, to be replaced.
func (c *killer) measure() {
	c.t.Helper()
	const run = "measured"
	began, publishing := time.Now(), time.Time{}
	end := c.night.run(c.t, c.site, run).end(func(ctx context.Context) {
		onceThere(c.site.path(sink.ChangePath(run)), 0)(ctx)
		publishing = time.Now()
		<-ctx.Done() // Nobody is killed.
	})
	require.Zero(c.t, end.code, end.stderr)
	c.whole, c.window = time.Since(began), time.Since(publishing)
	c.night.requirePublished(c.t, c.site, run)
}

// publish brings a run to its end, through as many kills as come. Some runs are
// those of two shards.
func (c *killer) publish(run string) {
	c.t.Helper()
	commands := []func(string) bool{c.run, c.run, c.run, c.finish}
	if c.random.IntN(4) == 0 {
		commands = []func(string) bool{c.shard("0/2"), c.shard("1/2"), c.finish}
	}
	for done := false; !done; {
		settled := c.night.settled(c.t, c.site, run)
		c.night.server.ResetLog()
		done = commands[c.random.IntN(len(commands))](run)
		c.night.requireNotAsked(c.t, settled)
		c.site.requireReadable(c.t)
	}
	c.runs++
	c.night.requirePublished(c.t, c.site, run)
}

// run is the command run. It tells whether it came to its end.
func (c *killer) run(run string) (done bool) {
	c.t.Helper()
	end := c.end(c.night.run(c.t, c.site, run), run)
	if !end.killed {
		require.Zero(c.t, end.code, end.stderr)
	}
	return !end.killed
}

// shard is the command run of a shard, after which the run is published only if
// a publishing that was killed had to be finished.
func (c *killer) shard(shard string) func(run string) (done bool) {
	return func(run string) bool {
		c.t.Helper()
		end := c.end(c.night.run(c.t, c.site, run, "--shard", shard), run)
		if end.killed {
			return false
		}
		require.Zero(c.t, end.code, end.stderr)
		return strings.Contains(end.stdout, "Already published")
	}
}

// finish is the command publish. It tells whether the run is published, which it
// is if it was staged.
func (c *killer) finish(run string) (done bool) {
	c.t.Helper()
	end := c.end(c.night.publish(c.t, c.site, run), run)
	switch {
	case end.killed, end.code == exitOK:
		return !end.killed
	case c.site.has(sink.PlanPath(run)):
		require.Equal(c.t, exitFailed, end.code, end.stderr)
		require.Contains(c.t, end.stderr, "are not staged")
	default:
		require.Equal(c.t, exitUsage, end.code, end.stderr)
		require.Contains(c.t, end.stderr, "there is no run "+run)
	}
	return false
}

// end runs a command and kills it, unless it is quicker: at any moment of the
// time that it may take, or while it publishes.
func (c *killer) end(p *process, run string) ending {
	c.t.Helper()
	// Early rather than late: it is done the sooner the more is staged.
	when := in(min(c.duration(c.whole), c.duration(c.whole)))
	if c.random.IntN(3) == 0 && !c.site.has(sink.ChangePath(run)) {
		when = onceThere(c.site.path(sink.ChangePath(run)), c.duration(c.window))
	}
	end := p.end(when)
	if end.killed {
		c.kills++
		if c.site.has(sink.ChangePath(run)) {
			c.publishing++
		}
	}
	return end
}

// duration is a random time below most.
func (c *killer) duration(most time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(most)))
}
