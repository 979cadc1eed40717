package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// UnknownBidsError means that requested bids do not occur in any table, plan, ledger or manifest of the destination.
// Most likely they are mistyped.
type UnknownBidsError struct {
	Bids []string
	// Students is the length of a list of students if none of them has a row or, in Unsuppress, is on the suppression
	// list. In this case, Bids is empty.
	Students int
	// OtherForms are the listed students whose text differs from the bid of a student only in case or hyphens. They
	// must not be logged.
	OtherForms []string
}

func (e *UnknownBidsError) Error() string {
	if e.Students > 0 {
		return fmt.Sprintf("no listed student (%d listed) has a row in a published run, the history or another data file", e.Students)
	}
	const maxNamed = 5
	var named []string
	for _, bid := range e.Bids[:min(len(e.Bids), maxNamed)] {
		named = append(named, fmt.Sprintf("%q", bid))
	}
	text := strings.Join(named, ", ")
	if more := len(e.Bids) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "no table, plan, ledger or manifest contains " + text
}

// WrongKindError means that bids listed as schools are bids of districts, or the other way round.
type WrongKindError struct {
	Districts []string // listed as schools
	Schools   []string // listed as districts
}

func (e *WrongKindError) Error() string {
	if len(e.Districts) > 0 {
		return fmt.Sprintf("%q is the bid of a district, not of a school", e.Districts[0])
	}
	return fmt.Sprintf("%q is the bid of a school, not of a district", e.Schools[0])
}

// unknownBids returns the requested bids that do not occur anywhere. It returns a *WrongKindError if a bid listed as a
// school's occurs only as a district's, or the other way round. Ledgers are read only if a bid has not been found
// elsewhere.
func (p *purger) unknownBids(ctx context.Context) ([]string, error) {
	missing := func(asked []string) erase.Set {
		unseen := erase.SetOf(asked...)
		maps.DeleteFunc(unseen, func(bid string, _ bool) bool { return p.seen[bid] })
		return unseen
	}
	schools, districts := missing(p.report.Asked.Schools), missing(p.report.Asked.Districts)
	swapped := struct{ schools, districts erase.Set }{make(erase.Set), make(erase.Set)}
	school := func(bid string) {
		delete(schools, bid)
		if districts[bid] {
			swapped.schools[bid] = true
		}
	}
	district := func(bid string) {
		delete(districts, bid)
		if schools[bid] {
			swapped.districts[bid] = true
		}
	}
	for _, plan := range p.plans {
		for i := range plan.Schools {
			school(plan.Schools[i].Bid)
			district(plan.Schools[i].District)
			for _, perspective := range plan.Schools[i].Perspectives {
				district(perspective)
			}
		}
		for _, bid := range plan.Districts {
			district(bid)
		}
		for _, failure := range plan.FailedSchools {
			school(failure.SchoolBid)
		}
		each(plan.Scope.Schools, school)
		each(plan.Scope.Districts, district)
	}
	for _, manifest := range p.all {
		each(manifest.Parameters.Schools, school)
		each(manifest.Parameters.Districts, district)
		for _, failure := range manifest.Schools.Failures {
			school(failure.SchoolBid)
		}
	}
	for bid := range p.index.Districts() {
		district(bid)
	}
	columns := erase.SelectText("requested_school_bid", "requested_district_bid")
	found := map[string]func(string){"requested_school_bid": school, "requested_district_bid": district}
	for _, run := range slices.Sorted(maps.Keys(p.all)) {
		if len(schools)+len(districts) == 0 {
			break
		}
		err := erase.ReadFile(ctx, p.catalog, p.all[run].Ledger.Path, snapshot.LedgerTable(), columns, func(batch *rows.Batch) error {
			for c := range batch.Cols {
				for i := range batch.N {
					if v := &batch.Cols[c]; !v.Null(i) {
						found[batch.Table.Columns[c].Name](string(v.Text(i)))
					}
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, sink.ErrNotFound) {
			return nil, err
		}
	}
	// A bid can occur both as the bid of a school and as the bid of a district.
	wrong := &WrongKindError{
		Districts: intersection(schools, swapped.districts), Schools: intersection(districts, swapped.schools),
	}
	if len(wrong.Districts)+len(wrong.Schools) > 0 {
		return nil, wrong
	}
	maps.Copy(schools, districts)
	return schools.Sorted(), nil
}

func each(bids []string, do func(string)) {
	for _, bid := range bids {
		do(bid)
	}
}

func intersection(a, b erase.Set) []string {
	both := maps.Clone(a)
	maps.DeleteFunc(both, func(bid string, _ bool) bool { return !b[bid] })
	return both.Sorted()
}
