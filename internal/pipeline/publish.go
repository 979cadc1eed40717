package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// PublishSettings are the settings of the command publish.
type PublishSettings struct {
	RunID      string // empty for the only run that is staged
	AcceptHeld bool   // publish whatever the checks say
	// MaxFailedSchools and MaxShrink are nil for what the plan says.
	MaxFailedSchools *int
	MaxShrink        *Share
	// MaxRemoved, MaxChanged and MaxEmptied are nil for what the plan says, too.
	MaxRemoved, MaxChanged, MaxEmptied *Share
	// Replace allows replacing a snapshot of another scope or of a past date, besides what the plan allows.
	Replace bool
	// AcceptBaseURL allows publishing a run of a service other than the destination's, which moves the destination to that
	// service.
	AcceptBaseURL bool
}

// Publish checks a staged run and publishes it, and finishes a publishing that was interrupted. It fails with ErrUsage if
// there is no such run, or several to choose from, and with ErrIncomplete if some tasks are not staged.
func Publish(ctx context.Context, deps Deps, s PublishSettings) (*Summary, error) {
	started := deps.Now()
	deps.Progress.start(started, nil)
	finished, stuck, err := finishPublishing(ctx, &deps)
	if err != nil {
		return nil, err
	}
	id := s.RunID
	if id == "" {
		if id, err = onlyStaged(ctx, deps.Catalog, finished, stuck); err != nil {
			return nil, err
		}
	}
	found, err := lookUpRun(ctx, deps.Catalog, id)
	if err != nil {
		return nil, err
	}
	if found.plan == nil {
		return nil, Usagef("there is no run %s at %s: see growth-export status", id, deps.Catalog)
	}
	deps.Progress.runID.Store(id)
	summary := &Summary{RunID: id, Kind: found.plan.Kind, SnapshotDate: found.plan.SnapshotDate, Destination: deps.Catalog.String()}
	defer func() { summary.Duration = deps.Now().Sub(started) }()
	if err := stuck.checkNotBlocked(&deps, id, found.plan.Kind, found.plan.SnapshotDate); err != nil {
		return summary, err
	}
	if found.manifest != nil {
		summary.describePublished(ctx, &deps, found.manifest, stuck)
		if slices.Contains(finished, id) {
			summary.AlreadyPublished, summary.Report = false, snapshot.ReportPath(id)
		}
		return summary, nil
	}
	l := publishLimits{
		maxFailed: found.plan.MaxFailedSchools, strict: found.plan.StrictChecks,
		compare: true, acceptHeld: s.AcceptHeld, replace: s.Replace, acceptBaseURL: s.AcceptBaseURL,
	}
	if s.MaxFailedSchools != nil {
		l.maxFailed = *s.MaxFailedSchools
	}
	if err := l.setShares(found.plan, &s); err != nil {
		return summary, err
	}
	err = publishRun(ctx, deps, found.plan, l, summary)
	summary.Report = deps.writeReports(ctx, id, ending{failure: err})
	return summary, err
}

// setShares sets the limits that the command gives, and otherwise the plan's. A plan of an earlier release has none on
// changes.
func (l *publishLimits) setShares(plan *snapshot.Plan, s *PublishSettings) error {
	for _, share := range []struct {
		name    string
		planned string
		given   *Share
		limit   *Share
	}{
		{"max_shrink", plan.MaxShrink, s.MaxShrink, &l.maxShrink},
		{"max_removed", plan.MaxRemoved, s.MaxRemoved, &l.changes.MaxRemoved},
		{"max_changed", plan.MaxChanged, s.MaxChanged, &l.changes.MaxChanged},
		{"max_emptied", plan.MaxEmptied, s.MaxEmptied, &l.changes.MaxEmptied},
	} {
		var err error
		if *share.limit, err = ParseShare(cmp.Or(share.planned, "off")); err != nil {
			return fmt.Errorf("read %s of the plan of run %s: %w", share.name, plan.RunID, err)
		}
		if share.given != nil {
			*share.limit = *share.given
		}
	}
	return nil
}

// onlyStaged finds the run to publish if the command does not name one: the only one that is staged, otherwise the one
// whose publishing was just finished, or could not be.
func onlyStaged(ctx context.Context, catalog snapshot.Catalog, finished []string, stuck stuckRuns) (string, error) {
	runs, err := catalog.Runs(ctx)
	if err != nil {
		return "", err
	}
	var ready []string
	for i := range runs {
		if runs[i].State == snapshot.StateStaged || runs[i].State == snapshot.StateHeld {
			ready = append(ready, runs[i].RunID)
		}
	}
	publishing := slices.DeleteFunc(slices.Clone(stuck), func(s *snapshot.StuckError) bool { return s.Change == "purge" || s.Change == "prune" })
	switch {
	case len(ready) == 1:
		return ready[0], nil
	case len(ready) == 0 && len(finished) == 1:
		return finished[0], nil
	case len(ready) == 0 && len(finished) == 0 && len(publishing) == 1:
		return publishing[0].Run, nil
	case len(ready) == 0:
		return "", Usagef("no run at %s is staged: see growth-export status", catalog)
	default:
		return "", Usagef("several runs at %s are staged: choose one with --run-id: %s",
			catalog, strings.Join(ready, ", "))
	}
}

// publishRun checks a run whose tasks should all be staged, and publishes it or holds it back.
func publishRun(ctx context.Context, deps Deps, plan *snapshot.Plan, l publishLimits, summary *Summary) error {
	return deps.runPhase(ctx, SpanPublish, plan.RunID, func(ctx context.Context) error {
		return judgeAndPublish(ctx, deps, plan, l, summary)
	})
}

func judgeAndPublish(ctx context.Context, deps Deps, plan *snapshot.Plan, l publishLimits, summary *Summary) error {
	var staged *snapshot.StagedRun
	err := deps.keepAlive(ctx, plan.RunID, func(ctx context.Context) (err error) {
		staged, err = deps.Catalog.CollectIntact(ctx, plan)
		return err
	})
	if err != nil {
		return fmt.Errorf("collect what run %s has staged: %w", plan.RunID, err)
	}
	if !l.compare {
		staged.DropComparison()
	}
	addWarnings(staged)
	summary.fromStaged(staged)
	if len(staged.Missing) > 0 {
		return adoptPublished(ctx, &deps, plan.RunID, summary, incomplete(staged))
	}
	if allDenied(staged) {
		return errors.Join(
			fmt.Errorf("%w: every dataset of every school answered 403: check the app's data sharing agreements", extract.ErrRefused),
			deps.Catalog.DropCheckpoints(ctx, plan.RunID))
	}
	for _, check := range snapshot.FailedChecks(staged.Checks) {
		deps.Logger.WarnContext(ctx, "check failed: the service broke one of its own rules",
			"check", check.Check, "table", check.Table, "count", check.Count, "meaning", check.Meaning())
	}
	deps.logComparison(ctx, staged)
	if summary.MoreDenied, err = moreDenied(ctx, deps.Catalog, staged); err != nil {
		return err
	}
	held, err := checkLimits(ctx, deps.Catalog, staged, l)
	if err != nil {
		return err
	}
	if len(held.Reasons) > 0 && !l.acceptHeld {
		summary.Outcome, summary.Held = HeldBack, held.Reasons
		summary.Next = wording.Held{
			Destination: deps.Catalog.String(), RunID: plan.RunID, FixedDate: plan.Kind == snapshot.AsOf,
			FailedSchools: held.FailedSchools, OtherReasons: held.OtherReasons(),
			Report: strings.TrimSuffix(deps.Catalog.String(), "/") + "/" + snapshot.ReportPath(plan.RunID),
		}.Advice()
		return deps.Catalog.Hold(ctx, plan.RunID, held)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Publishing is short and best not left half done: an interrupt that comes now is too late, though the command may end
	// before we do.
	files := int64(1) // the ledger
	for _, table := range staged.Tables {
		files += int64(len(table.Files))
	}
	store := deps.Progress.publishing(files, deps.Catalog)
	manifest, err := snapshot.At(store).Publish(context.WithoutCancel(ctx), staged, snapshot.PublishOptions{
		Now: deps.Now, Replace: l.replace, AcceptBaseURL: l.acceptBaseURL, Accepted: held.Reasons,
	})
	if u, published := errors.AsType[*snapshot.UnfinishedError](err); published {
		summary.Unfinished = u.Err.Error()
	} else if err != nil {
		return usageIfRefused(err)
	}
	summary.fromManifest(manifest)
	deps.Progress.setPhase("done")
	return nil
}

// incomplete returns which tasks are missing, and which of them because their staged files have changed.
func incomplete(g *snapshot.StagedRun) error {
	why := ""
	if n := len(g.Damaged); n > 0 {
		why = fmt.Sprintf("; the staged files of %d of them are damaged or gone (%s)", n, describeTasks(g.Damaged))
		if n == len(g.Missing) {
			why = "; their staged files are damaged or gone"
		}
	}
	what := "run it again"
	if g.Plan.Shards > 1 {
		what = "run its shards again"
	}
	return fmt.Errorf("%w: %d of its %d tasks are not staged (%s)%s: %s",
		ErrIncomplete, len(g.Missing), len(g.Plan.Tasks()), describeTasks(g.Missing), why, what)
}

func describeTasks(tasks []snapshot.Task) string {
	const most = 5
	var names []string
	for i, t := range tasks {
		if i == most {
			names = append(names, "...")
			break
		}
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// Abandon gives up a run that is not published, and removes what it has staged or committed. It fails with ErrUsage if
// there is no such run, or it is published.
func Abandon(ctx context.Context, deps Deps, run string) (*Summary, error) {
	started := deps.Now()
	deps.Progress.start(started, nil)
	summary := &Summary{RunID: run, Destination: deps.Catalog.String()}
	// A run without a readable plan can be abandoned too.
	plan, _ := deps.Catalog.ReadPlan(ctx, run)
	if err := deps.Catalog.Abandon(ctx, run); err != nil {
		return summary, usageIfRefused(err)
	}
	if plan != nil {
		summary.Kind, summary.SnapshotDate = plan.Kind, plan.SnapshotDate
	}
	deps.writeIndex(ctx)
	summary.Outcome = Abandoned
	summary.Duration = deps.Now().Sub(started)
	return summary, nil
}
