package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// lockRuns locks runs until the purge ends, so that no process stages or publishes anything for them. It fails with a
// *RefusedError while a process is working on one of them. On a store without locks, it relies on the heartbeats of the
// runs, and cannot exclude other processes; see notReached.
func (p *purger) lockRuns(ctx context.Context, runs []string) error {
	for _, run := range runs {
		if p.held[run] == nil {
			release, err := p.catalog.HoldRunExclusive(ctx, run)
			if locked, held := errors.AsType[*sink.LockedError](err); held {
				err = &snapshot.RefusedError{Reason: fmt.Sprintf(
					"run %s is %v: wait for that process to end or stop it, then purge again", run, locked)}
			}
			if err != nil {
				return err
			}
			p.held[run] = release
		}
		if !p.locks { // On a store without locks, holding the run does not exclude other processes.
			if err := p.refuseActive(ctx, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseWorking fails with a *RefusedError while a process is working on any run at the destination, even a run without
// rows to purge, because the process may have fetched rows that it stages after the purge has searched the run. Runs
// that are not published remain locked until the purge ends. On a store without locks, refuseWorking relies on the
// heartbeats of the runs.
func (p *purger) refuseWorking(ctx context.Context) error {
	for folder, plan := range p.plans {
		run := plan.RunID
		if !p.locks && !p.alive[folder] {
			continue
		}
		if err := p.lockRuns(ctx, []string{run}); err != nil {
			return err
		}
		if p.all[run] == nil {
			continue
		}
		release := p.held[run]
		delete(p.held, run)
		if err := release(); err != nil {
			return err
		}
	}
	return nil
}

// refuseActive returns a *RefusedError if a run has a recent heartbeat.
func (p *purger) refuseActive(ctx context.Context, run string) error {
	sign, err := snapshot.ReadIfSound[snapshot.Heartbeat](ctx, p.catalog, snapshot.AlivePath(run))
	if sign == nil || err != nil {
		return err
	}
	const dead = 2 * snapshot.HeartbeatInterval
	if p.opts.Now().Sub(sign.WrittenAt) > dead {
		return nil
	}
	return &snapshot.RefusedError{Reason: fmt.Sprintf("process %d on host %s works on run %s, or was killed less than %.0f minutes ago: "+
		"wait for it to end or stop it, then purge again", sign.PID, sign.Host, run, dead.Minutes())}
}

// unlockRuns releases the locks that lockRuns has taken.
func (p *purger) unlockRuns() error {
	var errs []error
	for _, release := range p.held {
		errs = append(errs, release())
	}
	return errors.Join(errs...)
}

// toChange returns the runs that the purge has to drop or rewrite.
func (p *purger) toChange() []string {
	runs := make(erase.Set)
	for _, run := range p.unfinished {
		runs[run] = true
	}
	for _, run := range p.leftovers {
		runs[run] = true
	}
	for run := range p.found {
		runs[run] = true
	}
	return runs.Sorted()
}

// dropUnfinished drops the runs that are not published. It removes the plan of a run last. The next command for the run
// then plans again. dropUnfinished also drops staged files that killed processes left behind.
func (p *purger) dropUnfinished(ctx context.Context) error {
	for _, folder := range slices.Sorted(maps.Keys(p.unfinished)) {
		run := p.unfinished[folder]
		if err := p.dropRun(ctx, folder, run); err != nil {
			return fmt.Errorf("drop run %s: %w", run, err)
		}
		if !slices.Contains(p.report.DroppedRuns, run) {
			p.report.DroppedRuns = append(p.report.DroppedRuns, run)
			slices.Sort(p.report.DroppedRuns)
		}
	}
	return p.sweepLeftovers(ctx)
}

// sweepLeftovers drops staged files that processes of published runs, or killed folds, left behind.
func (p *purger) sweepLeftovers(ctx context.Context) error {
	if err := p.lockRuns(ctx, p.leftovers); err != nil {
		return err
	}
	for _, run := range p.leftovers {
		if err := p.catalog.RemoveStaging(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (p *purger) dropRun(ctx context.Context, folder, run string) error {
	if err := p.catalog.DropCheckpoints(ctx, run); err != nil {
		return err
	}
	// On a store without locks, a process may have begun to publish the run since it was found. The next search then
	// treats the run as published. A process that begins to publish the run from now on no longer finds its staged files.
	if started, err := p.catalog.PublishingStarted(ctx, run); started || err != nil {
		return err
	}
	return p.catalog.RemoveDocuments(ctx, run, snapshot.DocumentPath(folder, ""), snapshot.DocumentPath(folder, snapshot.PlanName))
}
