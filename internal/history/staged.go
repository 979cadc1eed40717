package history

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Baseline is a published snapshot that a run is compared with while the run is being staged. It is safe for concurrent
// use.
type Baseline struct {
	side *side
	plan *snapshot.Plan // the plan of the run
}

// OpenBaseline opens the snapshot of a manifest as the baseline of a run with the given plan.
func OpenBaseline(ctx context.Context, catalog snapshot.Catalog, manifest *snapshot.Manifest, plan *snapshot.Plan) (*Baseline, error) {
	side, err := openSide(ctx, catalog, manifest)
	return &Baseline{side: side, plan: plan}, err
}

// Comparer compares the rows of a task with the baseline, school by school, in the order of the files. It may be used
// by only one goroutine at a time, must not be used after an error, and must be closed.
type Comparer struct {
	baseline   *Baseline
	dataset    *schemas.Dataset
	bucket     int
	gone       *departures
	turnover   *turnover // nil unless the dataset is test_results and the baseline has it
	tables     []*stagedTable
	districts  map[string][]*districtCounts // by table; nil for tables that the baseline lacks
	notCovered []string
}

// stagedTable compares one table of a task with the baseline.
type stagedTable struct {
	earlier *reader
	later   *cursor
	merger  *merger
	tally   guardTally
}

// Comparer returns a comparer for the task of a dataset and a bucket.
func (b *Baseline) Comparer(dataset *schemas.Dataset, bucket int) (*Comparer, error) {
	c := &Comparer{
		baseline: b, dataset: dataset, bucket: bucket, gone: newDepartures(nil), districts: make(map[string][]*districtCounts),
	}
	for _, table := range dataset.Tables {
		t := &stagedTable{earlier: b.side.reader(table), later: newCursor(table, nil)}
		t.merger = newMerger(table, &t.tally)
		c.tables = append(c.tables, t)
	}
	var err error
	if _, both := b.side.manifest.Tables[resultsTable]; both && dataset.Tables[0].Name == resultsTable {
		c.turnover = newTurnover(dataset)
		c.gone.lost, err = newLostResults(b.plan.SnapshotDate, len(dataset.Tables))
	}
	return c, err
}

// Rows passes the rows of one table to use in batches: the rows of a school, or of a whole lookup dataset.
type Rows func(table int, use func(*rows.Batch) error) error

// School is a school whose dataset was read.
type School struct {
	Bid, District string
	// Complete is true if the whole dataset was read.
	Complete bool
	Rows     Rows
	// OnRoster reports whether a student is on the school's roster. It is nil if the roster is not known.
	OnRoster func(student []byte) bool
}

// School compares the rows of a school. An error from s.Rows is returned unchanged.
func (c *Comparer) School(ctx context.Context, s School) error {
	if !slices.Contains(c.baseline.side.manifest.Parameters.Datasets, c.dataset.Name) {
		return nil
	}
	if !s.Complete || !c.baseline.side.covers(c.dataset.Name, s.Bid) {
		c.notCovered = append(c.notCovered, s.Bid)
		return c.addArrivals(s)
	}
	for i := range c.tables {
		stop := c.start(i, s.Rows)
		err := c.unit(ctx, i, Unit{School: s.Bid}, s.District)
		stop()
		if err != nil {
			return err
		}
	}
	c.gone.forget()
	if c.turnover == nil {
		return nil
	}
	for _, lost := range c.gone.lost.drain() {
		lost.left = lost.student != "" && s.OnRoster != nil && !s.OnRoster([]byte(lost.student))
		c.turnover.addLost(lost)
	}
	return nil
}

// addArrivals adds all results of a school that was read completely to the turnover. It is called for schools that are
// not compared.
func (c *Comparer) addArrivals(s School) error {
	if c.turnover == nil || !s.Complete {
		return nil
	}
	return s.Rows(0, func(b *rows.Batch) error {
		for i := range b.Len() {
			c.turnover.add(b, b.Row(i), 1)
		}
		return nil
	})
}

// Save writes the turnover, which Explain needs, to the destination. It must be called after each school, and once more
// at the end with last set to true. Before the end, Save writes the turnover only if it has become large.
func (c *Comparer) Save(ctx context.Context, last bool) error {
	if c.turnover == nil || !last && c.turnover.batch.Bytes() < maxTurnover {
		return nil
	}
	task := snapshot.Task{Bucket: c.bucket, Dataset: c.dataset.Name}
	return c.turnover.save(ctx, c.baseline.side.catalog, task, c.baseline.plan.RunID)
}

// Lookup compares the rows of a lookup dataset. It compares only the parts that were read for both snapshots, according
// to their ledgers.
func (c *Comparer) Lookup(ctx context.Context, ledger []snapshot.LedgerRow, all Rows) error {
	for i := range c.tables {
		stop := c.start(i, all)
		defer stop()
		for j := range ledger {
			district := ledger[j].DistrictBid
			if ledger[j].Status != snapshot.StatusOK || !c.baseline.side.covers(c.dataset.Name, district) {
				continue
			}
			if err := c.unit(ctx, i, Unit{District: district}, district); err != nil {
				return err
			}
		}
	}
	return nil
}

// start makes a table's cursor read the rows until stop is called.
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
func (c *Comparer) unit(ctx context.Context, table int, unit Unit, district string) error {
	t := c.tables[table]
	if _, ok := c.baseline.side.files[t.earlier.table.Name]; !ok {
		return nil // a table that the baseline's format did not have
	}
	bid := unit.School + unit.District
	from, err := t.earlier.unit(ctx, c.baseline.side.bucket(unit), bid)
	if err != nil {
		return err
	}
	counts := c.countsOf(district, table)
	c.gone.start(bid, district)
	t.tally.tally = tally{merger: t.merger, counts: &counts.TableComparison, table: table, gone: c.gone}
	if table == 0 {
		t.tally.turnover = c.turnover
	}
	t.tally.district, t.merger.groupDone = counts, t.tally.endGroup
	if err := t.merger.unit(from, t.later, []byte(bid)); err != nil {
		return err
	}
	t.tally.endUnit()
	return nil
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

// Counts returns the result of all comparisons so far.
func (c *Comparer) Counts() *snapshot.TaskComparison {
	found := &snapshot.TaskComparison{Districts: make(snapshot.DistrictComparisons), NotCovered: c.notCovered}
	if c.turnover != nil {
		found.Turnover = c.turnover.files
	}
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
