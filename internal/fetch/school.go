package fetch

import (
	"context"
	"io"
	"maps"
	"slices"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// School fetches a school's dataset through every call chain that it needs, except fan-out calls that are in the log.
// It only returns errors that end the whole run; an error that concerns only this school is in the result's ledger row.
func (f *Fetcher) School(ctx context.Context, d *Dataset, school snapshot.School, log *CallLog) (*Result, error) {
	r := &Result{
		place:  f.processors.nextPlace(),
		Ledger: snapshot.LedgerRow{Dataset: d.Name, SchoolBid: school.Bid, Status: snapshot.StatusOK},
	}
	if d.Per != schemas.PerSchool {
		return r, f.fanOut(ctx, d, r, school, log)
	}
	calls := schoolCalls(d, school)
	if len(calls) == 0 {
		r.Fail(errNoPerspective)
		return r, nil
	}
	if err := f.onlyOfCohort(ctx, d, r, school); err != nil || r.Ledger.Status != snapshot.StatusOK {
		return r, err
	}
	switch d.Name {
	case schemas.TestResults:
		return r, f.results(ctx, d, r, calls)
	case schemas.AcademicYears:
		return r, f.years(ctx, d, r, calls)
	default:
		return r, f.fetchCalls(ctx, d, r, calls, f.filters)
	}
}

// FirstPage requests the first page of a dataset of a school, and discards it. It returns the number of records, and
// whether this is the only page.
func (f *Fetcher) FirstPage(ctx context.Context, dataset, school string) (records int, last bool, err error) {
	d, params := f.datasets[dataset], transform.Params{"school_bid": school}
	decoder := d.newDecoder(params)
	defer d.release(decoder)
	_, err = f.client.Get(ctx, d.call(params, nil, false), func(body io.Reader) error {
		page, err := readPage(decoder, body)
		records, last = page.Records, page.Next == ""
		return err
	})
	return records, last, err
}

// years reads the academic years of a school and records their enrollment sessions, for the check of terms.
func (f *Fetcher) years(ctx context.Context, d *Dataset, r *Result, calls []transform.Params) error {
	err := f.fetchCalls(ctx, d, r, calls, f.filters)
	if err != nil || !f.check.terms || r.Ledger.Status != snapshot.StatusOK {
		return err
	}
	sessions := make(map[string]bool)
	err = r.Each(func(tables []*rows.Batch) error {
		addSessions(sessions, tables[1])
		return nil
	})
	r.Sessions = slices.Sorted(maps.Keys(sessions))
	return err
}

// results reads the test results of a school. The service returns at most one result per student and subject. If there
// are several, the list has changed while its pages were being read, and results may also be missing. The list is then
// read again, and only the second reading counts. If the second reading fails, so does the school, because the first is
// known to be unreliable.
func (f *Fetcher) results(ctx context.Context, d *Dataset, r *Result, calls []transform.Params) error {
	repeated, err := f.readResults(ctx, d, r, calls)
	if err != nil || repeated == 0 {
		return err
	}
	r.drop()
	r.FirstRepeated = repeated
	_, err = f.readResults(ctx, d, r, calls)
	return err
}

// readResults reads the list once and makes the checks that need no other list. It returns the count of
// one_result_per_subject.
func (f *Fetcher) readResults(ctx context.Context, d *Dataset, r *Result, calls []transform.Params) (repeated int64, err error) {
	if err := f.fetchCalls(ctx, d, r, calls, f.filters); err != nil || r.Ledger.Status != snapshot.StatusOK {
		return 0, err
	}
	check := &f.check
	repeats, terms := newRepeatedSubjects(r.Ledger.RowsWritten, check.seed), newTermCounter(r.Ledger.SchoolBid, check.schools)
	var older, disorderedRIT, disorderedItems int64
	err = r.Each(func(tables []*rows.Batch) error {
		results := tables[0]
		repeats.addHashes(results)
		older += countOlder(results, check.oldest)
		disorderedRIT += countDisordered(results, "rit_score_low", "rit", "rit_score_high")
		disorderedItems += countDisordered(results, itemColumns...)
		if check.terms {
			terms.add(results)
		}
		return nil
	})
	if err == nil && len(repeats.again) > 0 {
		err = r.Each(func(tables []*rows.Batch) error {
			repeats.addPairs(tables[0])
			return nil
		})
	}
	if err != nil {
		return 0, err
	}
	repeated = repeats.count()
	r.note(review.CheckOneResultPerSubject, repeated)
	r.note(review.CheckPageSize, r.oddPages)
	r.note(review.CheckOlderThanAYear, older)
	r.note(review.CheckRITOrder, disorderedRIT)
	if check.items {
		r.note(review.CheckItemsOrder, disorderedItems)
	}
	if check.terms {
		r.Terms = terms.counts()
	}
	return repeated, nil
}
