package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// EraseOptions selects the rows to erase from a history.
type EraseOptions struct {
	// Target holds the students or schools to erase. If Districts is not empty, Index finds the schools of these
	// districts.
	Target    *erase.Target
	Districts erase.Set
	Index     *erase.DistrictIndex
	// Runs holds the published runs by id.
	Runs map[string]*snapshot.Manifest
	// Workspace has the same meaning as in Options. If it is nil, the history is never rebuilt.
	Workspace func() (sink.Store, func() error, error)
	// All makes the search read every text column of the history, to fill in Erasure.Mentioning.
	All bool
}

// Erasure describes the rows of a target in a history.
type Erasure struct {
	// Manifest is the manifest of the history.
	Manifest *snapshot.HistoryManifest
	// Schools holds the schools that belonged to the districts on any day. Moved holds those of them that belonged to
	// other districts on other days.
	Schools, Moved erase.Set
	// Anew is true if the history is to be rebuilt from its snapshots instead of being changed. It is set if rows were
	// found, a workspace is available, all snapshots still exist, and versions would have to be cut, because schools have
	// changed districts or records have changed owners.
	Anew bool
	// Seen has the same meaning as in erase.Match.
	Seen erase.Set
	// Occurs has the same meaning as in erase.Match. It is filled in if all text columns are read.
	Occurs erase.Occurs
	// ByNumber counts the rows of the target without a bid that were found by a number alone. Numbers holds these
	// numbers.
	ByNumber int64
	Numbers  erase.Set
	// Files, Rows and Bytes count the data that was read. RowsFound counts the rows that are removed, begin later or lose
	// _extra.
	Files       int
	Rows, Bytes int64
	RowsFound   int64
	// Mentioning counts, by table.column, the rows of others that mention the target. It is filled in if all text columns
	// are read.
	Mentioning map[string]int64

	opts       EraseOptions
	suppressed *snapshot.Suppression // the list that contains the students; nil if no list does
	target     *erase.Target
	moved      map[string][]days // the days on which the schools of Moved belong to the districts
	tables     []*erasedTable
	cuts       bool // whether a version would have to be cut
	complete   bool // whether all folded snapshots still exist
}

// days is a range of days that does not include the last one.
type days struct{ from, to int32 }

// FindErasure searches the history for rows to erase. It returns nil if there is no history.
func FindErasure(ctx context.Context, catalog snapshot.Catalog, opts EraseOptions) (*Erasure, error) {
	current, err := catalog.ReadHistory(ctx)
	if err != nil {
		return nil, &wording.AdvisedError{Err: err, Advice: "rebuild the history with " + wording.Command("history", wording.Setting("rebuild")) + ", then purge again"}
	}
	if current == nil {
		return nil, nil
	}
	e := &Erasure{
		Manifest: current.Manifest, opts: opts, Schools: make(erase.Set), Moved: make(erase.Set), Seen: make(erase.Set),
		Occurs: erase.NewOccurs(), Numbers: make(erase.Set),
		Mentioning: make(map[string]int64), moved: make(map[string][]days), complete: true,
	}
	for _, folded := range e.Manifest.Snapshots {
		e.complete = e.complete && opts.Runs[folded.RunID] != nil
	}
	if err := e.findSchools(); err != nil {
		return nil, err
	}
	e.listTables()
	for _, t := range e.tables {
		if err := e.search(ctx, catalog, t); err != nil {
			return nil, fmt.Errorf("look for rows in the history: %w", err)
		}
	}
	e.Anew = e.complete && opts.Workspace != nil && e.RowsFound > 0 && (e.cuts || len(e.Moved) > 0)
	return e, nil
}

// findSchools finds the schools of the districts, and the days on which each belongs to them. A folded snapshot is
// valid until the next one. For pruned snapshots, the history itself says which schools belonged to the districts.
func (e *Erasure) findSchools() error {
	e.target = e.opts.Target
	if len(e.opts.Districts) == 0 {
		return nil
	}
	snapshots := e.Manifest.Snapshots
	of := make(map[string][]days)
	for i, folded := range snapshots {
		span := days{math.MinInt32, math.MaxInt32}
		day, err := snapshot.DayOf(folded.Date)
		if err != nil {
			return err
		}
		if i > 0 {
			span.from = day
		}
		if i+1 < len(snapshots) {
			if span.to, err = snapshot.DayOf(snapshots[i+1].Date); err != nil {
				return err
			}
		}
		schools := e.opts.Index.SchoolsOf(folded.RunID, e.opts.Districts)
		if e.opts.Runs[folded.RunID] == nil {
			schools = e.opts.Index.SchoolsAt(day, e.opts.Districts)
		}
		for school := range schools {
			if spans := of[school]; len(spans) > 0 && spans[len(spans)-1].to == span.from {
				spans[len(spans)-1].to = span.to
			} else {
				of[school] = append(spans, span)
			}
		}
	}
	always := make(erase.Set)
	for school, spans := range of {
		e.Schools[school] = true
		if spans[0] == (days{math.MinInt32, math.MaxInt32}) {
			always[school] = true
		} else {
			e.Moved[school] = true
			e.moved[school] = spans
		}
	}
	e.target = &erase.Target{Schools: always, Districts: e.opts.Districts}
	return nil
}

// listTables lists the tables. The first table of a dataset comes before its others, because its rows determine which
// records are erased.
func (e *Erasure) listTables() {
	listed := make(erase.Set)
	for _, dataset := range schemas.Datasets() {
		records := make(map[string][]days)
		for _, table := range dataset.Tables {
			listed[table.Name] = true
			e.tables = append(e.tables, &erasedTable{table: table, dataset: dataset, records: records})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Manifest.Tables)) {
		if listed[name] {
			continue
		}
		table, ok := snapshot.FindHistoryTable(name)
		if !ok {
			table = &schemas.Table{Name: name}
		}
		e.tables = append(e.tables, &erasedTable{table: table, records: make(map[string][]days)})
	}
}

// Report returns the counts of removed rows, or nil if the history loses nothing.
func (e *Erasure) Report(id string) *snapshot.HistoryPurge {
	if e == nil {
		return nil
	}
	purge := &snapshot.HistoryPurge{ID: id, RowsRemoved: make(map[string]int64), Suppressed: e.suppressed}
	for _, t := range e.tables {
		for i := range t.files {
			if f := &t.files[i]; f.changes() {
				snapshot.AddRows(&purge.RowsRemoved, t.table.Name, f.removed)
				snapshot.AddRows(&purge.ExtraRemoved, t.table.Name, f.cleared)
				purge.FilesRewritten++
			}
		}
	}
	if purge.FilesRewritten == 0 {
		return nil
	}
	return purge
}

// Pending reports whether the history has to be changed, because it holds rows to erase or refers to manifests that an
// erasure has changed.
func (e *Erasure) Pending() (bool, error) {
	if e == nil || e.RowsFound > 0 {
		return e != nil, nil
	}
	folded, err := e.folded(e.opts.Runs)
	return !slices.Equal(folded, e.Manifest.Snapshots), err
}

// folded returns the folded snapshots, with the current hashes of the manifests that purges have changed.
func (e *Erasure) folded(runs map[string]*snapshot.Manifest) ([]snapshot.FoldedSnapshot, error) {
	folded := slices.Clone(e.Manifest.Snapshots)
	for i := range folded {
		m := runs[folded[i].RunID]
		if m == nil || len(m.Purges) == 0 {
			continue
		}
		data, err := snapshot.EncodeDocument(m)
		if err != nil {
			return nil, err
		}
		folded[i].ManifestSHA256 = sink.Hash(data)
	}
	return folded, nil
}

// Erase publishes the history without the rows that were found. suppressed is recorded with the purge. It is the
// suppression list that contains the students, or nil if no list does. runs holds the current published runs by id. The
// caller must hold the lock of the history.
func (e *Erasure) Erase(
	ctx context.Context, catalog snapshot.Catalog, purge string, suppressed *snapshot.Suppression, runs map[string]*snapshot.Manifest,
) error {
	if e == nil {
		return nil
	}
	e.opts.Runs, e.suppressed = runs, suppressed
	if pending, err := e.Pending(); !pending || err != nil {
		return err
	}
	var err error
	if e.Anew {
		err = e.makeAnew(ctx, catalog, purge)
	} else {
		err = e.rewrite(ctx, catalog, purge)
	}
	if err != nil {
		return fmt.Errorf("purge the history: %w", err)
	}
	return nil
}

// makeAnew rebuilds the history from the snapshots that it holds. It returns an error that wraps sink.ErrConflict if
// one of these snapshots was replaced.
func (e *Erasure) makeAnew(ctx context.Context, catalog snapshot.Catalog, purge string) error {
	u := &updater{catalog: catalog, opts: Options{Workspace: e.opts.Workspace}, report: &Report{}}
	all, err := u.snapshots(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p *published) bool {
		return !slices.ContainsFunc(e.Manifest.Snapshots, func(f snapshot.FoldedSnapshot) bool { return f.RunID == p.manifest.RunID })
	})
	if len(all) != len(e.Manifest.Snapshots) {
		return fmt.Errorf("%w: a snapshot of the history was replaced", sink.ErrConflict)
	}
	return u.makeAnew(ctx, e.Manifest, all, func(after *snapshot.HistoryManifest) {
		removed := removedBetween(purge, e.Manifest, after)
		removed.Suppressed = e.suppressed
		after.AddPurge(removed)
	})
}

// removedBetween returns how many rows each table has lost, and how many files are new.
func removedBetween(id string, before, after *snapshot.HistoryManifest) *snapshot.HistoryPurge {
	purge := &snapshot.HistoryPurge{ID: id, RowsRemoved: make(map[string]int64)}
	for name := range before.Tables {
		rows := int64(0)
		for _, file := range before.Tables[name].Files {
			rows += file.Rows
		}
		for _, file := range after.Tables[name].Files {
			rows -= file.Rows
			if !slices.ContainsFunc(before.Tables[name].Files, func(f sink.File) bool { return f.Path == file.Path }) {
				purge.FilesRewritten++
			}
		}
		snapshot.AddRows(&purge.RowsRemoved, name, max(rows, 0))
	}
	return purge
}

// errNoVersions is the error for a file that does not hold versions.
var errNoVersions = errors.New("it has no column valid_from")
