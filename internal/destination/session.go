package destination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// Options holds the options of a session.
type Options struct {
	Log *slog.Logger
	Now func() time.Time
	// ToolVersion is the program's version, which is recorded in Delta logs.
	ToolVersion string
	// Scratch is the folder of temporary files. If it is empty, the system's temporary folder is used.
	Scratch string
	// After a run is published, new snapshots are added to the history if History is set, and missing Delta logs are
	// created if DeltaLake is set. Existing Delta logs are always kept up to date.
	History, DeltaLake bool
	// DryRun prevents all changes before and after the work of the command.
	DryRun bool
	// Purge is true if the command may finish a purge that an earlier command has begun. Warnings about unfinished
	// purges are then logged at the end of the session instead of at its beginning.
	Purge bool
}

// Session is the work of one command at a destination.
type Session struct {
	Catalog snapshot.Catalog
	// Recovered lists the changes of earlier commands that Open has finished, or could not finish.
	Recovered *snapshot.Recovered

	opts             Options
	unfinishedPurges []string
}

// New returns a session that does not finish interrupted changes, for commands that abandon one of them.
func New(catalog snapshot.Catalog, opts Options) *Session {
	return &Session{Catalog: catalog, Recovered: &snapshot.Recovered{}, opts: opts}
}

// Open finishes or undoes the interrupted changes of earlier commands, unless DryRun is set, and returns a session.
// Changes that cannot be finished are listed in Recovered, and changes to runs are also logged. The command decides
// whether it can continue.
func Open(ctx context.Context, catalog snapshot.Catalog, opts Options) (*Session, error) {
	s := New(catalog, opts)
	if opts.DryRun {
		return s, nil
	}
	var err error
	s.Recovered, err = catalog.Recover(ctx)
	for _, run := range s.Recovered.Published {
		opts.Log.WarnContext(ctx, "an interrupted publish was finished", "run", run)
	}
	for _, change := range s.Recovered.Pruned {
		opts.Log.InfoContext(ctx, "an interrupted prune was finished: the run is removed", "run", change.RunID)
	}
	for _, stuck := range s.Recovered.Stuck {
		log := opts.Log.With("run", stuck.Run, "error", stuck.Err)
		switch {
		case stuck.Published:
			log.WarnContext(ctx, "a change to a published run is not finished: the next command tries again")
		case stuck.Undone:
			log.WarnContext(ctx, "an interrupted publish was undone: run it again")
		default:
			log.WarnContext(ctx, "an interrupted publish cannot be finished")
		}
	}
	s.writePages(ctx)
	if err != nil {
		return nil, fmt.Errorf("finish an interrupted command: %w", err)
	}
	if !opts.Purge {
		s.warnOfPurges(ctx)
	}
	return s, nil
}

// warnOfPurges logs a warning about every purge that has begun but not ended.
func (s *Session) warnOfPurges(ctx context.Context) {
	purges, err := s.Catalog.UnfinishedPurges(ctx)
	if err != nil {
		s.opts.Log.WarnContext(ctx, "cannot look for unfinished purges", "error", err)
	}
	for _, purge := range purges {
		s.unfinishedPurges = append(s.unfinishedPurges, purge.String())
		LogUnfinishedPurge(ctx, s.opts.Log, purge)
	}
}

// LogUnfinishedPurge logs a warning about a purge that has begun but not ended.
func LogUnfinishedPurge(ctx context.Context, log *slog.Logger, purge snapshot.UnfinishedPurge) {
	log.WarnContext(ctx, "a purge has not ended, so rows that it erases may remain",
		"proof", purge.Proof, "begun_at", purge.BegunAt, "remedy", purge.Remedy)
}

// Run takes a snapshot; see [pipeline.Run].
func (s *Session) Run(ctx context.Context, deps pipeline.Deps, settings pipeline.Settings) (*pipeline.Summary, error) {
	summary, err := pipeline.Run(ctx, s.equip(deps), settings)
	s.finishRun(ctx, summary)
	return summary, err
}

// RunDates takes as-of snapshots; see [pipeline.RunDates].
func (s *Session) RunDates(ctx context.Context, deps pipeline.Deps, settings pipeline.Settings, dates []string) (
	summaries []*pipeline.Summary, err error,
) {
	err = pipeline.RunDates(ctx, s.equip(deps), settings, dates, func(summary *pipeline.Summary) {
		s.writePagesOf(ctx, summary)
		summary.UnfinishedPurges = s.unfinishedPurges
		summaries = append(summaries, summary)
	})
	s.updateDependents(ctx, nil)
	return summaries, err
}

// Publish publishes a staged run; see [pipeline.Publish].
func (s *Session) Publish(ctx context.Context, deps pipeline.Deps, settings pipeline.PublishSettings) (*pipeline.Summary, error) {
	if settings.RunID != "" {
		if err := s.Catalog.CheckManifest(ctx, settings.RunID); err != nil {
			return nil, err
		}
	}
	summary, err := pipeline.Publish(ctx, s.equip(deps), settings)
	s.finishRun(ctx, summary)
	return summary, err
}

// Abandon gives up an unpublished run; see [pipeline.Abandon].
func (s *Session) Abandon(ctx context.Context, deps pipeline.Deps, run string) (*pipeline.Summary, error) {
	summary, err := pipeline.Abandon(ctx, s.equip(deps), run)
	s.writePages(ctx)
	s.updateDependents(ctx, summary)
	return summary, err
}

// finishRun writes the pages after a run, and brings the history and the Delta logs up to date. If one of these updates
// fails for a published run, it writes the run's report again, with the error. It also writes the report again if the
// run was already published and an update was made.
func (s *Session) finishRun(ctx context.Context, summary *pipeline.Summary) {
	s.writePagesOf(ctx, summary)
	s.updateDependents(ctx, summary)
	if summary == nil || summary.Outcome != pipeline.Published {
		return
	}
	switch {
	case summary.Unfinished != "":
		s.writeReports(ctx, map[string]pipeline.Ending{summary.RunID: {Failure: errors.New(summary.Unfinished)}})
	case len(summary.Updated) > 0: // the report may still contain the error of an earlier update
		s.writeReports(ctx, map[string]pipeline.Ending{summary.RunID: {}})
	}
}

func (s *Session) equip(deps pipeline.Deps) pipeline.Deps {
	deps.Catalog, deps.Recovered = s.Catalog, *s.Recovered
	return deps
}

// updateDependents brings the Delta logs and, if the option History is set, the history up to date after a run. If an
// update fails, the summary of a published run contains the error, and the next command tries again.
func (s *Session) updateDependents(ctx context.Context, summary *pipeline.Summary) {
	if summary != nil {
		summary.UnfinishedPurges = s.unfinishedPurges
	}
	published := summary != nil && summary.Outcome == pipeline.Published
	if ctx.Err() != nil && !published {
		return
	}
	var problems []string
	if published && s.opts.History && summary.Kind == snapshot.Full {
		added, err := s.extendHistory(ctx, summary.RunID)
		if err != nil {
			problems, summary.Advised = append(problems, wording.OneLine(err)), true
		}
		if added && summary.AlreadyPublished {
			summary.Updated = append(summary.Updated, "the history")
		}
	} else if published && summary.Kind == snapshot.Full {
		s.warnOfHistory(ctx, summary)
	}
	failed := len(problems) > 0 // whether updating the history failed
	report, err := s.reconcile(context.WithoutCancel(ctx), s.opts.DeltaLake && published)
	_, ofHistory := errors.AsType[*deltalake.HistoryError](err)
	_, advised := errors.AsType[*wording.AdvisedError](err)
	s.logForeign(ctx, report)
	committed := func(t deltalake.TableReport) bool { return t.Committed }
	if summary != nil && summary.AlreadyPublished && report != nil && slices.ContainsFunc(report.Tables, committed) {
		summary.Updated = append(summary.Updated, "the Delta logs")
	}
	switch {
	case err == nil:
	case published && ofHistory && failed: // the cause is the same, and is already listed with its remedy
	case published:
		problems = append(problems, wording.OneLine(err))
		summary.Advised = summary.Advised || ofHistory || advised
	default:
		// The command has a failure or a held run to report, and has not changed anything that readers see. The next command
		// tries again.
		s.opts.Log.DebugContext(ctx, "cannot bring the Delta logs up to date", "error", err)
	}
	if len(problems) > 0 {
		if summary.Unfinished != "" {
			problems = append([]string{summary.Unfinished}, problems...)
		}
		summary.Unfinished = strings.Join(problems, "; ")
	}
}

// warnOfHistory logs that an existing history lacks the snapshot of a run. The message is a warning if the history
// already holds later snapshots.
func (s *Session) warnOfHistory(ctx context.Context, summary *pipeline.Summary) {
	held, err := s.Catalog.ReadHistory(ctx)
	if err != nil || held == nil {
		return
	}
	m, err := s.Catalog.ReadManifest(ctx, summary.RunID)
	if err != nil || !held.Manifest.Misses(m) {
		return
	}
	if m.SnapshotDate >= held.Manifest.Through() {
		s.opts.Log.InfoContext(ctx, "the history does not hold this snapshot yet", "snapshot_date", m.SnapshotDate,
			"remedy", wording.Command("history")+" adds it, as does the next run with "+wording.Setting("history").String())
		return
	}
	remedy := wording.Command("history", wording.Setting("rebuild")) + " adds it"
	if gone, err := s.Catalog.PrunedFrom(ctx, held.Manifest); err == nil && len(gone) > 0 {
		remedy = "none: a rebuild, which would add it, needs the snapshots of " + wording.First(gone, history.MaxDates) + ", which are pruned"
	}
	s.opts.Log.WarnContext(ctx, "the history lacks this snapshot, because it already holds later ones",
		"snapshot_date", m.SnapshotDate, "through", held.Manifest.Through(), "remedy", remedy)
}

// Finish writes the pages and updates the Delta logs after a command that does not take a snapshot has made its
// changes.
func (s *Session) Finish(ctx context.Context) error {
	if s.opts.DryRun {
		return nil
	}
	if s.opts.Purge {
		s.warnOfPurges(ctx)
	}
	s.writePages(ctx)
	_, err := s.reconcile(ctx, false)
	return err
}

// UpdateDeltaLake creates or updates the Delta logs of all tables. The error also covers interrupted changes that could
// not be finished.
func (s *Session) UpdateDeltaLake(ctx context.Context) (*deltalake.Report, error) {
	report, err := s.reconcile(ctx, true)
	return report, errors.Join(err, s.Recovered.Err())
}

func (s *Session) reconcile(ctx context.Context, create bool) (*deltalake.Report, error) {
	return deltalake.Reconcile(ctx, s.Catalog, deltalake.Options{Create: create, Now: s.opts.Now, ToolVersion: s.opts.ToolVersion})
}

// logForeign logs a warning for each Delta log that other programs have written to.
func (s *Session) logForeign(ctx context.Context, report *deltalake.Report) {
	if report == nil {
		return
	}
	for i := range report.Tables {
		if foreign := report.Tables[i].Foreign; len(foreign) > 0 {
			last := foreign[len(foreign)-1]
			s.opts.Log.WarnContext(ctx, "another program has written to a Delta log", "table", report.Tables[i].Table,
				"version", last.Version, "operation", last.Operation, "engine", last.Engine, "commits", len(foreign))
		}
	}
}

// UpdateHistory adds the snapshots that are newer than the history, or rebuilds the history.
func (s *Session) UpdateHistory(ctx context.Context, rebuild bool) (*history.Report, error) {
	return history.Update(ctx, s.Catalog, history.Options{
		Rebuild:   rebuild,
		Workspace: func() (sink.Store, func() error, error) { return sink.NewWorkspace(s.opts.Scratch) },
	})
}

// extendHistory adds new snapshots to the history after a run was published, and reports whether there were any. The
// error says what to do.
func (s *Session) extendHistory(ctx context.Context, run string) (added bool, err error) {
	report, err := s.UpdateHistory(ctx, false)
	if err != nil {
		remedy := "; " + wording.Command("history") + " repairs it, as does the next run with " + wording.Setting("history").String()
		_, needsRebuild := errors.AsType[*history.NeedsRebuildError](err)
		_, advised := errors.AsType[*wording.AdvisedError](err)
		switch {
		case needsRebuild || advised: // the error says what to do
			remedy = ""
		case errors.Is(err, sink.ErrDamaged):
			remedy = "; " + wording.Restore
		}
		return false, fmt.Errorf("the history was not updated: %w%s", err, remedy)
	}
	for _, left := range report.LeftOut {
		if left.RunID != run {
			continue
		}
		log := s.opts.Log.With("snapshot_date", left.Date, "reason", left.Reason)
		if !left.Late { // for a late snapshot, the reason already includes the remedy
			log = log.With("remedy", wording.OtherHistory)
		}
		log.WarnContext(ctx, "the snapshot is not part of the history")
	}
	s.opts.Log.InfoContext(ctx, "history updated", "through", report.Through, "snapshots", len(report.Folded))
	return len(report.Folded) > 0, nil
}
