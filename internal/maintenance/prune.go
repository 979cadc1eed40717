package maintenance

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// PruneOptions select the snapshots that Prune keeps. Exactly one of Keep and KeepDays is above 0.
type PruneOptions struct {
	// Kinds are the kinds of snapshots that are pruned. If it is empty, all kinds are pruned.
	Kinds []snapshot.Kind
	// Keep is how many of the newest snapshots of each kind are kept.
	Keep int
	// KeepDays is the age in days up to which snapshots are kept. The age of full and delta snapshots is counted from
	// their dates, and the age of as-of snapshots from the day on which they were taken, regardless of their dates.
	KeepDays int
	// LeftOut is true if Prune may also remove snapshots that do not belong to the history because of their settings or
	// their service.
	LeftOut bool
	// Now returns the current time.
	Now func() time.Time
	// DryRun is true if Prune only reports what it would remove.
	DryRun bool
	// Begun are the removals that an earlier prune began and that this command has finished. Prune adds them to the
	// report.
	Begun []*snapshot.Change
}

// prunes reports whether snapshots of a kind are pruned.
func (o *PruneOptions) prunes(kind snapshot.Kind) bool {
	return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind)
}

// PruneReport lists the runs that Prune has removed, or would remove in a dry run.
type PruneReport struct {
	DryRun  bool        `json:"dry_run"`
	Removed []PrunedRun `json:"removed"`
	// Kept counts the remaining published snapshots of the pruned kinds.
	Kept int `json:"kept"`
	// Unfolded are the snapshots that are kept only because they are not in the history yet.
	Unfolded []UnfoldedRun `json:"unfolded,omitempty"`
	// NeededByRebuild are the dates of the snapshots that are kept only because a rebuild of the history would need them.
	// The rebuild would add one of the unfolded snapshots.
	NeededByRebuild []string `json:"needed_by_rebuild,omitempty"`
}

// UnfoldedRun is a snapshot that has expired but is kept, because it is not in the history.
type UnfoldedRun struct {
	RunID        string `json:"run_id"`
	SnapshotDate string `json:"snapshot_date"`
	// Reason says why the snapshot does not belong to the history. It is empty if the snapshot belongs to the history.
	Reason string `json:"reason,omitempty"`
	// Command is the command that adds the snapshot to the history. It is empty if there is a Reason, or if the command
	// would need snapshots that are pruned.
	Command string `json:"command,omitempty"`
}

// PrunedRun is a run that was removed. A replaced run had no files left.
type PrunedRun struct {
	RunID        string        `json:"run_id"`
	Kind         snapshot.Kind `json:"kind"`
	SnapshotDate string        `json:"snapshot_date"`
	State        string        `json:"state"`
	Files        int           `json:"files"`
	Bytes        int64         `json:"bytes"`
}

// Prune removes whole published snapshots of some kinds, each kind separately, and the documents of replaced runs from
// before the dates to keep. It never removes the run that _latest.json refers to or should refer to. If there is a
// history, Prune also keeps full snapshots that are not in it, except as LeftOut allows. If only a rebuild of the
// history can add such a snapshot, the snapshots that the rebuild needs are kept too. Prune does not change the
// history.
//
// A run's pointer is removed first, so that readers who follow pointers never find a manifest whose files are missing.
// The manifest is removed last. The next command that changes the destination finishes an interrupted removal
// (Recover). If the manifest of a run cannot be read, Prune keeps the run, and returns an error after it has removed
// the other runs.
//
// On a store without locks, do not publish a run of a date that is being pruned, because pointers are removed
// unconditionally.
func Prune(ctx context.Context, catalog snapshot.Catalog, opts PruneOptions) (_ *PruneReport, err error) {
	if (opts.Keep > 0) == (opts.KeepDays > 0) {
		return nil, errors.New("prune: exactly one of Keep and KeepDays must be above 0")
	}
	p := &pruner{catalog: catalog, opts: opts, today: opts.Now().UTC(), report: &PruneReport{DryRun: opts.DryRun, Removed: []PrunedRun{}}}
	if opts.DryRun {
		begun, err := catalog.Changes(ctx, (*snapshot.Change).Prunes)
		if err != nil {
			return nil, err
		}
		return p.report, p.run(ctx, slices.SortedFunc(maps.Values(begun), func(a, b *snapshot.Change) int {
			return cmp.Compare(a.RunID, b.RunID)
		}))
	}
	unlockHistory, err := catalog.LockHistory(ctx) // A fold or rebuild may be reading the snapshots.
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlockHistory()) }()
	for attempt := 1; ; attempt++ {
		recovered, unlock, err := catalog.RecoverAndLock(ctx)
		if err != nil {
			if recovered != nil {
				for _, change := range append(opts.Begun, recovered.Pruned...) {
					p.report.Removed = append(p.report.Removed, prunedRun(change, nil))
				}
			}
			if len(p.report.Removed) == 0 {
				return nil, err
			}
			return p.report, err
		}
		err = errors.Join(p.run(ctx, append(opts.Begun, recovered.Pruned...)), unlock())
		opts.Begun = nil // They are already in the report.
		if !errors.Is(err, sink.ErrConflict) || attempt == maxPruneAttempts {
			return p.report, err
		}
	}
}

// maxPruneAttempts is the maximum number of attempts to prune while another process, such as a purge, changes a run.
const maxPruneAttempts = 5

type pruner struct {
	catalog snapshot.Catalog
	opts    PruneOptions
	today   time.Time
	report  *PruneReport
}

// run removes expired snapshots. It also reports the removals in begun, which an earlier command began. Recovery has
// finished these removals, except in a dry run.
func (p *pruner) run(ctx context.Context, begun []*snapshot.Change) error {
	p.report.Kept, p.report.Unfolded, p.report.NeededByRebuild = 0, nil, nil // drop the results of an earlier attempt
	runs, unreadable, err := p.catalog.PublishedRuns(ctx)
	if err != nil {
		return err
	}
	protected, err := p.protected(ctx)
	if err != nil {
		return err
	}
	history, err := p.catalog.ReadHistory(ctx)
	if err != nil {
		return &wording.AdvisedError{Err: err, Advice: "rebuild the history with " + wording.Command("history", wording.Setting("rebuild")) + ", then prune again"}
	}
	for _, change := range begun {
		p.report.Removed = append(p.report.Removed, prunedRun(change, runs[change.RunID]))
		delete(runs, change.RunID)
	}
	for _, kind := range slices.DeleteFunc([]snapshot.Kind{snapshot.Full, snapshot.AsOf, snapshot.Delta}, func(k snapshot.Kind) bool { return !p.opts.prunes(k) }) {
		expired := p.expired(kind, runs, protected)
		if kind == snapshot.Full && history != nil {
			if expired, err = p.keepForHistory(ctx, expired, runs, history.Manifest); err != nil {
				return err
			}
		}
		for _, manifest := range expired {
			change := removal(manifest)
			if !p.opts.DryRun {
				if err := p.catalog.Apply(ctx, change); err != nil {
					return err
				}
			}
			p.report.Removed = append(p.report.Removed, prunedRun(change, manifest))
		}
	}
	for _, manifest := range runs {
		gone := slices.ContainsFunc(p.report.Removed, func(r PrunedRun) bool { return r.RunID == manifest.RunID })
		if manifest.Status == snapshot.Published && !gone && p.opts.prunes(manifest.Kind) {
			p.report.Kept++
		}
	}
	return unreadable
}

// keepForHistory returns the expired runs that the history does not need, and adds the other expired runs to the
// report. If only a rebuild of the history can add an expired snapshot, and a rebuild is possible, all snapshots that
// are in the history are needed.
func (p *pruner) keepForHistory(
	ctx context.Context, expired []*snapshot.Manifest, runs map[string]*snapshot.Manifest, history *snapshot.HistoryManifest,
) ([]*snapshot.Manifest, error) {
	dates := make(map[string]bool) // the dates of the published full snapshots
	for _, m := range runs {
		if m.Kind == snapshot.Full && m.Status == snapshot.Published {
			dates[m.SnapshotDate] = true
		}
	}
	canRebuild := len(history.Pruned(func(date string) bool { return dates[date] })) == 0
	rebuilds := false
	kept := make(map[*snapshot.Manifest]bool)
	for _, m := range expired {
		if m.Status != snapshot.Published {
			continue
		}
		unfolded := UnfoldedRun{RunID: m.RunID, SnapshotDate: m.SnapshotDate, Reason: m.OutsideHistory(history.BaseURL, history.Scope)}
		holds, err := p.holds(ctx, history, m)
		switch {
		case err != nil:
			return nil, err
		case holds, p.opts.LeftOut && unfolded.Reason != "":
			continue
		case unfolded.Reason != "":
		case m.SnapshotDate >= history.Through(): // a fold also updates the last date if its snapshot was replaced
			unfolded.Command = wording.Command("history")
		case canRebuild:
			unfolded.Command, rebuilds = wording.Command("history", wording.Setting("rebuild")), true
		}
		p.report.Unfolded = append(p.report.Unfolded, unfolded)
		kept[m] = true
	}
	return slices.DeleteFunc(expired, func(m *snapshot.Manifest) bool {
		folded := slices.ContainsFunc(history.Snapshots, func(f snapshot.FoldedSnapshot) bool { return f.Date == m.SnapshotDate })
		if !kept[m] && rebuilds && folded && m.Status == snapshot.Published {
			p.report.NeededByRebuild = append(p.report.NeededByRebuild, m.SnapshotDate)
			return true
		}
		return kept[m]
	}), nil
}

// holds reports whether a published run is in the history. It also compares the hash of the manifest, because a run
// that was pruned and then exported again has the same id.
func (p *pruner) holds(ctx context.Context, history *snapshot.HistoryManifest, m *snapshot.Manifest) (bool, error) {
	for _, f := range history.Snapshots {
		if f.RunID != m.RunID || f.Date != m.SnapshotDate {
			continue
		}
		if len(m.Purges) > 0 { // the hash proves nothing, because purges change the manifest
			return true, nil
		}
		pointer, err := snapshot.ReadIfSound[snapshot.Pointer](ctx, p.catalog, snapshot.PointerPath(m.Kind, m.SnapshotDate))
		return pointer == nil || pointer.ManifestSHA256 == f.ManifestSHA256, err
	}
	return false, nil
}

// protected returns the runs that are never removed.
func (p *pruner) protected(ctx context.Context) (map[string]bool, error) {
	protected := make(map[string]bool)
	latest, err := snapshot.ReadIfSound[snapshot.Latest](ctx, p.catalog, snapshot.LatestPath)
	if err != nil {
		return nil, err
	}
	if latest != nil {
		protected[latest.RunID] = true
	}
	newest, err := p.catalog.NewestUnfiltered(ctx)
	if err != nil {
		return nil, err
	}
	if newest != nil {
		protected[newest.RunID] = true
	}
	return protected, nil
}

// expired returns the runs of a kind that have to be removed, the oldest first.
func (p *pruner) expired(kind snapshot.Kind, runs map[string]*snapshot.Manifest, protected map[string]bool) []*snapshot.Manifest {
	all := slices.Collect(maps.Values(runs))
	all = slices.DeleteFunc(all, func(m *snapshot.Manifest) bool { return m.Kind != kind })
	slices.SortFunc(all, func(a, b *snapshot.Manifest) int {
		return cmp.Or(cmp.Compare(a.SnapshotDate, b.SnapshotDate), a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	expired := p.expiredByAge
	if p.opts.Keep > 0 {
		expired = p.expiredByCount(all)
	}
	return slices.DeleteFunc(all, func(m *snapshot.Manifest) bool { return !expired(m) || protected[m.RunID] })
}

func (p *pruner) expiredByAge(m *snapshot.Manifest) bool {
	day := m.SnapshotDate
	if m.Kind == snapshot.AsOf {
		day = m.StartedAt.UTC().Format(time.DateOnly)
	}
	return day < p.today.AddDate(0, 0, -p.opts.KeepDays).Format(time.DateOnly)
}

// expiredByCount returns a function that reports whether a run has expired. A published snapshot has expired if it is
// not one of the newest snapshots that are kept. A replaced run has expired if it is older than all of these snapshots.
// The runs in all must be sorted, the oldest first.
func (p *pruner) expiredByCount(all []*snapshot.Manifest) func(*snapshot.Manifest) bool {
	kept := make(map[*snapshot.Manifest]bool)
	oldest := "" // the oldest date that is kept; no run is older than an empty date
	for _, m := range slices.Backward(all) {
		if m.Status == snapshot.Published && len(kept) < p.opts.Keep {
			kept[m] = true
			oldest = m.SnapshotDate
		}
	}
	return func(m *snapshot.Manifest) bool {
		return !kept[m] && (m.Status == snapshot.Published || m.SnapshotDate < oldest)
	}
}

// prunedRun returns the report of a removal. m is the manifest of the run, or nil if the manifest has already been
// removed.
func prunedRun(change *snapshot.Change, m *snapshot.Manifest) PrunedRun {
	pruned := PrunedRun{
		RunID: change.RunID, Kind: change.Kind, SnapshotDate: change.SnapshotDate, State: snapshot.Published,
		Files: len(change.Remove), Bytes: change.Bytes,
	}
	if m != nil {
		pruned.State = m.Status
		if m.Status == snapshot.Published {
			pruned.Files = len(m.Paths()) // the change does not list the files if it was written on a full disk
		}
	}
	return pruned
}

// removal returns the change that removes a run. The change also removes files for the run's date that have the run's
// id in their names but are not listed in the manifest.
func removal(m *snapshot.Manifest) *snapshot.Change {
	change := &snapshot.Change{FormatVersion: snapshot.FormatVersion, RunID: m.RunID, Kind: m.Kind, SnapshotDate: m.SnapshotDate}
	if m.Status == snapshot.Published {
		change.Remove, change.Bytes = slices.Sorted(maps.Keys(m.Paths())), m.Bytes()
	}
	return change
}
