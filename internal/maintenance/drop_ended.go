package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// DropEndedOptions select the versions that DropEnded removes from the history.
type DropEndedOptions struct {
	// Before is a date. Versions that ended before this date are removed.
	Before string
	// DryRun is true if DropEnded only reports what it would remove.
	DryRun bool
	// Now returns the current time.
	Now         func() time.Time
	ToolVersion string
}

// maxDropAttempts is the maximum number of attempts to change the history. An attempt fails if another process has
// changed the history in the meantime.
const maxDropAttempts = 5

// DropEnded removes the versions that ended before a date from the history, in a single change. Versions that have not
// ended are kept, however old they are. The manifest records the date from which the history is complete, and a rebuild
// omits the same versions. DropEnded does not change snapshots, which Prune removes.
//
// The report is stored as the proof, _purges/<id>.json. If a process was killed in DropEnded, the next call finishes
// its drop. DropEnded returns a *RefusedError if there is no history, or if the date is after the history's last
// snapshot, because the versions that ended with that snapshot are needed if the snapshot is replaced.
func DropEnded(ctx context.Context, catalog snapshot.Catalog, opts DropEndedOptions) (_ *PurgeReport, err error) {
	if !opts.DryRun {
		unlock, err := catalog.LockHistory(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	d := &dropper{catalog: catalog, opts: opts}
	if d.earlier, err = d.proofs(ctx); err != nil {
		return nil, err
	}
	var own *PurgeReport
	for _, report := range d.earlier {
		switch {
		case report.State == purgeDone:
		case opts.DryRun:
		case report.Asked.EndedBefore == opts.Before:
			own = report
		default: // a drop with another date, begun by a killed command
			if err := d.drop(ctx, report); err != nil {
				return nil, err
			}
		}
	}
	return d.dropOwn(ctx, own)
}

type dropper struct {
	catalog snapshot.Catalog
	opts    DropEndedOptions
	earlier []*PurgeReport // oldest first
}

// proofs returns the reports of earlier drops, whether finished or not, oldest first.
func (d *dropper) proofs(ctx context.Context) ([]*PurgeReport, error) {
	entries, err := sink.ListAll(ctx, d.catalog, snapshot.PurgesPrefix)
	if err != nil {
		return nil, err
	}
	var found []*PurgeReport
	for _, entry := range entries {
		if !snapshot.IsPurgeReport(entry.Path) {
			continue
		}
		report, err := snapshot.ReadIfSound[PurgeReport](ctx, d.catalog, entry.Path)
		if err != nil {
			return nil, err
		}
		if report != nil && report.Asked.EndedBefore != "" {
			found = append(found, report)
		}
	}
	slices.SortFunc(found, func(a, b *PurgeReport) int { return cmp.Or(a.BegunAt.Compare(b.BegunAt), strings.Compare(a.ID, b.ID)) })
	return found, nil
}

// dropOwn drops the requested versions. If a killed command has begun the same drop, begun is its report, which dropOwn
// continues.
func (d *dropper) dropOwn(ctx context.Context, begun *PurgeReport) (*PurgeReport, error) {
	report := begun
	if report == nil {
		at, asked := d.opts.Now().UTC().Truncate(time.Second), PurgeAsked{EndedBefore: d.opts.Before}
		report = &PurgeReport{
			FormatVersion: snapshot.FormatVersion, ID: at.Format(snapshot.PurgeTimeFormat) + "-" + asked.id(), State: purgePlanned,
			DryRun: d.opts.DryRun, ToolVersion: d.opts.ToolVersion, Asked: asked, BegunAt: at, Schools: []string{},
			Unknown: []string{}, Runs: []PurgedRun{}, RowsRemoved: map[string]int64{}, DroppedRuns: []string{}, NotReached: []string{},
		}
		for _, other := range d.earlier {
			if other.State == purgeDone && other.Asked.EndedBefore == d.opts.Before {
				report.Earlier = other
			}
		}
	}
	return report, d.drop(ctx, report)
}

// drop removes the versions that a report requests, and stores the report as the proof. It stores nothing in a dry run,
// or if the report is new and there are no versions to drop.
func (d *dropper) drop(ctx context.Context, report *PurgeReport) error {
	for attempt := 1; ; attempt++ {
		before, err := d.read(ctx, report.Asked.EndedBefore)
		if err != nil {
			return err
		}
		after, dropped := before.DroppingEnded(report.Asked.EndedBefore)
		dropped.ID = report.ID
		if dropped.FilesRewritten == 0 && report.State == purgePlanned {
			return nil
		}
		if dropped.FilesRewritten > 0 { // otherwise a killed command has already dropped the versions in the report
			report.History = dropped
		}
		if report.NotReached, err = d.notReached(ctx, report.Asked.EndedBefore); err != nil || d.opts.DryRun {
			return err
		}
		if report.State == purgePlanned {
			report.State = purgeBegun
			if err := snapshot.WriteDocument(ctx, d.catalog.Store(), PurgePath(report.ID), report, sink.Condition{Absent: true}); err != nil {
				return err
			}
		}
		err = d.change(ctx, before, after, report)
		switch {
		case err == nil:
			return d.prove(ctx, after, report)
		case !errors.Is(err, sink.ErrConflict) || attempt == maxDropAttempts:
			return fmt.Errorf("drop ended versions of the history: %w", err)
		}
	}
}

// read reads the history. It returns a *RefusedError if there is no history, or if the history ends before the given
// date.
func (d *dropper) read(ctx context.Context, date string) (*snapshot.HistoryManifest, error) {
	current, err := d.catalog.ReadHistory(ctx)
	switch {
	case err != nil:
		return nil, &wording.AdvisedError{Err: err, Advice: "rebuild the history with " + wording.Command("history", wording.Setting("rebuild")) + ", then drop again"}
	case current == nil:
		return nil, d.catalog.NoHistory(ctx)
	case date > current.Manifest.Through():
		return nil, &snapshot.RefusedError{Reason: fmt.Sprintf("the history at %s goes through %s: the date must not be later than that, but is %s",
			d.catalog, current.Manifest.Through(), date)}
	}
	return current.Manifest, nil
}

// change replaces the history, and removes unlisted files of the dropped dates, which killed commands left behind.
func (d *dropper) change(ctx context.Context, before, after *snapshot.HistoryManifest, report *PurgeReport) error {
	unnamed, err := d.catalog.UnnamedHistory(ctx, after)
	if err != nil {
		return err
	}
	gone := before.ReplacedBy(after)
	for _, path := range unnamed {
		if snapshot.EndedBefore(path, report.Asked.EndedBefore) && !slices.Contains(gone, path) {
			gone = append(gone, path)
		}
	}
	if len(gone) == 0 && before.HistoryID == after.HistoryID {
		return nil
	}
	return d.catalog.ChangeHistory(ctx, before.HistoryID, after, nil, gone)
}

// prove reads the remaining history again, checks that no file of an earlier date exists, and stores the proof.
func (d *dropper) prove(ctx context.Context, after *snapshot.HistoryManifest, report *PurgeReport) error {
	left := after.Files()
	read := &PurgeVerification{Files: len(left), RowsMentioning: map[string]int64{}}
	if _, err := sink.Map(ctx, hashConcurrency, left, d.check); err != nil {
		return fmt.Errorf("the ended versions were dropped, but not all others can be read: %w", err)
	}
	for _, file := range left {
		read.Rows += file.Rows
		read.Bytes += file.Bytes
	}
	entries, err := sink.ListAll(ctx, d.catalog, snapshot.HistoryFilesPrefix)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if snapshot.EndedBefore(entry.Path, report.Asked.EndedBefore) {
			return fmt.Errorf("%s is still there: another process or program has written it; run the same command again when that process has ended", entry.Path)
		}
	}
	report.State, report.FinishedAt = purgeDone, d.opts.Now().UTC().Truncate(time.Second)
	report.Verification = read
	return snapshot.WriteDocument(ctx, d.catalog.Store(), PurgePath(report.ID), report, sink.Condition{})
}

// check reads a file and compares its hash with the hash in the manifest.
func (d *dropper) check(ctx context.Context, file sink.File) (_ struct{}, err error) {
	object, err := d.catalog.Open(ctx, file.Path)
	if err == nil {
		err = errors.Join(sink.CheckHash(ctx, object, file.SHA256), object.Close())
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", file.Path, err)
	}
	return struct{}{}, err
}

// notReached lists the places where the dropped rows may still exist, for the report.
func (d *dropper) notReached(ctx context.Context, date string) ([]string, error) {
	places := unreachable()
	runs, _, err := d.catalog.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	older, oldest, kinds := 0, "", make(map[string]bool)
	for _, m := range runs {
		if m.Status == snapshot.Published && m.SnapshotDate < date {
			older++
			kinds[wording.Setting("kind").String()+" "+string(m.Kind)] = true
			if oldest == "" || m.SnapshotDate < oldest {
				oldest = m.SnapshotDate
			}
		}
	}
	if older > 0 {
		places = append(places, fmt.Sprintf("%s from before %s, the oldest of %s, which may hold the same rows: growth-export prune with %s and %s removes them",
			wording.Many(older, "snapshot"), date, oldest, wording.Setting("keep-days"), strings.Join(slices.Sorted(maps.Keys(kinds)), " or ")))
	}
	return places, nil
}
