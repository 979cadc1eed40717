package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/snapshot"
)

// index returns the page of all runs.
func (s *site) index() string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dest, filepath.FromSlash(snapshot.IndexPath)))
	require.NoError(s.t, err)
	return string(data)
}

// TestIndexOfEveryOutcome checks that the page of all runs is up to date after every outcome, and contains no names of
// people.
func TestIndexOfEveryOutcome(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID = "first"
	s.run(settings)
	require.Contains(t, s.index(), `<a href="first/report.html">2026-11-20</a></th><td>full</td><td class="good">published</td>`)

	bad := s.world.Schools()[2].Bid
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", School: bad, Kind: simulator.FaultStatus, Status: 500}})
	settings.RunID = "second"
	_, err := runAll(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Contains(t, s.index(), `<a href="second/report.html">2026-11-20</a></th><td>full</td><td class="bad">held back</td>`)
	require.Contains(t, s.index(), "Last run: held back.")

	_, err = publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "second", AcceptHeld: true})
	require.NoError(t, err)
	index := s.index()
	require.Contains(t, index, `<td class="fair">published after it was held back</td>`)
	require.Contains(t, index, `<td class="soft">replaced</td>`)

	names := 0
	for table, rows := range oracle.Rows(s.world, oracle.Options{}) {
		for _, row := range rows {
			for column, value := range row {
				text, ok := value.(string)
				if !ok || !strings.HasSuffix(column, "name") && !strings.HasSuffix(column, "bid") || len(text) < 4 {
					continue
				}
				names++
				require.NotContains(t, index, text, "%s of %s", column, table)
			}
		}
	}
	require.Greater(t, names, 100)

	settings.RunID, settings.Shards = "given-up", 2
	s.run(settings)
	require.Contains(t, s.index(), "incomplete: ")
	session := destination.New(s.deps(nil).Catalog, destination.Options{Log: s.deps(nil).Logger})
	_, err = session.Abandon(t.Context(), s.deps(nil), "given-up")
	require.NoError(t, err)
	require.Equal(t, index, s.index())
}

// TestIndexOfTwoAtOnce checks that, of two concurrent processes, the one that saw fewer runs lists the runs again.
func TestIndexOfTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.Datasets = []string{"schools"}
	other := settings
	other.RunID = "other"
	for _, first := range []bool{true, false} { // whether the page exists
		act := sync.OnceFunc(func() { s.run(other) })
		settings.RunID = map[bool]string{true: "run", false: "next"}[first]
		deps := s.deps(nil)
		deps.Catalog = snapshot.At(beforeWrite{Store: deps.Catalog.Store(), path: snapshot.IndexPath, act: act})
		_, err := runAll(t.Context(), deps, settings)
		require.NoError(t, err)
		for _, run := range []string{settings.RunID, other.RunID} {
			require.Contains(t, s.index(), `<a href="`+run+`/report.html">`)
		}
		other.RunID = "another"
	}
}
