package pipeline

import (
	"context"
	"fmt"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// stuckRuns are interrupted publishings that cannot be finished.
type stuckRuns []*snapshot.StuckError

// finishPublishing finishes interrupted publishings and returns their runs. The
// ones that cannot be finished are logged and returned too: they block only
// runs of their own date.
func finishPublishing(ctx context.Context, deps *Deps) (finished []string, stuck stuckRuns, err error) {
	recovered, err := deps.Catalog.Recover(ctx)
	finished, stuck = recovered.Published, recovered.Stuck
	if err != nil {
		return finished, stuck, fmt.Errorf("finish an interrupted command: %w", err)
	}
	for _, run := range finished {
		deps.writeReports(ctx, run, ending{})
	}
	for _, change := range recovered.Pruned {
		deps.Logger.InfoContext(ctx, "an interrupted prune was finished: the run is removed", "run", change.RunID)
	}
	for _, s := range stuck {
		log := deps.Logger.With("run", s.Run, "error", s.Err)
		switch {
		case s.Published:
			log.WarnContext(ctx, "a change of a published run is not finished: the next command tries again")
		case s.Undone:
			log.WarnContext(ctx, "an interrupted publish was undone: run it again")
		default:
			log.WarnContext(ctx, "an interrupted publish cannot be finished")
		}
	}
	return finished, stuck, nil
}

// keepAlive writes signs of life of a run during work.
func (d *Deps) keepAlive(ctx context.Context, run string, work func(ctx context.Context) error) error {
	stop := d.Catalog.KeepAlive(ctx, run, func(err error) {
		d.Logger.DebugContext(ctx, "the sign of life of the run cannot be written or removed", "run", run, "error", err)
	})
	defer stop()
	return work(ctx)
}

// of returns the stuck publishing of a run; nil if there is none.
func (st stuckRuns) of(run string) *snapshot.StuckError {
	for _, s := range st {
		if s.Run == run {
			return s
		}
	}
	return nil
}

// without returns the stuck publishings of other runs.
func (st stuckRuns) without(run string) stuckRuns {
	return slices.DeleteFunc(slices.Clone(st), func(s *snapshot.StuckError) bool { return s.Run == run })
}

// checkNotBlocked returns why a run cannot be published before a stuck one is
// finished or abandoned; nil if it can.
func (st stuckRuns) checkNotBlocked(deps *Deps, run string, kind snapshot.Kind, date string) error {
	for _, s := range st {
		own := s.Run == run && !s.Published && !s.Undone
		if own || s.Blocks(kind, date) {
			return fmt.Errorf("%w: remove the cause and try again, or give that run up with: "+
				"growth-export publish --dest %s --run-id %s --abandon", s, wording.ShellWord(deps.Catalog.String()), s.Run)
		}
	}
	return nil
}
