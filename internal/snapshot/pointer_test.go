package snapshot_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPinBaseline finds the previous snapshot of runs: the snapshot of the last earlier date, regardless of its
// datasets.
func TestPinBaseline(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	schoolsAlone := func(p *snapshot.Plan) { p.Scope.Datasets = []string{"schools"} }
	removed := func(p *snapshot.Plan) { p.Scope.IncludeRemoved = true }
	replace := func(p *snapshot.Plan) { p.Replace = true }
	for _, step := range []struct {
		before, why string
		plan        *snapshot.Plan
	}{
		{"", snapshot.NoEarlierSnapshot, snapshottest.NewPlan("old", snapshottest.Few, snapshottest.OnDate("2026-11-18"))},
		{"old", "", snapshottest.NewPlan("other", snapshottest.Few, snapshottest.OnDate("2026-11-19"), schoolsAlone)},
		{"other", "", snapshottest.NewPlan("first", snapshottest.Few)},
		{"other", "", snapshottest.NewPlan("second", snapshottest.Few)}, // not the run that it replaces
		{"second", "", snapshottest.NewPlan("later", snapshottest.Few, snapshottest.OnDate("2026-11-21"))},
		{"old", "", snapshottest.NewPlan("backdated", snapshottest.Few, snapshottest.OnDate("2026-11-19"), replace)},
		{
			"", "the snapshot of 2026-11-20 has other settings: --include-removed",
			snapshottest.NewPlan("differs", snapshottest.Few, snapshottest.OnDate("2026-11-21"), removed, replace),
		},
		{"", "", snapshottest.NewPlan("changes", snapshottest.Few, func(p *snapshot.Plan) { p.Kind = snapshot.Delta })},
		{"", "", snapshottest.NewPlan("as-of", snapshottest.Few, func(p *snapshot.Plan) { p.Kind = snapshot.AsOf })},
	} {
		require.NoError(t, snapshot.At(store).PinBaseline(t.Context(), step.plan, nil))
		if step.before == "" {
			require.Nil(t, step.plan.Baseline, step.plan.RunID)
		} else {
			require.NotNil(t, step.plan.Baseline, step.plan.RunID)
			require.Equal(t, step.before, step.plan.Baseline.RunID, step.plan.RunID)
		}
		require.Equal(t, step.why, step.plan.NoBaseline)
		manifest := snapshottest.TakeSnapshot(t, store, step.plan)
		if previous, err := snapshot.At(store).Previous(t.Context(), manifest); step.before == "" {
			require.NoError(t, err)
			require.Nil(t, previous)
		} else {
			require.NoError(t, err)
			require.Equal(t, step.before, previous.RunID)
		}
	}
	// "other" was replaced, so another run is now the one before "second".
	manifest, err := snapshot.At(store).ReadManifest(t.Context(), "second")
	require.NoError(t, err)
	previous, err := snapshot.At(store).Previous(t.Context(), manifest)
	require.NoError(t, err)
	require.Equal(t, "backdated", previous.RunID)

	// A damaged snapshot in between is skipped and reported.
	plan := snapshottest.NewPlan("careful", snapshottest.Few, snapshottest.OnDate("2026-11-22"))
	require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(snapshot.PointerPath(snapshot.Full, "2026-11-20"))), []byte("{"), 0o600))
	var skipped []string
	require.NoError(t, snapshot.At(store).PinBaseline(t.Context(), plan, func(pointer string) { skipped = append(skipped, pointer) }))
	require.Equal(t, []string{snapshot.PointerPath(snapshot.Full, "2026-11-20")}, skipped)
	require.Equal(t, "backdated", plan.Baseline.RunID)
}

// TestNightsBefore leaves out nights with a different scope and those that cannot be read.
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
		{name: "past, same scope", kind: snapshot.Full, date: past, scope: scope, refused: "run standing-2026-10-01, and that date is in the past: the service only reports"},
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

// TestReplacedWithDamage publishes a run of a date whose snapshot has lost or damaged documents. No files of the
// earlier run are left, and no second run seems to be published.
func TestReplacedWithDamage(t *testing.T) {
	t.Parallel()
	const pointer, manifest = "_snapshots/2026-11-20.json", "_runs/old/manifest.json"
	tests := []struct {
		name, path string
		damage     func(path string) error
		refused    bool // without --replace
		replaced   bool // the manifest says so
	}{
		{"damaged pointer", pointer, damage, false, true},
		{"lost pointer", pointer, os.Remove, false, true},
		{"damaged manifest", manifest, damage, true, false},
		{"lost manifest", manifest, os.Remove, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("old", snapshottest.Few))
			require.NoError(t, test.damage(filepath.Join(root, filepath.FromSlash(test.path))))
			plan := snapshottest.NewPlan("new", snapshottest.Few)
			c := snapshot.Candidate{Kind: snapshot.Full, Date: snapshottest.Today, BaseURL: plan.BaseURL, Scope: plan.Scope, Today: true}
			_, err := snapshot.At(store).CheckReplace(t.Context(), c)
			if test.refused {
				var refused *snapshot.RefusedError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Error(), "old")
				c.Replace = true
				_, err = snapshot.At(store).CheckReplace(t.Context(), c)
			}
			require.NoError(t, err)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("new", snapshottest.Few, func(p *snapshot.Plan) { p.Replace = test.refused }))
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
			for name := range snapshottest.Tree(t, root) {
				require.False(t, strings.HasSuffix(name, "-old.parquet"), name)
			}
			if test.replaced {
				m, err := snapshot.At(store).ReadManifest(t.Context(), "old")
				require.NoError(t, err)
				require.Equal(t, snapshot.Replaced, m.Status)
			}
		})
	}
}

func damage(path string) error { return os.WriteFile(path, []byte(`{"run_id": "o`), 0o600) }

// TestLostManifest removes the manifest of the newest snapshot. Status reports this, the run's documents are neither
// cleaned nor abandoned, and the same run can be published again.
func TestLostManifest(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	catalog := snapshot.At(store)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("r", snapshottest.Few))
	require.NoError(t, os.Remove(filepath.Join(root, filepath.FromSlash(snapshot.ManifestPath("r")))))
	before := snapshottest.Tree(t, root)

	damaged, err := catalog.DamagedPointers(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, damaged)
	require.Contains(t, damaged[0].Problem+damaged[len(damaged)-1].Problem, "the manifest of run r is missing")
	cleaned, err := maintenance.Clean(t.Context(), catalog, time.Now().AddDate(1, 0, 0), time.Hour)
	require.NoError(t, err)
	require.Empty(t, cleaned)
	require.ErrorAs(t, catalog.Abandon(t.Context(), "r"), new(*snapshot.RefusedError))
	require.Equal(t, before, snapshottest.Tree(t, root))
	_, err = maintenance.Purge(t.Context(), catalog, maintenance.PurgeOptions{Schools: []string{"s1"}, Now: snapshottest.PublishedAt})
	require.ErrorAs(t, err, new(*snapshot.RefusedError))
	require.ErrorContains(t, err, "the manifest of run r is missing")
	require.Equal(t, before, snapshottest.Tree(t, root))

	// Nor if the pointer is damaged, because it may refer to the run.
	pointer := filepath.Join(root, filepath.FromSlash(snapshot.PointerPath(snapshot.Full, snapshottest.Today)))
	sound, err := os.ReadFile(pointer)
	require.NoError(t, err)
	require.NoError(t, damage(pointer))
	cleaned, err = maintenance.Clean(t.Context(), catalog, time.Now().AddDate(1, 0, 0), time.Hour)
	require.NoError(t, err)
	require.Empty(t, cleaned)
	require.ErrorAs(t, catalog.Abandon(t.Context(), "r"), new(*snapshot.RefusedError))
	require.NoError(t, os.WriteFile(pointer, sound, 0o600))
	require.Equal(t, before, snapshottest.Tree(t, root))

	plan := snapshottest.NewPlan("r", snapshottest.Few)
	snapshottest.StageRun(t, store, plan, nil)
	staged, err := catalog.Collect(t.Context(), plan)
	require.NoError(t, err)
	opts := snapshottest.Options()
	opts.Replace, opts.Now = true, func() time.Time { return snapshottest.PublishedAt().Add(time.Hour) }
	_, err = catalog.Publish(t.Context(), staged, opts)
	require.NoError(t, err)
	m, err := catalog.ReadManifest(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, snapshot.Published, m.Status)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
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

// TestTwoRunsOfADate recovers a run that was being published when another run took its date.
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
	m, err := snapshot.ApplyChange(snapshot.At(store), t.Context(), begun, "an old version")
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
	before, err := snapshot.At(store).Previous(t.Context(), night)
	require.NoError(t, err)
	require.Nil(t, before)
}
