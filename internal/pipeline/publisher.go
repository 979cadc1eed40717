package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// publisher checks a run whose tasks should all be staged, and publishes it or holds it back.
type publisher struct {
	Deps

	plan    *snapshot.Plan
	limits  review.Limits
	summary *Summary
	compare bool // whether to keep the run's comparison
	fetched bool // whether this command fetched the run, after checking that the run may be published
	// acceptHeld is true if the run is to be published even if it exceeds limits or fails checks.
	acceptHeld, replace, acceptBaseURL bool
}

func (p *publisher) run(ctx context.Context) error {
	return p.runPhase(ctx, SpanPublish, p.plan.RunID, p.checkAndPublish)
}

var errAllDenied = fmt.Errorf("%w: every dataset of every school answered 403: check the app's data sharing agreements", extract.ErrRefused)

func (p *publisher) checkAndPublish(ctx context.Context) error {
	staged, err := p.collect(ctx)
	if err != nil {
		return fmt.Errorf("collect the checkpoints of run %s: %w", p.plan.RunID, err)
	}
	p.summary.fromStaged(staged)
	if len(staged.Missing) > 0 {
		return adoptPublished(ctx, &p.Deps, p.plan.RunID, p.summary, incomplete(staged))
	}
	if allDenied(staged) {
		return errors.Join(errAllDenied, p.Catalog.DropCheckpoints(ctx, p.plan.RunID))
	}
	if err := p.warnOfPurged(ctx, staged); err != nil {
		return err
	}
	held := p.check(ctx, staged)
	switch {
	case len(held) > 0 && !p.acceptHeld:
		return p.hold(ctx, held)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if !p.fetched {
		if err := p.checkNotSuperseded(ctx); err != nil {
			return err
		}
	}
	return p.publish(ctx, staged, held)
}

// checkNotSuperseded returns an error if the run was held back and another run has been published for its date since
// then, because the published run may be complete. With --replace, there is no error.
func (p *publisher) checkNotSuperseded(ctx context.Context) error {
	if p.replace || p.plan.Replace {
		return nil
	}
	if _, err := p.Catalog.ReadHeld(ctx, p.plan.RunID); errors.Is(err, sink.ErrNotFound) {
		return nil // the run was never held back, so the other runs need not be read
	}
	runs, err := p.Catalog.Runs(ctx)
	if err != nil {
		return fmt.Errorf("look for runs that were published since: %w", err)
	}
	for i := range runs {
		if by := runs[i].SupersededBy; runs[i].RunID == p.plan.RunID && by != "" {
			return Usagef("run %s was published for %s after run %s had been held back: %s publishes the held run in its place, %s removes the held run",
				by, p.plan.SnapshotDate, p.plan.RunID, wording.Setting("replace"), wording.Setting("abandon"))
		}
	}
	return nil
}

// collect adds up the checkpoints of the run and completes its comparison.
func (p *publisher) collect(ctx context.Context) (staged *snapshot.StagedRun, err error) {
	err = p.keepAlive(ctx, p.plan.RunID, func(ctx context.Context) (err error) {
		staged, err = p.Catalog.CollectIntact(ctx, p.plan)
		if err != nil {
			return err
		}
		if !p.compare {
			staged.DropComparison()
		}
		// An error is ignored here. Other code checks whether a run with damaged documents may be replaced.
		current, err := p.Catalog.Current(ctx, p.plan.Kind, p.plan.SnapshotDate)
		if err == nil && current != nil && current.RunID != p.plan.RunID && current.Covers(p.plan.BaseURL, p.plan.Scope) {
			staged.Replaced = current
		}
		return explain(ctx, p.Catalog, staged, p.limits)
	})
	return staged, err
}

// check logs the problems of a complete run, and returns the reasons to hold it back.
func (p *publisher) check(ctx context.Context, staged *snapshot.StagedRun) []review.Reason {
	for _, check := range review.FailedChecks(staged.Checks) {
		p.Logger.WarnContext(ctx, "check failed: the service broke one of its own rules",
			"check", check.Check, "table", check.Table, "count", check.Count, "meaning", check.Meaning())
	}
	if s := staged.Students; s != nil && s.Matched != nil && *s.Matched == 0 {
		p.Logger.WarnContext(ctx, "no listed student has rows", "listed", s.Listed,
			"remedy", "list bids as the service writes them, not names or numbers; the find command prints them for a destination that holds these students")
	}
	p.logComparison(ctx, staged)
	return reasonsToHold(staged, p.limits)
}

// warnOfPurged logs a warning about schools that were purged from the destination and that the service returns again.
func (p *publisher) warnOfPurged(ctx context.Context, staged *snapshot.StagedRun) error {
	purged, err := p.Catalog.PurgedBefore(ctx, staged)
	if err != nil {
		return fmt.Errorf("look for purged schools: %w", err)
	}
	p.summary.PurgedBefore = purged
	for _, of := range purged {
		p.Logger.WarnContext(ctx, "schools that were purged are being exported again", "schools", of.Schools, "purged_on", of.Date)
	}
	return nil
}

// hold records why the run is not published, both in the summary and at the destination, and adds advice to the
// summary.
func (p *publisher) hold(ctx context.Context, reasons []review.Reason) error {
	p.summary.Outcome, p.summary.Held = HeldBack, reasons
	p.summary.Next = review.Held{
		Destination: p.Catalog.String(), RunID: p.plan.RunID, Date: p.plan.SnapshotDate, FixedDate: p.plan.Kind == snapshot.AsOf,
		Reasons: reasons, Failed: p.summary.Schools.Failed, Report: strings.TrimSuffix(p.Catalog.String(), "/") + "/" + snapshot.ReportPath(p.plan.RunID),
	}.Advice()
	return p.Catalog.Hold(ctx, p.plan.RunID, snapshot.Held{Reasons: reasons})
}

// publish makes the run visible. Publishing is short and must not stop halfway, so cancellation is ignored from
// here on.
func (p *publisher) publish(ctx context.Context, staged *snapshot.StagedRun, accepted []review.Reason) error {
	files := int64(1) // the ledger
	for _, table := range staged.Tables {
		files += int64(len(table.Files))
	}
	manifest, err := p.Progress.publishing(files, p.Catalog).Publish(context.WithoutCancel(ctx), staged, snapshot.PublishOptions{
		Now: p.Now, Replace: p.replace, AcceptBaseURL: p.acceptBaseURL, Accepted: accepted,
	})
	if u, published := errors.AsType[*snapshot.UnfinishedError](err); published {
		p.summary.Unfinished = u.Err.Error()
	} else if _, refused := errors.AsType[*snapshot.RefusedError](err); refused && p.fetched {
		return p.overtaken(context.WithoutCancel(ctx), err)
	} else if err != nil {
		return usageIfRefused(err)
	}
	p.summary.fromManifest(manifest)
	p.Progress.setPhase("done")
	return nil
}

// overtaken returns the error of a run that may no longer replace the published one, because another run was published
// after it began. If the other run has the same scope, this run is not needed, and its staged files are dropped.
func (p *publisher) overtaken(ctx context.Context, refused error) error {
	current, err := p.Catalog.Current(ctx, p.plan.Kind, p.plan.SnapshotDate)
	if err != nil || current == nil || !current.Covers(p.plan.BaseURL, p.plan.Scope) {
		return errors.Join(refused, err)
	}
	return errors.Join(
		fmt.Errorf("publish run %s: %w: run %s was published as the snapshot of %s while this one was running, so this one is not needed",
			p.plan.RunID, sink.ErrConflict, current.RunID, p.plan.SnapshotDate),
		p.Catalog.DropUnpublished(ctx, p.plan.RunID))
}

// incomplete returns an error that lists the missing tasks, and says which of them have staged files that are damaged
// or gone.
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
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.String()
	}
	return wording.First(names, 5)
}
