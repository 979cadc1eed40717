package pipeline_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
)

// logged collects the lines of a JSON logger.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns the lines with the given message.
func (l *logged) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []map[string]any
	for line := range bytes.Lines(l.b.Bytes()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal(line, &fields))
		if fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// TestASchoolIsLoggedOnce has a school fail in several datasets and another be denied in several: each is logged once,
// by name.
func TestASchoolIsLoggedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	denied, failed := s.world.Schools()[3], s.world.Schools()[5]
	s.server.SetFaults([]simulator.Fault{
		{School: denied.Bid, Kind: simulator.FaultStatus, Status: 403},
		{School: failed.Bid, Kind: simulator.FaultStatus, Status: 500},
	})
	var out logged
	deps := s.deps(impatient)
	deps.Logger = slog.New(slog.NewJSONHandler(&out, nil))
	summary, err := pipeline.Run(t.Context(), deps, defaults())
	require.NoError(t, err)
	require.Len(t, summary.Denials, 1)
	require.Equal(t, denied.Bid, summary.Denials[0].SchoolBid)
	require.Equal(t, denied.Name, summary.Denials[0].SchoolName)
	require.Greater(t, len(summary.Denials[0].Datasets), 1)
	require.Greater(t, len(summary.Schools.Failures), 1, "failures in several datasets")

	lines := out.lines(t, "school failed")
	require.Len(t, lines, 1)
	require.Equal(t, failed.Bid, lines[0]["school"])
	require.Equal(t, failed.Name, lines[0]["name"])
	require.Contains(t, lines[0]["error"], "status 500")
	require.NotContains(t, lines[0]["error"], failed.Bid)
	lines = out.lines(t, "access to school denied")
	require.Len(t, lines, 1)
	require.Equal(t, denied.Name, lines[0]["name"])
}

// TestManySchoolsAreNotLogged checks that only a few schools are logged, and that a note then refers to the ledger.
func TestManySchoolsAreNotLogged(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 7, Results: 40, Schools: 20}, simulator.ServerOptions{})
	s.server.SetFaults([]simulator.Fault{{Operation: "students", Kind: simulator.FaultStatus, Status: 403}})
	var out logged
	deps := s.deps(impatient)
	deps.Logger = slog.New(slog.NewJSONHandler(&out, nil))
	summary, err := pipeline.Run(t.Context(), deps, defaults())
	require.NoError(t, err)
	require.Len(t, summary.Denials, 20)
	lines := out.lines(t, "access to school denied")
	require.Len(t, lines, 3)
	require.Equal(t, "the ledger lists all other such schools", lines[2]["note"])
}
