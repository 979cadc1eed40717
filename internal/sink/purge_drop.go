package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// holdUnfinished holds the runs that are to be dropped exclusively. It fails with
// a *RefusedError before anything is changed while a process works on one of
// them. On a store without locks nothing can tell.
func (p *purging) holdUnfinished(ctx context.Context) (release func() error, err error) {
	var releases []func() error
	release = func() error {
		var errs []error
		for _, release := range releases {
			errs = append(errs, release())
		}
		return errors.Join(errs...)
	}
	for _, folder := range slices.Sorted(maps.Keys(p.unfinished)) {
		unlock, err := HoldRunExclusive(ctx, p.store, p.unfinished[folder])
		if locked, held := errors.AsType[*LockedError](err); held {
			err = &RefusedError{Reason: fmt.Sprintf(
				"run %s is at work (%v) and may hold what is to be purged: let it end or stop it, then purge", p.unfinished[folder], locked)}
		}
		if err != nil {
			return nil, errors.Join(err, release())
		}
		releases = append(releases, unlock)
	}
	return release, nil
}

// dropUnfinished drops the runs that are not published, the plan last: the same
// command then plans anew. What dead runs have left staged goes too.
func (p *purging) dropUnfinished(ctx context.Context) error {
	for _, folder := range slices.Sorted(maps.Keys(p.unfinished)) {
		run := p.unfinished[folder]
		if err := Forget(ctx, p.store, run); err != nil {
			return fmt.Errorf("drop run %s: %w", run, err)
		}
		documents, err := list(ctx, p.store, runsPrefix+folder+"/")
		if err != nil {
			return err
		}
		plan := inRun(folder, planName)
		var paths []string
		for _, entry := range documents {
			if entry.Path != plan {
				paths = append(paths, entry.Path)
			}
		}
		err = removeAll(ctx, p.store, paths)
		if err == nil {
			err = p.store.Sweep(ctx, run)
		}
		if err == nil {
			err = p.store.Remove(ctx, plan)
		}
		if err != nil {
			return fmt.Errorf("drop run %s: %w", run, err)
		}
		if !slices.Contains(p.report.DroppedRuns, run) {
			p.report.DroppedRuns = append(p.report.DroppedRuns, run)
			slices.Sort(p.report.DroppedRuns)
		}
	}
	staged, err := p.store.Staged(ctx)
	if err != nil {
		return err
	}
	for folder := range staged {
		if _, _, err := p.store.Read(ctx, inRun(folder, intentName)); errors.Is(err, ErrNotFound) {
			if err := p.store.Sweep(ctx, folder); err != nil {
				return err
			}
		}
	}
	return nil
}
