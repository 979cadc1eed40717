package pipeline_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// weigher measures the heap when an early checkpoint is written and when late ones are written. Of the late ones, the
// smallest heap counts.
type weigher struct {
	sink.Store
	mu          sync.Mutex
	journals    int
	early, late uint64
}

func (w *weigher) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if strings.Contains(path, "/journal/") {
		w.mu.Lock()
		w.journals++
		switch n := w.journals; {
		case n == 40:
			w.early = heap()
		case n == 290:
			w.late = heap()
		case n > 290 && n <= 300: // other schools may be in memory at one of these moments, but not at all of them
			w.late = min(w.late, heap())
		}
		w.mu.Unlock()
	}
	return w.Store.Write(ctx, path, data, when)
}

func heap() uint64 {
	// The second collection frees pooled writers, of which a busy machine has more.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestStagedUnitsLetGo checks that the memory of a run does not grow with the number of staged tasks.
func TestStagedUnitsLetGo(t *testing.T) { //nolint:paralleltest // it weighs the heap, which parallel tests share
	skipWithRaceDetector(t)
	sizes := make([]int, 160)
	for i := range sizes {
		sizes[i] = i % 3
	}
	s := newSite(t, simulator.Options{Seed: 2, SchoolSizes: sizes}, simulator.ServerOptions{LogLimit: 1})
	settings := defaults()
	settings.Datasets, settings.SchoolsPerFile = []string{"students", "test_results"}, 1
	deps := s.deps(nil)
	weigher := &weigher{Store: deps.Catalog.Store()}
	deps.Catalog = snapshot.At(weigher)
	_, err := pipeline.Run(t.Context(), deps, settings)
	require.NoError(t, err)
	require.NotZero(t, weigher.late)
	grown := int64(weigher.late) - int64(weigher.early)
	require.Less(t, grown, int64(8<<20), "260 more tasks are staged, with two files each on average")
}
