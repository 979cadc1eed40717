package sink

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBefore finds the run that another one is seen beside.
func TestBefore(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	asOf := func(date string) func(*Plan) {
		return func(p *Plan) { p.Kind, p.SnapshotDate = AsOf, date }
	}
	schoolsAlone := func(p *Plan) { p.Scope.Datasets = []string{"schools"} }
	manifests := make(map[string]*Manifest)
	for _, plan := range []*Plan{
		newPlan("older", few, onDate("2026-11-10")),
		newPlan("old", few, onDate("2026-11-18")),
		newPlan("other", few, onDate("2026-11-19"), schoolsAlone),
		newPlan("first", few),
		newPlan("second", few),
		newPlan("third", few, schoolsAlone, func(p *Plan) { p.Replace = true }),
		newPlan("later", few, onDate("2026-11-21")),
		newPlan("september", few, asOf("2026-09-01")),
		newPlan("october", few, asOf("2026-10-01")),
		newPlan("changes", few, func(p *Plan) { p.Kind = Delta }),
		newPlan("more-changes", few, onDate("2026-11-21"), func(p *Plan) { p.Kind = Delta }),
	} {
		manifests[plan.RunID] = takeSnapshot(t, store, plan)
	}
	for run, before := range map[string]string{
		"older": "", "old": "older",
		"other":     "",      // of another scope
		"first":     "old",   // not that of the day before, whose scope is another
		"second":    "first", // which it replaced
		"third":     "other", // what it replaced is of another scope
		"later":     "old",   // the day before has no snapshot of this scope any more
		"september": "", "october": "september",
		"changes": "", "more-changes": "",
	} {
		found, err := Before(t.Context(), store, manifests[run])
		require.NoError(t, err)
		if before == "" {
			require.Nil(t, found, run)
			continue
		}
		require.NotNil(t, found, run)
		require.Equal(t, before, found.RunID, run)
	}

	// One that is not published yet is seen beside what it would replace.
	plan := newPlan("fourth", few, schoolsAlone)
	stageRun(t, store, plan, nil)
	preview := gather(t, store, "fourth").Preview()
	require.Empty(t, preview.Status)
	found, err := Before(t.Context(), store, preview)
	require.NoError(t, err)
	require.Equal(t, "third", found.RunID)
}

// TestReadLedger reads what a run has gathered.
func TestReadLedger(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	stageRun(t, store, newPlan("run", few), statusOf{"s1": StatusFailed, "s2": StatusDenied})
	g := gather(t, store, "run")
	publishRun(t, store, "run")
	var read []LedgerRow
	require.NoError(t, ReadLedger(t.Context(), store, "run", func(row *LedgerRow) { read = append(read, *row) }))
	require.NotEmpty(t, read)
	require.Equal(t, g.Ledger, read)
	require.ErrorIs(t, ReadLedger(t.Context(), store, "nowhere", func(*LedgerRow) {}), ErrNotFound)
}

func TestHeld(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	held, err := ReadHeld(t.Context(), store, "run")
	require.NoError(t, err)
	require.Empty(t, held.Reasons)
	require.False(t, held.OtherReasons())
	for _, want := range []struct {
		held  Held
		other bool
	}{
		{Held{Reasons: []string{"2 schools failed"}, FailedSchools: true}, false},
		{Held{Reasons: []string{"2 schools failed", "a table shrank"}, FailedSchools: true}, true},
		{Held{Reasons: []string{"a table shrank"}}, true},
	} {
		require.NoError(t, Hold(t.Context(), store, "run", want.held))
		held, err = ReadHeld(t.Context(), store, "run")
		require.NoError(t, err)
		require.Equal(t, want.held, held)
		require.Equal(t, want.other, held.OtherReasons())
	}
}
