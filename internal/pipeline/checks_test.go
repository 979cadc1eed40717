package pipeline_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// broken returns a world that breaks rules, with lists of several pages.
func broken(rules ...string) simulator.Options {
	return simulator.Options{Seed: 5, SchoolSizes: []int{0, 1, 60, 1005, 40, 2100, 7}, Break: rules}
}

// checksOf returns the checks that the oracle expects.
func checksOf(expected *oracle.Expected) []review.Check {
	checks := []review.Check{}
	for _, c := range expected.Checks {
		checks = append(checks, review.Check{Check: c.Check, Table: c.Table, Count: c.Count, Schools: c.Schools})
	}
	return checks
}

// counted returns the count of a check, or -1 if it was not made.
func counted(checks []review.Check, name string) int64 {
	for _, c := range checks {
		if c.Check == name {
			return c.Count
		}
	}
	return -1
}

// TestChecks breaks each rule on its own, all of them, and none.
func TestChecks(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{"none": nil, "all": simulator.Rules()}
	for i, rule := range simulator.Rules() {
		if i == 0 || !testing.Short() {
			cases[rule] = []string{rule}
		}
	}
	for name, rules := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, broken(rules...), simulator.ServerOptions{})
			summary := s.run(defaults())
			require.Equal(t, pipeline.Published, summary.Outcome, "a failed check is a warning")
			expected := oracle.Expect(s.world, oracle.Options{})
			require.Equal(t, checksOf(expected), summary.Checks)
			store, err := sink.NewDir(s.dest, sink.DirOptions{})
			require.NoError(t, err)
			require.Equal(t, summary.Checks, s.manifest("2026-11-20", store).Checks)
			for _, check := range summary.Checks {
				require.Equal(t, int64(7), check.Schools, check.Check)
			}
			for _, rule := range simulator.Rules() {
				if len(rules) > 0 && (name == "all" || name == rule) {
					require.Positive(t, counted(summary.Checks, rule), rule)
				} else {
					require.Zero(t, counted(summary.Checks, rule), rule)
				}
			}
			s.requireLedgerAddsUp()
		})
	}
}

// TestChecksOfAnOddWorld expects the oracle's counts for values of other types, and for records without a student or a
// term.
func TestChecksOfAnOddWorld(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	options := broken(simulator.Rules()...)
	options.Quirks = odd.New()
	s := newSite(t, options, simulator.ServerOptions{})
	summary := s.run(defaults())
	require.Equal(t, checksOf(oracle.Expect(s.world, oracle.Options{})), summary.Checks)
}

// TestChecksThatAreNotMade expects that a check is not made if the dataset with which results are compared is missing,
// if the privacy profile withholds its columns, or for schools whose lists could not be read.
func TestChecksThatAreNotMade(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	s := newSite(t, broken(simulator.Rules()...), simulator.ServerOptions{})
	settings := defaults()
	settings.Datasets = []string{"schools", "test_results"}
	alone := s.run(settings)
	require.Len(t, alone.Checks, 5)
	require.Equal(t, int64(-1), counted(alone.Checks, review.CheckUnknownStudent))
	require.Equal(t, int64(-1), counted(alone.Checks, review.CheckUnknownTerm))
	settings.Datasets = []string{"schools", "students", "academic_years"}
	settings.RunID = "without-results"
	settings.Replace = true
	require.Empty(t, s.run(settings).Checks)

	// The profile minimal withholds the numbers of items.
	settings = pseudonymous(t, 0)
	settings.Privacy, settings.RunID, settings.Replace = schemas.Minimal, "minimal", true
	minimal := s.run(settings)
	require.Len(t, minimal.Checks, 6)
	require.Equal(t, int64(-1), counted(minimal.Checks, review.CheckItemsOrder))

	// The students of one school and the academic years of another are denied.
	without := s.world.Schools()
	s.server.SetFaults([]simulator.Fault{
		{Operation: "students", School: without[2].Bid, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "academic_years", School: without[3].Bid, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "test_results", School: without[4].Bid, Kind: simulator.FaultStatus, Status: 403},
	})
	settings = defaults()
	settings.RunID, settings.Replace = "denied", true
	summary := s.run(settings)
	for _, check := range summary.Checks {
		want := int64(6)
		if check.Check == review.CheckUnknownStudent || check.Check == review.CheckUnknownTerm {
			want = 5
		}
		require.Equal(t, want, check.Schools, check.Check)
	}
	require.Len(t, summary.Checks, 7)
}

// TestListThatMoves changes a list while its pages are being read, which shows as several results of a student in one
// subject. The list is read again, and only the second reading counts.
func TestListThatMoves(t *testing.T) {
	t.Parallel()
	quiet := newSite(t, broken(), simulator.ServerOptions{})
	quiet.run(defaults())

	s := newSite(t, broken(), simulator.ServerOptions{})
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", ToTry: 1, Kind: simulator.FaultListMoves}})
	summary := s.run(defaults())
	require.Zero(t, counted(summary.Checks, review.CheckOneResultPerSubject), "the second reading was clean")
	require.Equal(t, quiet.hashes(), s.hashes(), "the files are the same as for an unchanged list")
	ledger := s.ledgerOf(summary.RunID, "test_results")
	for i, school := range s.world.Schools() {
		row := ledger[school.Bid]
		pages := int64(max(1, (school.Results+999)/1000))
		require.Equal(t, pages, row.Pages, "school %d: only the pages of the second reading count", i)
		require.Equal(t, int64(school.Results), row.RecordsReceived)
		asked := pages
		if school.Results > 1 {
			asked *= 2
		}
		require.Equal(t, asked, row.Requests, "school %d: the requests of both readings count", i)
	}

	// A list that also moves during the second reading is accepted as read.
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", Kind: simulator.FaultListMoves}})
	settings := defaults()
	settings.RunID = "moving"
	summary = s.run(settings)
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Equal(t, int64(1+2+1+3+1), counted(summary.Checks, review.CheckOneResultPerSubject), "one pair on each page")

	// A list whose second reading fails cannot be trusted at all.
	moving := s.world.Schools()[5].Bid
	s.server.SetFaults([]simulator.Fault{
		{Operation: "test_results", School: moving, ToTry: 1, Kind: simulator.FaultListMoves},
		{Operation: "test_results", School: moving, Kind: simulator.FaultStatus, Status: 500},
	})
	settings.RunID, settings.MaxFailedSchools, settings.MaxShrink.Off = "failing", 1, true
	summary, err := pipeline.Run(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, int64(1), summary.Schools.Failed)
	require.Equal(t, moving, summary.Schools.Failures[0].SchoolBid)
	for _, row := range s.rows(s.table("test_results")) {
		require.NotEqual(t, moving, row["requested_school_bid"])
	}
	s.requireLedgerAddsUp()
}

// TestStrictChecks expects a run with a failed check to be held back, and to be published only if an operator accepts
// it.
func TestStrictChecks(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	s := newSite(t, broken(simulator.RuleRITOrder), simulator.ServerOptions{})
	settings := defaults()
	settings.StrictChecks = true
	summary := s.run(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	count := counted(checksOf(oracle.Expect(s.world, oracle.Options{})), review.CheckRITOrder)
	require.Equal(t, []string{review.Check{Check: review.CheckRITOrder, Table: "test_results", Count: count}.String() + " (--strict-checks)"}, review.Texts(summary.Held))
	require.Contains(t, summary.Held[0].String(), "check rit_order, table test_results: ")
	require.Empty(t, s.visible())

	deps := s.deps(nil)
	deps.Client = nil
	held, err := pipeline.Publish(t.Context(), deps, pipeline.PublishSettings{})
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, held.Outcome, "publish uses the limits in the plan")
	accepted, err := pipeline.Publish(t.Context(), deps, pipeline.PublishSettings{AcceptHeld: true})
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, accepted.Outcome)
	require.Equal(t, summary.Checks, accepted.Checks)

	clean := newSite(t, broken(), simulator.ServerOptions{})
	require.Equal(t, pipeline.Published, clean.run(settings).Outcome)
}

// ledgerOf returns the rows of a dataset in a run's ledger, by school.
func (s *site) ledgerOf(run, dataset string) map[string]snapshot.LedgerRow {
	s.t.Helper()
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(s.t, err)
	rows := make(map[string]snapshot.LedgerRow)
	require.NoError(s.t, snapshot.At(store).ReadLedger(s.t.Context(), run, func(row *snapshot.LedgerRow) {
		if row.Dataset == dataset {
			rows[row.SchoolBid] = *row
		}
	}))
	return rows
}

// TestChecksOfResumedAndShardedRuns compares the checks of runs whose students and results come from different
// processes with the checks of an undisturbed run. Staged data is not requested again for a check: if the store cannot
// read back staged files, as on S3, the check covers fewer schools.
func TestChecksOfResumedAndShardedRuns(t *testing.T) {
	t.Parallel()
	options := broken(simulator.Rules()...)
	want := checksOf(oracle.Expect(simulator.NewWorld(options), oracle.Options{}))
	for name, on := range map[string]struct {
		operation string
		opened    func(sink.Store) sink.Store
		fewer     bool // unknown_student covers fewer schools
	}{
		"results":                {operation: "test_results"},
		"results, unreadable":    {operation: "test_results", opened: func(s sink.Store) sink.Store { return struct{ sink.Store }{s} }, fewer: true},
		"academic years":         {operation: "academic_years"},
		"results of later years": {operation: "educator_school_associations"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, options, simulator.ServerOptions{})
			bad := s.world.Schools()[3].Bid
			s.server.SetFaults([]simulator.Fault{{Operation: on.operation, School: bad, Kind: simulator.FaultStatus, Status: 500}})
			summary, err := pipeline.Run(t.Context(), s.deps(impatient), defaults())
			require.NoError(t, err)
			require.Equal(t, pipeline.HeldBack, summary.Outcome)
			s.server.SetFaults(nil)
			s.server.ResetLog()
			deps := s.deps(nil)
			if on.opened != nil {
				deps.Catalog = snapshot.At(on.opened(deps.Catalog.Store()))
			}
			summary, err = pipeline.Run(t.Context(), deps, defaults())
			require.NoError(t, err)
			require.Equal(t, pipeline.Published, summary.Outcome)
			got := slices.Clone(summary.Checks)
			if on.fewer {
				i := slices.IndexFunc(got, func(c review.Check) bool { return c.Check == review.CheckUnknownStudent })
				require.Positive(t, got[i].Schools)
				require.Less(t, got[i].Schools, want[i].Schools)
				got[i] = want[i]
			}
			require.Equal(t, want, got)
			for _, request := range s.server.Log() {
				require.NotEqual(t, "students", request.Operation, "staged data is not requested again")
			}
			s.requireLedgerAddsUp()
		})
	}
	t.Run("sharded", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, options, simulator.ServerOptions{})
		for shard := range 3 {
			settings := defaults()
			settings.RunID, settings.Shard, settings.Shards, settings.SchoolsPerFile = "sharded", shard, 3, 2
			require.Equal(t, pipeline.Staged, s.run(settings).Outcome)
		}
		summary, err := pipeline.Publish(t.Context(), s.deps(func(*extract.Options) {}), pipeline.PublishSettings{})
		require.NoError(t, err)
		require.Equal(t, want, summary.Checks)
	})
}
