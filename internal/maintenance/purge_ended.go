package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
)

// evidence collects the outcomes of schools from ledgers and, for pruned snapshots, from the history's coverage.
type evidence struct {
	// nights are the dates of the full snapshots that cover all schools.
	nights set
	lastOK map[string]string
	// lastFailed is the last night on which a dataset failed, so that it is unknown whether the school had ended.
	lastFailed map[string]string
}

func latest(of map[string]string, school, night string) { of[school] = max(of[school], night) }

// note records the outcome of a dataset of a school.
func (e *evidence) note(school, night, status string) {
	switch snapshot.Status(status) {
	case snapshot.StatusOK:
		latest(e.lastOK, school, night)
	case snapshot.StatusFailed:
		latest(e.lastFailed, school, night)
	case snapshot.StatusDenied:
	}
}

// endedSchools returns the schools that ended at least that many days before the newest snapshot, sorted by bid. The
// snapshots without the school must span that time. A school that was never exported has no rows and is left out.
func endedSchools(ctx context.Context, catalog snapshot.Catalog, days int) ([]EndedSchool, error) {
	runs, unreadable, err := catalog.PublishedRuns(ctx)
	if err = errors.Join(err, unreadable); err != nil {
		return nil, fmt.Errorf("purge: cannot read which schools have ended: %w", err)
	}
	e := &evidence{nights: make(set), lastOK: make(map[string]string), lastFailed: make(map[string]string)}
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
	perSchool := false
	err := readFile(ctx, catalog, m.Ledger.Path, snapshot.LedgerTable(), selectText([]string{"requested_school_bid", "status"}), func(batch *rows.Batch) error {
		for i := range batch.N {
			if school := textOf(batch, i, "requested_school_bid"); school != "" {
				perSchool = true
				e.note(school, night, textOf(batch, i, "status"))
			}
		}
		return nil
	})
	if perSchool && m.Kind == snapshot.Full && !m.Parameters.Filtered() {
		e.nights[night] = true
	}
	return err
}

// addHistory adds the outcomes in the history's coverage.
func (e *evidence) addHistory(ctx context.Context, catalog snapshot.Catalog, baseURL string) error {
	current, err := catalog.ReadHistory(ctx)
	if current == nil || err != nil || !snapshot.SameService(current.Manifest.BaseURL, baseURL) {
		return err
	}
	h := &purgedHistory{manifest: current.Manifest}
	if err := h.addTables(); err != nil {
		return err
	}
	var nights []string
	for _, folded := range h.manifest.Snapshots {
		e.nights[folded.Date] = true
		nights = append(nights, folded.Date)
	}
	for _, t := range h.tables {
		if t.table.Name != snapshot.CoverageTable().Name {
			continue
		}
		for i := range t.files {
			// the number of nights before the coverage ended
			to, _ := slices.BinarySearch(nights, snapshot.DateOf(t.files[i].to))
			if to == 0 {
				continue
			}
			night := nights[to-1]
			err := readFile(ctx, catalog, t.files[i].Path, t.table, textColumns, func(batch *rows.Batch) error {
				for r := range batch.N {
					e.note(textOf(batch, r, "requested_school_bid"), night, textOf(batch, r, "status"))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ended returns the schools of endedSchools.
func (e *evidence) ended(days int) ([]EndedSchool, error) {
	nights := e.nights.sorted()
	if len(nights) == 0 {
		return nil, nil
	}
	newest, err := snapshot.DayOf(nights[len(nights)-1])
	if err != nil {
		return nil, err
	}
	var ended []EndedSchool
	for school, lastOK := range e.lastOK {
		since := slices.IndexFunc(nights, func(night string) bool { return night > lastOK })
		if since < 0 || e.lastFailed[school] > lastOK {
			continue
		}
		day, err := snapshot.DayOf(nights[since])
		if err != nil {
			return nil, err
		}
		if newest-day >= int32(days) {
			ended = append(ended, EndedSchool{Bid: school, LastOK: lastOK, Since: nights[since]})
		}
	}
	slices.SortFunc(ended, func(a, b EndedSchool) int { return cmp.Compare(a.Bid, b.Bid) })
	return ended, nil
}
