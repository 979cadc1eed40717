package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// verifyPurged searches for rows to purge in all text columns of the runs, the history and the data files that are
// listed in neither, and adds the result to the report.
func (p *purger) verifyPurged(ctx context.Context) error {
	if err := p.findAndCount(ctx); err != nil {
		return err
	}
	listed, err := sink.ListAll(ctx, p.catalog, "")
	if err != nil {
		return err
	}
	return p.findOrphans(ctx, listed)
}

// findAndCount finds the rows to purge, and counts the other rows that mention the schools, districts or students that
// are purged.
func (p *purger) findAndCount(ctx context.Context) error {
	counts := &PurgeVerification{RowsMentioning: make(map[string]int64)}
	if err := p.findRows(ctx, counts); err != nil {
		return err
	}
	p.report.Verification = counts
	return nil
}

// findRows finds the rows to purge. If again is not nil, findRows reads all text columns and adds the counts to again.
// Runs that are being pruned are omitted.
func (p *purger) findRows(ctx context.Context, again *PurgeVerification) error {
	if err := p.learnNumbers(ctx); err != nil {
		return err
	}
	p.found, p.deepest, p.byNumber, p.numbers = make(map[string]foundRun), 0, 0, make(erase.Set)
	for _, run := range slices.Sorted(maps.Keys(p.all)) {
		if err := p.unlessPruned(ctx, run, p.findRowsOf(ctx, run, again)); err != nil {
			return fmt.Errorf("look for rows in run %s: %w", run, err)
		}
	}
	return p.searchHistory(ctx, again)
}

// unlessPruned handles the error of reading a run. If the run was pruned, it is excluded from the search. If the run
// was replaced, only its files are excluded. In both cases, unlessPruned returns nil, otherwise err.
func (p *purger) unlessPruned(ctx context.Context, run string, err error) error {
	switch {
	case p.isPruned(ctx, run, err):
		delete(p.all, run)
	case !p.isReplaced(ctx, run, err):
		return err
	}
	delete(p.runs, run)
	return nil
}

// isReplaced reports whether a file of a published run was not found because the date of the run now has another
// snapshot. The manifest does not show this if two commands published the date at the same time on a store that ignores
// conditions.
func (p *purger) isReplaced(ctx context.Context, run string, err error) bool {
	m := p.runs[run]
	if !errors.Is(err, sink.ErrNotFound) || m == nil {
		return false
	}
	path := snapshot.PointerPath(m.Kind, m.SnapshotDate)
	if path == "" {
		return false
	}
	pointer, _, err := snapshot.ReadDocument[snapshot.Pointer](ctx, p.catalog, path)
	return err == nil && pointer.RunID != "" && pointer.RunID != run
}

// searchHistory finds the rows to purge in the history.
func (p *purger) searchHistory(ctx context.Context, again *PurgeVerification) (err error) {
	p.history, err = history.FindErasure(ctx, p.catalog, history.EraseOptions{
		Target: p.targetOf(""), Districts: erase.SetOf(p.report.Asked.Districts...), Index: p.index, Runs: p.runs, All: again != nil,
		Workspace: p.opts.Workspace,
	})
	if p.history == nil || err != nil {
		return err
	}
	maps.Copy(p.seen, p.history.Seen)
	p.addPseudonyms(p.history.Manifest.Scope.PrivacyKey, p.history.Occurs)
	p.occurs.Add(p.history.Occurs)
	p.byNumber += p.history.ByNumber
	maps.Copy(p.numbers, p.history.Numbers)
	if again != nil {
		again.Files += p.history.Files
		again.Rows += p.history.Rows
		again.Bytes += p.history.Bytes
		again.RowsFound += p.history.RowsFound
		for column, n := range p.history.Mentioning {
			again.RowsMentioning[column] += n
		}
	}
	return nil
}

// addPseudonyms records the listed bids that occur as ids of students in rows that were exported under a privacy key.
// Such bids are pseudonyms.
func (p *purger) addPseudonyms(key string, occurs erase.Occurs) {
	if key != "" && p.students != nil && !p.students.ByNumber {
		maps.Copy(p.pseudonyms, occurs.IDs)
	}
}

// findRowsOf finds the rows to purge in a run.
func (p *purger) findRowsOf(ctx context.Context, run string, again *PurgeVerification) error {
	units, ledger, err := p.holdingsOf(ctx, run, again)
	if err != nil {
		return err
	}
	for i := range units {
		if units[i].dataset == nil {
			p.undeclared[units[i].files[0].table.Name] = true
		}
	}
	of := p.targetOf(run)
	scanners, err := sink.Map(ctx, scanConcurrency, units, func(ctx context.Context, unit purgeUnit) (*scanner, error) {
		l := newScanner(of, again != nil)
		return l, l.unit(ctx, p.catalog, unit.files, unit.dataset)
	})
	if p.isReplaced(ctx, run, err) {
		delete(p.runs, run)
		return p.findRowsOf(ctx, run, again) // its files are gone, so only its ledger is searched
	}
	if err != nil {
		return err
	}
	for i, l := range scanners {
		maps.Copy(p.seen, l.seen)
		p.addPseudonyms(p.runs[run].Parameters.PrivacyKey, l.occurs)
		p.occurs.Add(l.occurs)
		p.byNumber += l.byNumber
		maps.Copy(p.numbers, l.numbers)
		p.deepest = max(p.deepest, l.deepest)
		if again != nil {
			again.add(&units[i], l)
		}
	}
	if ledger != nil || slices.ContainsFunc(units, func(u purgeUnit) bool { return u.changes() }) {
		p.found[run] = foundRun{units, ledger}
	}
	return nil
}

// isPruned reports whether an object of a run was not found because another process has pruned the run or is pruning
// it.
func (p *purger) isPruned(ctx context.Context, run string, err error) bool {
	if !errors.Is(err, sink.ErrNotFound) {
		return false
	}
	going, err := p.catalog.Changes(ctx, (*snapshot.Change).Prunes)
	if err != nil || going[sink.Escape(run)] != nil {
		return err == nil
	}
	_, _, err = p.catalog.Read(ctx, snapshot.ManifestPath(run))
	return errors.Is(err, sink.ErrNotFound)
}

// holdingsOf returns the files of a run, and the purged ledger, or nil if the ledger does not change. A replaced run
// has no files.
func (p *purger) holdingsOf(ctx context.Context, run string, again *PurgeVerification) ([]purgeUnit, *snapshot.PurgedLedger, error) {
	ledger, err := p.purgedLedger(ctx, p.all[run])
	if err != nil {
		return nil, nil, err
	}
	if ledger != nil {
		ledger.Data = nil
		if again != nil {
			again.RowsFound += ledger.Rows()
		}
	}
	if p.runs[run] == nil {
		return nil, ledger, nil
	}
	return purgeUnits(p.runs[run]), ledger, nil
}

// purgedLedger returns the ledger of a run without the purged schools, or nil if it does not change.
func (p *purger) purgedLedger(ctx context.Context, m *snapshot.Manifest) (*snapshot.PurgedLedger, error) {
	b := p.targetOf(m.RunID)
	if b.Students != nil {
		return nil, nil // ledgers do not contain students
	}
	ledger, err := p.catalog.PurgeLedger(ctx, m, func(school, district string) bool {
		if !b.Schools[school] && !b.Districts[district] {
			return false
		}
		for _, bid := range []string{school, district} {
			if bid != "" {
				p.seen[bid] = true
			}
		}
		return true
	})
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil // Verify reports the missing ledger.
	}
	return ledger, err
}

// add adds the counts of a unit that was scanned.
func (r *PurgeVerification) add(unit *purgeUnit, l *scanner) {
	for i := range unit.files {
		r.Files++
		r.Rows += unit.files[i].file.Rows
		r.Bytes += unit.files[i].file.Bytes
		r.RowsFound += unit.files[i].removed + unit.files[i].cleared
	}
	for column, n := range l.mentioning {
		r.RowsMentioning[column] += n
	}
}

// scanner looks for rows to purge in the files of a unit.
type scanner struct {
	target *erase.Target
	// whole is true if the scanner reads all text columns and counts the rows that mention the target.
	whole      bool
	seen       erase.Set
	mentioning map[string]int64 // by table.column
	deepest    int              // as in erase.Match
	occurs     erase.Occurs     // as in erase.Match
	// byNumber counts the rows to purge that have no bid and were found only by a number. numbers contains these numbers.
	byNumber int64
	numbers  erase.Set
}

func newScanner(of *erase.Target, whole bool) *scanner {
	return &scanner{target: of, whole: whole, seen: make(erase.Set), mentioning: make(map[string]int64), occurs: erase.NewOccurs(), numbers: make(erase.Set)}
}

// unit counts the rows to remove from, and to clear in, each file of a unit. The counts are stored in files.
func (l *scanner) unit(ctx context.Context, catalog snapshot.Catalog, files []purgeFile, dataset *schemas.Dataset) error {
	records := make(erase.Records)
	for i := range files {
		f := &files[i]
		var match *erase.Match
		prepare := func(own *schemas.Table) *schemas.Table {
			columns := l.target.Columns(own, f.table, dataset)
			if l.whole {
				columns = erase.TextColumns(own)
			}
			match = l.target.NewMatch(columns, f.table, dataset, records)
			match.Seen, match.Occurs = l.seen, l.occurs
			return columns
		}
		err := erase.ReadFile(ctx, catalog, f.file.Path, f.table, prepare, func(batch *rows.Batch) error {
			for r := range batch.N {
				if l.whole {
					match.Locate(batch, r)
				}
				switch match.Fate(batch, r) {
				case erase.Goes:
					f.removed++
					if len(match.ByNumber) > 0 {
						l.byNumber++
						maps.Copy(l.numbers, match.ByNumber)
					}
				case erase.LosesExtra:
					f.cleared++
				case erase.Stays:
					if !l.whole {
						continue
					}
					if column := match.Mentions(batch, r); column != "" {
						l.mentioning[f.table.Name+"."+column]++
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		l.deepest = max(l.deepest, match.Deepest)
	}
	return nil
}

// findOrphans looks for data files that are listed neither in a published run nor in the history. For example, a user
// may have restored them from a backup. It reports the files that contain rows to purge or cannot be read, and other
// files that this program did not write. The files must be listed before the runs, because a run that is published in
// between would make its files look unlisted.
func (p *purger) findOrphans(ctx context.Context, listed []sink.Entry) error {
	var current *snapshot.HistoryManifest
	if p.history != nil {
		current = p.history.Manifest
	}
	others, err := findOtherFiles(ctx, p.catalog, listed, p.runs, current)
	if err != nil {
		return err
	}
	p.report.Orphans, p.notSearched = nil, nil
	if others.commits {
		p.notSearched = append(p.notSearched, "descriptions of commits of other programs in Delta logs, such as the condition of a DELETE")
	}
	for _, path := range others.logs {
		own, err := p.isOwnCheckpoint(ctx, path)
		if err != nil {
			return err
		}
		if !own {
			p.notSearched = append(p.notSearched, path+", which another program has written: it may hold statistics of rows")
		}
	}
	for _, path := range others.data {
		holds, err := p.orphanHolds(ctx, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, sink.ErrNotFound):
		case err != nil:
			p.notSearched = append(p.notSearched, path+", which is not a data file of a published run and cannot be read")
		case holds:
			p.report.Orphans = append(p.report.Orphans, path)
		}
	}
	if n := len(others.unknown); n > 0 {
		p.notSearched = append(p.notSearched, wording.Many(n, "other file")+" at the destination, which growth-export did not write and "+
			"cannot search: "+wording.First(others.unknown, maxListedUnknown))
	}
	p.report.NotReached = p.notReached()
	return nil
}

// isOwnCheckpoint reports whether a Parquet file of a Delta log was written by this program, whose logs contain no
// values from rows of students.
func (p *purger) isOwnCheckpoint(ctx context.Context, path string) (own bool, err error) {
	object, err := p.catalog.Open(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		return true, nil // the file was removed after it was listed
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	info, err := parquetfile.ReadFooter(object, object.Size())
	return err == nil && info.CreatedBy == parquetfile.CreatedBy, ctx.Err()
}

// orphanHolds reports whether an unlisted data file contains rows to purge.
func (p *purger) orphanHolds(ctx context.Context, path string) (bool, error) {
	table, dataset, err := tableOf(ctx, p.catalog, path)
	if err != nil {
		return false, err
	}
	unit := purgeUnit{dataset: dataset, files: []purgeFile{{table: table, file: sink.File{Path: path}}}}
	l := newScanner(p.targetOf(""), p.students != nil)
	err = l.unit(ctx, p.catalog, unit.files, dataset)
	p.occurs.Add(l.occurs)
	if unit.changes() {
		maps.Copy(p.seen, l.seen)
	}
	return unit.changes(), err
}
