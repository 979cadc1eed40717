package pipeline_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// TestComparison compares nights, and expects the same differences as diff finds between the published snapshots.
func TestComparison(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	n := newNights(t)
	first := n.export(compared())
	require.Nil(t, first.Comparison, "there is nothing to compare with")
	require.Equal(t, snapshot.NoEarlierSnapshot, first.NotCompared)

	n.next(edits{})
	same := n.export(compared())
	n.requireEqualsDiff(same)
	for name, counts := range same.Comparison.Tables {
		require.Equal(t, counts.Before(), counts.Same, name)
		require.Zero(t, counts.Added, name)
	}
	require.Empty(t, same.Comparison.Warnings)

	// A school fails, two are denied, and another bucket begins at a different school.
	n.next(churn())
	schools := n.world.Schools()
	n.server.SetFaults([]simulator.Fault{
		{Operation: "students", School: schools[1].Bid, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "test_results", School: schools[2].Bid, Kind: simulator.FaultStatus, Status: 403},
	})
	settings := compared()
	settings.SchoolsPerFile = 5
	settings.MaxRemoved.Off = true
	changed := n.export(settings)
	n.requireEqualsDiff(changed)
	results := changed.Comparison.Tables["test_results"]
	require.Positive(t, results.Changed)
	for _, reason := range []string{snapshot.Superseded, snapshot.LeftRoster, snapshot.Unexplained} {
		require.Positive(t, results.Because[reason], reason)
	}
	require.EqualValues(t, 10, changed.Comparison.SchoolsCompared)
	require.EqualValues(t, 2, changed.Comparison.SchoolsNotCompared)

	// A run of the same date is compared with the night before, not with the run that it replaces.
	n.server.SetFaults(nil)
	n.tonight.Store(&edits{})
	again := n.export(compared())
	n.requireEqualsDiff(again)
	require.Equal(t, same.RunID, again.Comparison.With)

	n.next(edits{})
	settings.Compare = false
	summary := n.export(settings)
	require.Nil(t, summary.Comparison)
	require.Equal(t, snapshot.NotToCompare, summary.NotCompared)
}

// TestOneBaseline expects all limits and reports to use the same previous snapshot: for a second run of a day the
// snapshot of the day before, and for a run of an earlier date never the snapshot of a later one.
func TestOneBaseline(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	n := newNights(t)
	full := compared()
	full.Datasets = append(full.Datasets, "student_details")
	first := n.export(full)
	n.next(edits{})
	settings := compared()
	second := n.export(settings)
	require.Equal(t, first.RunID, second.Comparison.With, "the second run has one more dataset")
	require.NotContains(t, second.Comparison.Tables, "student_details")
	require.EqualValues(t, 12, second.Comparison.SchoolsCompared)

	n.tonight.Store(&edits{resultsPath: func(_ string, records []object) []object {
		records = records[:len(records)/2]
		for _, r := range records[:len(records)/2] {
			r["rit"], r["grade"] = nil, "13"
		}
		return records
	}})
	n.server.SetFaults([]simulator.Fault{{Operation: "students", School: n.world.Schools()[1].Bid, Kind: simulator.FaultStatus, Status: 403}})
	settings.RunID, settings.Limits = "again", review.Limits{}
	held := n.export(settings)
	require.Equal(t, pipeline.HeldBack, held.Outcome)
	require.Len(t, held.Held, 4)
	for _, reason := range held.Held {
		require.Contains(t, reason.String(), "since the snapshot of 2026-11-20 (run "+first.RunID+")")
	}
	require.Equal(t, first.RunID, held.Comparison.With)
	require.Equal(t, review.NewlyDenied, held.Warnings[0].Check)
	require.Contains(t, held.Warnings[0].String(),
		"1 school in the snapshot of 2026-11-20 is denied now: "+n.world.Schools()[1].Name+"; ")
	drawn := func(run string) string {
		page, err := pipeline.Report(t.Context(), n.deps().Catalog, run)
		require.NoError(t, err)
		return string(page)
	}
	page := drawn("again")
	require.Contains(t, page, "Compared with run <code>"+first.RunID+"</code>")
	require.NotContains(t, page, "Compared with run <code>"+second.RunID+"</code>")
	require.NotContains(t, page, "This does not block publishing.")
	require.Contains(t, page, "These rows count as lost, which may be why the run was held back.")

	// The snapshot of the first day is replaced by one that has fewer rows than the day after.
	settings.RunID, settings.SnapshotDate, settings.Backdate, settings.Replace = "backdated", "2026-11-20", true, true
	backdated := n.export(settings)
	require.Equal(t, pipeline.Published, backdated.Outcome, "%v", backdated.Held)
	require.Nil(t, backdated.Comparison)
	require.Equal(t, snapshot.NoEarlierSnapshot, backdated.NotCompared)
	require.Empty(t, backdated.Warnings)
	require.NotContains(t, drawn("backdated"), "Compared with run")
}

// TestComparisonOfSeveralProcesses expects the same comparison from shards, and from a run that was interrupted and
// resumed, as from an undisturbed run.
func TestComparisonOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	n := newNights(t)
	n.export(compared())
	n.next(churn())
	settings := compared()
	settings.MaxRemoved.Off = true
	whole := n.export(settings)
	n.requireEqualsDiff(whole)

	sharded := settings
	sharded.RunID, sharded.Shards = "sharded", 2
	for sharded.Shard = range sharded.Shards {
		summary := n.export(sharded)
		require.Equal(t, pipeline.Staged, summary.Outcome)
		require.Equal(t, sharded.Shard == 1, summary.Comparison != nil, "only the process that completes the run has the comparison")
	}
	published, err := pipeline.Publish(t.Context(), n.deps(), pipeline.PublishSettings{RunID: "sharded"})
	require.NoError(t, err)
	n.requireEqualsDiff(published)
	require.Equal(t, whole.Comparison, published.Comparison)

	// Each attempt is interrupted once it has staged another task, on a store that can read staged files back and on one
	// that cannot.
	for run, wrap := range map[string]func(sink.Store) sink.Store{
		"resumed": func(store sink.Store) sink.Store { return store },
		"blind":   func(store sink.Store) sink.Store { return struct{ sink.Store }{store} },
	} {
		if run == "blind" && testing.Short() {
			continue
		}
		resumed := settings
		resumed.RunID, resumed.Concurrency = run, 1
		var summary *pipeline.Summary
		for attempts := 0; summary == nil || summary.Outcome != pipeline.Published; attempts++ {
			require.Less(t, attempts, 100)
			ctx, cancel := context.WithCancel(t.Context())
			deps := n.deps()
			deps.Catalog = snapshot.At(wrap(deps.Catalog.Store()))
			deps.Tracer = &interrupter{cancel: cancel, after: 4}
			summary, err = pipeline.Run(ctx, deps, resumed)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		n.requireEqualsDiff(summary)
		require.Positive(t, summary.TasksResumed)
		require.Equal(t, whole.Comparison, summary.Comparison, run)
	}
}

// interrupter cancels a run after it has staged some tasks.
type interrupter struct {
	cancel func()
	after  int64
	staged atomic.Int64
}

func (i *interrupter) Start(ctx context.Context, span pipeline.Span) (context.Context, func(pipeline.SpanEnd)) {
	return ctx, func(pipeline.SpanEnd) {
		if span.Name == pipeline.SpanStage && i.staged.Add(1) > i.after {
			i.cancel()
		}
	}
}

// TestBaselineThatCannotBeRead expects a run that is not compared, says why, and is otherwise the same.
func TestBaselineThatCannotBeRead(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	n := newNights(t)
	first := n.export(compared())
	file := func(table string) string {
		files, err := filepath.Glob(filepath.Join(n.dest, table, "snapshot_date=2026-11-20", "part-0001-*.parquet"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		return files[0]
	}
	path := file("test_results")
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	damages := map[string][]byte{
		"short": sound[:len(sound)/2], "garbage": bytes.Repeat([]byte("x"), len(sound)), "gone": nil,
		"hole": slices.Concat(sound[:len(sound)/4], make([]byte, len(sound)/4), sound[len(sound)/2:]),
	}
	for name, data := range damages {
		require.NoError(t, os.Remove(path))
		if data != nil {
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		n.next(churn())
		n.day = theDay.AddDate(0, 0, 1)
		settings := compared()
		settings.RunID = name
		summary := n.export(settings)
		require.Equal(t, pipeline.Published, summary.Outcome, name)
		require.Nil(t, summary.Comparison, name)
		require.Contains(t, summary.NotCompared, "check it with growth-export verify --run-id "+first.RunID, name)
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.WriteFile(path, sound, 0o600))
	}
}

// TestBaselineThatChanges prunes the baseline while a run is compared with it, and replaces it between two shards.
func TestBaselineThatChanges(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	n := newNights(t)
	first := n.export(compared())
	n.next(churn())
	settings := compared()
	settings.RunID, settings.Shards = "tonight", 2
	n.export(settings)

	// The snapshot of the first night is replaced.
	tonight := n.day
	n.day = theDay
	replacing := compared()
	replacing.RunID = "replacing"
	n.export(replacing)
	n.day = tonight
	settings.Shard = 1
	n.export(settings)
	published, err := pipeline.Publish(t.Context(), n.deps(), pipeline.PublishSettings{RunID: "tonight"})
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, published.Outcome)
	require.Nil(t, published.Comparison)
	require.Contains(t, published.NotCompared, "it was replaced, purged or pruned after this run had begun")

	// Then the snapshot is removed completely.
	require.NotEqual(t, first.RunID, "replacing")
	n.next(edits{})
	settings = compared()
	settings.RunID, settings.Shards = "later", 2
	n.export(settings)
	require.NoError(t, os.Remove(filepath.Join(n.dest, "_runs", "tonight", "manifest.json")))
	settings.Shard = 1
	n.export(settings)
	published, err = pipeline.Publish(t.Context(), n.deps(), pipeline.PublishSettings{RunID: "later"})
	require.NoError(t, err)
	require.Nil(t, published.Comparison)
	require.NotEmpty(t, published.NotCompared)
}

// TestComparisonDoesNotChangeFiles compares the hashes of all data files with those in a run without a comparison.
func TestComparisonDoesNotChangeFiles(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	var hashes []map[string]string
	for _, compare := range []bool{true, false} {
		n := newNights(t)
		settings := compared()
		settings.Compare = compare
		settings.MaxRemoved.Off = true
		n.export(settings)
		n.next(churn())
		summary := n.export(settings)
		require.Equal(t, compare, summary.Comparison != nil)
		hashes = append(hashes, n.hashes())
	}
	require.Equal(t, hashes[0], hashes[1])
}
