package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"sync/atomic"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Options define which rows a Fetcher returns, and how many calls and how much memory it may use.
type Options struct {
	Privacy    schemas.Profile
	PrivacyKey *privacy.Key
	Students   []string            // students whose rows are returned, in order; nil for all students
	Suppressed *privacy.Suppressed // students whose rows are not returned; nil if no student is suppressed
	// Concurrency is the maximum number of requests that the client sends at once.
	Concurrency      int
	MaxSchoolRecords int64  // maximum records of a school in one dataset
	Scratch          string // folder for rows that do not fit in memory; empty for the system's temporary directory
	MaxHeldBytes     int    // maximum bytes of one school's rows in memory; 0 for the default
}

// Parameters are common to all calls for schools.
type Parameters struct {
	Filters  map[string]string // the optional parameters
	AsOf     bool              // whether the effective date is sent to every operation that accepts it
	Date     string            // the date of the data
	Datasets []string          // the datasets that are fetched
	Schools  []snapshot.School
}

// Fetcher requests datasets from the service, call chain by call chain.
type Fetcher struct {
	client   *extract.Client
	datasets map[string]*Dataset
	feeds    map[string]*Dataset // the datasets as sources of ids for other calls
	pool     pool
	// filters are the optional parameters. feedFilters replaces them for lists that only supply identifiers for other
	// calls.
	filters, feedFilters map[string]string
	asOf                 bool
	profile              schemas.Profile
	check                checker
	maxRecords           int64
	maxHeldBytes         int
	heldTogether         atomic.Int64 // bytes held by the lists that are being read
	scratch              *scratchFolder
	processors           *processors
	// window is the number of calls of one school's fan-out that are made at once. fanning limits the fan-out calls of
	// all schools, so that lists get their share of the request slots.
	window  int
	fanning chan struct{}
	// cohort is true if only the rows of some students, and of their classes and educators, are returned.
	cohort bool
}

// New returns a fetcher that is ready for lookups. Close removes its scratch files.
func New(client *extract.Client, o Options) (*Fetcher, error) {
	f := &Fetcher{
		client: client, datasets: make(map[string]*Dataset), feeds: make(map[string]*Dataset), maxRecords: o.MaxSchoolRecords,
		maxHeldBytes: cmp.Or(o.MaxHeldBytes, maxHeldBytes), scratch: &scratchFolder{path: o.Scratch},
		processors: newProcessors(), profile: o.Privacy,
		window: 2 * o.Concurrency, fanning: make(chan struct{}, 2*o.Concurrency), cohort: o.Students != nil,
	}
	students := transform.NewCohort(o.Students)
	for _, declared := range schemas.Datasets() {
		d, err := compile(declared, &o, &f.pool)
		if err != nil {
			return nil, err
		}
		f.datasets[d.Name] = d
		if f.feeds[d.Name], err = d.feed(&o); err != nil {
			return nil, err
		}
		if o.Students != nil {
			d.plan.Restrict(students)
			f.feeds[d.Name].plan.Restrict(students)
		}
		if o.Suppressed != nil {
			d.plan.Suppress(o.Suppressed)
			f.feeds[d.Name].plan.Suppress(o.Suppressed)
		}
	}
	return f, nil
}

// Close closes the scratch files that are still open, and returns the errors of all files.
func (f *Fetcher) Close() error { return f.scratch.close() }

// Dataset returns the dataset with that name.
func (f *Fetcher) Dataset(name string) *Dataset { return f.datasets[name] }

// SetParameters sets the parameters of the calls for schools. It must be called before the first of these calls.
func (f *Fetcher) SetParameters(p Parameters) (err error) {
	f.filters, f.asOf = p.Filters, p.AsOf
	f.feedFilters = maps.Clone(p.Filters)
	delete(f.feedFilters, schemas.ModifiedSince) // unchanged records are needed too
	f.addCanaries(&p)
	f.check, err = newChecker(&p, f.datasets[schemas.TestResults].Tables[0], f.profile)
	return err
}

// addCanaries adds calls to the client that show whether the service works even if the list that is requested first
// always fails. They request the list of schools, and every per-school list of the run for two schools.
func (f *Fetcher) addCanaries(p *Parameters) {
	f.client.AddCanaries(f.datasets[schemas.Schools].call(nil, nil, false))
	for _, name := range p.Datasets {
		d, left := f.datasets[name], 2
		for i := 0; d.Per == schemas.PerSchool && left > 0 && i < len(p.Schools); i++ {
			if calls := schoolCalls(d, p.Schools[i]); len(calls) > 0 && p.Schools[i].Bid != "" {
				f.client.AddCanaries(d.call(calls[0], f.filters, f.asOf))
				left--
			}
		}
	}
}

// NewScratch returns an unopened scratch file.
func (f *Fetcher) NewScratch() *Scratch { return &Scratch{folder: f.scratch} }

// WithProcessor calls work, which processes a result, while holding a processor slot. If no slot becomes free in time,
// it calls work without one. The slot keeps other schools from producing further rows, which would also have to wait.
func (f *Fetcher) WithProcessor(r *Result, work func() error) error {
	processor := f.processors.at(r.place)
	processor.acquire()
	defer processor.release()
	return work()
}

// errNoPerspective is the error of the enrollment datasets of a school that has no district and that no district lists.
var errNoPerspective = errors.New("the school list gives no district for the school and no district lists the school," +
	" so there is no perspective through which to read its enrollment")

// schoolCalls returns the calls of a dataset for a school: one call, or one per perspective in the order of the
// perspectives.
func schoolCalls(d *Dataset, school snapshot.School) []transform.Params {
	if !d.TakesPerspective() {
		return []transform.Params{{"school_bid": school.Bid}}
	}
	calls := make([]transform.Params, len(school.Perspectives))
	for i, perspective := range school.Perspectives {
		calls[i] = transform.Params{"school_bid": school.Bid, "perspective_bid": perspective}
	}
	return calls
}

// fetchCalls makes the calls in order and collects their rows. The rows are in the order of the file if the calls are
// sorted by the parameters that are keys.
//
// If some calls are denied and others succeed, the denied calls are counted as unavailable, unless their first pages
// were read. If all calls are denied, the dataset is denied. Any other failure fails the dataset.
func (f *Fetcher) fetchCalls(
	ctx context.Context, d *Dataset, r *Result, calls []transform.Params, filters map[string]string,
) error {
	var denied error
	for _, params := range calls {
		c := f.newCollector(d, params, r)
		tally, err := f.list(ctx, c, params, filters)
		r.Ledger.Requests += tally.Requests
		r.Ledger.Retries += tally.Retries
		if err != nil {
			c.release()
		} else {
			r.Ledger.Pages += tally.Pages
			r.oddPages += tally.oddPages
			err = r.addRows(c)
		}
		switch {
		case err == nil:
		case endsRun(ctx, err):
			r.drop()
			return err
		case errors.Is(err, extract.ErrDenied) && (len(calls) == 1 || tally.Pages == 0):
			r.Ledger.RecordsUnavailable++
			denied = err
		default:
			r.Fail(err)
			return nil
		}
	}
	if denied != nil && len(r.parts) == 0 {
		r.Ledger.Status, r.Ledger.Error = snapshot.StatusDenied, denied.Error()
		r.Ledger.RecordsUnavailable = 0
	}
	return nil
}

// maxEmptyPages is the maximum number of consecutive empty pages of a list. Without such a bound, a list whose cursors
// never repeat could go on forever.
const maxEmptyPages = 1000

// reading counts the requests and pages of a list that was read.
type reading struct {
	extract.Tally
	// oddPages counts the pages before the last that do not hold resultsPerPage records. Only pages of test results are
	// expected to hold that many.
	oddPages int64
}

// list reads the pages of one call chain into c. It returns the counts even if it fails.
func (f *Fetcher) list(
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

// readPage reads a page into c. The request is retried if the body is not JSON or is an empty JSON string, but not if
// the JSON is unexpected in other ways.
func readPage(c *transform.Decoder, body io.Reader) (transform.Page, error) {
	page, err := c.ReadPage(body)
	if errors.Is(err, transform.ErrNotJSON) || errors.Is(err, transform.ErrEmptyString) {
		err = extract.Unreadable(err)
	}
	return page, err
}

// endsRun reports whether an error concerns the whole run and not a single school: the run was cancelled, the
// credentials were rejected, the service is down, or a scratch file cannot be used.
func endsRun(ctx context.Context, err error) bool {
	_, isScratch := errors.AsType[ScratchError](err)
	return ctx.Err() != nil || isScratch || extract.EndsRun(err)
}

// childRowsPerRecord, multiplied by --max-school-records, is the maximum number of child rows of a school in one
// dataset.
const childRowsPerRecord = 8

// minLookupRecords is the number of records that a lookup may have even if --max-school-records is lower.
const minLookupRecords = 2_000_000

// recordsOf returns the maximum number of records of a school in a dataset, or of a lookup.
func (f *Fetcher) recordsOf(d *Dataset) int64 {
	if d.IsLookup() {
		return max(f.maxRecords, minLookupRecords)
	}
	return f.maxRecords
}

// limits returns how many records and child rows another call chain may add to a school's dataset, or to a lookup.
func (f *Fetcher) limits(d *Dataset, r *Result) transform.Limits {
	most := int64(math.MaxInt64)
	if f.maxRecords <= most/childRowsPerRecord {
		most = childRowsPerRecord * f.maxRecords
	}
	return transform.Limits{Records: f.recordsOf(d) - r.Ledger.RecordsReceived, ChildRows: most - r.childRows}
}

// beyond returns an error that says which limit an answer exceeded, or err itself if it has a different cause.
func (f *Fetcher) beyond(d *Dataset, err error) error {
	const setting = wording.Setting("max-school-records")
	remedy := "raise " + setting.String() + " if the school really has that many"
	if d.IsLookup() {
		remedy = "raise " + setting.String() + " if the list really has that many"
	}
	var children []string
	for _, t := range d.Tables[1:] {
		children = append(children, t.Name)
	}
	switch {
	case errors.Is(err, transform.ErrTooManyRecords):
		return fmt.Errorf("more than %d records: %s", f.recordsOf(d), remedy)
	case errors.Is(err, transform.ErrTooManyChildRows):
		return fmt.Errorf("more than %d rows of %s, which is %d times %s: %s",
			childRowsPerRecord*f.maxRecords, strings.Join(children, " and "), childRowsPerRecord, setting, remedy)
	case errors.Is(err, transform.ErrTooManyInRecord):
		return fmt.Errorf("a record has more than %d rows of %s: no real record has that many, so the answer is rejected",
			transform.MaxRecordChildRows, strings.Join(children, " and "))
	case errors.Is(err, transform.ErrNearlyEmpty):
		return fmt.Errorf("%w: no real list has such records, so the answer is rejected", transform.ErrNearlyEmpty)
	}
	return err
}

func (f *Fetcher) newCollector(d *Dataset, params transform.Params, r *Result) *collector {
	return &collector{
		dataset: d, params: params, place: r.place, limits: f.limits(d, r), only: r.only, maxBytes: f.maxHeldBytes, together: &f.heldTogether,
		scratch: &Scratch{folder: f.scratch},
	}
}
