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

// MinCleanAge is the minimum age of a dead run on a store without locks, where only the lack of a heartbeat shows that
// no process is working on the run.
const MinCleanAge = 15 * time.Minute

// Clean removes the leftovers of dead runs and of other killed processes, and returns the ids of these runs, and of the
// histories that killed folds have staged files for. The id of a run without a plan is escaped as in paths. A run is
// dead if no process holds it and it is published or replaced. A run without a plan, or in the state staging, is also
// dead if no process holds it and it has made no progress for longer than age. A run that was staging is removed with
// its documents, unless some of them cannot be read or its manifest was lost: it can be started again from the
// beginning, but not resumed. Clean never touches runs that are staged, held or being published.
func Clean(ctx context.Context, catalog snapshot.Catalog, now time.Time, age time.Duration) ([]string, error) {
	if err := catalog.Check(ctx); err != nil {
		return nil, err
	}
	if !catalog.Info().Locks {
		age = max(age, MinCleanAge)
	}
	// List staged files first, so that runs that begin later are not among them.
	staged, err := catalog.AllStaged(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := catalog.Runs(ctx)
	if err != nil {
		return nil, err
	}
	states := make(map[string]*snapshot.RunState, len(runs))
	for i := range runs {
		name := sink.Escape(runs[i].RunID)
		states[name] = &runs[i]
		if _, found := staged[name]; !found && (runs[i].Resumable || removable(&runs[i])) {
			staged[name] = time.Time{}
		}
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

// dead reports whether a run is dead, judging by its documents and staged files. The state of a run with neither a plan
// nor a manifest is nil.
func dead(state *snapshot.RunState, staged, now time.Time, age time.Duration) bool {
	switch {
	case state == nil:
		return now.Sub(staged) > age // its plan may not be written yet
	case state.State == snapshot.StatePublished, state.State == snapshot.StateReplaced:
		return true
	}
	return state.State == snapshot.StateStaging && now.Sub(state.LastProgress) > age
}

// hold locks out the processes that may still need the staged files, until release is called. If the run has no state,
// the files may belong to the history.
func hold(ctx context.Context, catalog snapshot.Catalog, run string, state *snapshot.RunState) (release func() error, err error) {
	if state == nil && snapshot.IsHistoryID(run) {
		return catalog.HoldHistory(ctx)
	}
	return catalog.HoldRunExclusive(ctx, run)
}

// removable reports whether a dead run is removed together with its documents. A run keeps its documents if not all of
// them can be read or if it has lost its manifest.
func removable(state *snapshot.RunState) bool {
	return state.State == snapshot.StateStaging && len(state.Problems) == 0 && !state.ManifestMissing
}

// cleanRun removes the staged files of a run and, if the run was staging, the run itself or, if its documents have to
// be kept, only its checkpoints and heartbeat. done is false if a process holds the run.
func cleanRun(ctx context.Context, catalog snapshot.Catalog, run string, state *snapshot.RunState) (done bool, err error) {
	release, err := hold(ctx, catalog, run, state)
	if errors.Is(err, sink.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if state != nil && removable(state) {
		return true, catalog.DropUnpublished(ctx, run)
	}
	if state != nil && state.State == snapshot.StateStaging {
		if err := errors.Join(catalog.DropCheckpoints(ctx, run), catalog.RemoveHeartbeat(ctx, run)); err != nil {
			return false, err
		}
	}
	return true, catalog.Sweep(ctx, run)
}
