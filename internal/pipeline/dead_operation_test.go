package pipeline_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/schemas"
)

// TestDeadOperationHoldsTheRun makes one operation answer 404 for every school while others work, even when the run is
// resumed and requests nothing else. Its schools fail, and the reason for holding the run mentions the operation.
func TestDeadOperationHoldsTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		datasets []string
		dead     string
		held     string
		requests int // fewer than these
	}{
		"the first operation": {[]string{"schools", "students", "academic_years"}, "students", "students", 100},
		"the last operation":  {[]string{"schools", "students", "academic_years"}, "academic_years", "academic_years", 100},
		"the only operation":  {[]string{"test_results"}, "test_results", "test_results", 100},
		"a list that feeds another": {
			[]string{"schools", "academic_years", "students", "student_details"}, "students", "student_details, students", 120,
		},
		"a fan-out": {[]string{"schools", "students", "student_details"}, "student_details", "student_details", 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, simulator.Options{Seed: 7, SchoolSizes: slices.Repeat([]int{60}, 30)}, simulator.ServerOptions{
				Faults: []simulator.Fault{{Operation: test.dead, Kind: simulator.FaultStatus, Status: http.StatusNotFound}},
			})
			settings := defaults()
			settings.RunID, settings.Datasets = "run", test.datasets
			run := func() (*pipeline.Summary, error) {
				return runAll(t.Context(), s.deps(func(o *extract.Options) { o.Retries, o.GiveUpAfter = 2, 20*time.Second }), settings)
			}
			for _, night := range []string{"first", "resumed"} {
				s.server.ResetLog()
				summary, err := run()
				require.NoError(t, err, night)
				require.Equal(t, pipeline.HeldBack, summary.Outcome, night)
				require.Equal(t, []string{
					"30 of 30 schools failed, more than --max-failed-schools 0; no school could be read in " + test.held,
				}, review.Texts(summary.Held), night)
				dead := 0
				for _, r := range s.server.Log() {
					if r.Operation == test.dead && r.Status == http.StatusNotFound {
						dead++
					}
				}
				require.GreaterOrEqual(t, dead, 30, night)
				require.Less(t, dead, test.requests, "calls of later schools are not retried: %s", night)
			}
			s.server.SetFaults(nil)
			summary, err := run()
			require.NoError(t, err)
			require.Equal(t, pipeline.Published, summary.Outcome)
		})
	}
}

// TestDeadFanOutLosesNoRecords has the calls of a fan-out answer 404 for the only school of a run. The school fails no
// matter how often the run is resumed, and the run has all records once the operation works again.
func TestDeadFanOutLosesNoRecords(t *testing.T) {
	t.Parallel()
	world := simulator.Options{Seed: 7, SchoolSizes: []int{20}}
	s := newSite(t, world, simulator.ServerOptions{
		Faults: []simulator.Fault{{Operation: "student_details", Kind: simulator.FaultStatus, Status: http.StatusNotFound}},
	})
	settings := defaults()
	settings.RunID, settings.Concurrency, settings.Datasets = "run", 2, []string{"schools", "students", "student_details"}
	run := func() *pipeline.Summary {
		summary, err := runAll(t.Context(), s.deps(func(o *extract.Options) { o.Retries, o.Concurrency = 1, 2 }), settings)
		require.NoError(t, err)
		return summary
	}
	for range 6 {
		summary := run()
		require.Equal(t, pipeline.HeldBack, summary.Outcome)
		require.Equal(t, []string{
			"1 of 1 schools failed, more than --max-failed-schools 0; no school could be read in student_details",
		}, review.Texts(summary.Held))
	}
	s.server.SetFaults(nil)
	require.Equal(t, pipeline.Published, run().Outcome)
	undisturbed := newSite(t, world, simulator.ServerOptions{})
	undisturbed.run(settings)
	details, _, _ := schemas.FindTable("student_details")
	require.NotEmpty(t, s.rows(details))
	require.Equal(t, undisturbed.rows(details), s.rows(details))
}

// TestDeniedFanOutIsHeld denies every call of a fan-out in all schools.
func TestDeniedFanOutIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{
		Faults: []simulator.Fault{{Operation: "student_details", Kind: simulator.FaultStatus, Status: http.StatusForbidden}},
	})
	settings := defaults()
	settings.Datasets = []string{"schools", "students", "student_details"}
	summary := s.run(settings)
	require.Equal(t, pipeline.HeldBack, summary.Outcome)
	require.Len(t, summary.Held, 1)
	require.Regexp(t, `^no school could be read in student_details \([0-9]+ calls, all denied or not found\)$`, summary.Held[0].String())
	require.Contains(t, summary.Next[0].Say, "If the app should have access to student_details, ask the service's support")
}
