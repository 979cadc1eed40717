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
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// scenario is a simulated service and the settings of its runs.
type scenario struct {
	world  *simulator.World
	server *simulator.Server
	url    string
	flags  []string
	// expected holds the files of undisturbed runs on disk by date. A test may
	// run past midnight, and enrollment requests contain the day.
	expected map[string]map[string]string
}

func newScenario(t *testing.T, options simulator.Options, server simulator.ServerOptions, flags ...string) *scenario {
	t.Helper()
	world := simulator.NewWorld(options)
	n := &scenario{
		world:    world,
		server:   simulator.New(world, server),
		flags:    slices.Concat([]string{"--progress", "none", "--log-level", "error", "--concurrency", "4"}, flags),
		expected: make(map[string]map[string]string),
	}
	url, stop, err := simulator.Start(context.WithoutCancel(t.Context()), n.server, "")
	require.NoError(t, err)
	t.Cleanup(stop)
	n.url = url
	return n
}

// run returns the command run as a process that is not started yet.
func (n *scenario) run(t *testing.T, s *testDest, run string, more ...string) *process {
	t.Helper()
	flags := slices.Concat([]string{"--base-url", n.url, "--run-id", run}, n.flags, more)
	p := s.command(t, "run", flags...)
	p.cmd.Env = append(p.cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret)
	return p
}

// publish returns the command publish as a process that is not started yet.
func (n *scenario) publish(t *testing.T, s *testDest, run string) *process {
	t.Helper()
	return s.command(t, "publish", "--run-id", run, "--log-level", "error")
}

// expectedFiles returns the files of an undisturbed run of the date.
func (n *scenario) expectedFiles(t *testing.T, date string) map[string]string {
	t.Helper()
	if n.expected[date] == nil {
		s := (&testStorage{root: t.TempDir()}).newDest()
		n.run(t, s, "undisturbed").runOK()
		manifest, err := snapshot.At(s.open(t)).ReadManifest(t.Context(), "undisturbed")
		require.NoError(t, err)
		n.expected[manifest.SnapshotDate] = hashesWithoutRun(manifest)
		require.NotEmpty(t, n.expected[manifest.SnapshotDate])
	}
	return n.expected[date]
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// requirePublished compares the published run with an undisturbed one.
func (n *scenario) requirePublished(t *testing.T, s *testDest, run string) {
	t.Helper()
	plan, err := snapshot.At(s.open(t)).ReadPlan(t.Context(), run)
	require.NoError(t, err)
	s.requirePublished(t, run, n.expectedFiles(t, plan.SnapshotDate))
}

// alreadyStaged returns a function that reports whether the run has staged a school's
// data, which must not be requested again.
func (n *scenario) alreadyStaged(t *testing.T, s *testDest, run string) func(operation, school string) bool {
	t.Helper()
	store := s.open(t)
	plan, err := snapshot.At(store).ReadPlan(t.Context(), run)
	if err != nil {
		require.ErrorIs(t, err, sink.ErrNotFound)
		return func(string, string) bool { return false }
	}
	journals, err := snapshot.At(store).ReadCheckpoints(t.Context(), run)
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
			// All lookups are needed until all are staged.
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

// resume runs a process of the run to its end, and checks that it requests nothing
// that was staged before.
func (n *scenario) resume(t *testing.T, s *testDest, run string, p *process) {
	t.Helper()
	staged := n.alreadyStaged(t, s, run)
	n.server.ResetLog()
	p.runOK()
	n.requireNotRequested(t, staged)
}

// requireNotRequested checks that the service got no requests for staged data.
func (n *scenario) requireNotRequested(t *testing.T, staged func(operation, school string) bool) {
	t.Helper()
	var again []string
	for _, r := range n.server.Log() {
		if staged(r.Operation, r.School) {
			again = append(again, r.Operation+" "+r.School)
		}
	}
	require.Empty(t, slices.Compact(again), "was staged and is requested again; %s", strings.Join(n.flags, " "))
}
