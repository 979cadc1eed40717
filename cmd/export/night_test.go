//go:build unix

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// night is what is exported in a test: a service, and the settings of a run.
type night struct {
	world  *simulator.World
	server *simulator.Server
	url    string
	flags  []string
	// quiet are the files of undisturbed runs on disk, by their dates: the
	// day is pinned in the requests for enrollment, and a test may go on
	// over midnight.
	quiet map[string]map[string]string
}

func newNight(t *testing.T, options simulator.Options, server simulator.ServerOptions, flags ...string) *night {
	t.Helper()
	world := simulator.NewWorld(options)
	n := &night{
		world:  world,
		server: simulator.New(world, server),
		flags:  slices.Concat([]string{"--progress", "none", "--log-level", "error", "--concurrency", "4"}, flags),
		quiet:  make(map[string]map[string]string),
	}
	url, stop, err := simulator.Start(context.WithoutCancel(t.Context()), n.server, "")
	require.NoError(t, err)
	t.Cleanup(stop)
	n.url = url
	return n
}

// run is the command run at a site, not started yet.
func (n *night) run(t *testing.T, s *site, run string, more ...string) *process {
	t.Helper()
	flags := slices.Concat([]string{"--base-url", n.url, "--run-id", run}, n.flags, more)
	p := s.command(t, "run", flags...)
	p.cmd.Env = append(p.cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret)
	return p
}

// publish is the command publish at a site, not started yet.
func (n *night) publish(t *testing.T, s *site, run string) *process {
	t.Helper()
	return s.command(t, "publish", "--run-id", run, "--log-level", "error")
}

// want returns the files of an undisturbed run of that date, or today's.
func (n *night) want(t *testing.T, date string) map[string]string {
	t.Helper()
	if n.quiet[date] == nil {
		s := (&ground{root: t.TempDir()}).site()
		end := n.run(t, s, "quiet").end(nil)
		require.Zero(t, end.code, end.stderr)
		manifest, err := sink.ReadManifest(t.Context(), s.open(t), "quiet")
		require.NoError(t, err)
		n.quiet[manifest.SnapshotDate] = runless(manifest)
		require.NotEmpty(t, n.quiet[manifest.SnapshotDate])
	}
	return n.quiet[date]
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// requirePublished is the site's, with the files of an undisturbed run.
func (n *night) requirePublished(t *testing.T, s *site, run string) {
	t.Helper()
	plan, err := sink.ReadPlan(t.Context(), s.open(t), run)
	require.NoError(t, err)
	s.requirePublished(t, run, n.want(t, plan.SnapshotDate))
}

// settled tells what of a run is staged for good, so that the service is not to
// be asked for it again.
func (n *night) settled(t *testing.T, s *site, run string) func(operation, school string) bool {
	t.Helper()
	store := s.open(t)
	plan, err := sink.ReadPlan(t.Context(), store, run)
	if err != nil {
		require.ErrorIs(t, err, sink.ErrNotFound)
		return func(string, string) bool { return false }
	}
	journals, err := sink.ReadJournals(t.Context(), store, run)
	require.NoError(t, err)
	type chain struct{ dataset, school string }
	staged := make(map[chain]bool)
	for _, journal := range journals {
		for i := range journal.Ledger {
			staged[chain{journal.Dataset, journal.Ledger[i].SchoolBid}] = true
		}
	}
	needed := make(map[chain]bool)
	for _, dataset := range schemas.Datasets() {
		if !slices.Contains(plan.Scope.Datasets, dataset.Name) {
			continue
		}
		if dataset.Per == schemas.Once || dataset.Per == schemas.PerDistrict {
			// Until all lookups are staged they feed one another.
			if !staged[chain{dataset.Name, ""}] {
				for _, lookup := range []string{"schools", "districts", "district_schools"} {
					needed[chain{lookup, ""}] = true
				}
			}
			continue
		}
		for _, school := range plan.Schools {
			if staged[chain{dataset.Name, school.Bid}] {
				continue
			}
			for _, table := range dataset.Feeds {
				_, feed, _ := schemas.FindTable(table)
				needed[chain{feed.Name, school.Bid}] = true
			}
		}
	}
	return func(operation, school string) bool {
		c := chain{operation, school}
		return staged[c] && !needed[c]
	}
}

// requireNotAsked checks that the service was not asked for what was settled.
func (n *night) requireNotAsked(t *testing.T, settled func(operation, school string) bool) {
	t.Helper()
	var again []string
	for _, r := range n.server.Log() {
		if settled(r.Operation, r.School) {
			again = append(again, r.Operation+" "+r.School)
		}
	}
	require.Empty(t, slices.Compact(again), "was staged and is asked again; %s", strings.Join(n.flags, " "))
}
