package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// LedgerRow is a row of ledger.parquet: the outcome for one dataset and school (or district, or the whole run).
type LedgerRow struct {
	Dataset            string `json:"dataset"`
	SchoolBid          string `json:"school,omitempty"`
	DistrictBid        string `json:"district,omitempty"`
	Status             Status `json:"status"`
	Pages              int64  `json:"pages"`
	RecordsReceived    int64  `json:"records_received"`
	DuplicatesDropped  int64  `json:"duplicates_dropped"`
	RowsWritten        int64  `json:"rows_written"`
	RecordsUnavailable int64  `json:"records_unavailable"`
	Requests           int64  `json:"requests"`
	Retries            int64  `json:"retries"`
	Error              string `json:"error,omitempty"`
}

// ledgerField maps a column of ledger.parquet to its field in LedgerRow, which is either text or a count. Empty text in
// an optional column is stored as null.
type ledgerField struct {
	name     string
	required bool
	doc      string
	text     func(*LedgerRow) *string
	count    func(*LedgerRow) *int64
}

func ledgerFields() []ledgerField {
	text := func(name string, required bool, doc string, field func(*LedgerRow) *string) ledgerField {
		return ledgerField{name: name, required: required, doc: doc, text: field}
	}
	count := func(name, doc string, field func(*LedgerRow) *int64) ledgerField {
		return ledgerField{name: name, required: true, doc: doc, count: field}
	}
	return []ledgerField{
		text("dataset", true, "The dataset.", func(r *LedgerRow) *string { return &r.Dataset }),
		text("requested_school_bid", false, "The requested school; null for datasets that are not fetched per school.", func(r *LedgerRow) *string { return &r.SchoolBid }),
		text("requested_district_bid", false, "The requested district; null for datasets other than district_schools.", func(r *LedgerRow) *string { return &r.DistrictBid }),
		text("status", true, "ok, denied or failed.", func(r *LedgerRow) *string { return (*string)(&r.Status) }),
		count("pages", "Answers read.", func(r *LedgerRow) *int64 { return &r.Pages }),
		count("records_received", "Records in these answers. If the status is ok, the sum of duplicates_dropped and rows_written.", func(r *LedgerRow) *int64 { return &r.RecordsReceived }),
		count("duplicates_dropped", "Records with the same key as another record of the list.", func(r *LedgerRow) *int64 { return &r.DuplicatesDropped }),
		count("rows_written", "Rows of the dataset's first table.", func(r *LedgerRow) *int64 { return &r.RowsWritten }),
		count("records_unavailable", "Single records that the service did not return.", func(r *LedgerRow) *int64 { return &r.RecordsUnavailable }),
		count("requests", "Requests sent.", func(r *LedgerRow) *int64 { return &r.Requests }),
		count("retries", "Requests that were sent again.", func(r *LedgerRow) *int64 { return &r.Retries }),
		text("error", false, "Why it was denied or failed.", func(r *LedgerRow) *string { return &r.Error }),
	}
}

// LedgerTable returns the declaration of ledger.parquet. Its rows are sorted by dataset, school and district. These are
// not keys, because files with keys are sorted by school first.
func LedgerTable() *schemas.Table {
	table := &schemas.Table{Name: "ledger", Doc: "The outcome of every school and dataset of a run."}
	for _, field := range ledgerFields() {
		column := schemas.Column{
			Name: field.name, Type: schemas.String, Required: field.required, Class: schemas.None, Doc: field.doc,
		}
		if field.count != nil {
			column.Type = schemas.Int64
		}
		table.Columns = append(table.Columns, column)
	}
	return table
}

func compareLedger(a, b LedgerRow) int {
	return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.SchoolBid, b.SchoolBid),
		cmp.Compare(a.DistrictBid, b.DistrictBid))
}

// ledgerBatchRows is the number of ledger rows held as columns at once.
const ledgerBatchRows = 8192

// stageLedger sorts a run's ledger, writes it to a staged file, and returns the file.
func (c Catalog) stageLedger(ctx context.Context, run string, ledger []LedgerRow) (_ sink.File, err error) {
	ledger = slices.Clone(ledger)
	slices.SortStableFunc(ledger, compareLedger)
	table, fields := LedgerTable(), ledgerFields()
	file, err := NewTables(c, run).Create(ctx, LedgerPath(run), table)
	if err != nil {
		return sink.File{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Abort())
		}
	}()
	batch := rows.New(table)
	for part := range slices.Chunk(ledger, ledgerBatchRows) {
		batch.Reset()
		for i := range part {
			appendLedgerRow(batch, fields, &part[i])
		}
		if err := file.Append(batch); err != nil {
			return sink.File{}, err
		}
	}
	return file.Stage(ctx)
}

func appendLedgerRow(batch *rows.Batch, fields []ledgerField, row *LedgerRow) {
	for i := range fields {
		field, column := &fields[i], &batch.Cols[i]
		if field.count != nil {
			column.AppendInt64(*field.count(row))
		} else if text := *field.text(row); text == "" && !field.required {
			column.AppendNull()
		} else {
			column.AppendString(text)
		}
	}
	batch.N++
}

// ReadLedger passes the rows of a published run's ledger to use, in order of dataset, school and district. If the
// ledger cannot be read and does not have the hash in the manifest, the error is ErrDamaged.
func (c Catalog) ReadLedger(ctx context.Context, run string, use func(*LedgerRow)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", LedgerPath(run), err)
		}
	}()
	object, err := c.Open(ctx, LedgerPath(run))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	err = readLedgerRows(object, object.Size(), func(row *LedgerRow) error {
		use(row)
		return ctx.Err()
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	manifest, unread := c.ReadManifest(ctx, run)
	if unread != nil {
		return err
	}
	if damaged := sink.CheckHash(ctx, object, manifest.Ledger.SHA256); errors.Is(damaged, sink.ErrDamaged) {
		return damaged
	}
	return err
}

func readLedgerRows(file io.ReaderAt, size int64, use func(*LedgerRow) error) error {
	fields := ledgerFields()
	return ReadRows(file, size, LedgerTable(), func(batch *rows.Batch) error {
		for i := range batch.N {
			row := new(LedgerRow)
			for c := range fields {
				if column := &batch.Cols[c]; fields[c].count != nil {
					*fields[c].count(row) = column.I64[i]
				} else if !column.Null(i) {
					*fields[c].text(row) = string(column.Text(i))
				}
			}
			if err := use(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// LedgerTotals are the sums of a ledger.
type LedgerTotals struct {
	Datasets map[string]ManifestDataset
	Written  map[string]int64 // rows of the first table by dataset
	Uneven   int64            // rows with status ok whose counts do not add up
	// worst is the worst status of each school: failed, then denied, then ok.
	worst map[string]Status
	// unnamed counts, by dataset, the schools without a bid, all of which failed.
	unnamed map[string]int64
}

// ReadLedgerTotals reads a ledger of the given size and adds it up.
func ReadLedgerTotals(file io.ReaderAt, size int64) (*LedgerTotals, error) {
	totals := &LedgerTotals{
		Datasets: make(map[string]ManifestDataset), Written: make(map[string]int64),
		worst: make(map[string]Status), unnamed: make(map[string]int64),
	}
	err := readLedgerRows(file, size, func(row *LedgerRow) error {
		totals.add(row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return totals, nil
}

func (t *LedgerTotals) add(row *LedgerRow) {
	counts := t.Datasets[row.Dataset]
	counts.add(row.Status, row.RowsWritten)
	t.Datasets[row.Dataset] = counts
	if row.Status == StatusOK && row.RecordsReceived != row.RowsWritten+row.DuplicatesDropped {
		t.Uneven++
	}
	t.Written[row.Dataset] += row.RowsWritten

	dataset, ok := schemas.Find(row.Dataset)
	switch {
	case !ok || dataset.IsLookup():
	case row.SchoolBid == "":
		t.unnamed[row.Dataset]++
	default:
		worst := t.worst[row.SchoolBid]
		if worst != StatusFailed && (worst != StatusDenied || row.Status != StatusOK) {
			t.worst[row.SchoolBid] = row.Status
		}
	}
}

// Schools counts the schools by outcome. known is false if no dataset of the run is fetched per school.
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
	for _, n := range t.unnamed {
		failed += n
		break // the count is the same for every dataset
	}
	for name := range t.Datasets {
		if dataset, found := schemas.Find(name); found && !dataset.IsLookup() {
			known = true
		}
	}
	return ok, denied, failed, known
}
