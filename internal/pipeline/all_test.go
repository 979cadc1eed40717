package pipeline_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// everything selects all datasets, including those with a call per student, class, educator or association.
func everything() pipeline.Settings {
	s := defaults()
	s.Datasets = nil
	for _, d := range schemas.Datasets() {
		s.Datasets = append(s.Datasets, d.Name)
	}
	return s
}

// few returns a world with few students, because each of them takes a request.
func few() simulator.Options {
	return simulator.Options{Seed: 3, SchoolSizes: []int{0, 12, 1, 20, 7}}
}

func TestEveryDataset(t *testing.T) {
	t.Parallel()
	quiet := newSite(t, few(), simulator.ServerOptions{})
	summary := quiet.run(everything())
	require.Equal(t, pipeline.Published, summary.Outcome)
	quiet.requireOracle(everything(), oracle.Options{})
	quiet.requireLedgerAddsUp()

	noisy := newSite(t, few(), simulator.ServerOptions{})
	noisy.server.SetFaults(simulator.TransientFaults(0.03, 200*time.Millisecond))
	noisy.run(everything())
	require.Equal(t, quiet.hashes(), noisy.hashes())
}

func TestFanOutOfWhatIsNotSelected(t *testing.T) {
	t.Parallel()
	s := newSite(t, few(), simulator.ServerOptions{})
	settings := defaults()
	settings.Datasets = []string{"student_details", "educator_school_classes"}
	s.run(settings)
	s.requireOracle(settings, oracle.Options{})
	asked := make(map[string]bool)
	for _, r := range s.asked() {
		asked[r.Operation] = true
	}
	require.Equal(t, map[string]bool{
		"schools": true, "districts": true, "district_schools": true,
		"students": true, "student_details": true,
		"educator_school_associations": true, "school_classes": true, "educator_school_classes": true,
	}, asked)
}

func TestRecordsThatAreUnavailable(t *testing.T) {
	t.Parallel()
	s := newSite(t, few(), simulator.ServerOptions{})
	schools := s.world.Schools()
	gone, denied, left := schools[1].Bid, schools[3].Bid, schools[4].Bid
	s.server.SetFaults([]simulator.Fault{
		{Operation: "student_details", School: left, Kind: simulator.FaultStatus, Status: 404},
		{Operation: "students", School: denied, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "students", School: gone, Kind: simulator.FaultStatus, Status: 500},
	})
	settings := defaults()
	settings.Datasets = []string{"student_details"}
	settings.MaxFailedSchools = 1
	summary, err := pipeline.Run(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Equal(t, int64(1), summary.Schools.Denied, "the dataset is denied because the list that feeds it is denied")
	require.Equal(t, int64(1), summary.Schools.Failed)
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(t, err)
	for _, row := range readFile(t, s.dest+"/"+s.manifest("2026-11-20", store).Ledger.Path, snapshot.LedgerTable()) {
		n, ok := row["records_unavailable"].(int64)
		require.True(t, ok)
		if row["requested_school_bid"] == left {
			require.Equal(t, "ok", row["status"])
			require.Equal(t, int64(schools[4].Students), n, "every call is answered with 404")
			continue
		}
		require.Zero(t, n)
	}
}

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestLaterPagesThatAreUnavailable expects that a later page with 403 or 404 fails a fan-out, because the first page shows
// that the list exists.
func TestLaterPagesThatAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		s := newSite(t, few(), simulator.ServerOptions{ListPageSize: 1})
		settings := defaults()
		settings.Datasets = []string{"student_school_classes"}
		school := s.world.Schools()[1].Bid
		base := new(http.Transport)
		summary, err := pipeline.Run(t.Context(), s.deps(func(o *extract.Options) {
			o.Retries = 0
			o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				query := r.URL.Query()
				if strings.HasSuffix(r.URL.Path, "/student-school-classes") && query.Get("school-bid") == school && query.Has("next-page") {
					return &http.Response{StatusCode: status, Body: http.NoBody}, nil
				}
				return base.RoundTrip(r)
			})
		}), settings)
		require.NoError(t, err)
		require.Equal(t, pipeline.HeldBack, summary.Outcome)
		require.Equal(t, int64(1), summary.Schools.Failed)
	}
}

func TestAsOfAndDeltaRuns(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{ListPageSize: 5})
	s.run(defaults())
	full := s.hashes()

	s.server.ResetLog()
	settings := defaults()
	var summaries []*pipeline.Summary
	err := pipeline.RunDates(t.Context(), s.deps(nil), settings, []string{"2026-09-15", "2026-10-15"},
		func(summary *pipeline.Summary) { summaries = append(summaries, summary) })
	require.NoError(t, err)
	require.Len(t, summaries, 2)
	taken := map[string]bool{
		"academic_years": true, "student_school_associations": true, "school_classes": true, "educator_school_associations": true,
	}
	for _, r := range s.asked() {
		dataset, ok := schemas.Find(r.Operation)
		require.True(t, ok)
		require.Equal(t, taken[r.Operation], r.Query.Has("effective-date"), r.Operation)
		require.False(t, r.Query.Has("modified-since"))
		if taken[r.Operation] {
			require.Contains(t, []string{"2026-09-15", "2026-10-15"}, r.Query.Get("effective-date"))
		} else {
			require.NotEqual(t, schemas.PerSchool, dataset.Per, "%s cannot be part of the run", r.Operation)
		}
	}
	require.Equal(t, full, s.hashes())
	s.requireAsOf("2026-09-15")
	s.requireAsOf("2026-10-15")

	s.server.ResetLog()
	settings.ModifiedSince = pipeline.SinceAuto
	summary := s.run(settings)
	require.Equal(t, snapshot.Delta, summary.Kind)
	delta := 0
	for _, r := range s.asked() {
		require.Equal(t, taken[r.Operation], r.Query.Has("modified-since"), r.Operation)
		if taken[r.Operation] {
			delta++
			require.Equal(t, "2026-11-20T03:20:00Z", r.Query.Get("modified-since"), "ten minutes before the full run")
			require.Equal(t, r.Operation != "academic_years", r.Query.Has("effective-date"))
		}
	}
	require.Positive(t, delta)
	require.Equal(t, full, s.hashes())
}

// TestDeniedDateDoesNotEndTheOthers takes as-of snapshots of several dates, one of which is denied.
func TestDeniedDateDoesNotEndTheOthers(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	dates := []string{"2026-09-15", "2026-10-15", "2026-11-15"}
	var summaries []*pipeline.Summary
	err := pipeline.RunDates(t.Context(), s.deps(nil), defaults(), dates, func(summary *pipeline.Summary) {
		summaries = append(summaries, summary)
		s.server.SetFaults(nil)
		if len(summaries) == 1 {
			s.server.SetFaults([]simulator.Fault{
				{Operation: "student_school_associations", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "school_classes", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "educator_school_associations", Kind: simulator.FaultStatus, Status: 403},
				{Operation: "academic_years", Kind: simulator.FaultStatus, Status: 403},
			})
		}
	})
	require.ErrorIs(t, err, extract.ErrRefused)
	require.ErrorContains(t, err, "as of 2026-10-15: ")
	require.Len(t, summaries, 3)
	require.ErrorIs(t, summaries[1].Ending.Failure, extract.ErrRefused)
	s.requireAsOf(dates[0])
	s.requireAsOf(dates[2])
}

// TestAutoLeavesNoGap checks that a one-off delta run does not move the start of the next automatic one past changes
// that no run contains.
func TestAutoLeavesNoGap(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.Datasets = []string{"student_school_associations"}
	at := func(now time.Time, since string) *snapshot.Plan {
		deps := s.deps(nil)
		deps.Now = func() time.Time { return now }
		settings.ModifiedSince = since
		summary, err := pipeline.Run(t.Context(), deps, settings)
		require.NoError(t, err)
		plan, err := deps.Catalog.ReadPlan(t.Context(), summary.RunID)
		require.NoError(t, err)
		return plan
	}
	at(theDay.AddDate(0, 0, -19), "")
	at(theDay, "2026-11-19T12:00:00Z")
	auto := at(theDay.Add(time.Hour), pipeline.SinceAuto)
	require.Equal(t, "2026-11-01T03:20:00Z", auto.Filters["modified-since"], "ten minutes before the full run")
	next := at(theDay.Add(2*time.Hour), pipeline.SinceAuto)
	require.Equal(t, "2026-11-20T04:20:00Z", next.Filters["modified-since"], "ten minutes before the last automatic run")
}

// TestAutoLeavesOutDenied starts from a full run in which one school was denied in a dataset of the delta runs. Failed
// and denied schools of other datasets do not matter.
func TestAutoLeavesOutDenied(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	schools := s.world.Schools()
	denied := schools[1]
	s.server.SetFaults([]simulator.Fault{
		{Operation: "student_school_associations", School: denied.Bid, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "test_results", School: schools[0].Bid, Kind: simulator.FaultStatus, Status: 403},
	})
	settings := defaults()
	settings.Datasets = []string{"student_school_associations", "test_results"}
	s.run(settings)

	s.server.SetFaults(nil)
	settings.Datasets = []string{"student_school_associations"}
	settings.ModifiedSince = pipeline.SinceAuto
	for hours := range 2 {
		var out logged
		deps := s.deps(nil)
		deps.Logger = slog.New(slog.NewJSONHandler(&out, nil))
		deps.Now = func() time.Time { return theDay.Add(time.Duration(hours+1) * time.Hour) }
		summary, err := pipeline.Run(t.Context(), deps, settings)
		require.NoError(t, err)
		lines := out.lines(t, "schools that were denied in an earlier run are left out: their changes are included again after the next full run")
		require.Len(t, lines, 1)
		require.Contains(t, lines[0]["names"], denied.Name)
		plan, err := deps.Catalog.ReadPlan(t.Context(), summary.RunID)
		require.NoError(t, err)
		require.Len(t, plan.Schools, len(schools)-1)
		for _, school := range plan.Schools {
			require.NotEqual(t, denied.Bid, school.Bid)
		}
		require.Equal(t, theDay.Add(time.Duration(hours)*time.Hour-10*time.Minute).UTC().Format("2006-01-02T15:04:05Z"), plan.Filters["modified-since"])
	}
}

// requireAsOf compares the as-of tables of a date with the oracle.
func (s *site) requireAsOf(date string) {
	s.t.Helper()
	day, err := time.Parse(time.DateOnly, date)
	require.NoError(s.t, err)
	oracle := oracle.Rows(s.world, oracle.Options{EffectiveDate: day, AsOf: true})
	compared := 0
	for _, name := range []string{"academic_years", "student_school_associations", "school_classes", "educator_school_associations"} {
		dataset, ok := schemas.Find(name)
		require.True(s.t, ok)
		for _, table := range dataset.Tables {
			got := s.rowsAt(table, "as_of", date)
			require.Equal(s.t, oracle[table.Name], got, "%s as of %s", table.Name, date)
			compared += len(got)
		}
	}
	require.Positive(s.t, compared)
}
