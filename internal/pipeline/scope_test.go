package pipeline_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

func TestPartitionByDistrict(t *testing.T) {
	t.Parallel()
	quiet := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.PartitionBy = snapshot.ByDistrict
	quiet.run(settings)
	districts := make(map[string]string)
	for _, school := range quiet.world.Schools() {
		districts[school.Bid] = school.DistrictBid
	}
	folders, err := filepath.Glob(filepath.Join(quiet.dest, "test_results", "snapshot_date=2026-11-20", "district=*"))
	require.NoError(t, err)
	require.Len(t, folders, 3)
	rows := 0
	for _, folder := range folders {
		district := strings.TrimPrefix(filepath.Base(folder), "district=")
		files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
		require.NoError(t, err)
		for _, file := range files {
			for _, row := range readFile(t, file, quiet.table("test_results")) {
				school, ok := row["requested_school_bid"].(string)
				require.True(t, ok)
				require.Equal(t, districts[school], district)
				rows++
			}
		}
	}
	require.Len(t, oracle.Rows(quiet.world, oracle.Options{})["test_results"], rows)

	noisy := newSite(t, small(), simulator.ServerOptions{})
	noisy.server.SetFaults(simulator.TransientFaults(0.05, 100*time.Millisecond))
	noisy.run(settings)
	require.Equal(t, quiet.hashes(), noisy.hashes())

	settings.PartitionBy = snapshot.NotPartitioned
	_, err = pipeline.Run(t.Context(), quiet.deps(nil), settings)
	require.ErrorIs(t, err, pipeline.ErrUsage, "a destination keeps its first partitioning")
}

func TestOnlySomeSchools(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	schools := s.world.Schools()
	settings := defaults()
	settings.Schools = []string{schools[3].Bid, schools[5].Bid, "no-such-school"}
	summary := s.run(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome, "an unknown bid counts as a failed school")
	require.Contains(t, summary.Held[0].String(), "1 of 3 schools failed")
	require.Equal(t, "no-such-school", summary.Schools.Failures[0].SchoolBid)

	settings.MaxFailedSchools = 1
	require.Equal(t, pipeline.Published, s.run(settings).Outcome)
	s.requireOracle(settings, oracle.Options{Schools: []string{schools[3].Bid, schools[5].Bid}})
	require.NoFileExists(t, filepath.Join(s.dest, "_latest.json"), "a run of some schools is not the latest snapshot")

	_, err := pipeline.Run(t.Context(), s.deps(nil), defaults())
	require.ErrorIs(t, err, pipeline.ErrUsage, "a run of another scope needs --replace")
	require.ErrorContains(t, err, "--replace")
	whole := defaults()
	whole.Replace = true
	require.Equal(t, pipeline.Published, s.run(whole).Outcome)
	require.FileExists(t, filepath.Join(s.dest, "_latest.json"))
	s.requireOracle(whole, oracle.Options{})
}

// TestSchoolsThatAreNotThere expects a usage error, before any student data is requested, if none of the listed schools
// can be exported.
func TestSchoolsThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	school := s.world.Schools()[0]
	elsewhere := slices.IndexFunc(s.world.Schools(), func(other simulator.School) bool {
		return other.DistrictBid != school.DistrictBid
	})
	require.Positive(t, elsewhere)
	for _, test := range []struct {
		schools, districts []string
		problem            string
	}{
		{[]string{"no-such-school"}, nil, `--schools: "no-such-school" is not on the school list: check`},
		{[]string{"b", "a", "a"}, nil, `--schools: none of the 2 schools is on the school list (the first is "a"): check`},
		{[]string{""}, nil, `--schools: "" is not on the school list`},
		{[]string{school.Bid}, []string{s.world.Schools()[elsewhere].DistrictBid}, "none of these schools is in these districts"},
	} {
		settings := defaults()
		settings.Schools, settings.Districts, settings.MaxFailedSchools = test.schools, test.districts, 100
		_, err := pipeline.Run(t.Context(), s.deps(nil), settings)
		require.ErrorIs(t, err, pipeline.ErrUsage)
		require.ErrorContains(t, err, test.problem)
		_, err = pipeline.Plan(t.Context(), s.deps(nil), settings, nil, time.Second)
		require.ErrorIs(t, err, pipeline.ErrUsage)
	}
	for _, r := range s.asked() {
		require.Empty(t, r.School, "no student data is requested")
	}
	require.NoDirExists(t, s.dest)
}

// TestNoSchoolLeft expects every table to be written, without rows, if no school has a bid.
func TestNoSchoolLeft(t *testing.T) {
	t.Parallel()
	for _, partition := range []string{snapshot.NotPartitioned, snapshot.ByDistrict} {
		s := newSite(t, small(), simulator.ServerOptions{})
		s.server.SetFaults([]simulator.Fault{{
			Operation: "schools", Kind: simulator.FaultBody, Body: `[{"schoolName":"Nameless"}]`,
		}})
		settings := defaults()
		settings.MaxFailedSchools, settings.PartitionBy = 1, partition
		summary := s.run(settings)
		require.Equal(t, pipeline.Published, summary.Outcome)
		require.Equal(t, snapshot.ManifestSchools{Total: 1, Failed: 1, Failures: summary.Schools.Failures}, summary.Schools)
		require.Empty(t, s.rows(s.table("test_results")), "the table exists but has no rows")
	}
}

func TestOnlySomeDistricts(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	district := s.world.Schools()[0].DistrictBid
	var schools []string
	for _, school := range s.world.Schools() {
		if school.DistrictBid == district {
			schools = append(schools, school.Bid)
		}
	}
	settings := defaults()
	settings.Districts = []string{district}
	s.run(settings)
	s.requireOracle(settings, oracle.Options{Schools: schools})

	s.server.ResetLog()
	settings.Districts = []string{"no-such-district"}
	settings.Replace = true
	_, err := pipeline.Run(t.Context(), s.deps(nil), settings)
	require.ErrorIs(t, err, pipeline.ErrUsage)
	require.ErrorContains(t, err, "no-such-district")
	for _, r := range s.asked() {
		require.Empty(t, r.School, "no student data is requested")
	}
}

func TestOneDatasetOfASchool(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	denied, failed := s.world.Schools()[3].Bid, s.world.Schools()[5].Bid
	s.server.SetFaults([]simulator.Fault{
		{Operation: "students", School: denied, Kind: simulator.FaultStatus, Status: 403},
		{Operation: "school_classes", School: failed, Kind: simulator.FaultStatus, Status: 500},
	})
	settings := defaults()
	settings.MaxFailedSchools = 1
	summary, err := pipeline.Run(t.Context(), s.deps(impatient), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Equal(t, int64(1), summary.Schools.Denied)
	require.Equal(t, int64(1), summary.Schools.Failed)
	require.Equal(t, []snapshot.SchoolFailure{{
		SchoolBid: failed, SchoolName: s.world.Schools()[5].Name, Dataset: "school_classes", Error: summary.Schools.Failures[0].Error,
	}}, summary.Schools.Failures)
	require.NotEmpty(t, summary.Schools.Failures[0].SchoolName)
	s.requireLedgerAddsUp()
	for table, absent := range map[string]string{"students": denied, "school_classes": failed, "school_class_students": failed} {
		others := 0
		for _, row := range s.rows(s.table(table)) {
			require.NotEqual(t, absent, row["requested_school_bid"], table)
			others++
		}
		require.Positive(t, others)
	}
	results := 0
	for _, row := range s.rows(s.table("test_results")) {
		if row["requested_school_bid"] == failed || row["requested_school_bid"] == denied {
			results++
		}
	}
	require.Equal(t, 40+90, results, "the other datasets of these schools are complete")
}

func TestOnePerspectiveDenied(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	districts := s.world.Districts()
	state := districts[len(districts)-1]
	for _, district := range districts {
		if district.State {
			state = district
		}
	}
	require.True(t, state.State)
	s.server.SetFaults([]simulator.Fault{
		{Operation: "academic_years", District: state.Bid, Kind: simulator.FaultStatus, Status: 403},
	})
	summary := s.run(defaults())
	require.Equal(t, pipeline.Published, summary.Outcome)
	require.Zero(t, summary.Schools.Denied, "another perspective answers")
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(t, err)
	unavailable := int64(0)
	for _, row := range readFile(t, s.dest+"/"+s.manifest("2026-11-20", store).Ledger.Path, snapshot.LedgerTable()) {
		n, ok := row["records_unavailable"].(int64)
		require.True(t, ok)
		unavailable += n
		if row["dataset"] != "academic_years" {
			require.Zero(t, n)
		}
	}
	require.Positive(t, unavailable)
}

// TestLaterPageOfAPerspectiveDenied expects that a list is not lost if some of its pages were read and a later page is
// denied in one of several perspectives.
func TestLaterPageOfAPerspectiveDenied(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{ListPageSize: 5})
	settings := defaults()
	settings.Datasets = []string{"student_school_associations"}
	districts, base := s.world.Districts(), new(http.Transport)
	summary, err := pipeline.Run(t.Context(), s.deps(func(o *extract.Options) {
		o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			query := r.URL.Query()
			ofState := slices.ContainsFunc(districts, func(d simulator.District) bool { return d.State && d.Bid == query.Get("perspective-bid") })
			if ofState && query.Has("next-page") {
				return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
			}
			return base.RoundTrip(r)
		})
	}), settings)
	require.NoError(t, err)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Positive(t, summary.Schools.Failed)
}

func TestRunThatIsInterruptedIsResumed(t *testing.T) {
	t.Parallel()
	quiet := newSite(t, small(), simulator.ServerOptions{})
	quiet.run(defaults())

	s := newSite(t, small(), simulator.ServerOptions{Latency: 25 * time.Millisecond})
	interrupts, patience := 0, 100*time.Millisecond
	for {
		// Even on a slow machine, one of the attempts gets far enough to finish.
		patience = patience * 5 / 4
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		summary, err := pipeline.Run(ctx, s.deps(nil), defaults())
		cancel()
		if err == nil {
			require.Equal(t, pipeline.Published, summary.Outcome)
			break
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, s.visible())
		interrupts++
	}
	require.Positive(t, interrupts)
	require.Equal(t, quiet.hashes(), s.hashes())
	require.NoDirExists(t, filepath.Join(s.dest, "_staging"))
}

func TestFinishedSchoolsWaitInScratch(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	world := simulator.Options{Seed: 11, SchoolSizes: []int{2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000}}
	settings := defaults()
	settings.Datasets = []string{"test_results"}
	settings.SchoolsPerFile = 100
	quiet := newSite(t, world, simulator.ServerOptions{})
	quiet.run(settings)

	s := newSite(t, world, simulator.ServerOptions{})
	first := s.world.Schools()[0].Bid
	for _, school := range s.world.Schools() {
		first = min(first, school.Bid)
	}
	s.server.SetFaults([]simulator.Fault{{
		Operation: "test_results", School: first, Kind: simulator.FaultLatency, Latency: 2 * time.Second,
	}})
	settings.Scratch = t.TempDir()
	s.run(settings)
	require.Equal(t, quiet.hashes(), s.hashes())
	left, err := os.ReadDir(settings.Scratch)
	require.NoError(t, err)
	require.Empty(t, left)

	missing := newSite(t, world, simulator.ServerOptions{})
	missing.server.SetFaults([]simulator.Fault{{
		Operation: "test_results", School: first, Kind: simulator.FaultLatency, Latency: 2 * time.Second,
	}})
	settings.Scratch = filepath.Join(t.TempDir(), "no-such-folder")
	_, err = pipeline.Run(t.Context(), missing.deps(nil), settings)
	require.ErrorContains(t, err, "--scratch", "the schools were really written to scratch files")
	require.Empty(t, missing.visible())
}

// fullDisk is a destination without room for one more file of a table.
type fullDisk struct {
	sink.Store
	table string
}

func (f fullDisk) Draft(ctx context.Context, run, path string) (sink.Draft, error) {
	draft, err := f.Store.Draft(ctx, run, path)
	if err == nil && strings.HasPrefix(path, f.table+"/") {
		draft = fullDraft{draft}
	}
	return draft, err
}

type fullDraft struct{ sink.Draft }

func (fullDraft) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "draft", Err: syscall.ENOSPC}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	deps := s.deps(nil)
	deps.Catalog = snapshot.At(fullDisk{deps.Catalog.Store(), "school_classes"})
	summary, err := pipeline.Run(t.Context(), deps, defaults())
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotEmpty(t, summary.RunID)
	require.Empty(t, s.visible())

	again := s.run(defaults())
	require.Equal(t, summary.RunID, again.RunID)
	require.Equal(t, pipeline.Published, again.Outcome)
	s.requireOracle(defaults(), oracle.Options{})
}

func TestTwoProcessesOfOneRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{Latency: 20 * time.Millisecond})
	type end struct {
		summary *pipeline.Summary
		err     error
	}
	ends := make(chan end, 2)
	for range 2 {
		deps := s.deps(nil)
		go func() {
			summary, err := pipeline.Run(t.Context(), deps, defaults())
			ends <- end{summary, err}
		}()
	}
	published := 0
	for range 2 {
		e := <-ends
		if e.err == nil {
			require.Equal(t, pipeline.Published, e.summary.Outcome)
			published++
			continue
		}
		require.ErrorIs(t, e.err, sink.ErrLocked)
		require.ErrorContains(t, e.err, "another process is working on run ")
		require.ErrorContains(t, e.err, "held by process "+strconv.Itoa(os.Getpid())+" on host ")
	}
	require.Equal(t, 1, published)
	s.requireOracle(defaults(), oracle.Options{})
}
