package maintenance_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeFailingOperation makes one store operation fail in each of many dry runs and purges: the first operation
// from each place in the code (a quarter of these with -short), or every operation if -kills is -1. The purge reports
// the failure, or has exactly the same result as an undisturbed one.
func TestPurgeFailingOperation(t *testing.T) {
	t.Parallel()
	nights := func(t *testing.T, store sink.Store) {
		t.Helper()
		historySite(t, store, snapshottest.Datasets("schools", "test_results"))
		snapshottest.StageWorld(t, store, "staged", snapshottest.PurgeWorld(), snapshottest.Datasets("schools"), snapshottest.Planned(time.Hour))
		_, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.WorldPlan("only-planned"))
		require.NoError(t, err)
	}
	type failing struct {
		setUp   func(t *testing.T, store sink.Store)
		options maintenance.PurgeOptions
	}
	ended := purgeOptions(nil, nil)
	ended.EndedForDays = 60
	unknown := purgeOptions([]string{snapshottest.Gone, "unknown"}, nil)
	unknown.AllowUnknown = true
	tests := map[string]failing{
		"schools":   {nights, unknown},
		"districts": {nights, purgeOptions(nil, []string{snapshottest.GoneDistrict})},
		"districts of pruned snapshots": {func(t *testing.T, store sink.Store) {
			t.Helper()
			nights(t, store)
			require.NoError(t, pruneTo(1)(t.Context(), store))
		}, purgeOptions(nil, []string{snapshottest.GoneDistrict})},
		"ended schools": {func(t *testing.T, store sink.Store) {
			t.Helper()
			endedSite(t, store, true)
		}, ended},
	}
	for name, options := range listedPurges(t) {
		tests[name] = failing{studentNights, options}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			test.setUp(t, snapshottest.NewDir(t, start))
			for _, test.options.DryRun = range []bool{true, false} {
				failEach(t, start, test.options)
			}
		})
	}
}

// failEach repeats a purge and makes a different one of its operations fail each time.
func failEach(t *testing.T, start string, options maintenance.PurgeOptions) {
	t.Helper()
	purge := func(failing int64, before func()) (report *maintenance.PurgeReport, tree map[string]string, err error) {
		root := start
		if !options.DryRun {
			root = snapshottest.CopyTree(t, start)
			defer func() { require.NoError(t, os.RemoveAll(root)) }()
		}
		store := &snapshottest.Mortal{Store: snapshottest.NewDir(t, root), FailsOnce: true, Wait: before}
		store.Left.Store(failing)
		report, err = maintenance.Purge(t.Context(), snapshot.At(store), options)
		if documents, _ := filepath.Glob(filepath.Join(root, "_purges", "*.json")); !options.DryRun {
			list := filepath.Join(root, filepath.FromSlash(snapshot.SuppressedPath))
			require.NotEqual(t, []string{list}, documents, "students are on the list, but nothing says that a purge has begun")
		}
		if err == nil {
			tree = snapshottest.Tree(t, root)
			maps.DeleteFunc(tree, func(path, _ string) bool { return path[len(path)-1] == '/' }) // empty folders
		}
		return report, tree, err
	}
	var mu sync.Mutex
	var first []int64 // the first operation from each place
	operations, places := int64(0), make(map[string]bool)
	want, tree, err := purge(1<<40, func() {
		place := callers()
		mu.Lock()
		defer mu.Unlock()
		if !places[place] || *kills < 0 {
			first = append(first, operations)
		}
		places[place] = true
		operations++
	})
	require.NoError(t, err)
	require.Greater(t, len(first), 10)
	for i, n := range first {
		if testing.Short() && i%4 > 0 {
			continue
		}
		report, left, err := purge(n, nil)
		when := fmt.Sprintf("operation %d of %d, dry run %v", n, operations, options.DryRun)
		if err == nil {
			require.Equal(t, want, report, when)
			require.Equal(t, tree, left, when)
			continue
		}
		require.ErrorIs(t, err, snapshottest.ErrKilled, when)
	}
}

// callers returns the stack of its callers, as far as they are in the code of purges.
func callers() string {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters[:])])
	var place strings.Builder
	for {
		frame, more := frames.Next()
		for _, of := range []string{"/internal/maintenance.", "/internal/history.", "/internal/erase.", "/internal/snapshot."} {
			if strings.Contains(frame.Function, of) {
				fmt.Fprintf(&place, "%s:%d ", frame.Function, frame.Line)
			}
		}
		if !more {
			return place.String()
		}
	}
}
