package fetch

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

// Lookups are the lists that are fetched before the data of any school: the schools and, if the run needs them, the
// districts and their schools.
type Lookups struct {
	Results   map[string]*Result
	Schools   []snapshot.School   // the schools of 4.1, sorted by bid, including schools without a bid
	Districts []string            // the bids of the districts of 4.2, sorted
	Names     map[string]string   // the names of districts, by bid
	NamedBy   map[string][]string // by school, the districts of 4.2 whose school list (4.3) includes the school
	Ledger    map[string][]snapshot.LedgerRow
}

// Lists selects lookups in addition to the list of schools.
type Lists struct {
	Districts       bool
	DistrictSchools bool // needs Districts too
}

// ErrNoSchools means that the service answered with an empty school list.
var ErrNoSchools = errors.New("the school list is empty: no school has a data sharing agreement with this app," +
	" or the service is malfunctioning; nothing was published")

// LookUp fetches the lookups. It returns an error, which ends the run, if a lookup fails, or if the list of schools is
// denied or empty. A denial of 4.2 or 4.3 does not end the run. If 4.2 is denied, 4.3 counts as denied, too.
func (f *Fetcher) LookUp(ctx context.Context, needed Lists) (*Lookups, error) {
	l := &Lookups{
		Results: make(map[string]*Result), NamedBy: make(map[string][]string), Names: make(map[string]string), Ledger: make(map[string][]snapshot.LedgerRow),
	}

	schools, err := f.lookUpOnce(ctx, f.datasets[schemas.Schools], l)
	if err != nil {
		return nil, err
	}
	if schools.Ledger.Status == snapshot.StatusDenied {
		return nil, fmt.Errorf("list the schools: %w: %s; check the app's data sharing agreements", extract.ErrRefused, schools.Ledger.Error)
	}
	if schools.Ledger.RecordsReceived == 0 {
		return nil, ErrNoSchools
	}
	err = schools.Each(func(tables []*rows.Batch) error {
		b := tables[0]
		cols := b.Columns("school_bid", "name", "district_bid")
		for i := range b.Len() {
			row := b.Row(i)
			l.Schools = append(l.Schools, snapshot.School{
				Bid: string(cols[0].Text(row)), Name: wording.Cut(string(cols[1].Text(row)), snapshot.MaxSchoolName), District: string(cols[2].Text(row)),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	if !needed.Districts {
		return l, nil
	}
	found, err := f.lookUpOnce(ctx, f.datasets[schemas.Districts], l)
	if err != nil {
		return nil, err
	}
	bids, err := found.texts(0, "district_bid")
	if err != nil {
		return nil, err
	}
	names, err := found.texts(0, "district_name")
	if err != nil {
		return nil, err
	}
	for i, bid := range bids {
		if bid == "" {
			continue
		}
		l.Districts = append(l.Districts, bid)
		if names[i] != "" {
			l.Names[bid] = wording.Cut(names[i], snapshot.MaxSchoolName)
		}
	}
	l.Districts = slices.Compact(slices.Sorted(slices.Values(l.Districts)))
	if needed.DistrictSchools {
		err = f.lookUpLists(ctx, f.datasets[schemas.DistrictSchools], l)
	}
	return l, err
}

// lookUpOnce fetches a lookup that needs only one call chain.
func (f *Fetcher) lookUpOnce(ctx context.Context, d *Dataset, l *Lookups) (*Result, error) {
	r := &Result{Ledger: snapshot.LedgerRow{Dataset: d.Name, Status: snapshot.StatusOK}}
	if err := f.fetchCalls(ctx, d, r, []transform.Params{{}}, nil); err != nil {
		return nil, err
	}
	if r.Ledger.Status == snapshot.StatusFailed {
		return nil, fmt.Errorf("fetch %s: %s", d.Name, r.Ledger.Error)
	}
	l.Results[d.Name] = r
	l.Ledger[d.Name] = []snapshot.LedgerRow{r.Ledger}
	return r, nil
}

// lookUpLists fetches 4.3 for every district of 4.2. It merges the results in the order of the districts' bids, which
// is the order of the file.
func (f *Fetcher) lookUpLists(ctx context.Context, d *Dataset, l *Lookups) error {
	all := &Result{Ledger: snapshot.LedgerRow{Dataset: d.Name, Status: snapshot.StatusOK}}
	if denied := l.Results[schemas.Districts].Ledger; denied.Status == snapshot.StatusDenied {
		denied.Dataset, denied.Requests, denied.Retries = d.Name, 0, 0
		l.Ledger[d.Name] = append(l.Ledger[d.Name], denied)
	}
	lists := make([]*Result, len(l.Districts))
	group, fetching := errgroup.WithContext(ctx)
	group.SetLimit(f.window)
	for i, district := range l.Districts {
		lists[i] = &Result{Ledger: snapshot.LedgerRow{Dataset: d.Name, DistrictBid: district, Status: snapshot.StatusOK}}
		group.Go(func() error {
			if fetching.Err() != nil {
				return context.Cause(fetching)
			}
			err := f.fetchCalls(fetching, d, lists[i], []transform.Params{{"district_bid": district}}, nil)
			if err == nil && lists[i].Ledger.Status == snapshot.StatusFailed {
				err = fmt.Errorf("fetch %s: %s", d.Name, lists[i].Ledger.Error)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, district := range l.Districts {
		schools, err := lists[i].texts(0, "school_bid")
		if err != nil {
			return err
		}
		for _, school := range schools {
			if named := l.NamedBy[school]; school != "" && !slices.Contains(named, district) {
				l.NamedBy[school] = append(named, district)
			}
		}
		all.merge(lists[i])
		l.Ledger[d.Name] = append(l.Ledger[d.Name], lists[i].Ledger)
	}
	l.Results[d.Name] = all
	return nil
}
