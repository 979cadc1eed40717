package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
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

// Forget drops what the checkpoints of a run say is staged, and then the
// checkpoints, so that the same command fetches all of it again. The files go
// first: on a store that cannot list what is staged nothing else names them.
func Forget(ctx context.Context, store Store, run string) error {
	journals, err := ReadJournals(ctx, store, run)
	if err != nil {
		return err
	}
	var paths []string
	var files []File
	for _, j := range journals {
		paths = append(paths, JournalPath(run, j.Bucket, j.Dataset))
		files = slices.AppendSeq(files, maps.Values(j.Files))
	}
	if err := abortAll(ctx, store, run, files); err != nil {
		return err
	}
	return removeAll(ctx, store, paths)
}

// abortAll drops staged files. One whose checkpoint is damaged has no name to
// drop it by and is left to Sweep.
func abortAll(ctx context.Context, store Store, run string, files []File) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(storeConcurrency)
	for _, file := range files {
		if file.Staged == nil {
			continue
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := store.Abort(ctx, run, file); !errors.Is(err, ErrDamaged) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}
