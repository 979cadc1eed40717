package pipeline

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/transform"
)

// result is what became of one school's dataset: all of its rows, or none and
// why.
type result struct {
	ledger sink.LedgerRow
	drift  []transform.Drift
	// tables are the rows, one slice of batches per table of the dataset; the
	// batches of a slice follow one another in the order of the file.
	tables [][]*rows.Batch
	chains []*transform.Chain
	// spilled is where the rows wait instead, once they were moved to scratch.
	spilled *spill
}

// bytes returns how much memory the result's rows take.
func (r *result) bytes() int {
	n := 0
	for _, c := range r.chains {
		n += c.Bytes()
	}
	return n
}

// fetcher asks the service for datasets, call chain by call chain.
type fetcher struct {
	client     *extract.Client
	filters    map[string]string
	maxRecords int64
}

// errNoPerspective fails a school's enrollment when no district names it.
var errNoPerspective = errors.New("the school list names no district of the school and no district's list names the school," +
	" so there is no perspective to read its enrollment through")

// school fetches a school's dataset through every call chain that it needs.
// Only an error that ends the whole run is returned; what concerns this school
// alone is in the result's ledger row.
func (f *fetcher) school(ctx context.Context, d *dataset, school sink.School) (*result, error) {
	r := &result{ledger: sink.LedgerRow{Dataset: d.Name, SchoolBid: school.Bid, Status: sink.StatusOK}}
	if !d.TakesPerspective() {
		err := f.chains(ctx, d, r, []transform.Params{{"school_bid": school.Bid}})
		return r, err
	}
	if len(school.Perspectives) == 0 {
		r.fail(errNoPerspective)
		return r, nil
	}
	calls := make([]transform.Params, len(school.Perspectives))
	for i, perspective := range school.Perspectives {
		calls[i] = transform.Params{"school_bid": school.Bid, "perspective_bid": perspective}
	}
	err := f.chains(ctx, d, r, calls)
	return r, err
}

// chains runs the call chains in order and gathers their rows. Rows come in
// the order of a file if the calls are sorted by the parameters that are keys.
//
// A call denied while another one answers leaves the dataset readable, and is
// counted as unavailable; all denied makes it denied; any failure fails it.
func (f *fetcher) chains(ctx context.Context, d *dataset, r *result, calls []transform.Params) error {
	var denied error
	for _, params := range calls {
		c := d.chain(params)
		tally, err := f.list(ctx, d, c, params, r.ledger.RecordsReceived)
		r.ledger.Requests += tally.Requests
		r.ledger.Retries += tally.Retries
		switch {
		case err == nil:
			r.ledger.Pages += tally.Pages
			r.take(c)
			continue
		case endsRun(ctx, err):
			d.release(c)
			r.drop(d)
			return err
		case errors.Is(err, extract.ErrDenied):
			d.release(c)
			r.ledger.RecordsUnavailable++
			denied = err
		default:
			d.release(c)
			r.drop(d)
			r.fail(err)
			return nil
		}
	}
	if denied != nil && len(r.chains) == 0 {
		r.ledger.Status, r.ledger.Error = sink.StatusDenied, denied.Error()
		r.ledger.RecordsUnavailable = 0
	}
	return nil
}

// list walks the pages of one call chain into c. The school has already had
// the given number of records in this dataset.
func (f *fetcher) list(ctx context.Context, d *dataset, c *transform.Chain, params transform.Params, had int64) (extract.Tally, error) {
	return f.client.List(ctx, d.call(params, f.filters), func(body []byte) (string, error) {
		page, err := c.Page(body)
		switch {
		case errors.Is(err, transform.ErrNotJSON), errors.Is(err, transform.ErrEmptyString):
			return "", extract.Unreadable(err)
		case err != nil:
			return "", err
		}
		if records := had + int64(c.Records()); records > f.maxRecords {
			return "", fmt.Errorf("more than %d records: raise --max-school-records if the school really has that many",
				f.maxRecords)
		}
		return page.Next, nil
	})
}

// take adds the rows of a finished chain.
func (r *result) take(c *transform.Chain) {
	done := c.Finish()
	r.chains = append(r.chains, c)
	r.drift = append(r.drift, done.Drift...)
	r.ledger.RecordsReceived += done.Records
	r.ledger.DuplicatesDropped += done.Duplicates
	if r.tables == nil {
		r.tables = make([][]*rows.Batch, len(done.Tables))
	}
	for i, batch := range done.Tables {
		r.tables[i] = append(r.tables[i], batch)
		if i == 0 {
			r.ledger.RowsWritten += int64(batch.Len())
		}
	}
}

// drop forgets the rows, so that none of a school that is not whole is
// written, and takes back what was counted of them.
func (r *result) drop(d *dataset) {
	for _, c := range r.chains {
		d.release(c)
	}
	r.chains, r.tables, r.drift = nil, nil, nil
	r.ledger.Pages, r.ledger.RecordsReceived, r.ledger.DuplicatesDropped = 0, 0, 0
	r.ledger.RowsWritten, r.ledger.RecordsUnavailable = 0, 0
}

func (r *result) fail(err error) {
	r.ledger.Status, r.ledger.Error = sink.StatusFailed, err.Error()
}

// endsRun tells whether an error is not a school's own: the run was cancelled,
// or the service refused or left us altogether.
func endsRun(ctx context.Context, err error) bool {
	return ctx.Err() != nil || extract.EndsRun(err)
}
