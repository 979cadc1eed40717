package sink

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCheckReplace(t *testing.T) {
	t.Parallel()
	scope := newPlan("x", few).Scope
	with := func(edit func(*Scope)) Scope {
		changed := scope
		edit(&changed)
		return changed
	}
	past := "2026-10-01"
	tests := []struct {
		name    string
		kind    Kind
		date    string
		baseURL string // empty for the published runs' base URL
		scope   Scope
		today   bool
		replace bool
		refused string // part of the reason; empty if it is allowed
	}{
		{name: "nothing stands", kind: Full, date: "2026-11-21", scope: scope, today: true},
		{name: "nothing stands at a past date", kind: Full, date: "2026-01-01", scope: scope},
		{name: "today, same scope", kind: Full, date: today, scope: scope, today: true},
		{
			name: "today, same scope in another order", kind: Full, date: today, today: true,
			scope: with(func(s *Scope) { s.Datasets = []string{"students", "schools"} }),
		},
		{name: "past, same scope", kind: Full, date: past, scope: scope, refused: "run standing-2026-10-01, and that date is past; --replace"},
		{name: "past, replaced", kind: Full, date: past, scope: scope, replace: true},
		{
			name: "other datasets", kind: Full, date: today, today: true,
			scope:   with(func(s *Scope) { s.Datasets = []string{"schools"} }),
			refused: "the snapshot of 2026-11-20 is run standing-2026-11-20, which has another scope (--datasets); --replace replaces it",
		},
		{
			name: "some schools", kind: Full, date: today, today: true,
			scope: with(func(s *Scope) { s.Schools = []string{"s1"} }), refused: "(--schools)",
		},
		{
			name: "some districts", kind: Full, date: today, today: true,
			scope: with(func(s *Scope) { s.Districts = []string{"d1"} }), refused: "(--districts)",
		},
		{
			name: "own perspectives", kind: Full, date: today, today: true,
			scope: with(func(s *Scope) { s.Perspectives = "own" }), refused: "--perspectives all instead of own",
		},
		{
			name: "removed ones", kind: Full, date: today, today: true,
			scope: with(func(s *Scope) { s.IncludeRemoved = true }), refused: "--include-removed",
		},
		{
			name: "other scope, replaced", kind: Full, date: today, today: true, replace: true,
			scope: with(func(s *Scope) { s.Schools = []string{"s1"} }),
		},
		{
			name: "another service", kind: Full, date: today, today: true, scope: scope, baseURL: "https://test.example",
			refused: "another scope (base URL https://service.example instead of https://test.example); --replace replaces it",
		},
		{
			name: "another service, replaced", kind: Full, date: today, today: true, replace: true, scope: scope,
			baseURL: "https://test.example",
		},
		{
			name: "the same service, spelled differently", kind: Full, date: today, today: true, scope: scope,
			baseURL: "https://Service.Example:443/",
		},
		{
			name: "as of a date, another service", kind: AsOf, date: past, scope: scope, baseURL: "https://test.example",
			refused: "has another scope (base URL",
		},
		{name: "as of a date that is free", kind: AsOf, date: "2025-01-01", scope: scope},
		{name: "as of a date, same scope", kind: AsOf, date: past, scope: scope},
		{
			name: "as of a date, other scope", kind: AsOf, date: past,
			scope:   with(func(s *Scope) { s.Datasets = []string{"schools"} }),
			refused: "the enrollment as of 2026-10-01 is run past, which has another scope",
		},
		{
			name: "a delta replaces nothing", kind: Delta, date: today, today: true,
			scope: with(func(s *Scope) { s.Datasets = []string{"schools"} }),
		},
	}
	store := newDir(t, t.TempDir())
	takeSnapshot(t, store, newPlan("standing-"+past, few, onDate(past)))
	takeSnapshot(t, store, newPlan("standing-"+today, few))
	takeSnapshot(t, store, newPlan("past", few, func(p *Plan) { p.Kind, p.SnapshotDate = AsOf, past }))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := CheckReplace(t.Context(), store, Candidate{
				Kind: test.kind, Date: test.date, BaseURL: cmp.Or(test.baseURL, "https://service.example"), Scope: test.scope,
				Today: test.today, Replace: test.replace,
			})
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Error(), test.refused)
		})
	}
}

func TestWhatStandsIsDamaged(t *testing.T) {
	t.Parallel()
	for _, damaged := range []string{"_snapshots/2026-11-20.json", "_runs/old/manifest.json"} {
		t.Run(damaged, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := newDir(t, root)
			takeSnapshot(t, store, newPlan("old", few))
			require.NoError(t, os.WriteFile(filepath.Join(root, damaged), []byte(`{"run_id": "o`), 0o600))
			plan := newPlan("new", few)
			c := Candidate{Kind: Full, Date: today, BaseURL: plan.BaseURL, Scope: plan.Scope, Today: true}
			_, err := CheckReplace(t.Context(), store, c)
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Error(), damaged)
			c.Replace = true
			_, err = CheckReplace(t.Context(), store, c)
			require.NoError(t, err)
			takeSnapshot(t, store, newPlan("new", few, func(p *Plan) { p.Replace = true }))
			requireVerified(t, store, VerifyTarget{})
		})
	}
}

func TestLatest(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	latest := func() string {
		document, _, err := readDocument[Latest](t.Context(), store, LatestPath)
		if err != nil {
			require.ErrorIs(t, err, ErrNotFound)
			return "none"
		}
		require.Equal(t, ManifestPath(document.RunID), document.Manifest)
		return document.RunID + " of " + document.SnapshotDate
	}
	someSchools := func(p *Plan) { p.Scope.Schools, p.Replace = []string{"s1", "s2"}, true }
	steps := []struct {
		plan *Plan
		want string
	}{
		{newPlan("filtered", few, onDate("2026-11-18"), someSchools), "none"},
		{newPlan("past", few, onDate("2026-11-10"), func(p *Plan) { p.Kind = AsOf }), "none"},
		{newPlan("a", few, onDate("2026-11-17")), "a of 2026-11-17"},
		{newPlan("backfill", few, onDate("2026-11-01")), "a of 2026-11-17"},
		{newPlan("b", few, onDate("2026-11-19")), "b of 2026-11-19"},
		{newPlan("delta", few, func(p *Plan) { p.Kind = Delta }), "b of 2026-11-19"},
		{newPlan("b2", few, onDate("2026-11-19")), "b2 of 2026-11-19"},
		{newPlan("b3", few, onDate("2026-11-19"), someSchools), "a of 2026-11-17"},
		{newPlan("a2", few, onDate("2026-11-17"), someSchools), "backfill of 2026-11-01"},
		{newPlan("backfill2", few, onDate("2026-11-01"), someSchools), "none"},
		{newPlan("c", few), "c of 2026-11-20"},
	}
	for _, step := range steps {
		takeSnapshot(t, store, step.plan)
		require.Equal(t, step.want, latest(), "after %s", step.plan.RunID)
	}
}

func TestPreviousFull(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	previous := func(run string, edit func(*Plan)) string {
		m, err := PreviousFull(t.Context(), store, newPlan(run, edit))
		require.NoError(t, err)
		if m == nil {
			return "none"
		}
		return m.RunID
	}
	require.Equal(t, "none", previous("x", few))
	takeSnapshot(t, store, newPlan("a", few, onDate("2026-11-17")))
	takeSnapshot(t, store, newPlan("b", few, onDate("2026-11-19")))
	takeSnapshot(t, store, newPlan("other", datasets("districts")))
	takeSnapshot(t, store, newPlan("past", few, func(p *Plan) { p.Kind, p.SnapshotDate = AsOf, "2026-11-30" }))
	require.Equal(t, "b", previous("x", few))
	require.Equal(t, "a", previous("b", few))
	require.Equal(t, "other", previous("x", datasets("districts")))
	require.Equal(t, "none", previous("x", datasets("schools")))

	require.Equal(t, "none", previous("x", func(p *Plan) { few(p); p.BaseURL = "simulate" }), "another service is no baseline")

	standing, err := Standing(t.Context(), store, AsOf, "2026-11-30")
	require.NoError(t, err)
	require.Equal(t, "past", standing.RunID)
	standing, err = Standing(t.Context(), store, Full, "2026-11-30")
	require.NoError(t, err)
	require.Nil(t, standing)
}

// TestWhoTakesTheDate settles a run whose publishing had begun when another one
// took its date.
func TestWhoTakesTheDate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		other  func(*Plan)
		winner string
	}{
		{"the one planned later stays", planned(time.Hour), "other"},
		{"the one planned earlier is replaced", planned(-time.Hour), "begun"},
		{"one of another scope stays", func(p *Plan) {
			p.PlannedAt = p.PlannedAt.Add(-time.Hour)
			p.Scope.IncludeRemoved = true
		}, "other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := newDir(t, root)
			stageRun(t, store, newPlan("begun", few), nil)
			g := gather(t, store, "begun")
			_, _, err := beginPublishing(t.Context(), store, g, options(), "")
			require.NoError(t, err)
			takeSnapshot(t, store, newPlan("other", few, test.other))

			m, err := Publish(t.Context(), store, g, options())
			if test.winner == "begun" {
				require.NoError(t, err)
				require.Equal(t, Published, m.Status)
			} else {
				require.ErrorIs(t, err, ErrConflict)
				require.ErrorContains(t, err, "begun")
				require.Equal(t, Replaced, m.Status)
			}
			requireOneWinner(t, root, []string{"begun", "other"})
			require.Equal(t, test.winner, requireVerified(t, store, VerifyTarget{SnapshotDate: today}).RunID)
		})
	}
}

// TestFollowingAnotherFinisher has a process go on with an intent that another
// one has changed meanwhile.
func TestFollowingAnotherFinisher(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	stageRun(t, store, newPlan("begun", few), nil)
	begun, _, err := beginPublishing(t.Context(), store, gather(t, store, "begun"), options(), "")
	require.NoError(t, err)
	takeSnapshot(t, store, newPlan("other", few, planned(-time.Hour)))
	m, err := applyChange(t.Context(), store, begun, "a version that is no more")
	require.NoError(t, err)
	require.Equal(t, Published, m.Status)
	requireOneWinner(t, root, []string{"begun", "other"})
}
