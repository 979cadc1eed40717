package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// ledgerRecord is what is read back of a row of the ledger.
type ledgerRecord struct {
	dataset   string
	schoolBid *string
	status    Status

	received, dropped, written int64
}

// ledgerColumns returns the columns of the ledger that are read back, in the order of ledgerRecord.
func ledgerColumns() *schemas.Table {
	return SelectColumns(LedgerTable(), "dataset", "requested_school_bid", "status",
		"records_received", "duplicates_dropped", "rows_written")
}

// ReadLedger hands the rows of a published run's ledger to use, in their order:
// by dataset, school and district.
func (c Catalog) ReadLedger(ctx context.Context, run string, use func(*LedgerRow)) (err error) {
	object, err := c.Open(ctx, LedgerPath(run))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	return ReadRows(object, object.Size(), LedgerTable(), func(batch *rows.Batch) error {
		for i := range batch.N {
			row := ledgerRowOf(batch, i)
			use(&row)
		}
		return ctx.Err()
	})
}

// ledgerRowOf returns a row written by appendLedger.
func ledgerRowOf(batch *rows.Batch, i int) LedgerRow {
	next := -1
	text := func() string {
		next++
		if column := &batch.Cols[next]; !column.Null(i) {
			return string(column.Text(i))
		}
		return ""
	}
	count := func() int64 {
		next++
		return batch.Cols[next].I64[i]
	}
	return LedgerRow{
		Dataset: text(), SchoolBid: text(), DistrictBid: text(), Status: Status(text()),
		Pages: count(), RecordsReceived: count(), DuplicatesDropped: count(), RowsWritten: count(),
		RecordsUnavailable: count(), Requests: count(), Retries: count(), Error: text(),
	}
}

// SelectColumns returns the table with some of its columns, for reading.
func SelectColumns(table *schemas.Table, columns ...string) *schemas.Table {
	some := &schemas.Table{Name: table.Name}
	for _, name := range columns {
		if at := table.Column(name); at >= 0 {
			some.Columns = append(some.Columns, table.Columns[at])
		}
	}
	return some
}

// LedgerTotals is what a ledger adds up to.
type LedgerTotals struct {
	Datasets map[string]ManifestDataset
	Written  map[string]int64 // rows of the first table by dataset
	Uneven   int64            // rows of status ok whose counts do not add up
	// worst is the status of each school: failed before denied before ok.
	worst map[string]Status
	// nameless counts by dataset the schools without a bid, which all failed.
	nameless map[string]int64
}

// readLedgerTotals reads a ledger of that size and adds it up.
func ReadLedgerTotals(file io.ReaderAt, size int64) (*LedgerTotals, error) {
	totals := &LedgerTotals{
		Datasets: make(map[string]ManifestDataset), Written: make(map[string]int64),
		worst: make(map[string]Status), nameless: make(map[string]int64),
	}
	err := ReadRows(file, size, ledgerColumns(), func(batch *rows.Batch) error {
		for i := range batch.N {
			totals.add(ledgerRecordOf(batch, i))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return totals, nil
}

func ledgerRecordOf(batch *rows.Batch, i int) *ledgerRecord {
	c := batch.Cols
	r := &ledgerRecord{
		dataset: string(c[0].Text(i)), status: Status(c[2].Text(i)),
		received: c[3].I64[i], dropped: c[4].I64[i], written: c[5].I64[i],
	}
	if !c[1].Null(i) {
		school := string(c[1].Text(i))
		r.schoolBid = &school
	}
	return r
}

// readRows hands the rows of a Parquet file of that size to use, page by page;
// the batch is used again for the next.
func ReadRows(file io.ReaderAt, size int64, table *schemas.Table, use func(*rows.Batch) error) (err error) {
	reader, err := parquetfile.NewReader(file, size, table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	batch := rows.New(table)
	for {
		batch.Reset()
		err := reader.Read(batch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = use(batch)
		}
		if err != nil {
			return err
		}
	}
}

func (t *LedgerTotals) add(r *ledgerRecord) {
	counts := t.Datasets[r.dataset]
	counts.add(r.status, r.written)
	t.Datasets[r.dataset] = counts
	if r.status == StatusOK && r.received != r.written+r.dropped {
		t.Uneven++
	}
	t.Written[r.dataset] += r.written

	dataset, ok := schemas.Find(r.dataset)
	switch {
	case !ok || dataset.IsLookup():
	case r.schoolBid == nil:
		t.nameless[r.dataset]++
	default:
		worst := t.worst[*r.schoolBid]
		if worst != StatusFailed && (worst != StatusDenied || r.status != StatusOK) {
			t.worst[*r.schoolBid] = r.status
		}
	}
}

// schools counts the schools by what became of them; not known where no dataset
// of the run is asked per school.
func (t *LedgerTotals) Schools() (ok, denied, failed int64, known bool) {
	for _, status := range t.worst {
		switch status {
		case StatusOK:
			ok++
		case StatusDenied:
			denied++
		case StatusFailed:
			failed++
		}
	}
	for _, n := range t.nameless {
		failed += n
		break // every dataset has the same
	}
	for name := range t.Datasets {
		if dataset, found := schemas.Find(name); found && !dataset.IsLookup() {
			known = true
		}
	}
	return ok, denied, failed, known
}
