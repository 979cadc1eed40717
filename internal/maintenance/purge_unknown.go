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

// UnknownBidsError says that bids to be purged occur in no table, plan, ledger or manifest of the destination. Most
// likely they are mistyped.
type UnknownBidsError struct {
	Bids []string
	// Students is the length of a list of students none of whom has a row. They are not named.
	Students int
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
	return "no table, plan, ledger or manifest names " + text
}

// unknownBids returns the requested bids that occur nowhere. Ledgers are read only while a bid has not been found
// elsewhere.
func (p *purger) unknownBids(ctx context.Context) ([]string, error) {
	missing := make(erase.Set)
	for _, bid := range slices.Concat(p.report.Asked.Schools, p.report.Asked.Districts) {
		if !p.seen[bid] {
			missing[bid] = true
		}
	}
	found := func(bid string) { delete(missing, bid) }
	for _, plan := range p.plans {
		for i := range plan.Schools {
			found(plan.Schools[i].Bid)
			found(plan.Schools[i].District)
			for _, district := range plan.Schools[i].Perspectives {
				found(district)
			}
		}
		for _, district := range plan.Districts {
			found(district)
		}
		for _, failure := range plan.FailedSchools {
			found(failure.SchoolBid)
		}
		for _, bid := range slices.Concat(plan.Scope.Schools, plan.Scope.Districts) {
			found(bid)
		}
	}
	for _, manifest := range p.all {
		for _, bid := range slices.Concat(manifest.Parameters.Schools, manifest.Parameters.Districts) {
			found(bid)
		}
		for _, failure := range manifest.Schools.Failures {
			found(failure.SchoolBid)
		}
	}
	for district := range p.index.Districts() {
		found(district)
	}
	for _, run := range slices.Sorted(maps.Keys(p.all)) {
		if len(missing) == 0 {
			break
		}
		columns := erase.SelectText("requested_school_bid", "requested_district_bid")
		err := erase.ReadFile(ctx, p.catalog, p.all[run].Ledger.Path, snapshot.LedgerTable(), columns, func(batch *rows.Batch) error {
			for c := range batch.Cols {
				for i := range batch.N {
					if v := &batch.Cols[c]; !v.Null(i) {
						found(string(v.Text(i)))
					}
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, sink.ErrNotFound) {
			return nil, err
		}
	}
	return missing.Sorted(), nil
}
