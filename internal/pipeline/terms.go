package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Terms returns the last day of each term (4.7) that has begun in any of the selected schools, in chronological order.
// For a current term, it returns today instead. It requests the terms of every school and perspective, and returns an
// error if one of these requests fails or no term has begun. s holds the settings of the as-of runs that will be taken
// for these days.
func Terms(ctx context.Context, deps Deps, s Settings) ([]string, error) {
	deps.Progress.start(deps.Now(), deps.Client)
	today := cmp.Or(s.ServiceDate, deps.Now().UTC().Format(time.DateOnly))
	s.EffectiveDate = today
	if err := s.Check(); err != nil {
		return nil, err
	}
	r := &exportRun{Deps: deps, settings: &s, scope: scopeOf(&s), now: deps.Now().UTC(), date: today}
	if err := r.newFetcher(); err != nil {
		return nil, err
	}
	looked, err := r.fetch.LookUp(ctx, neededLookups(&s))
	if err != nil {
		return nil, err
	}
	plan, err := r.makePlan("", looked)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := make(map[string]bool)
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(s.Concurrency)
	for _, school := range plan.Schools {
		group.Go(func() error {
			if asking.Err() != nil {
				return context.Cause(asking)
			}
			ends, err := r.termEnds(asking, school, today)
			mu.Lock()
			defer mu.Unlock()
			for _, end := range ends {
				found[end] = true
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read the terms: %w", err)
	}
	if len(found) == 0 {
		return nil, errors.New("read the terms: the service lists no term that has begun: give dates instead of terms")
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// termEnds returns the last days of the terms of a school that have begun, and today for terms that have not ended. It
// returns none if the service denies the academic years of the school.
func (r *exportRun) termEnds(ctx context.Context, school snapshot.School, today string) (ends []string, err error) {
	years, err := r.fetch.School(ctx, r.fetch.Dataset(schemas.AcademicYears), school, nil)
	if err != nil {
		return nil, err
	}
	defer years.Release()
	if years.Ledger.Status == snapshot.StatusFailed {
		return nil, fmt.Errorf("school %s: %s", school.Bid, years.Ledger.Error)
	}
	err = years.Each(func(tables []*rows.Batch) error {
		cols := tables[1].Columns("begin_date", "end_date")
		for i := range tables[1].Len() {
			row := tables[1].Row(i)
			if cols[0].Null(row) || cols[1].Null(row) {
				continue
			}
			if begin, end := snapshot.DateOf(cols[0].I32[row]), snapshot.DateOf(cols[1].I32[row]); begin <= today {
				ends = append(ends, min(end, today))
			}
		}
		return nil
	})
	return ends, err
}
