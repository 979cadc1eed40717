package main

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// What doctor tries at a destination it tries in the name of a run, which says
// when that was: an interrupted doctor clears away what it made, and one that was
// killed leaves it to the next.
const (
	trialFolder  = "_doctor/" // no table's folder, and gone when it is empty
	trialPrefix  = "doctor-"
	trialTime    = "20060102T150405Z"
	trialLongest = 10 * time.Minute // no trial is of use for longer
)

func trialRun(now time.Time) string {
	return trialPrefix + now.UTC().Format(trialTime) + "-" + rand.Text()
}

// trialPaths are those of the file and of the document that are tried. The
// file's is of the form that tells the store of whose run it is.
func trialPaths(run string) (file, document string) {
	return trialFolder + "part-0000-" + run + ".parquet", trialFolder + run + ".json"
}

// isOver tells whether a name holds that of a trial that nobody works on.
func isOver(name string, now time.Time) bool {
	_, rest, found := strings.Cut(name, trialPrefix)
	stamp, _, cut := strings.Cut(rest, "-")
	began, err := time.Parse(trialTime, stamp)
	return found && cut && err == nil && now.Sub(began) > trialLongest
}

// clearTrials removes what killed doctors have left. What cannot be removed now
// is left to the next one.
func clearTrials(ctx context.Context, store sink.Store, now time.Time) {
	var left []string
	for entry, err := range store.List(ctx, trialFolder) {
		if err != nil {
			return
		}
		if isOver(entry.Path, now) {
			left = append(left, entry.Path)
		}
	}
	for _, path := range left {
		_ = store.Remove(ctx, path)
	}
	staged, err := store.Staged(ctx)
	if err != nil {
		return
	}
	for run := range staged {
		if strings.HasPrefix(run, trialPrefix) && isOver(run, now) {
			_ = store.Sweep(ctx, run)
		}
	}
}
