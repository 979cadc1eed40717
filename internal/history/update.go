package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// Options are the settings of Update.
type Options struct {
	// Rebuild makes Update rebuild the history from the snapshots.
	Rebuild bool
	// Workspace returns an empty store for files that are not yet part of the history, and a function that removes the
	// store.
	Workspace func() (sink.Store, func() error, error)
}

const (
	// maxAttempts is the maximum number of times that an update is attempted while other processes change the history.
	maxAttempts = 10
	// firstPause is the maximum pause before the second attempt. The maximum grows by the same amount with every attempt.
	firstPause = 500 * time.Millisecond
)

// Update folds the snapshots that the history does not hold yet, oldest first. Each fold is published when it is
// complete. If Update fails, readers find the history as it was after the last fold listed in the report.
//
// A *NeedsRebuildError means that a snapshot was replaced after later ones had been folded, or that a rebuild needs
// snapshots that are pruned. A *DamagedError means that an object of the history cannot be read.
func Update(ctx context.Context, catalog snapshot.Catalog, opts Options) (_ *Report, err error) {
	unlock, err := catalog.LockHistory(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	report := &Report{Folded: []*Folded{}, LeftOut: []LeftOut{}}
	u := &updater{catalog: catalog, opts: opts, report: report}
	// Sweep only once, not at each attempt: on S3, which has no locks, two folds would otherwise keep dropping each
	// other's files.
	if err := u.sweep(ctx); err != nil {
		return report, err
	}
	for attempt := 1; ; attempt++ {
		err := u.update(ctx)
		switch {
		case !isOvertaken(err):
			return report, err
		case attempt == maxAttempts:
			return report, fmt.Errorf("another process is changing the history: run the command again when that process has ended: %w", err)
		}
		if err := sink.Pause(ctx, time.Duration(attempt)*firstPause); err != nil {
			return report, err
		}
	}
}

// isOvertaken reports whether an error says that another process has changed the history or dropped the staged files.
func isOvertaken(err error) bool {
	return errors.Is(err, sink.ErrConflict) || errors.Is(err, sink.ErrStagedLost)
}

type updater struct {
	catalog snapshot.Catalog
	opts    Options
	report  *Report
}

func (u *updater) update(ctx context.Context) error {
	current, err := u.catalog.ReadHistory(ctx)
	unreadable := errors.Is(err, sink.ErrDamaged)
	if unreadable && !u.opts.Rebuild {
		return damaged(snapshot.HistoryPointerPath, err)
	}
	if err != nil && !unreadable {
		return err
	}
	all, err := u.snapshots(ctx)
	if err != nil {
		return err
	}
	if unreadable {
		return u.rebuildLast(ctx, all)
	}
	before := &snapshot.HistoryManifest{}
	if current != nil {
		before = current.Manifest
		u.report.HistoryID, u.report.Through = before.HistoryID, before.Through()
	}
	if u.opts.Rebuild {
		return u.rebuild(ctx, before, all)
	}
	replaced, err := u.checkFolded(ctx, before, all)
	if err != nil {
		return err
	}
	if replaced != nil && replaced.manifest.OutsideHistory(before.BaseURL, before.Scope) != "" {
		return u.dropLast(ctx, before, all)
	}
	if replaced != nil {
		if err := u.refold(ctx, before, replaced); err != nil {
			return err
		}
		return u.update(ctx)
	}
	newer := u.choose(before, before, all)
	for _, p := range newer {
		f, err := u.fold(ctx, u.catalog, before, p)
		if err != nil {
			return cmp.Or(u.catalog.HistoryUnchanged(ctx, before.HistoryID), err)
		}
		if err := u.publish(ctx, before, f.after, f.files.staged, before.ReplacedBy(f.after), p); err != nil {
			return err
		}
		u.folded(f)
		before = f.after
	}
	return nil
}

// fold folds a snapshot into a history, and stages the files. If it fails because the snapshot has changed, the error
// wraps sink.ErrConflict.
func (u *updater) fold(ctx context.Context, to snapshot.Catalog, before *snapshot.HistoryManifest, p *published) (*fold, error) {
	f, err := newFold(ctx, to, u.catalog, before, p)
	if err == nil {
		err = f.run(ctx)
	}
	if err != nil {
		err = cmp.Or(u.unchanged(ctx, p), err) // a replaced snapshot loses its files
		err = fmt.Errorf("add the snapshot of %s to the history: %w", p.manifest.SnapshotDate, err)
		if _, advised := errors.AsType[*wording.AdvisedError](err); !advised && snapshot.Unreadable(err) {
			err = &wording.AdvisedError{Err: err, Advice: wording.Restore}
		}
		return nil, err
	}
	return f, nil
}

// folded adds a fold to the report.
func (u *updater) folded(f *fold) {
	u.report.Folded = append(u.report.Folded, f.report)
	u.report.HistoryID, u.report.Through = f.after.HistoryID, f.after.Through()
}

// publish replaces the history before. It returns ErrConflict if a folded snapshot is no longer the published one, for
// example because a purge has rewritten it.
func (u *updater) publish(
	ctx context.Context, before, after *snapshot.HistoryManifest, staged []sink.File, remove []string, folded ...*published,
) error {
	for _, p := range folded {
		if err := u.unchanged(ctx, p); err != nil {
			return errors.Join(err, u.catalog.AbortAll(context.WithoutCancel(ctx), "", staged))
		}
	}
	return u.catalog.ChangeHistory(ctx, before.HistoryID, after, staged, remove)
}

// unchanged returns ErrConflict if a snapshot was replaced, purged or pruned since it was listed.
func (u *updater) unchanged(ctx context.Context, p *published) error {
	pointer, _, err := snapshot.ReadDocument[snapshot.Pointer](ctx, u.catalog, snapshot.PointerPath(snapshot.Full, p.manifest.SnapshotDate))
	if err == nil && pointer.ManifestSHA256 != p.hash || errors.Is(err, sink.ErrNotFound) {
		return fmt.Errorf("%w: the snapshot of %s has changed", sink.ErrConflict, p.manifest.SnapshotDate)
	}
	return err
}

// sweep drops the staged files of killed folds, whose owners have the form of history ids. It skips an owner that has
// documents, because such an owner is a run.
func (u *updater) sweep(ctx context.Context) error {
	staged, err := u.catalog.Staged(ctx)
	if err != nil {
		return err
	}
	for owner := range staged {
		if !snapshot.IsHistoryID(owner) {
			continue
		}
		documents, err := sink.ListAll(ctx, u.catalog, snapshot.RunsPrefix+owner+"/")
		if err == nil && len(documents) == 0 {
			err = u.catalog.Sweep(ctx, owner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// snapshots reads the published full snapshots, oldest first.
func (u *updater) snapshots(ctx context.Context) ([]*published, error) {
	var found []*published
	var runs []string
	for s, err := range u.catalog.Snapshots(ctx, snapshot.Full, "") {
		if err == nil {
			err = s.Err
		}
		if err != nil {
			return nil, fmt.Errorf("list the snapshots: %w", err)
		}
		found = append(found, &published{s.Manifest, s.Pointer.ManifestSHA256})
		runs = append(runs, s.Manifest.RunID)
	}
	if err := u.catalog.CheckPointers(ctx, runs); err != nil {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	slices.Reverse(found)
	return found, nil
}

// choose returns the snapshots to fold into a history, and reports those that it leaves out. If like has snapshots, the
// chosen ones must have its base URL and scope.
func (u *updater) choose(before, like *snapshot.HistoryManifest, all []*published) []*published {
	var chosen []*published
	u.report.LeftOut = u.report.LeftOut[:0]
	baseURL, scope := like.BaseURL, like.Scope
	gone := pruned(before, all)
	for _, p := range all {
		m := p.manifest
		if slices.ContainsFunc(before.Snapshots, p.is) {
			continue
		}
		reason := ""
		if len(like.Snapshots)+len(chosen) == 0 && !m.Parameters.Filtered() {
			baseURL, scope = m.BaseURL, m.HistoryScope()
		} else {
			reason = m.OutsideHistory(baseURL, scope)
		}
		late := reason == "" && len(before.Snapshots) > 0 && m.SnapshotDate <= before.Through()
		if late {
			reason = tooLate(before, m.SnapshotDate, gone)
		}
		if reason != "" {
			u.report.LeftOut = append(u.report.LeftOut, LeftOut{Date: m.SnapshotDate, RunID: m.RunID, Reason: reason, Late: late})
			continue
		}
		chosen = append(chosen, p)
	}
	return chosen
}

// tooLate returns the reason why a snapshot is not added to a history that holds later snapshots, or another snapshot
// of the same date. gone lists the dates of pruned snapshots that a rebuild would need.
func tooLate(before *snapshot.HistoryManifest, date string, gone []string) string {
	why := "the history already holds later snapshots"
	if i := slices.IndexFunc(before.Snapshots, func(f snapshot.FoldedSnapshot) bool { return f.Date == date }); i >= 0 {
		why = "the history holds run " + before.Snapshots[i].RunID + " of this date, which was pruned"
	}
	if len(gone) > 0 {
		return why + ", and a rebuild needs the snapshots of " + wording.First(gone, MaxDates) + ", which are pruned"
	}
	return why + ": " + wording.Command("history", wording.Setting("rebuild")) + " includes it"
}

// MaxDates is the maximum number of dates that a message lists.
const MaxDates = 5

// NeedsRebuildError reports that the history cannot be brought up to date without a rebuild, or that pruned snapshots
// make a rebuild impossible.
type NeedsRebuildError struct {
	// Dates lists the dates of snapshots that were replaced after later ones had been folded.
	Dates []string
	// Pruned lists the dates in the history whose snapshots no longer exist.
	Pruned []string
}

func (e *NeedsRebuildError) Error() string { return e.text("; nothing was changed") }

// Reason works like Error, for a command that would have changed nothing anyway.
func (e *NeedsRebuildError) Reason() string { return e.text("") }

func (e *NeedsRebuildError) text(changed string) string {
	text := ""
	if len(e.Dates) > 0 {
		text = fmt.Sprintf("the snapshot of %s was replaced after later ones had been added to the history: ", wording.First(e.Dates, MaxDates))
	}
	if len(e.Pruned) == 0 {
		return text + "run " + wording.Command("history", wording.Setting("rebuild"))
	}
	return text + fmt.Sprintf("a rebuild needs the snapshots of %s, which are pruned%s. %s", wording.First(e.Pruned, MaxDates), changed, startAnew)
}

// Stopped returns the reason why the history cannot be extended without a rebuild. It returns nil if there is no such
// reason, or if the history cannot be read. runs must hold the states of all runs.
func Stopped(ctx context.Context, catalog snapshot.Catalog, runs []snapshot.RunState) (*NeedsRebuildError, error) {
	held, err := catalog.ReadHistory(ctx)
	if held == nil || err != nil {
		if snapshot.Unreadable(err) {
			return nil, nil
		}
		return nil, err
	}
	published, exists := make(map[string]string), make(map[string]bool)
	for i := range runs {
		r := &runs[i]
		exists[r.RunID] = true
		if r.Kind == snapshot.Full && (r.State == snapshot.StatePublished || r.State == snapshot.StatePublishing) {
			published[r.SnapshotDate] = r.RunID
		}
	}
	reason := &NeedsRebuildError{Pruned: held.Manifest.Pruned(func(date string) bool { return published[date] != "" })}
	for _, f := range held.Manifest.Snapshots {
		run := published[f.Date]
		replaced := run != "" && run != f.RunID && f.Date != held.Manifest.Through()
		if replaced && (exists[f.RunID] || len(reason.Pruned) == 0) { // the same condition as in checkFolded
			reason.Dates = append(reason.Dates, f.Date)
		}
	}
	if len(reason.Dates) == 0 {
		return nil, nil
	}
	return reason, nil
}

// StoppedBy returns the dates of the pruned snapshots that a rebuild would need if another run replaced a run that the
// history holds. If there are such snapshots, the history could then no longer be extended. It returns nil if the
// history is not affected or cannot be read.
func StoppedBy(ctx context.Context, catalog snapshot.Catalog, replaced *snapshot.Manifest) []string {
	held, err := catalog.ReadHistory(ctx)
	if held == nil || err != nil || replaced.SnapshotDate >= held.Manifest.Through() ||
		!slices.ContainsFunc(held.Manifest.Snapshots, func(f snapshot.FoldedSnapshot) bool { return f.RunID == replaced.RunID }) {
		return nil
	}
	gone, err := catalog.PrunedFrom(ctx, held.Manifest)
	if err != nil {
		return nil
	}
	return gone
}

// startAnew says how to start a history without pruned snapshots.
const startAnew = "To start a history without them, move " + snapshot.HistoryPointerPath + " and all of " + snapshot.HistoryFilesPrefix +
	" out of the destination, where a purge does not reach them, and run growth-export history"

// checkFolded compares the folded snapshots with the published ones. It returns the snapshot that has replaced the last
// folded one, or nil if none has. If the history cannot be rebuilt, a snapshot that was published after the folded one
// of its date had been pruned is left out, because an error would stop the history permanently.
func (u *updater) checkFolded(ctx context.Context, before *snapshot.HistoryManifest, all []*published) (*published, error) {
	var last *published
	rebuild := &NeedsRebuildError{Pruned: pruned(before, all)}
	for _, f := range before.Snapshots {
		i := slices.IndexFunc(all, func(p *published) bool { return p.manifest.SnapshotDate == f.Date })
		switch {
		case i < 0 || all[i].is(f):
			continue
		case f.Date == before.Through():
			last = all[i]
			continue
		case len(rebuild.Pruned) > 0:
			if gone, err := u.wasPruned(ctx, f, all[i]); gone {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		rebuild.Dates = append(rebuild.Dates, f.Date)
	}
	if len(rebuild.Dates) > 0 {
		return nil, rebuild
	}
	return last, nil
}

// wasPruned reports whether a folded snapshot was pruned before another snapshot of its date was published. A run that
// was replaced keeps its manifest, and a new run may have the id of one that was pruned.
func (u *updater) wasPruned(ctx context.Context, f snapshot.FoldedSnapshot, now *published) (bool, error) {
	if now.manifest.RunID == f.RunID {
		return true, nil
	}
	_, err := u.catalog.ReadManifest(ctx, f.RunID)
	switch {
	case errors.Is(err, sink.ErrNotFound):
		return true, nil
	case errors.Is(err, sink.ErrDamaged):
		return false, nil
	}
	return false, err
}

// pruned lists the dates in the history whose snapshots no longer exist.
func pruned(before *snapshot.HistoryManifest, all []*published) []string {
	return before.Pruned(func(date string) bool {
		return slices.ContainsFunc(all, func(p *published) bool { return p.manifest.SnapshotDate == date })
	})
}
