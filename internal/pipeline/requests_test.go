package pipeline_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// asked returns the requests in the log, except token requests.
func (s *site) asked() []simulator.Request {
	s.t.Helper()
	log := slices.DeleteFunc(s.server.Log(), func(r simulator.Request) bool {
		return r.Operation == simulator.OperationToken
	})
	require.NotEmpty(s.t, log)
	return log
}

func TestParametersReachTheOperationsThatTakeThem(t *testing.T) {
	t.Parallel()
	// Short pages, so that every paged operation has follow-up pages.
	world := simulator.Options{Seed: 7, SchoolSizes: []int{0, 30, 120}}
	s := newSite(t, world, simulator.ServerOptions{PageSize: 20, ListPageSize: 3})
	summary := s.run(defaults())
	require.Equal(t, pipeline.Published, summary.Outcome)

	followed := make(map[string]bool)
	seen := make(map[string]bool)
	for _, r := range s.asked() {
		dataset, ok := schemas.Find(r.Operation)
		require.True(t, ok, "operation %q", r.Operation)
		seen[r.Operation] = true
		want := slices.Clone(dataset.Operation.Query)
		if dataset.Operation.PinsDate {
			want = append(want, "effective-date")
			require.Equal(t, "2026-11-20", r.Query.Get("effective-date"))
		}
		if r.Query.Has("next-page") {
			want = append(want, "next-page")
			followed[r.Operation] = true
		}
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(r.Query)), r.Operation)
		if r.Operation == "districts" {
			require.True(t, strings.HasSuffix(r.Path, "/districts/"), "4.2 has a trailing slash: %s", r.Path)
		}
	}
	for _, name := range defaults().Datasets {
		require.True(t, seen[name], "%s was requested", name)
	}
	for _, name := range []string{
		"test_results", "academic_years", "student_school_associations", "school_classes", "educator_school_associations",
	} {
		require.True(t, followed[name], "later pages of %s were requested", name)
	}
}

func TestEveryListIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	s.run(defaults())
	times := make(map[string]int)
	perspectives := make(map[string]map[string]bool)
	for _, r := range s.asked() {
		times[r.Path+"?"+r.Query.Encode()]++
		if perspective := r.Query.Get("perspective-bid"); perspective != "" {
			if perspectives[r.School] == nil {
				perspectives[r.School] = make(map[string]bool)
			}
			perspectives[r.School][perspective] = true
		}
	}
	for request, n := range times {
		require.Equal(t, 1, n, request)
	}
	several := 0
	for _, school := range s.world.Schools() {
		expected := map[string]bool{school.DistrictBid: true}
		for _, district := range s.world.Districts() {
			if slices.Contains(district.Schools, school.Bid) {
				expected[district.Bid] = true
			}
		}
		require.Equal(t, expected, perspectives[school.Bid])
		if len(expected) > 1 {
			several++
		}
	}
	require.Positive(t, several, "some schools have two perspectives")
}

func TestOwnPerspective(t *testing.T) {
	t.Parallel()
	s := newSite(t, small(), simulator.ServerOptions{})
	settings := defaults()
	settings.Perspectives = pipeline.OwnPerspective
	s.run(settings)
	s.requireOracle(settings, oracle.Options{OwnPerspective: true})
}

func TestPlanTellsTheRequests(t *testing.T) {
	t.Parallel()
	for _, partition := range []string{snapshot.NotPartitioned, snapshot.ByDistrict} {
		t.Run(partition, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, small(), simulator.ServerOptions{})
			settings := defaults()
			settings.PartitionBy = partition
			all, err := pipeline.Plan(t.Context(), s.deps(nil), settings, nil, 0)
			require.NoError(t, err)
			estimate := all.Runs[0]
			require.NoDirExists(t, s.dest)
			for _, r := range s.asked() {
				require.Contains(t, []string{"schools", "districts", "district_schools"}, r.Operation)
			}

			s.server.ResetLog()
			summary := s.run(settings)
			require.Equal(t, estimate.RunID, summary.RunID)
			count := make(map[string]int)
			for _, r := range s.asked() {
				count[r.Operation]++
			}
			files := 0
			for _, table := range summary.Tables {
				files += table.Files
			}
			require.Equal(t, estimate.Files, files)
			exact := 0
			for _, d := range estimate.Datasets {
				if d.Exact {
					exact++
					require.Equal(t, count[d.Dataset], d.Requests, d.Dataset)
				} else {
					require.LessOrEqual(t, d.Requests, count[d.Dataset], d.Dataset)
					require.Positive(t, d.Requests)
				}
			}
			require.Equal(t, 4, exact, "schools, districts, district_schools, students")
		})
	}
}

func TestLookupsAreFetchedOnlyWhereNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		datasets []string
		want     []string
	}{
		{"results alone", []string{"test_results"}, []string{"schools", "test_results"}},
		{"lookups alone", []string{"district_schools"}, []string{"district_schools", "districts", "schools"}},
		{
			"enrollment",
			[]string{"academic_years"},
			[]string{"academic_years", "district_schools", "districts", "schools"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, small(), simulator.ServerOptions{})
			settings := defaults()
			settings.Datasets = c.datasets
			s.run(settings)
			seen := make(map[string]bool)
			for _, r := range s.asked() {
				seen[r.Operation] = true
			}
			require.Equal(t, c.want, slices.Sorted(maps.Keys(seen)))
			s.requireOracle(settings, oracle.Options{})
		})
	}
}
