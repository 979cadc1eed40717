package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
)

// TestServiceThatTakesFour checks that a run that may have 32 requests in flight discovers that the service accepts
// four, and that few requests are wasted in the process.
func TestServiceThatTakesFour(t *testing.T) {
	t.Parallel()
	sizes := make([]int, 240)
	for i := range sizes {
		sizes[i] = 1 + i%4
	}
	run := func(concurrency int) (*site, time.Duration) {
		s := newSite(t, simulator.Options{Seed: 4, SchoolSizes: sizes}, simulator.ServerOptions{
			Latency: 20 * time.Millisecond,
			Faults:  []simulator.Fault{{Kind: simulator.FaultStatus, Status: 429, Above: 4}},
		})
		settings := defaults()
		settings.Datasets, settings.Concurrency, settings.SchoolsPerFile = []string{"students", "test_results"}, concurrency, 120
		began := time.Now()
		summary, err := pipeline.Run(t.Context(), s.deps(func(o *extract.Options) { o.Concurrency = concurrency }), settings)
		require.NoError(t, err)
		require.Equal(t, pipeline.Published, summary.Outcome)
		return s, time.Since(began)
	}
	s, took := run(32)
	refused, all := 0, 0
	for _, r := range s.asked() {
		all++
		if r.Status == 429 {
			refused++
		}
	}
	require.Positive(t, refused)
	require.Less(t, refused*10, all, "less than a tenth of the requests are wasted")
	_, four := run(4)
	t.Logf("%d of %d requests rejected; took %s, with a limit of four %s", refused, all, took, four)
}
