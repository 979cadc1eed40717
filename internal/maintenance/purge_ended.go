package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// evidence collects the outcomes of requests for schools from ledgers and, for pruned snapshots, from the coverage
// table of the history.
type evidence struct {
	// nights maps dates to datasets: for each full snapshot of all schools, the datasets that it requested.
	nights map[string]erase.Set
	// lastOK contains, for each school, the last night on which any of its datasets was ok.
	lastOK map[string]string
	// okIn contains, for each school and dataset, the last night on which the dataset was ok. A night proves nothing about
	// a school unless its snapshot requested all datasets that were ever ok for the school.
	okIn map[string]map[string]string
	// lastFailed contains, for each school, the last night on which one of its datasets failed. A failure does not show
	// whether the school's agreement had ended.
	lastFailed map[string]string
}

func latest(of map[string]string, school, night string) { of[school] = max(of[school], night) }

// note records the outcome of a dataset of a school.
func (e *evidence) note(school, dataset, night, status string) {
	switch snapshot.Status(status) {
	case snapshot.StatusOK:
		latest(e.lastOK, school, night)
		if e.okIn[school] == nil {
			e.okIn[school] = make(map[string]string)
		}
		latest(e.okIn[school], dataset, night)
	case snapshot.StatusFailed:
		latest(e.lastFailed, school, night)
	case snapshot.StatusDenied:
	}
}

// endedSchools returns the schools whose agreement ended at least the given number of days ago, sorted by bid. This is
// the case if at least two snapshots that span this time requested every dataset that the school once had and received
// none of them, and if no request for the school has failed since it was last ok. A school that was never exported has
// no rows and is omitted. A school that an earlier purge erased counts as ended until it is ok or fails again, because
// rows of other schools may contain its bid. The second result lists other schools that lack a dataset that they once
// had.
func endedSchools(
	ctx context.Context, catalog snapshot.Catalog, days int, earlier []*PurgeReport,
) ([]EndedSchool, []NearlyEnded, error) {
	runs, unreadable, err := catalog.PublishedRuns(ctx)
	if err = errors.Join(err, unreadable); err != nil {
		return nil, nil, fmt.Errorf("purge: cannot find the schools whose agreements have ended: %w", err)
	}
	e := &evidence{
		nights: make(map[string]erase.Set), lastOK: make(map[string]string), okIn: make(map[string]map[string]string), lastFailed: make(map[string]string),
	}
	newest, err := catalog.NewestUnfiltered(ctx)
	if newest == nil || err != nil {
		return nil, nil, err
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		if m := runs[run]; m.Status == snapshot.Published && snapshot.SameService(m.BaseURL, newest.BaseURL) {
			if err := e.addLedger(ctx, catalog, m); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := e.addHistory(ctx, catalog, newest.BaseURL); err != nil {
		return nil, nil, err
	}
	ended, nearly, err := e.ended(days)
	ended = e.addErased(ended, earlier)
	if len(ended)+len(nearly) == 0 || err != nil {
		return nil, nil, err
	}
	names := make(map[string]string)
	for run := range runs {
		if plan, err := catalog.ReadPlan(ctx, run); err == nil {
			maps.Copy(names, plan.SchoolNames())
		}
	}
	for i := range ended {
		ended[i].Name = names[ended[i].Bid]
	}
	for i := range nearly {
		nearly[i].Name = names[nearly[i].Bid]
	}
	return ended, nearly, ctx.Err()
}

// addLedger adds the outcomes in the ledger of a run. Every run shows which schools were exported, but only a full run
// of all schools shows which schools are missing.
func (e *evidence) addLedger(ctx context.Context, catalog snapshot.Catalog, m *snapshot.Manifest) error {
	night := m.SnapshotDate
	if m.Kind == snapshot.AsOf {
		night = m.StartedAt.UTC().Format(time.DateOnly)
	}
	if m.Kind == snapshot.Full && !m.Parameters.Filtered() {
		for _, dataset := range m.Parameters.Datasets {
			erase.Put(e.nights, night, dataset)
		}
	}
	columns := erase.SelectText("dataset", "requested_school_bid", "status")
	return erase.ReadFile(ctx, catalog, m.Ledger.Path, snapshot.LedgerTable(), columns, func(batch *rows.Batch) error {
		for i := range batch.N {
			if school := erase.TextOf(batch, i, "requested_school_bid"); school != "" {
				e.note(school, erase.TextOf(batch, i, "dataset"), night, erase.TextOf(batch, i, "status"))
			}
		}
		return nil
	})
}

// addHistory adds the outcomes in the coverage table of the history.
func (e *evidence) addHistory(ctx context.Context, catalog snapshot.Catalog, baseURL string) error {
	current, err := catalog.ReadHistory(ctx)
	if current == nil || err != nil || !snapshot.SameService(current.Manifest.BaseURL, baseURL) {
		return err
	}
	var nights []string
	for _, folded := range current.Manifest.Snapshots {
		nights = append(nights, folded.Date)
	}
	table := snapshot.CoverageTable()
	for _, file := range current.Manifest.Tables[table.Name].Files {
		ended, err := snapshot.ValidTo(file.Path)
		if err != nil {
			return err
		}
		to, _ := slices.BinarySearch(nights, snapshot.DateOf(ended)) // the number of earlier nights
		whole := func(own *schemas.Table) *schemas.Table { return own }
		err = erase.ReadFile(ctx, catalog, file.Path, table, whole, func(batch *rows.Batch) error {
			from := batch.Cols[batch.Table.Column("valid_from")].I32
			for r := range batch.N {
				first, _ := slices.BinarySearch(nights, snapshot.DateOf(from[r]))
				e.noteCoverage(batch, r, nights[min(first, to):to])
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteCoverage records the outcome in a row of the coverage table, which applies to a dataset of a school on the given
// nights.
func (e *evidence) noteCoverage(batch *rows.Batch, i int, nights []string) {
	dataset, status := erase.TextOf(batch, i, "dataset"), erase.TextOf(batch, i, "status")
	if len(nights) == 0 {
		return
	}
	e.note(erase.TextOf(batch, i, "requested_school_bid"), dataset, nights[len(nights)-1], status)
	if status == "absent" {
		return // the school was not listed, or the snapshot did not request the dataset
	}
	for _, night := range nights {
		erase.Put(e.nights, night, dataset)
	}
}

// ended returns the two lists of endedSchools, without the schools that earlier purges erased.
func (e *evidence) ended(days int) (ended []EndedSchool, nearly []NearlyEnded, err error) {
	for _, school := range slices.Sorted(maps.Keys(e.lastOK)) {
		lastOK := e.lastOK[school]
		asked := make(erase.Set)
		for dataset := range e.okIn[school] {
			asked[dataset] = true
		}
		without := e.nightsAfter(lastOK, asked)
		span, err := spanOf(without)
		if err != nil {
			return nil, nil, err
		}
		if len(without) >= 2 && span >= days && e.lastFailed[school] <= lastOK {
			ended = append(ended, EndedSchool{Bid: school, LastOK: lastOK, Since: without[0]})
			continue
		}
		near, err := e.nearlyEnded(school)
		if err != nil {
			return nil, nil, err
		}
		if near != nil {
			nearly = append(nearly, *near)
		}
	}
	return ended, nearly, nil
}

// addErased adds the schools that earlier purges erased and that have neither been ok nor failed since. The purges must
// be sorted, the oldest first.
func (e *evidence) addErased(ended []EndedSchool, earlier []*PurgeReport) []EndedSchool {
	for _, purge := range slices.Backward(earlier) {
		for _, school := range purge.Ended {
			known := slices.ContainsFunc(ended, func(other EndedSchool) bool { return other.Bid == school.Bid })
			if !known && purge.State == purgeDone && max(e.lastOK[school.Bid], e.lastFailed[school.Bid]) <= school.LastOK {
				ended = append(ended, school)
			}
		}
	}
	slices.SortFunc(ended, func(a, b EndedSchool) int { return cmp.Compare(a.Bid, b.Bid) })
	return ended
}

// nearlyEnded returns the datasets that a school once had and now lacks, or nil if the school still has all of them. It
// must not be called for a school whose agreement has ended.
func (e *evidence) nearlyEnded(school string) (*NearlyEnded, error) {
	n := NearlyEnded{Bid: school, LastOK: e.lastOK[school]}
	var nights []string
	for _, dataset := range slices.Sorted(maps.Keys(e.okIn[school])) {
		without := e.nightsAfter(e.okIn[school][dataset], erase.SetOf(dataset))
		if len(without) == 0 {
			n.StillRead = append(n.StillRead, dataset)
			continue
		}
		n.Missing = append(n.Missing, dataset)
		nights = append(nights, without...)
	}
	if len(n.Missing) == 0 {
		return nil, nil
	}
	nights = slices.Compact(slices.Sorted(slices.Values(nights)))
	if len(n.StillRead) == 0 { // on nights up to LastOK, only some of the datasets were missing
		nights = slices.DeleteFunc(nights, func(night string) bool { return night <= n.LastOK })
	}
	n.Since = nights[0]
	if len(n.StillRead) == 0 {
		counted := e.nightsAfter(n.LastOK, erase.SetOf(n.Missing...))
		n.NotCounted, nights = len(nights)-len(counted), counted
	}
	n.Snapshots = len(nights)
	if failed := e.lastFailed[school]; failed >= n.Since {
		n.LastFailed = failed
	}
	var err error
	n.Days, err = spanOf(nights)
	return &n, err
}

// nightsAfter returns the nights after the given night whose snapshots requested all of the given datasets, sorted.
func (e *evidence) nightsAfter(night string, datasets erase.Set) []string {
	var nights []string
	for _, other := range slices.Sorted(maps.Keys(e.nights)) {
		if other > night && datasets.Within(e.nights[other]) {
			nights = append(nights, other)
		}
	}
	return nights
}

// spanOf returns the number of days between the first and the last night.
func spanOf(nights []string) (int, error) {
	if len(nights) == 0 {
		return 0, nil
	}
	first, err := snapshot.DayOf(nights[0])
	if err != nil {
		return 0, err
	}
	last, err := snapshot.DayOf(nights[len(nights)-1])
	return int(last - first), err
}
