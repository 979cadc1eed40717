package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Baseline is a published snapshot that a run is compared with while it is staged. It is safe for concurrent use.
type Baseline struct {
	side *side
	date string // of the run
}

// OpenBaseline reads what the snapshot of a manifest covers. The date is the run's.
func OpenBaseline(ctx context.Context, catalog snapshot.Catalog, manifest *snapshot.Manifest, date string) (*Baseline, error) {
	side, err := openSide(ctx, catalog, manifest)
	return &Baseline{side: side, date: date}, err
}

// Comparer compares the rows of a task with the baseline, school by school, in the order of files. It is used by
// one goroutine at a time, and Close ends it. After an error it is not used again.
type Comparer struct {
	baseline    *Baseline
	dataset     *schemas.Dataset
	unexplained *unexplained // nil unless the dataset is that of test results
	tables      []*stagedTable
	districts   map[string][]*districtCounts // by table, nil for those that the baseline lacks
	notCovered  []string
}

// stagedTable compares one table.
type stagedTable struct {
	earlier *reader
	later   *cursor
	merger  *merger
	tally   guardTally
}

// Comparer returns a comparer for a task of a dataset.
func (b *Baseline) Comparer(dataset *schemas.Dataset) (*Comparer, error) {
	c := &Comparer{baseline: b, dataset: dataset, districts: make(map[string][]*districtCounts)}
	for _, table := range dataset.Tables {
		c.tables = append(c.tables, &stagedTable{earlier: b.side.reader(table), later: newCursor(table, nil)})
	}
	var err error
	if dataset.Tables[0].Name == resultsTable {
		c.unexplained, err = newUnexplained(b.date)
	}
	return c, err
}

// Rows passes the rows of a school, or of a whole lookup dataset, in one of the dataset's tables to use, in batches.
type Rows func(table int, use func(*rows.Batch) error) error

// School is a school whose dataset was read.
type School struct {
	Bid, District string
	// Complete reports whether everything was read.
	Complete bool
	Rows     Rows
	// OnRoster reports whether a student is on the school's roster; nil if that is not known.
	OnRoster func(student []byte) bool
}

// School compares the rows of a school. An error of s.Rows is returned as it is.
func (c *Comparer) School(ctx context.Context, s School) error {
	if !s.Complete || !c.baseline.side.covers(c.dataset.Name, s.Bid) {
		c.notCovered = append(c.notCovered, s.Bid)
		return nil
	}
	gone := c.newRemovals()
	for i := range c.tables {
		stop := c.start(i, s.Rows)
		err := c.unit(ctx, i, Unit{School: s.Bid}, s.District, gone)
		stop()
		if err != nil {
			return err
		}
	}
	if c.unexplained == nil {
		return nil
	}
	return c.unexplained.explainWithin(s.Rows, s.OnRoster)
}

// Lookup compares the rows of a lookup dataset, as far as its ledger says that they were read.
func (c *Comparer) Lookup(ctx context.Context, ledger []snapshot.LedgerRow, all Rows) error {
	for i := range c.tables {
		stop := c.start(i, all)
		defer stop()
		for j := range ledger {
			district := ledger[j].DistrictBid
			if ledger[j].Status != snapshot.StatusOK || !c.baseline.side.covers(c.dataset.Name, district) {
				continue
			}
			if err := c.unit(ctx, i, Unit{District: district}, district, c.newRemovals()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Comparer) newRemovals() *removals {
	return &removals{unexplained: c.unexplained, byKey: make(map[string]*candidate)}
}

// start lets a table's cursor read the rows, until stop is called.
func (c *Comparer) start(table int, all Rows) (stop func()) {
	next, stop := iter.Pull2(func(yield func(*rows.Batch, error) bool) {
		err := all(table, func(b *rows.Batch) error {
			if !yield(b, nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	})
	c.tables[table].later.restart(func(to *rows.Batch) (*rows.Batch, error) {
		part, err, ok := next()
		switch {
		case !ok:
			return nil, io.EOF
		case err != nil || to.Len() == 0:
			return part, err
		}
		to.AppendRows(part, 0, part.Len())
		return to, nil
	})
	return stop
}

// unit compares the rows of a table in one unit.
func (c *Comparer) unit(ctx context.Context, table int, unit Unit, district string, gone *removals) error {
	t := c.tables[table]
	if _, ok := c.baseline.side.files[t.earlier.table.Name]; !ok {
		return nil // a table that the baseline's format did not have
	}
	bid := unit.School + unit.District
	from, err := t.earlier.unit(ctx, c.baseline.side.bucket(unit), bid)
	if err != nil {
		return err
	}
	t.merger = t.merger.lackingColumns(t.earlier.table, t.earlier.lacking, &t.tally)
	counts := c.countsOf(district, table)
	t.tally = guardTally{tally: tally{merger: t.merger, counts: &counts.TableComparison, unit: bid, gone: gone}, district: counts}
	return t.merger.unit(from, t.later, []byte(bid))
}

func (c *Comparer) countsOf(district string, table int) *districtCounts {
	counts := c.districts[district]
	if counts == nil {
		counts = make([]*districtCounts, len(c.tables))
		c.districts[district] = counts
	}
	if counts[table] == nil {
		counts[table] = newDistrictCounts(c.tables[table].earlier.table)
	}
	return counts[table]
}

// Counts returns the counts of everything that was compared.
func (c *Comparer) Counts() *snapshot.TaskComparison {
	found := &snapshot.TaskComparison{Districts: make(snapshot.DistrictComparisons), NotCovered: c.notCovered}
	for district, tables := range c.districts {
		for _, counts := range tables {
			if counts != nil {
				*found.Districts.Of(district, counts.table.Name) = counts.finish()
			}
		}
	}
	return found
}

// Close closes the baseline's files.
func (c *Comparer) Close() error {
	var errs []error
	for _, t := range c.tables {
		errs = append(errs, t.earlier.close())
	}
	return errors.Join(errs...)
}

// explainWithin adds the reason of every collected result of a school to its counts, as far as the school's own rows and
// roster show it.
func (u *unexplained) explainWithin(results Rows, onRoster func(student []byte) bool) error {
	byStudent := make(map[string][]*candidate)
	for _, c := range u.list {
		if c.hasPair {
			byStudent[c.student] = append(byStudent[c.student], c)
		}
	}
	superseded := make(map[*candidate]bool)
	if len(byStudent) > 0 {
		err := results(0, func(b *rows.Batch) error {
			students, subjects := &b.Cols[u.student], &b.Cols[u.subject]
			for i := range b.Len() {
				row := b.Row(i)
				for _, c := range byStudent[string(students.Text(row))] {
					if string(subjects.Text(row)) == c.subject {
						superseded[c] = true
					}
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("look for later results: %w", err)
		}
	}
	for _, c := range u.list {
		left := c.student != "" && onRoster != nil && !onRoster([]byte(c.student))
		c.count(c.reason(false, superseded[c], left))
	}
	u.list = u.list[:0]
	return nil
}
