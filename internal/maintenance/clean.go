package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// Clean drops what dead runs and other killed processes have left, and returns these runs by their names in paths. A run is dead if no
// process holds it and it is published or replaced, or has given no sign of life for longer than age while it was
// staging or had no plan: it can be started over but not resumed. Runs that are staged, held or being published are
// never touched.
func Clean(ctx context.Context, catalog snapshot.Catalog, now time.Time, age time.Duration) ([]string, error) {
	if err := catalog.Check(ctx); err != nil {
		return nil, err
	}
	// List staged files first, so that runs that begin later are not among them.
	staged, err := catalog.Staged(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := catalog.Runs(ctx)
	if err != nil {
		return nil, err
	}
	states := make(map[string]*snapshot.RunState, len(runs))
	for i := range runs {
		states[sink.Escape(runs[i].RunID)] = &runs[i]
	}
	var cleaned []string
	for _, name := range slices.Sorted(maps.Keys(staged)) {
		state, run := states[name], name
		if state != nil {
			run = state.RunID
		}
		if !dead(state, staged[name], now, age) {
			continue
		}
		done, err := cleanRun(ctx, catalog, run, state)
		if err != nil {
			return cleaned, fmt.Errorf("clean run %s: %w", run, err)
		}
		if done {
			cleaned = append(cleaned, run)
		}
	}
	return cleaned, nil
}

// dead reports whether a run is dead, judging by its documents and staged files. It has no state if it has no plan.
func dead(state *snapshot.RunState, staged, now time.Time, age time.Duration) bool {
	switch {
	case state == nil:
		return now.Sub(staged) > age // its plan may be on its way
	case state.State == snapshot.StatePublished, state.State == snapshot.StateReplaced:
		return true
	}
	return state.State == snapshot.StateStaging && now.Sub(state.LastProgress) > age
}

// hold locks out the processes that may still need what was staged. Without a state it may be staged for the history.
func hold(ctx context.Context, catalog snapshot.Catalog, run string, state *snapshot.RunState) (release func() error, err error) {
	if state == nil && snapshot.IsHistoryID(run) {
		return catalog.Lock(ctx, snapshot.HistoryLock, sink.Exclusive, 0)
	}
	return catalog.HoldRunExclusive(ctx, run)
}

// cleanRun drops what a run has staged, and its checkpoints if it was staging, unless a process holds the run.
func cleanRun(ctx context.Context, catalog snapshot.Catalog, run string, state *snapshot.RunState) (done bool, err error) {
	release, err := hold(ctx, catalog, run, state)
	if errors.Is(err, sink.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if state != nil && state.State == snapshot.StateStaging {
		if err := errors.Join(catalog.DropCheckpoints(ctx, run), catalog.Remove(ctx, snapshot.AlivePath(run))); err != nil {
			return false, err
		}
	}
	return true, catalog.Sweep(ctx, run)
}
