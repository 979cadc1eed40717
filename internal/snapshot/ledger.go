package snapshot

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// ledgerBatch is how many rows of a ledger are in memory as columns at once.
const ledgerBatch = 8192

// LedgerTable returns the declaration of ledger.parquet. Its rows are sorted by
// dataset, school and district; none of these is a key in the sense of the
// other tables, whose files are sorted by school first.
func LedgerTable() *schemas.Table {
	text := func(name string, required bool, doc string) schemas.Column {
		return schemas.Column{Name: name, Type: schemas.String, Required: required, Class: schemas.None, Doc: doc}
	}
	count := func(name, doc string) schemas.Column {
		return schemas.Column{Name: name, Type: schemas.Int64, Required: true, Class: schemas.None, Doc: doc}
	}
	return &schemas.Table{
		Name: "ledger",
		Doc:  "What became of every school and dataset of a run.",
		Columns: []schemas.Column{
			text("dataset", true, "The dataset."),
			text("requested_school_bid", false, "The school that was asked for; null where the dataset is not asked per school."),
			text("requested_district_bid", false, "The district that was asked for, of district_schools only."),
			text("status", true, "ok, denied or failed."),
			count("pages", "Answers read."),
			count("records_received", "Records in these answers; for ok the rows written and the duplicates dropped."),
			count("duplicates_dropped", "Records with the key of another one of the same list."),
			count("rows_written", "Rows of the dataset's first table."),
			count("records_unavailable", "Single records that the service would not give."),
			count("requests", "Requests sent."),
			count("retries", "Requests that were sent again."),
			text("error", false, "Why it was denied or failed."),
		},
	}
}

func compareLedger(a, b LedgerRow) int {
	return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.SchoolBid, b.SchoolBid),
		cmp.Compare(a.DistrictBid, b.DistrictBid))
}

// stageLedger stages a run's ledger.
func (c Catalog) stageLedger(ctx context.Context, run string, ledger []LedgerRow) (_ sink.File, err error) {
	ledger = slices.Clone(ledger)
	slices.SortStableFunc(ledger, compareLedger)
	table := LedgerTable()
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
	for part := range slices.Chunk(ledger, ledgerBatch) {
		batch.Reset()
		for i := range part {
			appendLedger(batch, &part[i])
		}
		if err := file.Append(batch); err != nil {
			return sink.File{}, err
		}
	}
	return file.Stage(ctx)
}

func appendLedger(batch *rows.Batch, row *LedgerRow) {
	next := 0
	column := func() *rows.Vector {
		next++
		return &batch.Cols[next-1]
	}
	optional := func(s string) {
		if v := column(); s == "" {
			v.AppendNull()
		} else {
			v.AppendString(s)
		}
	}
	column().AppendString(row.Dataset)
	optional(row.SchoolBid)
	optional(row.DistrictBid)
	column().AppendString(string(row.Status))
	for _, n := range []int64{
		row.Pages, row.RecordsReceived, row.DuplicatesDropped, row.RowsWritten,
		row.RecordsUnavailable, row.Requests, row.Retries,
	} {
		column().AppendInt64(n)
	}
	optional(row.Error)
	batch.N++
}
