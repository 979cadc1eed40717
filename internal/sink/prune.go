package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// PruneOptions say which snapshots Prune keeps: exactly one of Keep and
// KeepDays is above 0.
type PruneOptions struct {
	// Kinds are the kinds of snapshots that are pruned; empty means all.
	Kinds []Kind
	// Keep is how many snapshots of each kind are kept, those of the newest
	// dates.
	Keep int
	// KeepDays keeps the full snapshots and the changes of the last so many days
	// and today's, and the as-of snapshots that were taken in them, however long
	// ago their own dates are.
	KeepDays int
	// Now returns the time.
	Now func() time.Time
	// DryRun reports what would be removed and removes nothing.
	DryRun bool
}

// prunes reports whether snapshots of a kind are pruned.
func (o *PruneOptions) prunes(kind Kind) bool {
	return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind)
}

// PruneReport lists what Prune has removed, or would remove.
type PruneReport struct {
	DryRun  bool        `json:"dry_run"`
	Removed []PrunedRun `json:"removed"`
	// Kept counts the published snapshots of the pruned kinds that stay.
	Kept int `json:"kept"`
}

// PrunedRun is a run that was removed. A replaced one has no files any more.
type PrunedRun struct {
	RunID        string `json:"run_id"`
	Kind         Kind   `json:"kind"`
	SnapshotDate string `json:"snapshot_date"`
	State        string `json:"state"`
	Files        int    `json:"files"`
	Bytes        int64  `json:"bytes"`
}

// pruneIntent is prune.json: the run is being removed. It stands from before
// the first thing is removed until after the last.
type pruneIntent struct {
	FormatVersion int    `json:"format_version"`
	RunID         string `json:"run_id"`
	Kind          Kind   `json:"kind"`
	SnapshotDate  string `json:"snapshot_date"`
}

// Prune removes whole published snapshots of some kinds, each kind on its own,
// and what is left of replaced runs that are older than everything that is kept. The
// run that _latest.json names is never removed, nor the newest that it should name.
//
// Of a run the pointer goes first, so that no reader by pointer finds a
// manifest whose files are missing, and the manifest last. A removal that was
// killed is finished by the next Prune, whatever that one keeps. A manifest
// that cannot be read keeps its run and is an error, after all else was done.
//
// On a store without locks no run of a date that is about to go should be
// published at the same time: pointers are not removed under a condition.
func Prune(ctx context.Context, store Store, opts PruneOptions) (_ *PruneReport, err error) {
	if (opts.Keep > 0) == (opts.KeepDays > 0) {
		return nil, errors.New("prune: say either how many snapshots to keep or of how many days")
	}
	if !opts.DryRun {
		unlock, lockErr := alone(ctx, store)
		if lockErr != nil {
			return nil, lockErr
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	p := &pruning{store: store, opts: opts, today: opts.Now().UTC(), report: &PruneReport{DryRun: opts.DryRun, Removed: []PrunedRun{}}}
	return p.report, p.run(ctx)
}

type pruning struct {
	store  Store
	opts   PruneOptions
	today  time.Time
	report *PruneReport
}

func (p *pruning) run(ctx context.Context) error {
	runs, unreadable, err := publishedRuns(ctx, p.store)
	if err != nil {
		return err
	}
	begun, err := begunPrunes(ctx, p.store)
	if err != nil {
		return err
	}
	spared, err := p.spared(ctx)
	if err != nil {
		return err
	}
	var doomed []pruneIntent
	for _, kind := range slices.DeleteFunc([]Kind{Full, AsOf, Delta}, func(k Kind) bool { return !p.opts.prunes(k) }) {
		doomed = append(doomed, p.judge(kind, runs, spared, begun)...)
	}
	for _, intent := range append(begun, doomed...) {
		manifest := runs[intent.RunID]
		if !p.opts.DryRun {
			if err := removeRun(ctx, p.store, intent, manifest); err != nil {
				return err
			}
		}
		p.report.Removed = append(p.report.Removed, prunedRun(intent, manifest))
	}
	for _, manifest := range runs {
		gone := slices.ContainsFunc(p.report.Removed, func(r PrunedRun) bool { return r.RunID == manifest.RunID })
		if manifest.Status == Published && !gone && p.opts.prunes(manifest.Kind) {
			p.report.Kept++
		}
	}
	return unreadable
}

// begunPrunes returns the removals that were killed.
func begunPrunes(ctx context.Context, store Store) ([]pruneIntent, error) {
	entries, err := ListAll(ctx, store, runsPrefix)
	if err != nil {
		return nil, err
	}
	var begun []pruneIntent
	for _, run := range runsWith(entries, pruneName) {
		intent, _, err := readDocument[pruneIntent](ctx, store, inRun(run, pruneName))
		if err != nil {
			return nil, err
		}
		begun = append(begun, *intent)
	}
	return begun, nil
}

// spared are the runs that are never removed.
func (p *pruning) spared(ctx context.Context) (map[string]bool, error) {
	spared := make(map[string]bool)
	latest, _, err := readDocument[Latest](ctx, p.store, LatestPath)
	switch {
	case err == nil:
		spared[latest.RunID] = true
	case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged):
		return nil, err
	}
	newest, err := newestWhole(ctx, p.store)
	if err != nil {
		return nil, err
	}
	if newest != nil {
		spared[newest.RunID] = true
	}
	return spared, nil
}

// judge returns the runs of a kind that are to go, the oldest first.
func (p *pruning) judge(kind Kind, runs map[string]*Manifest, spared map[string]bool, begun []pruneIntent) []pruneIntent {
	var all []*Manifest
	for _, manifest := range runs {
		going := slices.ContainsFunc(begun, func(b pruneIntent) bool { return b.RunID == manifest.RunID })
		if manifest.Kind == kind && !going {
			all = append(all, manifest)
		}
	}
	slices.SortFunc(all, func(a, b *Manifest) int {
		return cmp.Or(cmp.Compare(a.SnapshotDate, b.SnapshotDate), a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	expired := p.expiredByAge
	if p.opts.Keep > 0 {
		expired = p.expiredByCount(all)
	}
	var doomed []pruneIntent
	for _, m := range all {
		if expired(m) && !spared[m.RunID] {
			doomed = append(doomed, pruneIntent{
				FormatVersion: FormatVersion, RunID: m.RunID, Kind: m.Kind, SnapshotDate: m.SnapshotDate,
			})
		}
	}
	return doomed
}

func (p *pruning) expiredByAge(m *Manifest) bool {
	day := m.SnapshotDate
	if m.Kind == AsOf {
		day = m.StartedAt.UTC().Format(time.DateOnly)
	}
	return day < p.today.AddDate(0, 0, -p.opts.KeepDays).Format(time.DateOnly)
}

// expiredByCount judges by the number of newer published snapshots among all,
// which are sorted. A replaced run has expired where it is older than all that
// are kept.
func (p *pruning) expiredByCount(all []*Manifest) func(*Manifest) bool {
	kept := make(map[*Manifest]bool)
	oldest := "" // of the dates that are kept; nothing is older than none
	for _, m := range slices.Backward(all) {
		if m.Status == Published && len(kept) < p.opts.Keep {
			kept[m] = true
			oldest = m.SnapshotDate
		}
	}
	return func(m *Manifest) bool {
		return !kept[m] && (m.Status == Published || m.SnapshotDate < oldest)
	}
}

func prunedRun(intent pruneIntent, m *Manifest) PrunedRun {
	pruned := PrunedRun{RunID: intent.RunID, Kind: intent.Kind, SnapshotDate: intent.SnapshotDate, State: Published}
	if m == nil {
		return pruned
	}
	pruned.State = m.Status
	if m.Status != Published {
		return pruned
	}
	for _, file := range m.files() {
		pruned.Files++
		pruned.Bytes += file.Bytes
	}
	return pruned
}

// removeRun removes a run; manifest is nil where an earlier attempt came that
// far.
func removeRun(ctx context.Context, store Store, intent pruneIntent, manifest *Manifest) error {
	if err := removeSteps(ctx, store, intent, manifest); err != nil {
		return fmt.Errorf("prune run %s: %w", intent.RunID, err)
	}
	return nil
}

func removeSteps(ctx context.Context, store Store, intent pruneIntent, manifest *Manifest) error {
	folder := runPath(intent.RunID)
	if err := writeDocument(ctx, store, folder+pruneName, intent, Condition{}); err != nil {
		return err
	}
	if err := removePointer(ctx, store, intent); err != nil {
		return err
	}
	paths, err := filesOfRun(ctx, store, intent, manifest)
	if err != nil {
		return err
	}
	documents, err := ListAll(ctx, store, folder)
	if err != nil {
		return err
	}
	for _, entry := range documents {
		if entry.Path != folder+manifestName && entry.Path != folder+pruneName {
			paths = append(paths, entry.Path)
		}
	}
	if err := RemoveAll(ctx, store, paths); err != nil {
		return err
	}
	if err := store.Sweep(ctx, intent.RunID); err != nil {
		return err
	}
	if err := store.Remove(ctx, folder+manifestName); err != nil {
		return err
	}
	return store.Remove(ctx, folder+pruneName)
}

// Going tells whether a run is gone, or somebody is removing it: what is written
// into its folder then may stay behind.
func Going(ctx context.Context, store Store, run string) (bool, error) {
	// In this order: a removal that begins later finds what was written, and one
	// that has ended has left no plan.
	intent, err := ListAll(ctx, store, runPath(run)+pruneName)
	if err != nil || len(intent) > 0 {
		return err == nil, err
	}
	plan, err := ListAll(ctx, store, PlanPath(run))
	return err == nil && len(plan) == 0, err
}

// removePointer removes the pointer of the run's date, if it names the run.
func removePointer(ctx context.Context, store Store, intent pruneIntent) error {
	path := PointerPath(intent.Kind, intent.SnapshotDate)
	if path == "" {
		return nil
	}
	pointer, _, err := readDocument[Pointer](ctx, store, path)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDamaged):
		return nil
	case err != nil:
		return err
	case pointer.RunID != intent.RunID:
		return nil
	}
	return store.Remove(ctx, path)
}

// filesOfRun are the data files that the manifest names, and those that lie in
// the folders of its date under the run's name.
func filesOfRun(ctx context.Context, store Store, intent pruneIntent, manifest *Manifest) ([]string, error) {
	found := make(set)
	if manifest != nil && manifest.Status == Published {
		manifest.addTo(found)
	}
	files, err := filesOfDate(ctx, store, intent.Kind, intent.SnapshotDate)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		if Owner(path) == Escape(intent.RunID) {
			found[path] = true
		}
	}
	return found.sorted(), nil
}
