package pipeline_test

import (
	"bytes"
	"context"
	"html"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// page returns the report of a run.
func (s *site) page(run string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dest, filepath.FromSlash(snapshot.ReportPath(run))))
	require.NoError(s.t, err)
	return html.UnescapeString(string(data))
}

// shows checks that the report of a run contains the given strings.
func (s *site) shows(run string, parts ...string) {
	s.t.Helper()
	page := s.page(run)
	for _, part := range parts {
		require.True(s.t, strings.Contains(page, part), "%q is not on the page of run %s", part, run)
	}
}

func TestReportOfEveryOutcome(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID = "first"
	settings.SnapshotDate, settings.Backdate = "2026-11-19", true
	summary := s.run(settings)
	require.Equal(t, snapshot.ReportPath("first"), summary.Report)
	first := s.page("first")
	s.shows("first", "All schools exported completely.", "Not compared with a previous snapshot: there is no earlier full snapshot.")
	settings.SnapshotDate = ""

	// The run is held because a school fails. The page compares it with the first run.
	bad := s.world.Schools()[2].Bid
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", School: bad, Kind: simulator.FaultStatus, Status: 500}})
	settings.RunID = "second"
	held, err := runAll(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, held.Outcome)
	require.Equal(t, snapshot.ReportPath("second"), held.Report)
	s.shows("second", "Held back.", held.Held[0].String(), bad, "--run-id second --accept-held", "Compared with run <code>first</code>", "Retries by cause")
	require.Equal(t, first, s.page("first"))

	// Once the hold is accepted and the run published, its report changes.
	accepted, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "second", AcceptHeld: true})
	require.NoError(t, err)
	require.Equal(t, snapshot.ReportPath("second"), accepted.Report)
	page := s.page("second")
	s.shows("second", "Published, but</span> 1 of ", bad, "Compared with run <code>first</code>")

	again, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "second"})
	require.NoError(t, err)
	require.True(t, again.AlreadyPublished)
	require.Empty(t, again.Report, "nothing was done")
	require.Equal(t, page, s.page("second"))

	// A report that is written again is the same.
	require.NoError(t, os.Remove(filepath.Join(s.dest, "_runs", "second", "report.html")))
	replaced, err := pipeline.WriteReport(t.Context(), s.deps(nil).Catalog, "second", pipeline.Ending{})
	require.NoError(t, err)
	require.Empty(t, replaced)
	require.Equal(t, page, s.page("second"))

	report, err := maintenance.Verify(t.Context(), s.deps(nil).Catalog, maintenance.VerifyTarget{RunID: "second"})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	s.server.SetFaults(nil)
	settings.RunID = "third"
	require.Equal(t, pipeline.Published, s.run(settings).Outcome)
	s.shows("second", "Run third replaced this one")
	s.shows("third", "Compared with run <code>first</code>")
	replaced, err = pipeline.WriteReport(t.Context(), s.deps(nil).Catalog, "third", pipeline.Ending{})
	require.NoError(t, err)
	require.Equal(t, []string{"second"}, replaced)
	_, err = pipeline.Report(t.Context(), s.deps(nil).Catalog, "nowhere")
	require.ErrorIs(t, err, sink.ErrNotFound)
}

// TestPagesHalfWritten checks that the next command removes the leftovers of publishers that were killed while they
// wrote the page of their run, or of the run that it replaced.
func TestPagesHalfWritten(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	for _, run := range []string{"first", "second"} {
		settings.RunID = run
		s.run(settings)
	}
	staging := filepath.Join(s.dest, "_staging")
	for name, again := range map[string]func() (*pipeline.Summary, error){
		"run": func() (*pipeline.Summary, error) { return runAll(t.Context(), s.deps(nil), settings) },
		"publish": func() (*pipeline.Summary, error) {
			return publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "second"})
		},
	} {
		for _, run := range []string{"first", "second"} {
			require.NoError(t, os.MkdirAll(filepath.Join(staging, run), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(staging, run, "PAGE"), []byte("<html>"), 0o600))
		}
		summary, err := again()
		require.NoError(t, err)
		require.True(t, summary.AlreadyPublished)
		require.NoDirExists(t, staging, name)
	}
}

func TestReportOfAShardAndOfAFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.Shards = "night", 2
	summary := s.run(settings)
	require.Equal(t, pipeline.Staged, summary.Outcome)
	require.Equal(t, snapshot.ReportPath("night"), summary.Report)
	s.shows("night", "Incomplete.")
	s.shows("night", "every shard")

	failed, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "night"})
	require.ErrorIs(t, err, pipeline.ErrIncomplete)
	require.Equal(t, snapshot.ReportPath("night"), failed.Report)
	s.shows("night", "Failed.")
	s.shows("night", err.Error())

	settings.Shard = 1
	s.run(settings)
	s.shows("night", "All tasks are staged; the run is not published yet.")
}

// TestReportOfWhatAFailureWas checks that the page of a run that gave up shows the cause, although no checkpoint
// contains it.
func TestReportOfWhatAFailureWas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits fifteen seconds")
	}
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID = "run"
	var faults []simulator.Fault // of all operations except the lookups
	for _, d := range schemas.Datasets() {
		if !d.IsLookup() {
			faults = append(faults, simulator.Fault{Operation: d.Name, Kind: simulator.FaultStatus, Status: 503})
		}
	}
	s.server.SetFaults(faults)
	progress := &pipeline.Progress{}
	deps := s.deps(func(o *extract.Options) {
		// The limit also applies to the lookups, which must succeed even on the slowest machine.
		o.GiveUpAfter, o.Observer = 15*time.Second, progress
	})
	deps.Progress = progress
	summary, err := runAll(t.Context(), deps, settings)
	require.ErrorIs(t, err, extract.ErrGaveUp)
	require.Equal(t, snapshot.ReportPath("run"), summary.Report)
	s.shows("run", "Failed.", err.Error(), `<th scope="row">503</th><td class="soft">service unavailable</td>`, `<i class="key s-5xx"></i>503</th>`)
}

// TestNoReport expects no report of a run that does not exist, and leaves the report of an interrupted run unchanged.
func TestNoReport(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.Schools = "run", []string{"", "nobody"}
	settings.Districts = []string{"nobody"}
	_, err := runAll(t.Context(), s.deps(nil), settings)
	require.ErrorIs(t, err, pipeline.ErrUsage)
	require.NoDirExists(t, filepath.Join(s.dest, "_runs"))

	settings.Schools, settings.Districts = nil, nil
	ctx, cancel := context.WithCancel(t.Context())
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(interrupted{lockless: lockless{deps.Catalog.Store()}, before: 3, written: new(atomic.Int64), act: cancel})
	summary, err := runAll(ctx, deps, settings)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, summary.Report)
	require.NoFileExists(t, filepath.Join(s.dest, "_runs", "run", "report.html"))
}

// TestReportOfAPublishingThatWasKilled expects the process that finishes the run to write the report.
func TestReportOfAPublishingThatWasKilled(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "publish"} {
		s := newSite(t, small(), simulator.ServerOptions{})
		settings := defaults()
		settings.RunID = "killed"
		deps := s.deps(nil)
		deps.Catalog = snapshot.At(killed{lockless: lockless{deps.Catalog.Store()}, path: snapshot.ManifestPath("killed")})
		_, err := runAll(t.Context(), deps, settings)
		require.ErrorIs(t, err, errKilled)
		s.shows("killed", errKilled.Error())
		if command == "run" {
			settings.RunID = "next"
			s.run(settings)
			s.shows("killed", "Run next replaced this one")
			continue
		}
		summary, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{})
		require.NoError(t, err)
		require.Equal(t, snapshot.ReportPath("killed"), summary.Report)
		s.shows("killed", "All schools exported completely.")
	}
}

// TestReportAfterSomebodyElsePublished expects a shard's report to be replaced if another process publishes the run.
func TestReportAfterSomebodyElsePublished(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID, settings.Shards = "run", 2
	s.run(settings)
	settings.Shard = 1
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(beforeWrite{Store: deps.Catalog.Store(), path: snapshot.ReportPath("run"), act: func() {
		_, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "run"})
		require.NoError(t, err)
	}})
	summary, err := runAll(t.Context(), deps, settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.Staged, summary.Outcome, "the outcome at the time of the check")
	s.shows("run", "All schools exported completely.")
}

// TestReportOfARunThatIsReplacedMeanwhile expects the page to show that another process replaced the run while the page
// was being written.
func TestReportOfARunThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.RunID = "run"
	s.run(settings)
	store := beforeWrite{Store: s.deps(nil).Catalog.Store(), path: snapshot.ReportPath("run"), act: sync.OnceFunc(func() {
		settings.RunID = "next"
		s.run(settings)
	})}
	_, err := pipeline.WriteReport(t.Context(), snapshot.At(store), "run", pipeline.Ending{})
	require.NoError(t, err)
	s.shows("run", "Run next replaced this one")

	remove := sync.OnceFunc(func() {
		_, err := maintenance.Prune(t.Context(), s.deps(nil).Catalog, maintenance.PruneOptions{KeepDays: 1, Now: func() time.Time { return time.Now().AddDate(1, 0, 0) }})
		require.NoError(t, err)
		require.NoDirExists(t, filepath.Join(s.dest, "_runs", "run"))
	})
	store = beforeWrite{Store: s.deps(nil).Catalog.Store(), path: snapshot.ReportPath("run"), act: remove}
	_, err = pipeline.WriteReport(t.Context(), snapshot.At(store), "run", pipeline.Ending{})
	require.ErrorIs(t, err, sink.ErrNotFound)
	require.NoDirExists(t, filepath.Join(s.dest, "_runs", "run"), "it is not left behind")
}

// beforeWrite is a store on which another process acts just before a document is written.
type beforeWrite struct {
	sink.Store

	path string
	act  func()
}

func (s beforeWrite) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == s.path {
		s.act()
	}
	return s.Store.Write(ctx, path, data, when)
}

// TestPagesThatCannotBeWritten checks that a page that cannot be written only leads to a log message.
func TestPagesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, path := range []string{snapshot.ReportPath("run"), snapshot.IndexPath} {
		s := newSite(t, small(), simulator.ServerOptions{})
		settings := defaults()
		settings.RunID = "run"
		deps := s.deps(nil)
		var logged bytes.Buffer
		deps.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		deps.Catalog = snapshot.At(killed{lockless: lockless{deps.Catalog.Store()}, path: path})
		summary, err := runAll(t.Context(), deps, settings)
		require.NoError(t, err)
		require.Equal(t, pipeline.Published, summary.Outcome)
		require.Equal(t, path == snapshot.IndexPath, summary.Report != "")
		require.Contains(t, logged.String(), `"a report cannot be written" path=`+path)
		require.Contains(t, logged.String(), errKilled.Error())
	}
}
