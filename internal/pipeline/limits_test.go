package pipeline_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
)

// instead makes the service answer calls with these bodies, selected by path suffix.
func (s *site) instead(bodies map[string]string) {
	s.t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, body := range bodies {
			if strings.HasSuffix(r.URL.Path, end) || strings.Contains(r.URL.RawQuery, end) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
				return
			}
		}
		s.server.ServeHTTP(w, r)
	}))
	s.t.Cleanup(front.Close)
	address, err := url.Parse(front.URL)
	require.NoError(s.t, err)
	s.url.Host = address.Host
}

// errors returns the errors of failed schools in the ledger, by school and dataset.
func (s *site) errors() map[string]string {
	s.t.Helper()
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(s.t, err)
	failed := make(map[string]string)
	for _, f := range s.manifest("2026-11-20", store).Schools.Failures {
		reason := strings.TrimSuffix(f.Error, " (status 200)")
		if _, behind, found := strings.Cut(reason, "): "); found { // leaves out the operation and its route
			reason = behind
		}
		failed[f.SchoolBid+" "+f.Dataset] = reason
	}
	return failed
}

// TestAnswersThatInflate expects a school to fail with a clear reason if its answer would become far more rows than any
// real school has. Other schools do not fail.
func TestAnswersThatInflate(t *testing.T) {
	t.Parallel()
	s := newSite(t, few(), simulator.ServerOptions{})
	schools := s.world.Schools()
	students, results := schools[1].Bid, schools[3].Bid
	ones := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	s.instead(map[string]string{
		"/schools/" + students + "/students": ones(2_000_001),
		"school-bid=" + results:              `{"pagination":{"hasNextPage":false},"testResults":[{"norms":` + ones(6000) + `,"instructionalAreas":` + ones(4001) + `}]}`,
	})
	settings := defaults()
	settings.Datasets = []string{"schools", "students", "test_results"}
	settings.MaxFailedSchools = 2
	require.Equal(t, pipeline.Published, s.run(settings).Outcome)
	require.Equal(t, map[string]string{
		students + " students":    "more than 2000000 records: raise --max-school-records if the school really has that many",
		results + " test_results": "a record has more than 10000 rows of test_result_norms and test_result_instructional_areas: no real record has that many, so the answer is rejected",
	}, s.errors())
}

// TestLimitsAreNotOfLookups checks that the list of schools may have more records than a school may have.
func TestLimitsAreNotOfLookups(t *testing.T) {
	t.Parallel()
	s := newSite(t, simulator.Options{Seed: 3, Schools: 5, SchoolSizes: []int{0, 1, 2, 1, 5}}, simulator.ServerOptions{})
	settings := defaults()
	settings.Datasets = []string{"schools", "test_results"}
	settings.MaxSchoolRecords, settings.MaxFailedSchools = 4, 5
	require.Equal(t, pipeline.Published, s.run(settings).Outcome)
	require.Equal(t, map[string]string{
		s.world.Schools()[4].Bid + " test_results": "more than 4 records: raise --max-school-records if the school really has that many",
	}, s.errors())
}

// TestLimitsAreOfTheWholeSchool checks that the limits apply to a school as a whole, regardless of how many calls run
// at once and how the records are spread over the calls.
func TestLimitsAreOfTheWholeSchool(t *testing.T) {
	t.Parallel()
	var failed []map[string]string
	for _, concurrency := range []int{1, 16} {
		s := newSite(t, simulator.Options{Seed: 3, SchoolSizes: []int{0, 12, 60, 120, 7}}, simulator.ServerOptions{})
		settings := everything()
		settings.MaxSchoolRecords, settings.Concurrency = 16, concurrency
		settings.MaxFailedSchools = 5
		require.Equal(t, pipeline.Published, s.run(settings).Outcome)
		failed = append(failed, s.errors())
	}
	require.Equal(t, failed[0], failed[1])
	reasons := make(map[string]int)
	for where, reason := range failed[0] {
		_, dataset, _ := strings.Cut(where, " ")
		reasons[dataset+": "+reason]++
	}
	const remedy = ": raise --max-school-records if the school really has that many"
	require.Positive(t, reasons["student_school_classes: more than 16 records"+remedy], "%v", reasons)
	require.Positive(t, reasons["school_classes: more than 128 rows of school_class_educators and school_class_students, which is 8 times --max-school-records"+remedy], "%v", reasons)
}
