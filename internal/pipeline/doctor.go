package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// Trial asks the service for a little of what a run asks for, to tell whether a
// run would get it. What is read is counted and thrown away.
type Trial struct {
	fetch *fetcher
	// schools are those with a bid, in the order of their bids.
	schools []sink.School
}

// SchoolCount is what a Trial saw of the school list.
type SchoolCount struct {
	Schools, Districts int
	// WithoutBid are schools that cannot be asked for and fail in every run.
	WithoutBid int
}

// PageCount is what a Trial saw of one school's dataset.
type PageCount struct {
	SchoolBid string
	Records   int
	// Last tells that there is no further page.
	Last bool
	// Denied is how many schools were asked and denied.
	Denied int
}

// deniedAtMost bounds how many schools a Trial asks to find one that is not
// denied.
const deniedAtMost = 10

// TrialDatasets are the datasets that FirstPage takes: per school, and read
// through no district.
func TrialDatasets() []string { return []string{"test_results", "students"} }

// NewTrial returns a trial of the service that the client asks.
func NewTrial(client *extract.Client) (*Trial, error) {
	f := &fetcher{client: client, datasets: make(map[string]*dataset), maxRecords: math.MaxInt64}
	for _, name := range append(TrialDatasets(), "schools") {
		declared, ok := schemas.Find(name)
		if !ok {
			return nil, fmt.Errorf("there is no dataset %s", name)
		}
		d, err := compile(declared, &spares{})
		if err != nil {
			return nil, err
		}
		f.datasets[name] = d
	}
	return &Trial{fetch: f}, nil
}

// Schools fetches the school list (specification 4.1), which takes a token. Its
// errors are those by which a run would end.
func (t *Trial) Schools(ctx context.Context) (SchoolCount, error) {
	looked, err := t.fetch.lookUp(ctx, &Settings{Perspectives: OwnPerspective}, nil)
	if err != nil {
		return SchoolCount{}, err
	}
	var count SchoolCount
	districts := make(map[string]bool)
	for _, school := range looked.schools {
		if school.District != "" {
			districts[school.District] = true
		}
		if school.Bid == "" {
			count.WithoutBid++
			continue
		}
		t.schools = append(t.schools, school)
	}
	byBid := func(a, b sink.School) int { return cmp.Compare(a.Bid, b.Bid) }
	slices.SortFunc(t.schools, byBid)
	t.schools = slices.CompactFunc(t.schools, func(a, b sink.School) bool { return a.Bid == b.Bid })
	count.Schools, count.Districts = len(t.schools), len(districts)
	return count, nil
}

// FirstPage fetches one page of a dataset of TrialDatasets of the first school,
// of those that Schools found, that is not denied. The error is that of the
// school it ended with: extract.ErrDenied if all that were asked are denied.
func (t *Trial) FirstPage(ctx context.Context, dataset string) (PageCount, error) {
	var count PageCount
	for _, school := range t.schools[:min(deniedAtMost, len(t.schools))] {
		count.SchoolBid = school.Bid
		err := t.page(ctx, t.fetch.datasets[dataset], &count)
		if !errors.Is(err, extract.ErrDenied) {
			return count, err
		}
		count.Denied++
		if count.Denied == min(deniedAtMost, len(t.schools)) {
			return count, err
		}
	}
	return count, ErrNoSchools
}

func (t *Trial) page(ctx context.Context, d *dataset, count *PageCount) error {
	params := transform.Params{"school_bid": count.SchoolBid}
	c := d.chain(params)
	defer d.release(c)
	_, err := t.fetch.client.Get(ctx, d.call(params, nil, false), func(body []byte) error {
		page, err := readPage(c, body)
		count.Records, count.Last = page.Records, page.Next == ""
		return err
	})
	return err
}
