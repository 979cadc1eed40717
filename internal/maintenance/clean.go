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

// MinCleanAge is the minimum time without progress after which a run counts as dead on a store without locks. On such a
// store, only the lack of a heartbeat shows that no process is working on the run.
const MinCleanAge = 15 * time.Minute

// Clean removes the leftovers of dead runs and of killed folds. It returns the ids of these runs, and of the histories
// for which the folds staged files. The id of a run without a plan is escaped as in paths. A run is dead if no process
// holds it and it is published or replaced. A run without a plan, or in the state staging, is also dead if no process
// holds it and it has made no progress for longer than age. A run in the state staging is removed with its documents,
// unless some of the documents cannot be read or its manifest was lost. Such a run can then be started again from the
// beginning, but not resumed. Clean never touches runs that are staged, held or being published.
func Clean(ctx context.Context, catalog snapshot.Catalog, now time.Time, age time.Duration) ([]string, error) {
	if err := catalog.Check(ctx); err != nil {
		return nil, err
	}
	if !catalog.Info().Locks {
		age = max(age, MinCleanAge)
	}
	// List staged files before runs, so that the list contains no files of runs that begin later.
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

// dead reports whether a run is dead according to its documents and staged files. It does not check whether a process
// holds the run. The state is nil if the run has neither a plan nor a manifest.
func dead(state *snapshot.RunState, staged, now time.Time, age time.Duration) bool {
	switch {
	case state == nil:
		return now.Sub(staged) > age // a younger run may not have written its plan yet
	case state.State == snapshot.StatePublished, state.State == snapshot.StateReplaced:
		return true
	}
	return state.State == snapshot.StateStaging && now.Sub(state.LastProgress) > age
}

// hold takes the lock that excludes the processes that may still need the staged files, until release is called. If
// state is nil, the files may belong to the history.
func hold(ctx context.Context, catalog snapshot.Catalog, run string, state *snapshot.RunState) (release func() error, err error) {
	if state == nil && snapshot.IsHistoryID(run) {
		return catalog.HoldHistory(ctx)
	}
	return catalog.HoldRunExclusive(ctx, run)
}

// removable reports whether a dead run is removed together with its documents. The documents are kept if some of them
// cannot be read or if the manifest was lost.
func removable(state *snapshot.RunState) bool {
	return state.State == snapshot.StateStaging && len(state.Problems) == 0 && !state.ManifestMissing
}

// cleanRun removes the staged files of a run. If the run was staging, it also removes the run's documents, or only its
// checkpoints and heartbeat if the documents have to be kept. It returns false if a process holds the run.
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
