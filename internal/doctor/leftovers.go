package doctor

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// All files that doctor writes at a destination belong to a probe run. The id of the run contains its start time, so
// that a later doctor command can remove the leftovers of one that was killed.
const (
	folder     = "_doctor/" // never the folder of a table; removed when it is empty
	runPrefix  = "doctor-"
	timeFormat = "20060102T150405Z"
	// maxAge is longer than any doctor command runs.
	maxAge = 10 * time.Minute
)

func newRun(now time.Time) string {
	return runPrefix + now.UTC().Format(timeFormat) + "-" + rand.Text()
}

// probePaths returns the paths of the data file and of the document of a probe run. The store derives the run from the
// name of the data file.
func probePaths(run string) (file, document string) {
	return folder + sink.PartName(0, run), folder + run + ".json"
}

// isStale reports whether a name contains the id of a probe run that is too old for a process to be working on it.
func isStale(name string, now time.Time) bool {
	_, rest, found := strings.Cut(name, runPrefix)
	stamp, _, cut := strings.Cut(rest, "-")
	began, err := time.Parse(timeFormat, stamp)
	return found && cut && err == nil && now.Sub(began) > maxAge
}

// removeStale removes the leftovers of doctor commands that were killed. Errors are ignored because the next doctor
// command tries again.
func removeStale(ctx context.Context, store sink.Store, now time.Time) {
	removeStaleFiles(ctx, store, now)
	staged, err := store.Staged(ctx)
	if err != nil {
		return
	}
	for run := range staged {
		if strings.HasPrefix(run, runPrefix) && isStale(run, now) {
			_ = store.Sweep(ctx, run)
		}
	}
}

func removeStaleFiles(ctx context.Context, store sink.Store, now time.Time) {
	var stale []string
	for entry, err := range store.List(ctx, folder) {
		if err != nil {
			return
		}
		if isStale(entry.Path, now) {
			stale = append(stale, entry.Path)
		}
	}
	for _, path := range stale {
		_ = store.Remove(ctx, path)
	}
}
