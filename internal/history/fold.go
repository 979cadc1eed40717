package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// fold adds one snapshot to a history.
type fold struct {
	catalog snapshot.Catalog // the catalog of the history
	side    *side            // the snapshot
	before  *snapshot.HistoryManifest
	status  map[coverage]snapshot.Status // the statuses in the snapshot's ledger
	day     int32
	files   *fileMaker
	after   *snapshot.HistoryManifest
	report  *Folded
}

// newFold prepares a fold of a snapshot into the history before, which has no snapshots if the history is new.
func newFold(ctx context.Context, catalog, snapshots snapshot.Catalog, before *snapshot.HistoryManifest, of *published) (*fold, error) {
	day, err := snapshot.DayOf(of.manifest.SnapshotDate)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of run %s: %w", of.manifest.RunID, err)
	}
	f := &fold{
		catalog: catalog, before: before, status: make(map[coverage]snapshot.Status), day: day,
		report: &Folded{Date: of.manifest.SnapshotDate, RunID: of.manifest.RunID, Tables: make(map[string]*TableCounts)},
	}
	if f.side, err = openSide(ctx, snapshots, of.manifest); err != nil {
		return nil, err
	}
	id := sha256.New()
	fmt.Fprintf(id, "%d %s %s %s\n", snapshot.FormatVersion, before.HistoryID, of.manifest.SnapshotDate, of.manifest.RunID)
	err = snapshots.ReadLedger(ctx, of.manifest.RunID, func(row *snapshot.LedgerRow) {
		fmt.Fprintf(id, "%q %q %q %s\n", row.Dataset, row.SchoolBid, row.DistrictBid, row.Status)
		if dataset, ok := schemas.Find(row.Dataset); ok && !dataset.IsLookup() && row.SchoolBid != "" {
			f.status[coverage{row.Dataset, row.SchoolBid}] = row.Status
		}
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(of.manifest.Tables)) {
		for _, file := range of.manifest.Tables[name].Files {
			fmt.Fprintf(id, "%s %d %s\n", name, file.Rows, file.SHA256)
		}
	}
	f.files = newFileMaker(catalog, hex.EncodeToString(id.Sum(nil)[:8]))
	f.after = &snapshot.HistoryManifest{
		FormatVersion: snapshot.FormatVersion, HistoryID: f.files.id, BaseURL: of.manifest.BaseURL, Scope: of.manifest.HistoryScope(),
		Snapshots: append(slices.Clone(before.Snapshots), of.folded()),
		Tables:    make(map[string]snapshot.ManifestTable), DroppedBefore: before.DroppedBefore, Purges: before.Purges,
		Previous: snapshot.PreviousHistory{HistoryID: before.HistoryID, Tables: make(map[string][]sink.File)},
	}
	maps.Copy(f.after.Tables, before.Tables)
	return f, nil
}

// table begins the fold of a table. If cuts is true, the table is split into parts by school.
func (f *fold) table(ctx context.Context, table *schemas.Table, cuts bool) *tableFold {
	before, withSpan := f.before.OpenFiles(table.Name), snapshot.HistoryTable(table)
	counts := &TableCounts{Because: make(map[string]int64)}
	f.report.Tables[table.Name] = counts
	t := &tableFold{
		ctx: ctx, table: table, versions: withSpan, order: newFileOrder(table, f.day), counts: counts,
		source: newVersions(f.catalog, withSpan, before, new(checkedFiles)),
		parts: &parts{
			files: f.files, table: withSpan, folder: snapshot.HistoryFolder(table.Name, snapshot.Open), before: before, cuts: cuts, day: f.day,
		},
		ended: &endedRows{
			files: f.files, table: withSpan, counts: counts,
			path: snapshot.HistoryFolder(table.Name, f.report.Date) + sink.PartName(0, f.files.id),
		},
		adopted: rows.New(withSpan),
	}
	t.from = t.source.cursor(ctx)
	t.merger = newMerger(table, t)
	t.merger.began, t.merger.groupDone = len(table.Columns), t.groupDone
	return t
}

// finish ends the fold of a table and adds its files to the manifest.
func (f *fold) finish(t *tableFold) error {
	if err := t.finish(); err != nil {
		return err
	}
	name := t.table.Name
	before := f.before.OpenFiles(name)
	all := f.before.Tables[name].Files
	ended := all[:len(all)-len(before)]
	f.after.Tables[name] = snapshot.NewManifestTable(slices.Concat(ended, t.ended.made, t.parts.made)...)
	switch _, held := f.before.Tables[name]; {
	case !held:
		f.after.Previous.Tables[name] = nil
	case !slices.EqualFunc(before, t.parts.made, func(a, b sink.File) bool { return a.Path == b.Path }):
		f.after.Previous.Tables[name] = append([]sink.File{}, before...) // nil means a new table
	}
	return nil
}

// published is a published full snapshot.
type published struct {
	manifest *snapshot.Manifest
	hash     string
}

// is reports whether the snapshot is the folded snapshot f, which a purge may have rewritten since. Comparing run ids
// is not enough: a run that was pruned and then published again has the same id.
func (p *published) is(f snapshot.FoldedSnapshot) bool {
	return p.manifest.RunID == f.RunID && (p.hash == f.ManifestSHA256 || len(p.manifest.Purges) > 0)
}

// folded returns the entry for the snapshot in the history's manifest.
func (p *published) folded() snapshot.FoldedSnapshot {
	return snapshot.FoldedSnapshot{Date: p.manifest.SnapshotDate, RunID: p.manifest.RunID, ManifestSHA256: p.hash}
}
