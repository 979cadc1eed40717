package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// lookups are what is fetched before any school: the school list, the districts and their school lists, as far as the
// run needs them.
type lookups struct {
	results   map[string]*result
	schools   []snapshot.School   // of 4.1 in the order received, including those without a bid and those listed twice
	districts []string            // bids of 4.2, sorted
	namedBy   map[string][]string // by school, the districts of 4.2 whose list (4.3) names it
	ledger    map[string][]snapshot.LedgerRow
}

// ErrNoSchools says that the service answered with an empty school list.
var ErrNoSchools = errors.New("the school list is empty: no school has a data sharing agreement with this app," +
	" or the service is malfunctioning; nothing was published")

// neededLookups reports which lookups the run has to fetch besides the school list.
func neededLookups(s *Settings) (districts, districtSchools bool) {
	selected, _ := s.split()
	enrollment := slices.ContainsFunc(selected, func(name string) bool {
		d, _ := schemas.Find(name)
		return d.TakesPerspective()
	})
	districtSchools = slices.Contains(selected, "district_schools") || enrollment && s.Perspectives == AllPerspectives
	return districtSchools || slices.Contains(selected, "districts"), districtSchools
}

// lookUp fetches the lookups. A failure of any of them fails the run; a denial of 4.2 or 4.3 denies that dataset alone.
func (f *fetcher) lookUp(ctx context.Context, s *Settings) (*lookups, error) {
	l := &lookups{results: make(map[string]*result), namedBy: make(map[string][]string), ledger: make(map[string][]snapshot.LedgerRow)}

	schools, err := f.lookUpOnce(ctx, f.datasets["schools"], l)
	if err != nil {
		return nil, err
	}
	if schools.ledger.Status == snapshot.StatusDenied {
		return nil, fmt.Errorf("list the schools: %w: %s", extract.ErrRefused, schools.ledger.Error)
	}
	if schools.ledger.RecordsReceived == 0 {
		return nil, ErrNoSchools
	}
	err = schools.each(func(tables []*rows.Batch) error {
		b := tables[0]
		cols := columns(b, "school_bid", "name", "district_bid")
		for i := range b.Len() {
			row := b.Row(i)
			l.schools = append(l.schools, snapshot.School{
				Bid: string(cols[0].Text(row)), Name: wording.Cut(string(cols[1].Text(row)), snapshot.MaxSchoolName), District: string(cols[2].Text(row)),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	needDistricts, needLists := neededLookups(s)
	if !needDistricts {
		return l, nil
	}
	found, err := f.lookUpOnce(ctx, f.datasets["districts"], l)
	if err != nil {
		return nil, err
	}
	bids, err := found.texts(0, "district_bid")
	if err != nil {
		return nil, err
	}
	for _, bid := range bids {
		if bid != "" {
			l.districts = append(l.districts, bid)
		}
	}
	l.districts = canonical(l.districts)
	if needLists {
		err = f.lookUpLists(ctx, f.datasets["district_schools"], l)
	}
	return l, err
}

// lookUpOnce fetches a dataset of one call.
func (f *fetcher) lookUpOnce(ctx context.Context, d *dataset, l *lookups) (*result, error) {
	r := &result{ledger: snapshot.LedgerRow{Dataset: d.Name, Status: snapshot.StatusOK}}
	if err := f.fetchCalls(ctx, d, r, []transform.Params{{}}, nil); err != nil {
		return nil, err
	}
	if r.ledger.Status == snapshot.StatusFailed {
		return nil, fmt.Errorf("fetch %s: %s", d.Name, r.ledger.Error)
	}
	l.results[d.Name] = r
	l.ledger[d.Name] = []snapshot.LedgerRow{r.ledger}
	return r, nil
}

// lookUpLists fetches 4.3 for every district of 4.2, in the order of their bids, which is the order of the file.
func (f *fetcher) lookUpLists(ctx context.Context, d *dataset, l *lookups) error {
	all := &result{ledger: snapshot.LedgerRow{Dataset: d.Name, Status: snapshot.StatusOK}}
	if denied := l.results["districts"].ledger; denied.Status == snapshot.StatusDenied {
		denied.Dataset, denied.Requests, denied.Retries = d.Name, 0, 0
		l.ledger[d.Name] = append(l.ledger[d.Name], denied)
	}
	lists := make([]*result, len(l.districts))
	group, fetching := errgroup.WithContext(ctx)
	group.SetLimit(f.window)
	for i, district := range l.districts {
		lists[i] = &result{ledger: snapshot.LedgerRow{Dataset: d.Name, DistrictBid: district, Status: snapshot.StatusOK}}
		group.Go(func() error {
			if fetching.Err() != nil {
				return context.Cause(fetching)
			}
			err := f.fetchCalls(fetching, d, lists[i], []transform.Params{{"district_bid": district}}, nil)
			if err == nil && lists[i].ledger.Status == snapshot.StatusFailed {
				err = fmt.Errorf("fetch %s: %s", d.Name, lists[i].ledger.Error)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, district := range l.districts {
		schools, err := lists[i].texts(0, "school_bid")
		if err != nil {
			return err
		}
		for _, school := range schools {
			if named := l.namedBy[school]; school != "" && !slices.Contains(named, district) {
				l.namedBy[school] = append(named, district)
			}
		}
		all.merge(lists[i])
		l.ledger[d.Name] = append(l.ledger[d.Name], lists[i].ledger)
	}
	l.results[d.Name] = all
	return nil
}

// setPerspectives records through which districts each school's enrollment is read: those whose list names it, and its
// own.
func (l *lookups) setPerspectives(plan *snapshot.Plan, s *Settings) {
	for i := range plan.Schools {
		school := &plan.Schools[i]
		var through []string
		if s.Perspectives == AllPerspectives {
			through = slices.Clone(l.namedBy[school.Bid])
		}
		if school.District != "" {
			through = append(through, school.District)
		}
		school.Perspectives = canonical(through)
	}
}
