package snapshot_test

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestBaseline finds the run that another one is seen beside.
func TestBaseline(t *testing.T) {
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
		"later":     "old",   // the day before no longer has a snapshot of this scope
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

// TestNightsBefore leaves out nights of another scope, and those that cannot be read.
func TestNightsBefore(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	for _, date := range []string{"2026-11-10", "2026-11-12", "2026-11-13", "2026-11-14", "2026-11-15", "2026-11-16", "2026-11-21"} {
		plan := snapshottest.NewPlan("of-"+date, snapshottest.Few, snapshottest.OnDate(date))
		if date == "2026-11-13" {
			plan.Scope.Datasets = []string{"schools"}
		}
		snapshottest.TakeSnapshot(t, store, plan)
	}
	run := snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run", snapshottest.Few))
	require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(snapshot.ManifestPath("of-2026-11-14"))), []byte("{"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(root, filepath.FromSlash(snapshot.ManifestPath("of-2026-11-15")))))

	for most, want := range map[int][]string{9: {"of-2026-11-10", "of-2026-11-12", "of-2026-11-16"}, 5: {"of-2026-11-12", "of-2026-11-16"}, 1: {"of-2026-11-16"}} {
		nights, err := snapshot.At(store).NightsBefore(t.Context(), run, most)
		require.NoError(t, err)
		var got []string
		for _, night := range nights {
			got = append(got, night.RunID)
			require.Positive(t, night.Rows)
		}
		require.Equal(t, want, got)
	}
}

func TestCheckReplace(t *testing.T) {
	t.Parallel()
	scope := snapshottest.NewPlan("x", snapshottest.Few).Scope
	with := func(edit func(*snapshot.Scope)) snapshot.Scope {
		changed := scope
		edit(&changed)
		return changed
	}
	past := "2026-10-01"
	tests := []struct {
		name    string
		kind    snapshot.Kind
		date    string
		baseURL string // empty for the published runs' base URL
		scope   snapshot.Scope
		today   bool
		replace bool
		refused string // part of the reason; empty if it is allowed
	}{
		{name: "nothing is there", kind: snapshot.Full, date: "2026-11-21", scope: scope, today: true},
		{name: "nothing is there at a past date", kind: snapshot.Full, date: "2026-01-01", scope: scope},
		{name: "today, same scope", kind: snapshot.Full, date: snapshottest.Today, scope: scope, today: true},
		{
			name: "today, same scope in another order", kind: snapshot.Full, date: snapshottest.Today, today: true,
			scope: with(func(s *snapshot.Scope) { s.Datasets = []string{"students", "schools"} }),
		},
		{name: "past, same scope", kind: snapshot.Full, date: past, scope: scope, refused: "run standing-2026-10-01, and that date is past; --replace"},
		{name: "past, replaced", kind: snapshot.Full, date: past, scope: scope, replace: true},
		{
			name: "other datasets", kind: snapshot.Full, date: snapshottest.Today, today: true,
			scope:   with(func(s *snapshot.Scope) { s.Datasets = []string{"schools"} }),
			refused: "the snapshot of 2026-11-20 is run standing-2026-11-20, which has another scope (--datasets); --replace replaces it",
		},
		{
			name: "some schools", kind: snapshot.Full, date: snapshottest.Today, today: true,
			scope: with(func(s *snapshot.Scope) { s.Schools = []string{"s1"} }), refused: "(--schools)",
		},
		{
			name: "some districts", kind: snapshot.Full, date: snapshottest.Today, today: true,
			scope: with(func(s *snapshot.Scope) { s.Districts = []string{"d1"} }), refused: "(--districts)",
		},
		{
			name: "own perspectives", kind: snapshot.Full, date: snapshottest.Today, today: true,
			scope: with(func(s *snapshot.Scope) { s.Perspectives = "own" }), refused: "--perspectives all instead of own",
		},
		{
			name: "removed ones", kind: snapshot.Full, date: snapshottest.Today, today: true,
			scope: with(func(s *snapshot.Scope) { s.IncludeRemoved = true }), refused: "--include-removed",
		},
		{
			name: "other scope, replaced", kind: snapshot.Full, date: snapshottest.Today, today: true, replace: true,
			scope: with(func(s *snapshot.Scope) { s.Schools = []string{"s1"} }),
		},
		{
			name: "another service", kind: snapshot.Full, date: snapshottest.Today, today: true, scope: scope, baseURL: "https://test.example",
			refused: "another scope (base URL https://service.example instead of https://test.example); --replace replaces it",
		},
		{
			name: "another service, replaced", kind: snapshot.Full, date: snapshottest.Today, today: true, replace: true, scope: scope,
			baseURL: "https://test.example",
		},
		{
			name: "the same service, spelled differently", kind: snapshot.Full, date: snapshottest.Today, today: true, scope: scope,
			baseURL: "https://Service.Example:443/",
		},
		{
			name: "as of a date, another service", kind: snapshot.AsOf, date: past, scope: scope, baseURL: "https://test.example",
			refused: "has another scope (base URL",
		},
		{name: "as of a date that is free", kind: snapshot.AsOf, date: "2025-01-01", scope: scope},
		{name: "as of a date, same scope", kind: snapshot.AsOf, date: past, scope: scope},
		{
			name: "as of a date, other scope", kind: snapshot.AsOf, date: past,
			scope:   with(func(s *snapshot.Scope) { s.Datasets = []string{"schools"} }),
			refused: "the enrollment as of 2026-10-01 is run past, which has another scope",
		},
		{
			name: "a delta replaces nothing", kind: snapshot.Delta, date: snapshottest.Today, today: true,
			scope: with(func(s *snapshot.Scope) { s.Datasets = []string{"schools"} }),
		},
	}
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("standing-"+past, snapshottest.Few, snapshottest.OnDate(past)))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("standing-"+snapshottest.Today, snapshottest.Few))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("past", snapshottest.Few, func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, past }))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := snapshot.At(store).CheckReplace(t.Context(), snapshot.Candidate{
				Kind: test.kind, Date: test.date, BaseURL: cmp.Or(test.baseURL, "https://service.example"), Scope: test.scope,
				Today: test.today, Replace: test.replace,
			})
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			var refused *snapshot.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Error(), test.refused)
		})
	}
}

func TestDamagedPointer(t *testing.T) {
	t.Parallel()
	for _, damaged := range []string{"_snapshots/2026-11-20.json", "_runs/old/manifest.json"} {
		t.Run(damaged, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("old", snapshottest.Few))
			require.NoError(t, os.WriteFile(filepath.Join(root, damaged), []byte(`{"run_id": "o`), 0o600))
			plan := snapshottest.NewPlan("new", snapshottest.Few)
			c := snapshot.Candidate{Kind: snapshot.Full, Date: snapshottest.Today, BaseURL: plan.BaseURL, Scope: plan.Scope, Today: true}
			_, err := snapshot.At(store).CheckReplace(t.Context(), c)
			var refused *snapshot.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Error(), damaged)
			c.Replace = true
			_, err = snapshot.At(store).CheckReplace(t.Context(), c)
			require.NoError(t, err)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("new", snapshottest.Few, func(p *snapshot.Plan) { p.Replace = true }))
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
		})
	}
}

func TestLatest(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	latest := func() string {
		document, _, err := snapshot.ReadDocument[snapshot.Latest](t.Context(), store, snapshot.LatestPath)
		if err != nil {
			require.ErrorIs(t, err, sink.ErrNotFound)
			return "none"
		}
		require.Equal(t, snapshot.ManifestPath(document.RunID), document.Manifest)
		return document.RunID + " of " + document.SnapshotDate
	}
	someSchools := func(p *snapshot.Plan) { p.Scope.Schools, p.Replace = []string{"s1", "s2"}, true }
	steps := []struct {
		plan *snapshot.Plan
		want string
	}{
		{snapshottest.NewPlan("filtered", snapshottest.Few, snapshottest.OnDate("2026-11-18"), someSchools), "none"},
		{snapshottest.NewPlan("past", snapshottest.Few, snapshottest.OnDate("2026-11-10"), func(p *snapshot.Plan) { p.Kind = snapshot.AsOf }), "none"},
		{snapshottest.NewPlan("a", snapshottest.Few, snapshottest.OnDate("2026-11-17")), "a of 2026-11-17"},
		{snapshottest.NewPlan("backfill", snapshottest.Few, snapshottest.OnDate("2026-11-01")), "a of 2026-11-17"},
		{snapshottest.NewPlan("b", snapshottest.Few, snapshottest.OnDate("2026-11-19")), "b of 2026-11-19"},
		{snapshottest.NewPlan("delta", snapshottest.Few, func(p *snapshot.Plan) { p.Kind = snapshot.Delta }), "b of 2026-11-19"},
		{snapshottest.NewPlan("b2", snapshottest.Few, snapshottest.OnDate("2026-11-19")), "b2 of 2026-11-19"},
		{snapshottest.NewPlan("b3", snapshottest.Few, snapshottest.OnDate("2026-11-19"), someSchools), "a of 2026-11-17"},
		{snapshottest.NewPlan("a2", snapshottest.Few, snapshottest.OnDate("2026-11-17"), someSchools), "backfill of 2026-11-01"},
		{snapshottest.NewPlan("backfill2", snapshottest.Few, snapshottest.OnDate("2026-11-01"), someSchools), "none"},
		{snapshottest.NewPlan("c", snapshottest.Few), "c of 2026-11-20"},
	}
	for _, step := range steps {
		snapshottest.TakeSnapshot(t, store, step.plan)
		require.Equal(t, step.want, latest(), "after %s", step.plan.RunID)
	}
}

func TestPreviousFull(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	previous := func(run string, edit func(*snapshot.Plan)) string {
		m, err := snapshot.At(store).PreviousFull(t.Context(), snapshottest.NewPlan(run, edit))
		require.NoError(t, err)
		if m == nil {
			return "none"
		}
		return m.RunID
	}
	require.Equal(t, "none", previous("x", snapshottest.Few))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("a", snapshottest.Few, snapshottest.OnDate("2026-11-17")))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("b", snapshottest.Few, snapshottest.OnDate("2026-11-19")))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("other", snapshottest.Datasets("districts")))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("past", snapshottest.Few, func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, "2026-11-30" }))
	require.Equal(t, "b", previous("x", snapshottest.Few))
	require.Equal(t, "a", previous("b", snapshottest.Few))
	require.Equal(t, "other", previous("x", snapshottest.Datasets("districts")))
	require.Equal(t, "none", previous("x", snapshottest.Datasets("schools")))

	require.Equal(t, "none", previous("x", func(p *snapshot.Plan) { snapshottest.Few(p); p.BaseURL = "simulate" }), "another service is not a baseline")

	standing, err := snapshot.At(store).Current(t.Context(), snapshot.AsOf, "2026-11-30")
	require.NoError(t, err)
	require.Equal(t, "past", standing.RunID)
	standing, err = snapshot.At(store).Current(t.Context(), snapshot.Full, "2026-11-30")
	require.NoError(t, err)
	require.Nil(t, standing)
}

// TestTwoRunsOfADate settles a run whose publishing had begun when another one took its date.
func TestTwoRunsOfADate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		other  func(*snapshot.Plan)
		winner string
	}{
		{"the one planned later stays", snapshottest.Planned(time.Hour), "other"},
		{"the one planned earlier is replaced", snapshottest.Planned(-time.Hour), "begun"},
		{"one of another scope stays", func(p *snapshot.Plan) {
			p.PlannedAt = p.PlannedAt.Add(-time.Hour)
			p.Scope.IncludeRemoved = true
		}, "other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.StageRun(t, store, snapshottest.NewPlan("begun", snapshottest.Few), nil)
			g := snapshottest.Collect(t, store, "begun")
			_, _, err := snapshot.BeginPublishing(snapshot.At(store), t.Context(), g, snapshottest.Options(), "")
			require.NoError(t, err)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("other", snapshottest.Few, test.other))

			m, err := snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
			if test.winner == "begun" {
				require.NoError(t, err)
				require.Equal(t, snapshot.Published, m.Status)
			} else {
				require.ErrorIs(t, err, sink.ErrConflict)
				require.ErrorContains(t, err, "begun")
				require.Equal(t, snapshot.Replaced, m.Status)
			}
			requireOneWinner(t, root, []string{"begun", "other"})
			require.Equal(t, test.winner, snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today}).RunID)
		})
	}
}

// TestFollowingAnotherFinisher continues with a change that another process has modified.
func TestFollowingAnotherFinisher(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("begun", snapshottest.Few), nil)
	begun, _, err := snapshot.BeginPublishing(snapshot.At(store), t.Context(), snapshottest.Collect(t, store, "begun"), snapshottest.Options(), "")
	require.NoError(t, err)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("other", snapshottest.Few, snapshottest.Planned(-time.Hour)))
	m, err := snapshot.ApplyChange(snapshot.At(store), t.Context(), begun, "a version that is no more")
	require.NoError(t, err)
	require.Equal(t, snapshot.Published, m.Status)
	requireOneWinner(t, root, []string{"begun", "other"})
}

// TestStrayFilesBesidePointers ignores files beside the pointers that are not pointers.
func TestStrayFilesBesidePointers(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	night := snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("night", snapshottest.Few))
	for _, path := range []string{"_snapshots/.DS_Store", "_as_of/.growth-export-check-"} {
		require.NoError(t, store.Write(t.Context(), path, nil, sink.Condition{}))
	}
	problems, err := snapshot.At(store).DamagedPointers(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	before, err := snapshot.At(store).FullBefore(t.Context(), night)
	require.NoError(t, err)
	require.Nil(t, before)
}
