package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// verifyPurged looks for them in every text of every file, and in the files that no run names.
func (p *purger) verifyPurged(ctx context.Context) error {
	again := &PurgeVerification{RowsMentioning: make(map[string]int64)}
	if err := p.findRows(ctx, again); err != nil {
		return err
	}
	p.report.Verification = again
	return p.findOrphans(ctx)
}

// findRows finds the rows; again counts what was read, and has all texts read. Runs that are being pruned are left out.
func (p *purger) findRows(ctx context.Context, again *PurgeVerification) error {
	p.found = make(map[string]foundRun)
	for _, run := range slices.Sorted(maps.Keys(p.all)) {
		err := p.findRowsOf(ctx, run, again)
		switch {
		case p.isPruned(ctx, run, err):
			delete(p.all, run)
			delete(p.runs, run)
		case err != nil:
			return fmt.Errorf("look for rows in run %s: %w", run, err)
		}
	}
	return p.scanHistory(ctx, again)
}

// findRowsOf finds the rows of a run.
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
	of := p.bidsOf(run)
	scanners, err := sink.Map(ctx, verifyConcurrency, units, func(ctx context.Context, unit purgeUnit) (*scanner, error) {
		l := &scanner{bids: of, records: make(records), whole: again != nil, seen: make(set)}
		return l, l.unit(ctx, p.catalog, unit.files, unit.dataset)
	})
	if err != nil {
		return err
	}
	for i, l := range scanners {
		maps.Copy(p.seen, l.seen)
		if again != nil {
			again.add(&units[i], l)
		}
	}
	if ledger != nil || slices.ContainsFunc(units, func(u purgeUnit) bool { return u.changes() }) {
		p.found[run] = foundRun{units, ledger}
	}
	return nil
}

// isPruned reports whether something of a run was not found because another process has pruned the run or is at it.
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

// holdingsOf returns the files of a run, and its ledger if that loses rows. A replaced run has no files.
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

// purgedLedger returns the ledger of a run without what is purged, or nil if it stays as it is.
func (p *purger) purgedLedger(ctx context.Context, m *snapshot.Manifest) (*snapshot.PurgedLedger, error) {
	b := p.bidsOf(m.RunID)
	if len(b.students) > 0 {
		return nil, nil // ledgers do not name students
	}
	ledger, err := p.catalog.PurgeLedger(ctx, m, func(school, district string) bool {
		if !b.schools[school] && !b.districts[district] {
			return false
		}
		for _, bid := range []string{school, district} {
			if bid != "" {
				p.seen[bid] = true
			}
		}
		return true
	}, b.namedIn)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil // Verify reports it.
	}
	return ledger, err
}

// add adds what was found in a unit.
func (r *PurgeVerification) add(unit *purgeUnit, l *scanner) {
	for i := range unit.files {
		r.Files++
		r.Rows += unit.files[i].file.Rows
		r.Bytes += unit.files[i].file.Bytes
		r.RowsFound += unit.files[i].removed + unit.files[i].cleared
		if n := l.mentioning[i]; n > 0 {
			r.RowsMentioning[unit.files[i].table.Name] += n
		}
	}
}

// scanner looks for rows in the files of a unit.
type scanner struct {
	bids

	records    records
	whole      bool
	seen       set
	mentioning []int64 // rows by file
}

// unit counts the rows that are to be removed in the files of a dataset and bucket.
func (l *scanner) unit(ctx context.Context, catalog snapshot.Catalog, files []purgeFile, dataset *schemas.Dataset) error {
	l.mentioning = make([]int64, len(files))
	for i := range files {
		f := &files[i]
		pick := selectText(l.matchColumns(f.table, dataset))
		if l.whole {
			pick = textColumns
		}
		var match *match
		prepare := func(own *schemas.Table) *schemas.Table {
			columns := pick(own)
			match = newMatch(l.bids, columns, f.table, dataset, l.records)
			match.seen = l.seen
			return columns
		}
		err := readFile(ctx, catalog, f.file.Path, f.table, prepare, func(batch *rows.Batch) error {
			for r := range batch.N {
				switch {
				case match.row(batch, r):
					f.removed++
				case match.losesExtra(batch, r):
					f.cleared++
				case l.whole && l.mentions(batch, r):
					l.mentioning[i]++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findOrphans looks into the data files that no published run names, as somebody may have put them back: they hold
// rows, or cannot be read.
func (p *purger) findOrphans(ctx context.Context) error {
	named := make(set)
	for _, m := range p.runs {
		maps.Copy(named, m.Paths())
	}
	if p.history != nil {
		for _, file := range p.history.manifest.Files() {
			named[file.Path] = true
		}
	}
	busy, err := p.catalog.Changes(ctx, (*snapshot.Change).Publishes)
	if err != nil {
		return err
	}
	p.report.Orphans = nil
	p.report.NotReached = p.notReached()
	entries, err := sink.ListAll(ctx, p.catalog, "")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := entry.Path
		if strings.HasPrefix(path, "_") || !strings.HasSuffix(path, ".parquet") || named[path] || busy[sink.Owner(path)] != nil {
			continue
		}
		if strings.Contains(path, "/_delta_log/") {
			p.report.NotReached = append(p.report.NotReached, path+", which another program has written: it may hold statistics of rows")
			continue
		}
		holds, err := p.orphanHolds(ctx, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, sink.ErrNotFound):
		case err != nil:
			p.report.NotReached = append(p.report.NotReached, path+", which is not a data file of a published run and cannot be read")
		case holds:
			p.report.Orphans = append(p.report.Orphans, path)
		}
	}
	return nil
}

// orphanHolds reports whether a file that no run names has rows to purge.
func (p *purger) orphanHolds(ctx context.Context, path string) (bool, error) {
	name := path
	for _, prefix := range []string{"as_of/", "changes/", snapshot.HistoryFilesPrefix} {
		name = strings.TrimPrefix(name, prefix)
	}
	name, _, _ = strings.Cut(name, "/")
	table, dataset, ok := schemas.FindTable(name)
	if !ok {
		table = &schemas.Table{Name: name}
	}
	unit := purgeUnit{dataset: dataset, files: []purgeFile{{table: table, file: sink.File{Path: path}}}}
	l := scanner{bids: p.bidsOf(""), records: make(records), seen: make(set)}
	err := l.unit(ctx, p.catalog, unit.files, dataset)
	return unit.changes(), err
}
