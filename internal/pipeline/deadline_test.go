package pipeline_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/schemas"
)

// tryDeadlines calls try with a close deadline, and with later ones as long as try reports that the deadline was too
// early for a slow machine.
func tryDeadlines(t *testing.T, try func(deadline time.Time) bool) {
	t.Helper()
	for wait := 2 * time.Second; wait < 10*time.Minute; wait *= 4 {
		if try(time.Now().Add(wait)) {
			return
		}
	}
	t.Fatal("even the last deadline was too early")
}

// stall keeps the service from answering calls whose URL contains all of the strings.
func (s *site) stall(texts ...string) {
	s.t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(r.URL.String(), text) }) {
			<-r.Context().Done()
			return
		}
		s.server.ServeHTTP(w, r)
	}))
	s.t.Cleanup(front.Close)
	address, err := url.Parse(front.URL)
	require.NoError(s.t, err)
	s.url.Host = address.Host
}

func TestDeadlineMissed(t *testing.T) {
	t.Parallel()
	quiet := newSite(t, few(), simulator.ServerOptions{})
	quiet.run(defaults())

	tryDeadlines(t, func(deadline time.Time) bool {
		s := newSite(t, few(), simulator.ServerOptions{})
		answering := *s.url
		s.stall("academic-years")
		settings := defaults()
		settings.MaxFailedSchools = 4 // one fewer than there are schools
		settings.Deadline = deadline
		summary, err := pipeline.Run(t.Context(), s.deps(nil), settings)
		require.ErrorIs(t, err, pipeline.ErrDeadline)
		if staged, err := filepath.Glob(filepath.Join(s.dest, "_runs", "*", "journal", "*")); len(staged) == 0 {
			require.NoError(t, err)
			return false
		}
		require.ErrorContains(t, err, "5 schools incomplete, more than --max-failed-schools allows")
		require.NotEmpty(t, summary.RunID)
		require.Empty(t, s.visible())

		// The same command resumes the run: schools fetched before the deadline are not requested again.
		*s.url = answering
		before := len(s.asked())
		settings.Deadline = time.Now().Add(time.Hour)
		resumed := s.run(settings)
		require.Equal(t, pipeline.Published, resumed.Outcome)
		require.Equal(t, summary.RunID, resumed.RunID)
		require.Positive(t, resumed.TasksResumed)
		require.Less(t, len(s.asked())-before, len(quiet.asked()))
		require.Equal(t, quiet.hashes(), s.hashes())
		return true
	})
}

func TestDeadlineWithFewSchoolsMissing(t *testing.T) {
	t.Parallel()
	tryDeadlines(t, func(deadline time.Time) bool {
		s := newSite(t, few(), simulator.ServerOptions{})
		slow := s.world.Schools()[1].Bid
		s.stall("academic-years", slow)
		settings := defaults()
		settings.MaxFailedSchools = 1
		settings.Deadline = deadline
		summary, err := pipeline.Run(t.Context(), s.deps(nil), settings)
		if errors.Is(err, pipeline.ErrDeadline) {
			return false // other schools are missing too
		}
		require.NoError(t, err)
		require.Equal(t, pipeline.Published, summary.Outcome)
		require.EqualValues(t, 1, summary.Schools.Failed)
		require.Equal(t, slow, summary.Schools.Failures[0].SchoolBid)
		require.Equal(t, "not fetched before the deadline", summary.Schools.Failures[0].Error)
		s.requireLedgerAddsUp()
		return true
	})
}

func TestDeadlineWhilePlanning(t *testing.T) {
	t.Parallel()
	s := newSite(t, few(), simulator.ServerOptions{})
	s.stall("/schools")
	settings := defaults()
	settings.Deadline = time.Now().Add(100 * time.Millisecond)
	_, err := pipeline.Run(t.Context(), s.deps(nil), settings)
	require.ErrorIs(t, err, pipeline.ErrDeadline)
}

// TestDeadlinePutsResultsFirst expects that with a deadline the test results of all schools are requested before
// everything except students.
func TestDeadlinePutsResultsFirst(t *testing.T) {
	t.Parallel()
	for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
		s := newSite(t, simulator.Options{Seed: 7, Schools: 40, SchoolSizes: []int{3}, Results: 200}, simulator.ServerOptions{})
		settings := defaults()
		settings.Deadline = deadline
		s.run(settings)
		early := make(map[string]bool)
		for _, r := range s.asked() {
			if r.Operation == "academic_years" {
				break
			}
			if r.Operation == "test_results" {
				early[r.School] = true
			}
		}
		// Some schools are read concurrently.
		if deadline.IsZero() {
			require.Less(t, len(early), 25)
		} else {
			require.Greater(t, len(early), 25)
		}
	}
}

// TestTerms finds the ends of the simulated world's terms that have begun, and today for the current one.
func TestTerms(t *testing.T) {
	t.Parallel()
	s := newSite(t, few(), simulator.ServerOptions{})
	dates, err := pipeline.Terms(t.Context(), s.deps(nil), defaults())
	require.NoError(t, err)
	ends := map[string]bool{"2026-11-20": true} // today, for the current terms
	for _, row := range s.termRows() {
		if row[0] <= "2026-11-20" {
			ends[min(row[1], "2026-11-20")] = true
		}
	}
	require.Greater(t, len(ends), 2)
	require.Len(t, dates, len(ends))
	require.IsIncreasing(t, dates)
	for _, date := range dates {
		require.True(t, ends[date], date)
	}

	settings := defaults()
	settings.EffectiveDate = dates[0]
	var published []string
	require.NoError(t, pipeline.RunDates(t.Context(), s.deps(nil), settings, dates[:2], func(s *pipeline.Summary) {
		published = append(published, s.SnapshotDate)
	}))
	require.Equal(t, dates[:2], published)

	unreadable := newSite(t, few(), simulator.ServerOptions{})
	unreadable.instead(map[string]string{"/academic-years": `"odd"`})
	_, err = pipeline.Terms(t.Context(), unreadable.deps(nil), defaults())
	require.ErrorContains(t, err, "read the terms: school ")
}

// termRows returns the beginning and the end of every enrollment session that a run exports.
func (s *site) termRows() [][2]string {
	s.t.Helper()
	s.run(defaults())
	table, _, ok := schemas.FindTable("enrollment_sessions")
	require.True(s.t, ok)
	var terms [][2]string
	for _, row := range s.rows(table) {
		begin, _ := row["begin_date"].(string)
		end, _ := row["end_date"].(string)
		terms = append(terms, [2]string{begin, end})
	}
	require.NotEmpty(s.t, terms)
	return terms
}
