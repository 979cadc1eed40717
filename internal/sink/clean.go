package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Clean drops what dead runs have left staged, and returns these runs as they
// stand in paths. Dead is a run that is published or replaced, one that has no
// plan, and one that was killed while staging and has made no progress for
// longer than age: it can be begun anew, but not be resumed. Runs that are
// staged, held or being published are never touched.
func Clean(ctx context.Context, store Store, now time.Time, age time.Duration) ([]string, error) {
	// What is staged is read first: a run that begins meanwhile is not in it.
	staged, err := store.Staged(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := Runs(ctx, store)
	if err != nil {
		return nil, err
	}
	states := make(map[string]*RunState, len(runs))
	for i := range runs {
		states[Escape(runs[i].RunID)] = &runs[i]
	}
	var cleaned []string
	for _, name := range slices.Sorted(maps.Keys(staged)) {
		state, run := states[name], name
		switch {
		case state == nil:
			if now.Sub(staged[name]) <= age {
				continue // its plan may be on its way
			}
		case state.State == StatePublished || state.State == StateReplaced:
			run = state.RunID
		case state.State == StateStaging && now.Sub(state.LastProgress) > age:
			run = state.RunID
			if err := Forget(ctx, store, run); err != nil {
				return cleaned, fmt.Errorf("clean run %s: %w", run, err)
			}
		default:
			continue
		}
		if err := store.Sweep(ctx, run); err != nil {
			return cleaned, fmt.Errorf("clean run %s: %w", run, err)
		}
		cleaned = append(cleaned, run)
	}
	return cleaned, nil
}

// Forget drops what a run has journalled, so that the same command asks for all
// of it again.
func Forget(ctx context.Context, store Store, run string) error {
	journals, err := ReadJournals(ctx, store, run)
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range journals {
		// The journal goes first: without it nothing vouches for the files.
		errs = append(errs, store.Remove(ctx, JournalPath(run, j.Bucket, j.Dataset)))
		for _, file := range j.Files {
			errs = append(errs, store.Abort(ctx, run, file))
		}
	}
	return errors.Join(errs...)
}
