package snapshot

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// PurgedSchools counts the schools that were purged from the destination on a day.
type PurgedSchools struct {
	Date    string `json:"purged_on"`
	Schools int    `json:"schools"`
}

// purgeRecord is the part of a purge's report (maintenance.PurgeReport) that concerns runs.
type purgeRecord struct {
	Asked struct {
		Districts []string `json:"districts"`
	} `json:"asked"`
	Schools    []string  `json:"schools"`
	Unknown    []string  `json:"unknown"`
	BegunAt    time.Time `json:"begun_at"`
	FinishedAt time.Time `json:"finished_at"`
}

// PurgedBefore counts, by the day of their last purge, the schools of a plan that were purged from the destination. The
// service still lists them, so the run exports them again. The counts come from the reports of purges, finished or not,
// which are never removed.
func (c Catalog) PurgedBefore(ctx context.Context, plan *Plan) ([]PurgedSchools, error) {
	entries, err := sink.ListAll(ctx, c, PurgesPrefix)
	if err != nil {
		return nil, err
	}
	last := make(map[string]string) // days by school
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Path, ".json") {
			continue
		}
		report, err := ReadIfSound[purgeRecord](ctx, c, entry.Path)
		if err != nil {
			return nil, err
		}
		if report == nil {
			continue
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
