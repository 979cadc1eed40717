package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// fanOut fetches a dataset with one call per student, class, educator or association of the school. The identifiers
// come from other lists. A call that is answered with 403, or with 404 after all attempts, is counted as unavailable.
// Any other failure, including such an answer to a later page, fails the school's dataset. The dataset also fails after
// minNotFound 404s if no call of the operation has succeeded for any school, because the service then probably lacks
// the operation, not the records.
//
// The lists are requested here even if they are also datasets of the run. This adds a few requests to the hundreds of a
// school, but identifiers need not be kept until the fan-out reaches their school.
func (f *Fetcher) fanOut(ctx context.Context, d *Dataset, r *Result, school snapshot.School, log *CallLog) error {
	if needsPerspective(d, f.datasets) && len(school.Perspectives) == 0 {
		r.Fail(errNoPerspective)
		return nil
	}
	if err := f.onlyOfCohort(ctx, d, r, school); err != nil || r.Ledger.Status != snapshot.StatusOK {
		return err
	}
	calls, err := f.feed(ctx, d, r, school)
	if err != nil || r.Ledger.Status != snapshot.StatusOK {
		return err
	}
	// Rows must be in the order of the calls, so the calls are made window by window.
	for len(calls) > 0 {
		n, err := f.nextWindow(ctx, d, r, calls, log)
		if err != nil {
			r.drop()
			if endsRun(ctx, err) {
				return err
			}
			r.Fail(err)
			return nil
		}
		calls = calls[n:]
	}
	return nil
}

// minNotFound is the number of a school's calls that must be answered with 404 before an operation is assumed to be
// missing.
const minNotFound = 3

// fanOutCall is one call of a fan-out.
type fanOutCall struct {
	perspective string // empty if the dataset has no perspective
	written     string // the identifier as written to the rows
	params      transform.Params
}

// nextWindow adds the rows of the first n calls to the result. It reads them from the log if an earlier process has
// made these calls.
func (f *Fetcher) nextWindow(ctx context.Context, d *Dataset, r *Result, calls []fanOutCall, log *CallLog) (n int, err error) {
	if n = log.restore(ctx, calls, r); n == 0 {
		n = min(f.window, len(calls))
		before := countRows(r.parts, len(d.Tables))
		window, err := f.makeCalls(ctx, d, r, calls[:n])
		if err != nil {
			return 0, err
		}
		r.addCounts(window)
		r.notFound += window.notFound
		doubtful := window.notFound > 0 && !f.client.Answered(d.Name)
		switch {
		case !doubtful:
			log.add(ctx, calls[:n], window, before)
		case r.notFound >= minNotFound && r.Ledger.Pages == 0:
			return 0, fmt.Errorf("%d calls were answered with 404 Not Found, and no call of this operation has succeeded for any school",
				r.notFound)
		}
	}
	// The limits of each call did not take the rows of the window's other calls into account.
	left := f.limits(d, r)
	switch {
	case left.Records < 0:
		return 0, f.beyond(d, transform.ErrTooManyRecords)
	case left.ChildRows < 0:
		return 0, f.beyond(d, transform.ErrTooManyChildRows)
	}
	return n, r.limitMemory(d, f.maxHeldBytes, f.scratch)
}

// needsPerspective reports whether the dataset, or a list that feeds it, is read through a perspective.
func needsPerspective(d *Dataset, all map[string]*Dataset) bool {
	needs := d.TakesPerspective()
	for _, table := range d.Feeds {
		_, feed, _ := schemas.FindTable(table)
		needs = needs || all[feed.Name].TakesPerspective()
	}
	return needs
}

// makeCalls makes the calls of a window concurrently, adds their numbers of requests to r, and appends their rows to
// the parts of r in the order of the calls. It returns a result with the counts of the window and with the parts of r.
func (f *Fetcher) makeCalls(ctx context.Context, d *Dataset, r *Result, calls []fanOutCall) (*Result, error) {
	type answer struct {
		rows  *collector
		tally reading
		err   error
	}
	answers := make([]answer, len(calls))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, call := range calls {
		group.Go(func() error {
			select {
			case f.fanning <- struct{}{}:
			case <-groupCtx.Done():
				return context.Cause(groupCtx)
			}
			defer func() { <-f.fanning }()
			a := &answers[i]
			a.rows = f.newCollector(d, call.params, r)
			a.tally, a.err = f.list(groupCtx, a.rows, call.params, f.filters)
			if unavailable(a.err, a.tally.Pages) {
				return nil
			}
			return a.err
		})
	}
	err := group.Wait()
	window := &Result{parts: r.parts, scratch: r.scratchIn(f.scratch)}
	for i := range answers {
		a := &answers[i]
		r.Ledger.Requests += a.tally.Requests
		r.Ledger.Retries += a.tally.Retries
		switch {
		case err != nil || a.rows == nil:
		case a.err != nil:
			window.Ledger.RecordsUnavailable++
			if extract.NotFound(a.err) {
				window.notFound++
			}
		default:
			window.Ledger.Pages += a.tally.Pages
			err = window.copyRows(a.rows)
		}
		if a.rows != nil {
			a.rows.release()
		}
	}
	r.parts = window.parts // also after an error, so that they are dropped with the result
	return window, err
}

// unavailable reports whether an error means that the service denied access to a record or does not have it, because
// records can disappear between two calls. If the first pages of a list could be read, the list exists. The same answer
// to a later page then only means that the list was not read completely.
func unavailable(err error, pages int64) bool {
	return pages == 0 && (errors.Is(err, extract.ErrDenied) || extract.NotFound(err))
}

// feedList fetches a list that supplies the ids for r's calls. If the list fails or is denied, r gets the same status,
// and the returned list is nil.
func (f *Fetcher) feedList(ctx context.Context, feed *Dataset, r *Result, school snapshot.School) (*Result, error) {
	list := &Result{
		place:  r.place,
		Ledger: snapshot.LedgerRow{Dataset: feed.Name, SchoolBid: school.Bid, Status: snapshot.StatusOK},
	}
	err := f.onlyOfCohort(ctx, feed, list, school)
	if err == nil && list.Ledger.Status == snapshot.StatusOK {
		err = f.fetchCalls(ctx, feed, list, schoolCalls(feed, school), f.feedFilters)
	}
	r.Ledger.Requests += list.Ledger.Requests
	r.Ledger.Retries += list.Ledger.Retries
	if err != nil {
		return nil, err
	}
	r.Ledger.RecordsUnavailable += list.Ledger.RecordsUnavailable
	r.Suppressed = append(r.Suppressed, list.Suppressed...) // no calls are made for these students
	if list.Ledger.Status != snapshot.StatusOK {
		list.drop()
		r.Ledger.Status, r.Ledger.Error, r.Ledger.RecordsUnavailable = list.Ledger.Status, list.Ledger.Error, 0
		return nil, nil
	}
	return list, nil
}

// feed fetches the lists that supply ids for the dataset's calls, and returns the calls in the order of their rows. If
// one of the lists fails or is denied, the dataset gets the same status.
func (f *Fetcher) feed(ctx context.Context, d *Dataset, r *Result, school snapshot.School) ([]fanOutCall, error) {
	type named struct{ perspective, written, id string }
	found := make(map[named]bool)
	for _, name := range d.Feeds {
		table, declared, _ := schemas.FindTable(name)
		feed := f.feeds[declared.Name]
		list, err := f.feedList(ctx, feed, r, school)
		if list == nil || err != nil {
			return nil, err
		}
		position := slices.Index(feed.Tables, table)
		perspectives, perspectivesErr := list.texts(position, "requested_perspective_bid")
		ids, idsErr := list.texts(position, d.FedParam())
		if err := cmp.Or(perspectivesErr, idsErr); err != nil {
			return nil, err
		}
		for i, id := range ids {
			through := school.Perspectives
			switch {
			case feed.TakesPerspective():
				through = perspectives[i : i+1]
			case !d.TakesPerspective():
				through = []string{""}
			}
			if id == "" {
				r.Ledger.RecordsUnavailable++
				continue
			}
			written := d.plan.Written(d.FedParam(), id)
			for _, perspective := range through {
				found[named{perspective, written, id}] = true
			}
		}
		list.drop()
	}
	calls := make([]fanOutCall, 0, len(found))
	for _, n := range slices.SortedFunc(maps.Keys(found), func(a, b named) int {
		return cmp.Or(cmp.Compare(a.perspective, b.perspective), cmp.Compare(a.written, b.written))
	}) {
		params := transform.Params{"school_bid": school.Bid, d.FedParam(): n.id}
		if d.TakesPerspective() {
			params["perspective_bid"] = n.perspective
		}
		calls = append(calls, fanOutCall{perspective: n.perspective, written: n.written, params: params})
	}
	return calls, nil
}
