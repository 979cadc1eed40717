package pipeline

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// result is what became of one school's dataset: all of its rows, or none and
// why.
type result struct {
	ledger snapshot.LedgerRow
	drift  snapshot.DriftSums
	// childRows counts the child rows of the records received.
	childRows int64
	// checks are the counts of the checks that were made of the school; oddPages
	// feeds one of them. terms and sessions are compared over the whole run.
	checks   snapshot.CheckCounts
	oddPages int64
	terms    snapshot.TermCounts
	sessions []string
	// firstRepeated is the number of pairs of student and subject with several
	// results in a first reading, because of which the list was read again.
	firstRepeated int64
	// tables are the rows, one slice of batches per table of the dataset; the
	// batches of a slice follow one another in the order of the file.
	tables   [][]*rows.Batch
	decoders []*transform.Decoder
	// spilled is where the rows wait instead, once they were moved to scratch.
	spilled *spill
}

// bytes returns how much memory the result's rows take.
func (r *result) bytes() int {
	n := 0
	for _, batches := range r.tables {
		for _, b := range batches {
			n += b.Bytes()
		}
	}
	return n
}

// fetcher asks the service for datasets, call chain by call chain.
type fetcher struct {
	client   *extract.Client
	datasets map[string]*dataset
	// filters are the optional parameters of the run; feedFilters those of
	// lists that only name what other calls are to be made for.
	filters, feedFilters map[string]string
	asOf                 bool
	check                *checker
	maxRecords           int64
	// window is how many calls of one school's fan-out go at once, and fanning
	// holds a place for each of all schools', so that lists get their share of
	// the request slots.
	window  int
	fanning chan struct{}
}

// errNoPerspective fails a school's enrollment when no district names it.
var errNoPerspective = errors.New("the school list names no district of the school and no district's list names the school," +
	" so there is no perspective to read its enrollment through")

// school fetches a school's dataset through every call chain that it needs.
// Only an error that ends the whole run is returned; what concerns this school
// alone is in the result's ledger row.
func (f *fetcher) school(ctx context.Context, d *dataset, school snapshot.School) (*result, error) {
	r := &result{ledger: snapshot.LedgerRow{Dataset: d.Name, SchoolBid: school.Bid, Status: snapshot.StatusOK}}
	if d.Per != schemas.PerSchool {
		return r, f.fanOut(ctx, d, r, school)
	}
	calls := schoolCalls(d, school)
	if len(calls) == 0 {
		r.fail(errNoPerspective)
		return r, nil
	}
	if d.Name == resultsDataset {
		return r, f.results(ctx, d, r, calls)
	}
	return r, f.fetchCalls(ctx, d, r, calls, f.filters)
}

// schoolCalls returns the calls of a dataset for a school: one, or one per perspective, in order.
func schoolCalls(d *dataset, school snapshot.School) []transform.Params {
	if !d.TakesPerspective() {
		return []transform.Params{{"school_bid": school.Bid}}
	}
	calls := make([]transform.Params, len(school.Perspectives))
	for i, perspective := range school.Perspectives {
		calls[i] = transform.Params{"school_bid": school.Bid, "perspective_bid": perspective}
	}
	return calls
}

// fetchCalls makes the calls in order and collects their rows. Rows come in the order of a file if the calls are sorted by the parameters that are keys.
//
// A call denied while another one answers leaves the dataset readable, and is
// counted as unavailable; all denied makes it denied; any failure fails it.
func (f *fetcher) fetchCalls(
	ctx context.Context, d *dataset, r *result, calls []transform.Params, filters map[string]string,
) error {
	var denied error
	for _, params := range calls {
		c := d.newDecoder(params)
		c.SetLimits(f.limits(r))
		tally, err := f.list(ctx, d, c, params, filters)
		r.ledger.Requests += tally.Requests
		r.ledger.Retries += tally.Retries
		switch {
		case err == nil:
			r.ledger.Pages += tally.Pages
			r.oddPages += tally.oddPages
			r.addRows(c)
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
	if denied != nil && len(r.decoders) == 0 {
		r.ledger.Status, r.ledger.Error = snapshot.StatusDenied, denied.Error()
		r.ledger.RecordsUnavailable = 0
	}
	return nil
}

// maxEmptyPages bounds the empty pages in a row of a list: cursors that never repeat could go on forever.
const maxEmptyPages = 1000

// reading is what reading a list took.
type reading struct {
	extract.Tally
	// oddPages counts the pages before the last that do not hold resultsPerPage
	// records. Only pages of test results are expected to.
	oddPages int64
}

// list walks the pages of one call chain into c.
func (f *fetcher) list(
	ctx context.Context, d *dataset, c *transform.Decoder, params transform.Params, filters map[string]string,
) (reading, error) {
	var read reading
	empty := 0
	tally, err := f.client.List(ctx, d.call(params, filters, f.asOf), func(body []byte) (string, error) {
		page, err := readPage(c, body)
		if err != nil {
			return "", f.beyond(d, err)
		}
		if empty++; page.Records > 0 {
			empty = 0
		}
		if empty > maxEmptyPages {
			return "", fmt.Errorf("%d pages in a row hold no record and name another: the list has no end", empty)
		}
		if page.Next != "" && page.Records != resultsPerPage {
			read.oddPages++
		}
		return page.Next, nil
	})
	read.Tally = tally
	return read, err
}

// readPage reads a page into c. A body that is not JSON is retried, an odd answer is not.
func readPage(c *transform.Decoder, body []byte) (transform.Page, error) {
	page, err := c.ReadPage(body)
	if errors.Is(err, transform.ErrNotJSON) || errors.Is(err, transform.ErrEmptyString) {
		err = extract.Unreadable(err)
	}
	return page, err
}

// addRows adds the rows of a chain, which it keeps until they are written.
func (r *result) addRows(c *transform.Decoder) {
	done := c.Finish()
	r.decoders = append(r.decoders, c)
	r.childRows += c.ChildRows()
	if r.tables == nil {
		r.tables = make([][]*rows.Batch, len(done.Tables))
	}
	for i, batch := range done.Tables {
		r.tables[i] = append(r.tables[i], batch)
	}
	r.count(&done)
}

// copiedText is how much text a column of copied rows holds, about, before
// another batch is begun: far less than a batch can, and little enough that one
// which grows is not moved for long.
const copiedText = 64 << 20

// copyRows adds the rows of a chain that holds few, of which there are many.
func (r *result) copyRows(done transform.Result) {
	for i, batch := range done.Tables {
		last := r.tables[i][len(r.tables[i])-1]
		if last.N > 0 && last.TextBytes()+batch.TextBytes() > copiedText {
			last = rows.New(batch.Table)
			r.tables[i] = append(r.tables[i], last)
		}
		last.AppendRows(batch, 0, batch.Len())
	}
	r.count(&done)
}

func (r *result) count(done *transform.Result) {
	r.ledger.RecordsReceived += done.Records
	r.ledger.DuplicatesDropped += done.Duplicates
	r.ledger.RowsWritten += int64(done.Tables[0].Len())
	for _, d := range done.Drift {
		r.drift.Add(snapshot.Drift(d))
	}
}

// drop forgets the rows, so that none of a school that is not whole is
// written, and takes back what was counted of them.
func (r *result) drop(d *dataset) {
	for _, c := range r.decoders {
		d.release(c)
	}
	r.decoders, r.tables, r.drift, r.childRows = nil, nil, snapshot.DriftSums{}, 0
	r.checks, r.oddPages, r.terms, r.sessions = nil, 0, nil, nil
	r.ledger.Pages, r.ledger.RecordsReceived, r.ledger.DuplicatesDropped = 0, 0, 0
	r.ledger.RowsWritten, r.ledger.RecordsUnavailable = 0, 0
}

func (r *result) fail(err error) {
	r.ledger.Status, r.ledger.Error = snapshot.StatusFailed, err.Error()
}

// endsRun reports whether an error concerns the whole run and not a single school: the run was cancelled, access was denied,
// or the service is down.
func endsRun(ctx context.Context, err error) bool {
	return ctx.Err() != nil || extract.EndsRun(err)
}
