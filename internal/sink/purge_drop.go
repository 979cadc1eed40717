package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// RunLock is the name of the lock that a process holds while it works on its
// shard of a run.
func RunLock(run string, shard, shards int) string {
	return fmt.Sprintf("run %s, shard %d of %d", run, shard, shards)
}

// mostShards is up to how many processes a run is looked for in, whatever its
// plan says: any number may share in what is left of a run.
const mostShards = 6

// refuseBusy is a *RefusedError if a process is at work on a run that is to be
// dropped, before anything is changed. One that begins later finds nothing of
// what it is to publish and says so; on a store without locks nobody can tell.
func (p *purging) refuseBusy(ctx context.Context) error {
	for _, folder := range slices.Sorted(maps.Keys(p.unfinished)) {
		plan := p.plans[folder]
		if plan == nil {
			continue
		}
		for shards := 1; shards <= max(plan.Shards, mostShards); shards++ {
			if shards > mostShards {
				shards = plan.Shards
			}
			for shard := range shards {
				unlock, err := p.store.Lock(ctx, RunLock(plan.RunID, shard, shards), false)
				if errors.Is(err, ErrLocked) {
					err = &RefusedError{Reason: fmt.Sprintf(
						"run %s is at work and may hold what is to be purged: let it end or stop it, then purge", plan.RunID)}
				}
				if err == nil {
					err = unlock()
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
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
