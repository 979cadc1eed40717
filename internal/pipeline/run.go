package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// Run takes a snapshot: it plans or resumes a run, fetches and stages everything that is not staged yet, and publishes
// the run unless a check holds it back or it is divided into shards.
//
// Once the run has passed the checks that need no request, the summary is not nil and contains the id of the run, even
// if there is an error. An error wraps ErrUsage, a sentinel of package extract, or the context's error or its cause.
// Any other error leaves the run resumable and the previous snapshot untouched.
func Run(ctx context.Context, deps Deps, s Settings) (*Summary, error) {
	started := deps.Now()
	deps.Progress.start(started, deps.Client)
	deps.Progress.takeCounts() // drop the counts of an earlier run of this command
	if err := s.Check(); err != nil {
		return nil, err
	}
	stuck := stuckRuns(deps.Recovered.Stuck)
	r, found, err := prepareRun(ctx, deps, &s)
	if err != nil {
		return nil, err
	}
	if r.restarts {
		stuck = slices.DeleteFunc(stuck, func(s *snapshot.StuckError) bool { return s.Run == found.id })
	}
	if err := stuck.checkNotBlocked(&deps, found.id, s.kind(), found.date(r.date)); err != nil {
		return nil, err
	}
	deps.Progress.runID.Store(found.id)
	r.summary = &Summary{RunID: found.id, Kind: s.kind(), SnapshotDate: found.date(r.date), Destination: deps.Catalog.String()}
	if _, r.summary.LeftOut = s.split(); len(r.summary.LeftOut) > 0 {
		deps.Logger.DebugContext(ctx, "datasets left out: the service has only their present state",
			"kind", string(s.kind()), "datasets", strings.Join(r.summary.LeftOut, ","))
	}
	defer func() { r.summary.Duration = deps.Now().Sub(started) }()
	r.logReplaced(ctx, found.id)
	if found.manifest != nil {
		if date := found.manifest.SnapshotDate; date != r.date {
			deps.Logger.WarnContext(ctx, "nothing was exported, because the run with this id is already published for another date: use a different id for each night",
				"run", found.id, "snapshot_date", date)
		}
		r.summary.describePublished(ctx, &deps, found.manifest, stuck)
		return r.summary, nil
	}
	r.logDeadline(ctx)
	if r.restarts {
		if err := deps.Catalog.Abandon(ctx, found.id); err != nil {
			return r.summary, fmt.Errorf("restart run %s: %w", found.id, err)
		}
		r.summary.Restarted = true
	}
	unlock, err := deps.Catalog.HoldRunShared(ctx, found.id, s.Shard, s.Shards)
	if err != nil {
		if errors.Is(err, sink.ErrLocked) {
			err = fmt.Errorf("another process is working on run %s: wait for it, or give this one another %s: %w", found.id, wording.Setting("run-id"), err)
		}
		return r.summary, err
	}
	if err = r.checkFolders(ctx, found.id, found.date(r.date)); err == nil {
		err = r.runToEnd(ctx, found)
	}
	if err != nil && r.summary.Outcome == "" {
		r.summary.Requests = deps.Progress.requests()
	}
	r.summary.Ending = &Ending{Failure: err, counts: deps.Progress.takeCounts()}
	unlocked := unlock()
	if err == nil && unlocked != nil && r.summary.Outcome == Published {
		r.summary.Unfinished, unlocked = unlocked.Error(), nil
	}
	return r.summary, errors.Join(err, unlocked)
}

// checkFolders checks, before any request, that the files of the run and its pointer can be made visible at their
// paths. It returns a usage error if permissions are missing.
func (r *exportRun) checkFolders(ctx context.Context, id, date string) error {
	paths := []string{snapshot.PointerPath(r.settings.kind(), date)}
	for _, name := range r.scope.Datasets {
		for _, table := range r.fetch.Dataset(name).Tables {
			paths = append(paths, snapshot.DatePath(r.settings.kind(), table.Name, date)+sink.PartName(0, id))
		}
	}
	err := r.Catalog.CheckCommit(ctx, id, paths)
	if errors.Is(err, fs.ErrPermission) {
		return Usagef("%w", err)
	}
	return err
}

// RunDates takes an as-of snapshot for each of the dates, in their order, and passes each summary to done. It checks
// all dates before it requests anything. It continues with the next date after a run that is held back, and after an
// error that concerns only one date: access to all its datasets is denied, or an interrupted change to a run of that
// date cannot be finished. Any other error ends it. It returns all errors.
func RunDates(ctx context.Context, deps Deps, s Settings, dates []string, done func(*Summary)) error {
	for _, date := range dates {
		s.EffectiveDate = date
		if err := s.Check(); err != nil {
			return err
		}
		if _, _, err := prepareRun(ctx, deps, &s); err != nil {
			return err
		}
	}
	var errs []error
	for _, date := range dates {
		s.EffectiveDate = date
		summary, err := Run(ctx, deps, s)
		if summary != nil {
			done(summary)
		}
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("as of %s: %w", date, err))
		if _, stuck := errors.AsType[*snapshot.StuckError](err); !stuck && !errors.Is(err, errAllDenied) {
			break
		}
	}
	return errors.Join(errs...)
}

// runToEnd continues the run from its current state to its end.
func (r *exportRun) runToEnd(ctx context.Context, found foundRun) error {
	if r.plan = found.plan; r.plan == nil {
		err := r.runPhase(ctx, SpanPlan, found.id, func(ctx context.Context) error { return r.beginPlan(ctx, found.id) })
		if err != nil {
			return err
		}
	}
	r.summary.Planned, r.summary.SnapshotDate = true, r.plan.SnapshotDate
	r.Progress.setSchoolNames(r.plan)
	r.resumes = found.plan != nil
	if r.resumes {
		if err := r.Catalog.Release(ctx, r.plan.RunID); err != nil {
			return fmt.Errorf("remove the hold of run %s: %w", r.plan.RunID, err)
		}
	}
	if r.plan.Shards > 1 && r.settings.Shards > 1 && r.plan.Shards != r.settings.Shards {
		r.Logger.WarnContext(ctx, "the run was planned with a different number of shards: some schools will not be fetched unless all shards use the same number",
			"planned", r.plan.Shards, "given", r.settings.Shards)
	}
	if err := r.checkSuppression(ctx); err != nil {
		return err
	}
	err := r.runPhase(ctx, SpanFetch, r.plan.RunID, func(ctx context.Context) error {
		return r.keepAlive(ctx, r.plan.RunID, r.fetchAll)
	})
	if err != nil {
		return adoptPublished(ctx, &r.Deps, r.plan.RunID, r.summary, err)
	}
	if r.settings.Shards > 1 {
		return r.endShard(ctx)
	}
	return (&publisher{
		Deps: r.Deps, plan: r.plan, limits: r.settings.Limits, compare: r.settings.Compare, fetched: true,
		replace: r.settings.Replace, acceptBaseURL: r.settings.AcceptBaseURL, summary: r.summary,
	}).run(ctx)
}

// beginPlan fetches the lookups and pins the plan, or uses the plan of another shard that was faster.
func (r *exportRun) beginPlan(ctx context.Context, id string) error {
	looking, cancel := r.settings.untilDeadline(ctx)
	defer cancel()
	looked, err := r.fetch.LookUp(looking, neededLookups(r.settings))
	if err != nil {
		return err
	}
	plan, err := r.makePlan(id, looked)
	if err != nil {
		return err
	}
	err = r.Catalog.PinBaseline(ctx, plan, func(pointer string) {
		r.Logger.WarnContext(ctx, "a damaged snapshot is skipped; the run is compared with an earlier one, if there is one", "file", pointer)
	})
	if err != nil {
		return fmt.Errorf("look for the previous snapshot: %w", err)
	}
	if r.plan, err = r.Catalog.CreatePlan(ctx, plan); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	r.looked = looked
	return r.checkPlan(r.plan)
}

// endShard adds to the summary what has been staged. The publish command checks and publishes the whole run. It may
// already have done so if it considered this shard dead.
func (r *exportRun) endShard(ctx context.Context) error {
	if adoptPublished(ctx, &r.Deps, r.plan.RunID, r.summary, ErrIncomplete) == nil {
		return nil
	}
	staged, err := r.Catalog.Collect(ctx, r.plan)
	if err != nil {
		return err
	}
	if err := explain(ctx, r.Catalog, staged, r.plan.Limits); err != nil {
		return err
	}
	r.summary.fromStaged(staged)
	r.summary.Outcome = Staged
	return nil
}
