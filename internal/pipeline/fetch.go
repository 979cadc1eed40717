package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
)

// fetcher asks the service for datasets, call chain by call chain.
type fetcher struct {
	client   *extract.Client
	datasets map[string]*dataset
	feeds    map[string]*dataset // as they are read for what other calls are made for
	// filters are the optional parameters of the run; feedFilters those of lists that only name what other calls are to be
	// made for.
	filters, feedFilters map[string]string
	asOf                 bool
	check                *checker
	maxRecords           int64
	maxHeldBytes         int
	heldTogether         atomic.Int64 // by the lists that are being read
	scratch              *scratchFolder
	processors           *processors
	// window is how many calls of one school's fan-out are made at once, and fanning how many of all schools', so that lists
	// get their share of the request slots.
	window  int
	fanning chan struct{}
}

// errNoPerspective fails a school's enrollment when no district names it.
var errNoPerspective = errors.New("the school list names no district of the school and no district's list names the school," +
	" so there is no perspective to read its enrollment through")

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

// fetchCalls makes the calls in order and collects their rows. Rows come in the order of a file if the calls are sorted
// by the parameters that are keys.
//
// A call denied while another one answers leaves the dataset readable, and is counted as unavailable; all denied makes
// it denied; any failure fails it.
func (f *fetcher) fetchCalls(
	ctx context.Context, d *dataset, r *result, calls []transform.Params, filters map[string]string,
) error {
	var denied error
	for _, params := range calls {
		c := f.newCollector(d, params, r)
		tally, err := f.list(ctx, c, params, filters)
		r.ledger.Requests += tally.Requests
		r.ledger.Retries += tally.Retries
		if err != nil {
			c.release()
		} else {
			r.ledger.Pages += tally.Pages
			r.oddPages += tally.oddPages
			err = r.addRows(c)
		}
		switch {
		case err == nil:
		case endsRun(ctx, err):
			r.drop()
			return err
		case errors.Is(err, extract.ErrDenied):
			r.ledger.RecordsUnavailable++
			denied = err
		default:
			r.drop()
			r.fail(err)
			return nil
		}
	}
	if denied != nil && len(r.parts) == 0 {
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
	// oddPages counts the pages before the last that do not hold resultsPerPage records. Only pages of test results are
	// expected to.
	oddPages int64
}

// list walks the pages of one call chain into c.
func (f *fetcher) list(
	ctx context.Context, c *collector, params transform.Params, filters map[string]string,
) (reading, error) {
	var read reading
	empty := 0
	tally, err := f.client.List(ctx, c.dataset.call(params, filters, f.asOf), func(body io.Reader) (string, error) {
		processor := f.processors.at(c.place)
		processor.acquire()
		c.acquireDecoder()
		page, err := readPage(c.Decoder, processor.reading(body))
		processor.release()
		if err != nil {
			return "", f.beyond(c.dataset, err)
		}
		if empty++; page.Records > 0 {
			empty = 0
		}
		if empty > maxEmptyPages {
			return "", fmt.Errorf("%d pages in a row are empty and have a next page: the list has no end", empty)
		}
		if page.Next != "" && page.Records != resultsPerPage {
			read.oddPages++
		}
		return page.Next, c.limitMemory()
	})
	read.Tally = tally
	return read, err
}

// readPage reads a page into c. A body that is not JSON is retried, an odd answer is not.
func readPage(c *transform.Decoder, body io.Reader) (transform.Page, error) {
	page, err := c.ReadPage(body)
	if errors.Is(err, transform.ErrNotJSON) || errors.Is(err, transform.ErrEmptyString) {
		err = extract.Unreadable(err)
	}
	return page, err
}

// endsRun reports whether an error concerns the whole run and not a single school: the run was cancelled, access was
// denied, the service is down, or a scratch file cannot be used.
func endsRun(ctx context.Context, err error) bool {
	_, isScratch := errors.AsType[scratchError](err)
	return ctx.Err() != nil || isScratch || extract.EndsRun(err)
}

// childRowsPerRecord is how many child rows there may be for each record that
// --max-school-records allows.
const childRowsPerRecord = 8

// limits returns what another call chain may add to a school's dataset.
func (f *fetcher) limits(r *result) transform.Limits {
	most := int64(math.MaxInt64)
	if f.maxRecords <= most/childRowsPerRecord {
		most = childRowsPerRecord * f.maxRecords
	}
	return transform.Limits{Records: f.maxRecords - r.ledger.RecordsReceived, ChildRows: most - r.childRows}
}

// beyond returns which limit an answer exceeded, if any.
func (f *fetcher) beyond(d *dataset, err error) error {
	const remedy = "raise --max-school-records if the school really has that many"
	var children []string
	for _, t := range d.Tables[1:] {
		children = append(children, t.Name)
	}
	switch {
	case errors.Is(err, transform.ErrTooManyRecords):
		return fmt.Errorf("more than %d records: %s", f.maxRecords, remedy)
	case errors.Is(err, transform.ErrTooManyChildRows):
		return fmt.Errorf("more than %d rows of %s, which is %d times --max-school-records: %s",
			childRowsPerRecord*f.maxRecords, strings.Join(children, " and "), childRowsPerRecord, remedy)
	case errors.Is(err, transform.ErrTooManyInRecord):
		return fmt.Errorf("a record has more than %d rows of %s: no real record does, so the answer is rejected",
			transform.MaxRecordChildRows, strings.Join(children, " and "))
	case errors.Is(err, transform.ErrNearlyEmpty):
		return fmt.Errorf("%w: no real list has them, so the answer is rejected", transform.ErrNearlyEmpty)
	}
	return err
}

func (f *fetcher) newCollector(d *dataset, params transform.Params, r *result) *collector {
	return &collector{
		dataset: d, params: params, place: r.place, limits: f.limits(r), maxBytes: f.maxHeldBytes, together: &f.heldTogether,
		scratch: &scratch{folder: f.scratch},
	}
}
