package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

const (
	// maxPages bounds the school list, which is documented to be one page.
	maxPages = 1000
	// maxDenied bounds how many schools are tried to find one that is not denied.
	maxDenied = 10
)

// schoolList is the service's school list.
type schoolList struct {
	bids      []string // sorted
	districts int
	// withoutBid counts schools that cannot be requested and fail in every run.
	withoutBid int
}

// listSchools fetches the school list (specification 4.1) as a run does, for which the client needs a token.
func listSchools(ctx context.Context, client *extract.Client) (*schoolList, error) {
	d, decoder, err := newDecoder("schools", nil)
	if err != nil {
		return nil, err
	}
	pages := 0
	_, err = client.List(ctx, request(d, ""), func(body io.Reader) (string, error) {
		if pages++; pages > maxPages {
			return "", fmt.Errorf("it has more than %d pages", maxPages)
		}
		page, err := readPage(decoder, body)
		return page.Next, err
	})
	switch {
	case errors.Is(err, extract.ErrDenied):
		return nil, fmt.Errorf("list the schools: %w: %w", extract.ErrRefused, err)
	case err != nil && !extract.EndsRun(err):
		return nil, fmt.Errorf("fetch schools: %w", err)
	case err != nil:
		return nil, err
	case decoder.Records() == 0:
		return nil, errors.New("the school list is empty: no school has a data sharing agreement with this app," +
			" or the service is malfunctioning")
	}
	// Schools listed twice are one row.
	table := decoder.Finish().Tables[0]
	bids, districtBids := &table.Cols[table.Table.Column("school_bid")], &table.Cols[table.Table.Column("district_bid")]
	list := &schoolList{}
	districts := make(map[string]bool)
	for i := range table.Len() {
		if district := districtBids.Text(table.Row(i)); len(district) > 0 {
			districts[string(district)] = true
		}
		if bid := bids.Text(table.Row(i)); len(bid) > 0 {
			list.bids = append(list.bids, string(bid))
		} else {
			list.withoutBid++
		}
	}
	list.districts = len(districts)
	return list, nil
}

// schoolPage is the first page of one school's dataset.
type schoolPage struct {
	school  string
	records int
	last    bool // it is the only page
	denied  int  // schools tried before that were denied
}

// firstPage fetches one page of a dataset of the first school that is not denied. The error is extract.ErrDenied if all
// schools tried are.
func firstPage(ctx context.Context, client *extract.Client, dataset string, schools []string) (schoolPage, error) {
	var found schoolPage
	err := errors.New("no school on the school list has a bid")
	for _, school := range schools[:min(maxDenied, len(schools))] {
		var d *schemas.Dataset
		var decoder *transform.Decoder
		if d, decoder, err = newDecoder(dataset, transform.Params{"school_bid": school}); err != nil {
			return found, err
		}
		_, err = client.Get(ctx, request(d, school), func(body io.Reader) error {
			page, err := readPage(decoder, body)
			found.school, found.records, found.last = school, page.Records, page.Next == ""
			return err
		})
		if !errors.Is(err, extract.ErrDenied) {
			return found, err
		}
		found.denied++
	}
	return found, err
}

func newDecoder(dataset string, params transform.Params) (*schemas.Dataset, *transform.Decoder, error) {
	d, ok := schemas.Find(dataset)
	if !ok {
		return nil, nil, fmt.Errorf("unknown dataset %s", dataset)
	}
	plan, err := transform.Compile(d)
	if err != nil {
		return nil, nil, err
	}
	decoder := plan.NewDecoder()
	decoder.Reset(params)
	return d, decoder, nil
}

// request returns the call of a dataset whose only parameter, in the query or in the path, is the school; empty for the
// school list.
func request(d *schemas.Dataset, school string) extract.Call {
	call := extract.Call{Operation: d.Name, Template: d.Operation.Path, School: school, Lookup: d.IsLookup()}
	for _, name := range d.Operation.Query {
		call.Query = append(call.Query, extract.Param{Name: name, Value: school})
	}
	if school != "" && len(call.Query) == 0 {
		call.Path = map[string]string{"school_bid": school}
	}
	return call
}

// readPage reads a page. As in a run, a body that is not JSON is requested again.
func readPage(decoder *transform.Decoder, body io.Reader) (transform.Page, error) {
	page, err := decoder.ReadPage(body)
	if errors.Is(err, transform.ErrNotJSON) || errors.Is(err, transform.ErrEmptyString) {
		err = extract.Unreadable(err)
	}
	return page, err
}
