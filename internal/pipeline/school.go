package pipeline

import (
	"context"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// school fetches a school's dataset through every call chain that it needs. Only an error that ends the whole run is
// returned; what concerns this school alone is in the result's ledger row.
func (f *fetcher) school(ctx context.Context, d *dataset, school snapshot.School) (*result, error) {
	r := &result{
		place:  f.processors.nextPlace(),
		ledger: snapshot.LedgerRow{Dataset: d.Name, SchoolBid: school.Bid, Status: snapshot.StatusOK},
	}
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

// results reads the test results of a school. The service returns at most one result per student and subject: several
// mean that the list moved while its pages were read, so that results may be missing too. The list is then read once
// more, and only the second reading counts: if it fails, so does the school, because the first is known to be
// unreliable.
func (f *fetcher) results(ctx context.Context, d *dataset, r *result, calls []transform.Params) error {
	repeated, err := f.readResults(ctx, d, r, calls)
	if err != nil || repeated == 0 {
		return err
	}
	r.drop()
	r.firstRepeated = repeated
	_, err = f.readResults(ctx, d, r, calls)
	return err
}

// readResults reads the list once and makes the checks that need no other list. It returns the count of
// one_result_per_subject.
func (f *fetcher) readResults(ctx context.Context, d *dataset, r *result, calls []transform.Params) (repeated int64, err error) {
	if err := f.fetchCalls(ctx, d, r, calls, f.filters); err != nil || r.ledger.Status != snapshot.StatusOK {
		return 0, err
	}
	check := f.check
	repeats, terms := newRepeatedSubjects(r.ledger.RowsWritten, check.seed), newTermCounter(r.ledger.SchoolBid, check.schools)
	var older, disorderedRIT, disorderedItems int64
	err = r.each(func(tables []*rows.Batch) error {
		results := tables[0]
		repeats.addHashes(results)
		older += countOlder(results, check.oldest)
		disorderedRIT += countDisordered(results, "rit_score_low", "rit", "rit_score_high")
		disorderedItems += countDisordered(results, "items_correct", "items_shown", "items_total")
		if check.terms {
			terms.add(results)
		}
		return nil
	})
	if err == nil && len(repeats.again) > 0 {
		err = r.each(func(tables []*rows.Batch) error {
			repeats.addPairs(tables[0])
			return nil
		})
	}
	if err != nil {
		return 0, err
	}
	repeated = repeats.count()
	r.note(snapshot.CheckOneResultPerSubject, repeated)
	r.note(snapshot.CheckPageSize, r.oddPages)
	r.note(snapshot.CheckOlderThanAYear, older)
	r.note(snapshot.CheckRITOrder, disorderedRIT)
	r.note(snapshot.CheckItemsOrder, disorderedItems)
	if check.terms {
		r.terms = terms.counts()
	}
	return repeated, nil
}
