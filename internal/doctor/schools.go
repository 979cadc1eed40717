package doctor

import (
	"context"
	"errors"
	"slices"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/fetch"
)

// maxDenied is the maximum number of schools that are tried in the search for one that is not denied.
const maxDenied = 10

// schoolList is the service's school list.
type schoolList struct {
	bids      []string // sorted
	districts int
	// withoutBid counts the schools without a bid. They cannot be requested, so they fail in every run.
	withoutBid int
}

// listSchools fetches the school list (specification 4.1) in the same way as a run.
func listSchools(ctx context.Context, f *fetch.Fetcher) (*schoolList, error) {
	looked, err := f.LookUp(ctx, fetch.Lists{})
	if err != nil {
		return nil, err
	}
	list := &schoolList{}
	districts := make(map[string]bool)
	for _, school := range looked.Schools {
		if school.District != "" {
			districts[school.District] = true
		}
		if school.Bid == "" {
			list.withoutBid++
		} else {
			list.bids = append(list.bids, school.Bid)
		}
	}
	slices.Sort(list.bids)
	list.bids, list.districts = slices.Compact(list.bids), len(districts)
	return list, nil
}

// schoolPage is the first page of one school's dataset.
type schoolPage struct {
	school  string
	records int
	last    bool // whether it is the only page
	denied  int  // number of schools that were tried and denied
}

// firstPage fetches the first page of a dataset for the first school that is not denied. The error wraps
// extract.ErrDenied if all schools that were tried are denied.
func firstPage(ctx context.Context, f *fetch.Fetcher, dataset string, schools []string) (schoolPage, error) {
	var found schoolPage
	err := errors.New("no school on the school list has a bid")
	for _, school := range schools[:min(maxDenied, len(schools))] {
		found.school = school
		if found.records, found.last, err = f.FirstPage(ctx, dataset, school); !errors.Is(err, extract.ErrDenied) {
			return found, err
		}
		found.denied++
	}
	return found, err
}
