package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestBefore finds the run that another one is seen beside.
func TestBefore(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	asOf := func(date string) func(*snapshot.Plan) {
		return func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, date }
	}
	schoolsAlone := func(p *snapshot.Plan) { p.Scope.Datasets = []string{"schools"} }
	manifests := make(map[string]*snapshot.Manifest)
	for _, plan := range []*snapshot.Plan{
		snapshottest.NewPlan("older", snapshottest.Few, snapshottest.OnDate("2026-11-10")),
		snapshottest.NewPlan("old", snapshottest.Few, snapshottest.OnDate("2026-11-18")),
		snapshottest.NewPlan("other", snapshottest.Few, snapshottest.OnDate("2026-11-19"), schoolsAlone),
		snapshottest.NewPlan("first", snapshottest.Few),
		snapshottest.NewPlan("second", snapshottest.Few),
		snapshottest.NewPlan("third", snapshottest.Few, schoolsAlone, func(p *snapshot.Plan) { p.Replace = true }),
		snapshottest.NewPlan("later", snapshottest.Few, snapshottest.OnDate("2026-11-21")),
		snapshottest.NewPlan("september", snapshottest.Few, asOf("2026-09-01")),
		snapshottest.NewPlan("october", snapshottest.Few, asOf("2026-10-01")),
		snapshottest.NewPlan("changes", snapshottest.Few, func(p *snapshot.Plan) { p.Kind = snapshot.Delta }),
		snapshottest.NewPlan("more-changes", snapshottest.Few, snapshottest.OnDate("2026-11-21"), func(p *snapshot.Plan) { p.Kind = snapshot.Delta }),
	} {
		manifests[plan.RunID] = snapshottest.TakeSnapshot(t, store, plan)
	}
	for run, before := range map[string]string{
		"older": "", "old": "older",
		"other":     "",      // of another scope
		"first":     "old",   // not the run of the day before, which has another scope
		"second":    "first", // which it replaced
		"third":     "other", // what it replaced is of another scope
		"later":     "old",   // the day before has no snapshot of this scope any more
		"september": "", "october": "september",
		"changes": "", "more-changes": "",
	} {
		found, err := snapshot.At(store).Baseline(t.Context(), manifests[run])
		require.NoError(t, err)
		if before == "" {
			require.Nil(t, found, run)
			continue
		}
		require.NotNil(t, found, run)
		require.Equal(t, before, found.RunID, run)
	}

	// One that is not published yet is seen beside what it would replace.
	plan := snapshottest.NewPlan("fourth", snapshottest.Few, schoolsAlone)
	snapshottest.StageRun(t, store, plan, nil)
	preview := snapshottest.Collect(t, store, "fourth").Preview()
	require.Empty(t, preview.Status)
	found, err := snapshot.At(store).Baseline(t.Context(), preview)
	require.NoError(t, err)
	require.Equal(t, "third", found.RunID)
}

// TestReadLedger reads what a run has staged.
func TestReadLedger(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Few), snapshottest.StatusOf{"s1": snapshot.StatusFailed, "s2": snapshot.StatusDenied})
	g := snapshottest.Collect(t, store, "run")
	snapshottest.PublishRun(t, store, "run")
	var read []snapshot.LedgerRow
	require.NoError(t, snapshot.At(store).ReadLedger(t.Context(), "run", func(row *snapshot.LedgerRow) { read = append(read, *row) }))
	require.NotEmpty(t, read)
	require.Equal(t, g.Ledger, read)
	require.ErrorIs(t, snapshot.At(store).ReadLedger(t.Context(), "nowhere", func(*snapshot.LedgerRow) {}), sink.ErrNotFound)
}

func TestHeld(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	held, err := snapshot.At(store).ReadHeld(t.Context(), "run")
	require.NoError(t, err)
	require.Empty(t, held.Reasons)
	require.False(t, held.OtherReasons())
	for _, want := range []struct {
		held  snapshot.Held
		other bool
	}{
		{snapshot.Held{Reasons: []string{"2 schools failed"}, FailedSchools: true}, false},
		{snapshot.Held{Reasons: []string{"2 schools failed", "a table shrank"}, FailedSchools: true}, true},
		{snapshot.Held{Reasons: []string{"a table shrank"}}, true},
	} {
		require.NoError(t, snapshot.At(store).Hold(t.Context(), "run", want.held))
		held, err = snapshot.At(store).ReadHeld(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, want.held, held)
		require.Equal(t, want.other, held.OtherReasons())
	}
}
