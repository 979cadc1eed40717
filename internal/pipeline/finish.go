package pipeline

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// stuckRuns are the runs whose interrupted publish, purge or prune could not be finished.
type stuckRuns []*snapshot.StuckError

// of returns the error of a stuck run, or nil if the run is not stuck.
func (st stuckRuns) of(run string) *snapshot.StuckError {
	for _, s := range st {
		if s.Run == run {
			return s
		}
	}
	return nil
}

// checkNotBlocked returns an error if the run cannot be published before a stuck run is finished or abandoned.
func (st stuckRuns) checkNotBlocked(deps *Deps, run string, kind snapshot.Kind, date string) error {
	for _, s := range st {
		own := s.Run == run && !s.Published && !s.Undone
		if own || s.Blocks(kind, date) {
			return fmt.Errorf("%w: fix the cause and try again, or abandon that run with: %s", s, wording.Command("publish",
				wording.Setting("dest"), deps.Catalog, wording.Setting("run-id"), s.Run, wording.Setting("abandon")))
		}
	}
	return nil
}

// adoptPublished handles a run that this process could not finish. If another process has published the run, or started
// to publish it, adoptPublished finishes the publication and returns nil. Otherwise it returns reason. The other
// process publishes only files that were staged when it began, so files that this process staged later are dropped.
func adoptPublished(ctx context.Context, deps *Deps, run string, summary *Summary, reason error) error {
	if ctx.Err() != nil {
		return reason
	}
	if begun, err := deps.Catalog.PublishingStarted(ctx, run); !begun {
		return errors.Join(reason, err)
	}
	recovered, err := deps.Catalog.Recover(ctx)
	if err != nil {
		return errors.Join(reason, err)
	}
	stuck := stuckRuns(recovered.Stuck)
	if s := stuck.of(run); s != nil && !s.Published {
		return errors.Join(reason, s)
	}
	manifest, err := deps.Catalog.ReadManifest(ctx, run)
	if err != nil {
		return errors.Join(reason, err)
	}
	deps.Logger.WarnContext(ctx, "another process published the run: the files staged by this one are dropped", "run", run)
	summary.describePublished(ctx, deps, manifest, stuck)
	return nil
}

// describePublished fills in the summary of a run that is already published. Unless publishing is unfinished, it also
// removes leftover staged files, and restores lost or damaged pointers.
func (s *Summary) describePublished(ctx context.Context, deps *Deps, manifest *snapshot.Manifest, stuck stuckRuns) {
	if unfinished := stuck.of(manifest.RunID); unfinished != nil {
		s.addUnfinished(unfinished.Cause())
	} else {
		tidy(ctx, deps, manifest)
		s.restorePointers(ctx, deps, manifest)
	}
	s.AlreadyPublished = true
	s.fromManifest(manifest)
}

// restorePointers writes the pointer of the run's date again if it is lost or damaged. After a full run, it also writes
// _latest.json again if that is lost or damaged, or refers to a lost run or to a run of an earlier date than this run.
func (s *Summary) restorePointers(ctx context.Context, deps *Deps, manifest *snapshot.Manifest) {
	restored, err := deps.Catalog.RestorePointer(ctx, manifest)
	if restored {
		s.Restored = append(s.Restored, snapshot.PointerPath(manifest.Kind, manifest.SnapshotDate))
	}
	if err == nil && manifest.Kind == snapshot.Full && manifest.Status == snapshot.Published {
		err = s.restoreLatest(ctx, deps, manifest)
	}
	if err != nil && ctx.Err() == nil {
		s.addUnfinished(err)
	}
}

// addUnfinished records why a step after publishing failed.
func (s *Summary) addUnfinished(err error) {
	_, advised := errors.AsType[*wording.AdvisedError](err)
	s.Unfinished, s.Advised = err.Error(), advised
}

func (s *Summary) restoreLatest(ctx context.Context, deps *Deps, manifest *snapshot.Manifest) error {
	latest, err := deps.Catalog.LatestRun(ctx)
	if errors.Is(err, sink.ErrDamaged) {
		latest, err = nil, nil
	}
	if err != nil || latest != nil && latest.SnapshotDate > manifest.SnapshotDate {
		return err
	}
	restored, err := deps.Catalog.UpdateLatest(ctx)
	if restored {
		s.Restored = append(s.Restored, snapshot.LatestPath)
	}
	return err
}

// tidy removes leftovers of staging for a published run and for the runs that it replaced, because a publisher may have
// been killed during its last steps. A failure is only logged.
func tidy(ctx context.Context, deps *Deps, manifest *snapshot.Manifest) {
	for _, run := range append([]string{manifest.RunID}, manifest.Replaces...) {
		if err := deps.Catalog.RemoveStaging(ctx, run); err != nil && ctx.Err() == nil {
			deps.Logger.WarnContext(ctx, "cannot remove staged files of a published run", "run", run, "error", err)
		}
	}
}
