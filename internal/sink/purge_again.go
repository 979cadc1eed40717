package sink

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// PurgedSchools counts schools that were purged from the destination on a day.
type PurgedSchools struct {
	Date    string `json:"purged_on"`
	Schools int    `json:"schools"`
}

// PurgedBefore counts the schools of a plan that a purge has removed from the
// destination, by the day of their last purge: the service still lists them, so
// the run exports them again. It goes by the reports of purges, which are never
// removed; the report of an unfinished purge counts too.
func PurgedBefore(ctx context.Context, store Store, plan *Plan) ([]PurgedSchools, error) {
	entries, err := ListAll(ctx, store, purgesPrefix)
	if err != nil {
		return nil, err
	}
	last := make(map[string]string) // days by school
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Path, ".json") {
			continue
		}
		report, _, err := readDocument[PurgeReport](ctx, store, entry.Path)
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		at := report.FinishedAt
		if at.IsZero() {
			at = report.BegunAt
		}
		day := at.UTC().Format(time.DateOnly)
		for i := range plan.Schools {
			school := &plan.Schools[i]
			purged := slices.Contains(report.Schools, school.Bid) || slices.Contains(report.Asked.Districts, school.District)
			if purged && !slices.Contains(report.Unknown, school.Bid) {
				last[school.Bid] = max(last[school.Bid], day)
			}
		}
	}
	counts := make(map[string]int)
	for _, day := range last {
		counts[day]++
	}
	var found []PurgedSchools
	for _, day := range slices.Sorted(maps.Keys(counts)) {
		found = append(found, PurgedSchools{Date: day, Schools: counts[day]})
	}
	return found, nil
}
