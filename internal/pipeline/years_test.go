package pipeline_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/schemas"
)

// yearStep is the number of days between exported nights of two school years. If it is 0, only a few nights are
// exported, among them one on which a school year begins.
var yearStep = flag.Int("year-step", 0, "export two school years, every so many nights")

// TestSchoolYears exports all datasets of ordinary nights with the default limits. No night is held.
func TestSchoolYears(t *testing.T) {
	t.Parallel()
	first, last, step, sizes := "2024-08-05", "2024-08-10", 1, []int{1} // all students of a district rise to the next grade
	if *yearStep > 0 {
		first, last, step, sizes = "2024-07-01", "2026-07-01", *yearStep, []int{1, 5, 50}
	}
	for _, districts := range sizes {
		t.Run(fmt.Sprintf("%d districts", districts), func(t *testing.T) {
			t.Parallel()
			world := simulator.Options{Districts: districts, Schools: 3 + 2*districts, Results: 1000 * districts, SchoolSizes: []int{0, 1, 60}}
			world.Results = min(world.Results, 15_000) // many small districts, in which percentages change the most
			y := newYears(t, world)
			held, warned, compared := 0, 0, 0
			until := y.on(last)
			for y.day = y.on(first); !y.day.After(until); y.day = y.day.AddDate(0, 0, step) {
				summary := y.export()
				if summary.Outcome == pipeline.HeldBack {
					held++
					t.Errorf("%s is held: %q", summary.SnapshotDate, summary.Held)
				}
				if summary.Comparison != nil {
					compared++
					if len(summary.Comparison.Warnings) > 0 {
						warned++
						t.Logf("%s: %q", summary.SnapshotDate, summary.Comparison.Warnings)
					}
				}
			}
			require.Positive(t, compared)
			t.Logf("%d nights compared, %d held, %d with warnings", compared, held, warned)
		})
	}
}

// years is a site with another simulated service on each day.
type years struct {
	*site

	world simulator.Options
	day   time.Time
	now   atomic.Pointer[simulator.Server]
}

func newYears(t *testing.T, world simulator.Options) *years {
	t.Helper()
	y := &years{site: newSite(t, world, simulator.ServerOptions{}), world: world}
	y.now.Store(y.server)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { y.now.Load().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + y.server.BasePath())
	require.NoError(t, err)
	y.url = base
	return y
}

func (y *years) on(date string) time.Time {
	y.t.Helper()
	day, err := time.Parse(time.DateOnly, date)
	require.NoError(y.t, err)
	return day.Add(3 * time.Hour)
}

// export takes the snapshot of the day, and keeps it and the one before. A snapshot that is held is published anyway.
func (y *years) export() *pipeline.Summary {
	y.t.Helper()
	world := y.world
	world.AsOf = y.day
	y.now.Store(simulator.New(simulator.NewWorld(world), simulator.ServerOptions{}))
	settings := compared()
	settings.SchoolsPerFile, settings.Datasets = 40, nil
	for _, dataset := range schemas.Datasets() {
		settings.Datasets = append(settings.Datasets, dataset.Name)
	}
	deps := y.deps(nil)
	deps.Now = func() time.Time { return y.day }
	summary, err := pipeline.Run(y.t.Context(), deps, settings)
	require.NoError(y.t, err)
	if summary.Outcome == pipeline.HeldBack {
		_, err = pipeline.Publish(y.t.Context(), deps, pipeline.PublishSettings{RunID: summary.RunID, AcceptHeld: true})
		require.NoError(y.t, err)
	}
	_, err = maintenance.Prune(y.t.Context(), deps.Catalog, maintenance.PruneOptions{Keep: 2, Now: deps.Now})
	require.NoError(y.t, err)
	return summary
}
