package pipeline_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
)

// TestLargeSchoolsAreMerged reads schools whose rows do not fit in memory: files, drift and checks are the same as with
// enough memory.
func TestLargeSchoolsAreMerged(t *testing.T) {
	t.Parallel()
	quirky := few()
	quirky.Quirks = odd.New()
	worlds := map[string]simulator.Options{"plain": {Seed: 12, SchoolSizes: []int{0, 1, 300, 700}}}
	if !testing.Short() {
		worlds["quirks"], worlds["broken rules"] = quirky, broken(simulator.Rules()...)
	}
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pages := simulator.ServerOptions{PageSize: 60, ListPageSize: 9}
			settings := defaults()
			if name == "quirks" {
				settings = everything()
				settings.MaxFailedSchools = len(world.SchoolSizes)
			}
			quiet := newSite(t, world, pages)
			want := quiet.run(settings)
			require.Equal(t, pipeline.Published, want.Outcome)

			for _, bytes := range []int{10_000, 1} {
				s := newSite(t, world, pages)
				s.server.SetFaults(simulator.TransientFaults(0.03, 50*time.Millisecond))
				settings.SetMaxHeldBytes(bytes)
				settings.Scratch = t.TempDir()
				got := s.run(settings)
				require.Equal(t, quiet.hashes(), s.hashes(), bytes)
				require.Equal(t, want.Drift, got.Drift)
				require.Equal(t, want.Checks, got.Checks)
				left, err := os.ReadDir(settings.Scratch)
				require.NoError(t, err)
				require.Empty(t, left)
			}
			s := newSite(t, world, pages)
			settings.Scratch = "no such folder"
			_, err := pipeline.Run(t.Context(), s.deps(nil), settings)
			require.ErrorContains(t, err, "--scratch", "the rows were really written to scratch files")
			require.Empty(t, s.visible())
		})
	}
}
