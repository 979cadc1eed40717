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

// evidence collects the outcomes of schools from ledgers and, for pruned snapshots, from the history's coverage.
type evidence struct {
	// nights are the datasets that each full snapshot of all schools asked for, by its date.
	nights map[string]erase.Set
	lastOK map[string]string
	// exported are the datasets in which a school was ok on any night. A night without one of them says nothing of the
	// school.
	exported map[string]erase.Set
	// lastFailed is the last night on which a dataset failed, so that it is unknown whether the school had ended.
	lastFailed map[string]string
}

func latest(of map[string]string, school, night string) { of[school] = max(of[school], night) }

// note records the outcome of a dataset of a school.
func (e *evidence) note(school, dataset, night, status string) {
	switch snapshot.Status(status) {
	case snapshot.StatusOK:
		latest(e.lastOK, school, night)
		erase.Put(e.exported, school, dataset)
	case snapshot.StatusFailed:
		latest(e.lastFailed, school, night)
	case snapshot.StatusDenied:
	}
}

// endedSchools returns the schools that ended at least that many days ago, sorted by bid: at least two snapshots that asked
// for every dataset of the school, and did not get it, span that time. A school that was never exported has no rows and
// is left out.
func endedSchools(ctx context.Context, catalog snapshot.Catalog, days int) ([]EndedSchool, error) {
	runs, unreadable, err := catalog.PublishedRuns(ctx)
	if err = errors.Join(err, unreadable); err != nil {
		return nil, fmt.Errorf("purge: cannot read which schools have ended: %w", err)
	}
	e := &evidence{
		nights: make(map[string]erase.Set), lastOK: make(map[string]string), exported: make(map[string]erase.Set), lastFailed: make(map[string]string),
	}
	newest, err := catalog.NewestUnfiltered(ctx)
	if newest == nil || err != nil {
		return nil, err
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		if m := runs[run]; m.Status == snapshot.Published && snapshot.SameService(m.BaseURL, newest.BaseURL) {
			if err := e.addLedger(ctx, catalog, m); err != nil {
				return nil, err
			}
		}
	}
	if err := e.addHistory(ctx, catalog, newest.BaseURL); err != nil {
		return nil, err
	}
	ended, err := e.ended(days)
	if len(ended) == 0 || err != nil {
		return nil, err
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
	return ended, ctx.Err()
}

// addLedger adds the outcomes of a run. Only a full run of all schools shows which schools are missing; any run shows
// which were exported.
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

// addHistory adds the outcomes in the history's coverage.
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
		to, _ := slices.BinarySearch(nights, snapshot.DateOf(ended)) // the number of nights before
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

// noteCoverage records what the coverage says of a dataset of a school on some nights.
func (e *evidence) noteCoverage(batch *rows.Batch, i int, nights []string) {
	dataset, status := erase.TextOf(batch, i, "dataset"), erase.TextOf(batch, i, "status")
	if len(nights) == 0 {
		return
	}
	e.note(erase.TextOf(batch, i, "requested_school_bid"), dataset, nights[len(nights)-1], status)
	if status == "absent" {
		return // from the list, or the snapshot had no such dataset
	}
	for _, night := range nights {
		erase.Put(e.nights, night, dataset)
	}
}

// ended returns the schools of endedSchools.
func (e *evidence) ended(days int) ([]EndedSchool, error) {
	var ended []EndedSchool
	for school, lastOK := range e.lastOK {
		var without []string
		for _, night := range slices.Sorted(maps.Keys(e.nights)) {
			if night > lastOK && e.exported[school].Within(e.nights[night]) {
				without = append(without, night)
			}
		}
		if len(without) < 2 || e.lastFailed[school] > lastOK {
			continue
		}
		since, err := snapshot.DayOf(without[0])
		if err != nil {
			return nil, err
		}
		newest, err := snapshot.DayOf(without[len(without)-1])
		if err != nil {
			return nil, err
		}
		if newest-since >= int32(days) {
			ended = append(ended, EndedSchool{Bid: school, LastOK: lastOK, Since: without[0]})
		}
	}
	slices.SortFunc(ended, func(a, b EndedSchool) int { return cmp.Compare(a.Bid, b.Bid) })
	return ended, nil
}
