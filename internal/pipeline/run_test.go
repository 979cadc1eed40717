package pipeline_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// sizes returns a world whose schools have no results, one, about a page, and several pages of results. Every form of
// the last nextPage occurs.
func sizes() simulator.Options {
	return simulator.Options{Seed: 7, SchoolSizes: []int{0, 1, 999, 1000, 1001, 2500, 40, 3, 0, 120, 300, 60, 1}}
}

// short returns few in short tests, and all otherwise.
func short(few, all int) int {
	if testing.Short() {
		return few
	}
	return all
}

// small returns a world with enough schools for several buckets, and few results.
func small() simulator.Options {
	return simulator.Options{Seed: 7, SchoolSizes: []int{0, 1, 60, 40, 45, 90, 40, 3, 0, 20, 30, 16, 1}}
}

func TestRunEqualsOracle(t *testing.T) {
	t.Parallel()
	s := newSite(t, sizes(), simulator.ServerOptions{})
	summary := s.run(defaults())
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Equal(t, int64(13), summary.Schools.OK)
	s.requireOracle(defaults(), oracle.Options{})
	s.requireLedgerAddsUp()
}

// requireOracle compares every table with the rows that the simulator expects, including their order if the files are
// one sequence.
func (s *site) requireOracle(settings pipeline.Settings, options oracle.Options) {
	s.t.Helper()
	options.Datasets = settings.Datasets
	expected := oracle.Expect(s.world, options)
	oracle := expected.Rows
	compared := 0
	for _, name := range settings.Datasets {
		dataset, ok := schemas.Find(name)
		require.True(s.t, ok)
		for _, table := range dataset.Tables {
			expected, known := oracle[table.Name]
			require.True(s.t, known, "the oracle has table %s", table.Name)
			got := s.rows(table)
			require.Len(s.t, got, len(expected), table.Name)
			for i := range expected {
				if !reflect.DeepEqual(expected[i], got[i]) { // much faster than cmp.Diff
					require.Fail(s.t, "row differs", "table %s, row %d (-want +got):\n%s", table.Name, i, cmp.Diff(expected[i], got[i]))
				}
			}
			compared += len(expected)
		}
	}
	require.NotZero(s.t, compared)
	s.requireLedger(expected)
}

// requireLedger compares the ledger and the manifest's drift with those that the simulator expects.
func (s *site) requireLedger(expected *oracle.Expected) {
	s.t.Helper()
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(s.t, err)
	manifest := s.manifest("2026-11-20", store)
	drift := []snapshot.Drift{}
	for _, d := range expected.Drift {
		drift = append(drift, snapshot.Drift(d))
	}
	slices.SortFunc(drift, snapshot.Drift.Compare)
	require.Empty(s.t, cmp.Diff(drift, manifest.Drift), "drift (-want +got)")
	type key struct{ dataset, school, district string }
	got := make(map[key]oracle.Row)
	for _, row := range readFile(s.t, s.dest+"/"+manifest.Ledger.Path, snapshot.LedgerTable()) {
		text := func(column string) string {
			value, _ := row[column].(string)
			return value
		}
		if row["status"] == "ok" {
			got[key{text("dataset"), text("requested_school_bid"), text("requested_district_bid")}] = row
		}
	}
	require.NotEmpty(s.t, expected.Ledger)
	for _, want := range expected.Ledger {
		row := got[key{want.Dataset, want.School, want.District}]
		require.NotNil(s.t, row, "%+v", want)
		require.Equal(s.t, want.Received, row["records_received"], "%+v", want)
		require.Equal(s.t, want.Duplicates, row["duplicates_dropped"], "%+v", want)
		require.Equal(s.t, want.Rows, row["rows_written"], "%+v", want)
		require.Equal(s.t, want.Unavailable, row["records_unavailable"], "%+v", want)
	}
}

// requireLedgerAddsUp compares the sums of the ledger with the manifest.
func (s *site) requireLedgerAddsUp() {
	s.t.Helper()
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(s.t, err)
	manifest := s.manifest("2026-11-20", store)
	rows := readFile(s.t, s.dest+"/"+manifest.Ledger.Path, snapshot.LedgerTable())
	require.NotEmpty(s.t, rows)
	written := make(map[string]int64)
	for _, row := range rows {
		number := func(column string) int64 {
			n, ok := row[column].(int64)
			require.True(s.t, ok, column)
			return n
		}
		name, ok := row["dataset"].(string)
		require.True(s.t, ok)
		dataset, ok := schemas.Find(name)
		require.True(s.t, ok)
		if row["status"] == "ok" {
			require.Equal(s.t, number("records_received"), number("rows_written")+number("duplicates_dropped"), "%v", row)
			if dataset.Feeds == nil {
				require.Positive(s.t, number("pages"))
			}
		} else {
			require.Zero(s.t, number("rows_written")+number("records_received")+number("pages"), "%v", row)
		}
		written[name] += number("rows_written")
	}
	for name, n := range written {
		dataset, ok := schemas.Find(name)
		require.True(s.t, ok)
		require.Equal(s.t, manifest.Tables[dataset.Tables[0].Name].Rows, n, name)
	}
}

func TestBytesAreAFunctionOfAnswers(t *testing.T) {
	t.Parallel()
	quiet := newSite(t, sizes(), simulator.ServerOptions{})
	quiet.run(defaults())
	want := quiet.hashes()

	for _, c := range []struct {
		name        string
		concurrency int
		faults      []simulator.Fault
	}{
		{"one request at a time", 1, nil},
		{"faults, sixteen at a time", 16, simulator.TransientFaults(0.15, 300*time.Millisecond)},
		{"sixteen at a time", 16, nil},
		{"faults", 8, simulator.TransientFaults(0.15, 300*time.Millisecond)},
		{"faults, one at a time", 1, simulator.TransientFaults(0.15, 300*time.Millisecond)},
	}[:short(2, 5)] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, sizes(), simulator.ServerOptions{})
			s.server.SetFaults(c.faults)
			settings := defaults()
			settings.Concurrency = c.concurrency
			deps := s.deps(func(o *extract.Options) { o.Concurrency = c.concurrency })
			summary, err := pipeline.Run(t.Context(), deps, settings)
			require.NoError(t, err)
			require.Equal(t, pipeline.Published, summary.Outcome)
			if c.faults != nil {
				require.Positive(t, summary.Requests.Retries)
			}
			require.Equal(t, want, s.hashes())
			s.requireLedgerAddsUp()
		})
	}
}

// impatient gives up on requests early, because the faults of these tests are permanent.
func impatient(o *extract.Options) { o.Retries = 1 }

func TestBrokenSchoolIsHeldBackThenPublished(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	bad := s.world.Schools()[2].Bid
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", School: bad, Kind: simulator.FaultStatus, Status: 500}})

	summary, err := pipeline.Run(t.Context(), s.deps(impatient), defaults())
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.NotEmpty(t, summary.Held)
	require.Empty(t, s.visible())

	s.server.ResetLog()
	settings := defaults()
	settings.MaxFailedSchools = 1
	again, err := pipeline.Run(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, again.Outcome)
	require.Equal(t, summary.RunID, again.RunID)
	require.Equal(t, int64(1), again.Schools.Failed)
	require.Len(t, again.Schools.Failures, 1)
	require.Equal(t, bad, again.Schools.Failures[0].SchoolBid)
	asked := make(map[string]bool)
	for _, request := range s.server.Log() {
		if request.Operation != simulator.OperationToken {
			require.Equal(t, "test_results", request.Operation)
			asked[request.School] = true
		}
	}
	require.LessOrEqual(t, len(asked), 4, "only the bucket of the broken school is fetched again")
	require.True(t, asked[bad])
	s.requireLedgerAddsUp()
	for _, row := range s.rows(s.table("test_results")) {
		require.NotEqual(t, bad, row["requested_school_bid"])
	}
}

func (s *site) table(name string) *schemas.Table {
	for _, table := range schemas.Tables() {
		if table.Name == name {
			return table
		}
	}
	require.Fail(s.t, "no table "+name)
	return nil
}

func TestDeniedSchoolDoesNotHold(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	denied := s.world.Schools()[4].Bid
	s.server.SetFaults([]simulator.Fault{{School: denied, Kind: simulator.FaultStatus, Status: 403}})
	summary := s.run(defaults())
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Equal(t, int64(1), summary.Schools.Denied)
	require.Zero(t, summary.Schools.Failed)
	s.requireLedgerAddsUp()
}

// TestDatasetDeniedEverywhereIsHeld expects that a run with a dataset that is denied everywhere is held, even on the
// first night, and published once it is accepted.
func TestDatasetDeniedEverywhereIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	s.server.SetFaults([]simulator.Fault{{Operation: "test_results", Kind: simulator.FaultStatus, Status: 403}})
	settings := defaults()
	settings.RunID = "night"
	summary := s.run(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Len(t, summary.Held, 1)
	require.Equal(t, review.DatasetDenied, summary.Held[0].Check)
	require.Equal(t, summary.Schools.Total, summary.Schools.Denied)
	require.Contains(t, summary.Next[0].Say, "If the app should have access to test_results, ask the service's support")
	published, err := publishAll(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "night", AcceptHeld: true})
	require.NoError(t, err)
	require.Len(t, published.Accepted, 1)

	// One school that can be read is enough.
	s.server.SetFaults([]simulator.Fault{{School: s.world.Schools()[3].Bid, Kind: simulator.FaultStatus, Status: 403}})
	settings.RunID, settings.MaxShrink = "again", review.Share{Off: true}
	require.Equal(t, pipeline.Published, s.run(settings).Outcome)
}

// TestAsOfRunWithoutRowsIsHeld expects an as-of run without rows to be held, because its date is probably wrong.
func TestAsOfRunWithoutRowsIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.EffectiveDate = "1900-01-01"
	summary := s.run(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Equal(t, "no table has any rows", summary.Held[0].String())
	settings.EffectiveDate = "2026-09-15"
	require.Equal(t, pipeline.Published, s.run(settings).Outcome)
}

func TestRunsThatPublishNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		world  simulator.Options
		faults []simulator.Fault
		is     error
	}{
		{"no schools", simulator.Options{Schools: -1}, nil, fetch.ErrNoSchools},
		{
			"school list denied",
			small(),
			[]simulator.Fault{{Operation: "schools", Kind: simulator.FaultStatus, Status: 403}},
			extract.ErrRefused,
		},
		{
			"every school denied",
			small(),
			[]simulator.Fault{
				{Operation: "test_results", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "students", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "academic_years", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "student_school_associations", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "school_classes", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "educator_school_associations", Kind: simulator.FaultStatus, Status: 403},
			},
			extract.ErrRefused,
		},
		{
			"districts broken",
			small(),
			[]simulator.Fault{{Operation: "districts", Kind: simulator.FaultStatus, Status: 500}},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.world, simulator.ServerOptions{})
			s.server.SetFaults(c.faults)
			_, err := pipeline.Run(t.Context(), s.deps(impatient), defaults())
			require.Error(t, err)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.Empty(t, s.visible())
		})
	}
}

func TestShrunkenSnapshotIsHeldBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	yesterday := defaults()
	yesterday.SnapshotDate, yesterday.Backdate = "2026-11-19", true
	s.run(yesterday)
	before := s.hashes()

	for _, school := range []int{2, 3, 5} {
		s.server.SetFaults([]simulator.Fault{{
			Operation: "test_results", School: s.world.Schools()[school].Bid, Kind: simulator.FaultBody,
			Body: `{"testResults":[],"pagination":{"hasNextPage":false,"nextPage":""}}`,
		}})
	}
	settings := defaults()
	settings.MaxShrink = review.Share{Part: 0.05}
	summary, err := pipeline.Run(t.Context(), s.deps(nil), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Len(t, summary.Held, 1)
	require.Regexp(t, `^\d+ counts fell by more than --max-shrink 5% since the snapshot of 2026-11-19 \(run .*\): `+
		`(rows of|schools with rows in) test_result\w* from [\d,]+ to [\d,]+, .*`, summary.Held[0].String())
	require.Equal(t, before, s.hashes())

	published, err := pipeline.Publish(t.Context(), s.deps(nil), pipeline.PublishSettings{AcceptHeld: true})
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, published.Outcome)
	require.Equal(t, summary.RunID, published.RunID)
	require.NotEqual(t, before, s.hashes())
}

func TestShardsEqualSingleRun(t *testing.T) {
	t.Parallel()
	single := newSite(t, small(), simulator.ServerOptions{})
	single.run(defaults())

	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.Shards, settings.RunID = 3, "night"
	for shard := range 3 {
		settings.Shard = shard
		summary, err := pipeline.Run(t.Context(), s.deps(nil), settings)
		require.NoError(t, err)
		require.Equal(t, pipeline.Staged, summary.Outcome)
		require.Empty(t, s.visible())
		if shard < 2 {
			_, err = pipeline.Publish(t.Context(), s.deps(nil), pipeline.PublishSettings{RunID: "night"})
			require.ErrorIs(t, err, pipeline.ErrIncomplete)
		}
	}
	summary, err := pipeline.Publish(t.Context(), s.deps(nil), pipeline.PublishSettings{})
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Equal(t, single.hashes(), s.hashes())

	settings.Shard = 1
	again, err := pipeline.Run(t.Context(), s.deps(nil), settings)
	require.NoError(t, err)
	require.True(t, again.AlreadyPublished)
}

// TestPublishedDateAgain repeats the command of a past date: nothing is requested, and its outcome is repeated. A
// command with other settings fails. The error says that --replace would store today's data under that date.
func TestPublishedDateAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.SnapshotDate = "2026-11-19"
	first := s.run(settings)
	requests := len(s.server.Log())
	again := s.run(settings)
	require.True(t, again.AlreadyPublished)
	require.Equal(t, first.RunID, again.RunID)
	require.Len(t, s.server.Log(), requests)

	settings.Datasets = []string{"schools"}
	_, err := pipeline.Run(t.Context(), s.deps(nil), settings)
	require.ErrorIs(t, err, pipeline.ErrUsage)
	require.ErrorContains(t, err, "that date is in the past: the service only reports today's state, which --replace would put in its place")
	require.Len(t, s.server.Log(), requests)
}

// TestKilledAfterThePointer finishes a run of today that was killed during publishing. The command does not take
// another snapshot; a later command does.
func TestKilledAfterThePointer(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(killed{lockless: lockless{deps.Catalog.Store()}, path: snapshot.LatestPath})
	summary, err := runAll(t.Context(), deps, defaults())
	require.NoError(t, err)
	require.Contains(t, summary.Unfinished, "killed")
	require.NoFileExists(t, filepath.Join(s.dest, snapshot.LatestPath))
	requests := len(s.server.Log())

	again, err := runAll(t.Context(), s.deps(nil), defaults())
	require.NoError(t, err)
	require.Equal(t, summary.RunID, again.RunID)
	require.Empty(t, again.Unfinished)
	require.Equal(t, pipeline.Published, again.Outcome)
	require.FileExists(t, filepath.Join(s.dest, snapshot.LatestPath))
	require.Len(t, s.server.Log(), requests)

	later, err := runAll(t.Context(), s.deps(nil), defaults())
	require.NoError(t, err)
	require.NotEqual(t, summary.RunID, later.RunID)
}

// TestLosesPastDate publishes another run of a past date while this one is in progress. This one ends with an error
// that does not blame its settings, and leaves nothing behind.
func TestLosesPastDate(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.SnapshotDate, settings.Datasets, settings.RunID, settings.Concurrency = "2026-11-19", []string{"schools", "students"}, "loser", 1
	deps := s.deps(nil)
	var count atomic.Int64
	deps.Catalog = snapshot.At(interrupted{lockless: lockless{deps.Catalog.Store()}, before: 2, written: &count, act: func() {
		other := settings
		other.RunID = "winner"
		require.Equal(t, pipeline.Published, s.run(other).Outcome)
	}})
	_, err := runAll(t.Context(), deps, settings)
	require.ErrorIs(t, err, sink.ErrConflict)
	require.NotErrorIs(t, err, pipeline.ErrUsage)
	require.ErrorContains(t, err, "run winner was published as the snapshot of 2026-11-19 while this one was running")
	staged, err := deps.Catalog.Staged(t.Context())
	require.NoError(t, err)
	require.Empty(t, staged)
	require.NoDirExists(t, filepath.Join(s.dest, "_runs", "loser"))
}
