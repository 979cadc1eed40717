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
	ID    string `json:"id"`
	Asked struct {
		Districts []string        `json:"districts"`
		Students  *recordStudents `json:"students"`
	} `json:"asked"`
	Schools    []string  `json:"schools"`
	Unknown    []string  `json:"unknown"`
	BegunAt    time.Time `json:"begun_at"`
	FinishedAt time.Time `json:"finished_at"`
	// Suppressed is set if the students were put on the suppression list.
	Suppressed *struct{} `json:"suppressed"`
}

// recordStudents is the part of maintenance.AskedStudents that concerns runs.
type recordStudents struct {
	Students

	ByNumber bool `json:"by_number"`
}

// count returns how many students were erased or, before that is known, listed.
func (s *recordStudents) count() int {
	if s.Matched != nil {
		return *s.Matched
	}
	return s.Listed
}

func (r *purgeRecord) at() time.Time {
	if r.FinishedAt.IsZero() {
		return r.BegunAt.UTC()
	}
	return r.FinishedAt.UTC()
}

func (r *purgeRecord) day() string { return r.at().Format(time.DateOnly) }

// purgeRecords reads the reports of all purges, finished or not. Damaged ones are left out.
func (c Catalog) purgeRecords(ctx context.Context) ([]purgeRecord, error) {
	entries, err := sink.ListAll(ctx, c, PurgesPrefix)
	if err != nil {
		return nil, err
	}
	var records []purgeRecord
	for _, entry := range entries {
		if !IsPurgeReport(entry.Path) {
			continue
		}
		record, err := ReadIfSound[purgeRecord](ctx, c, entry.Path)
		if err != nil {
			return nil, err
		}
		if record != nil {
			records = append(records, *record)
		}
	}
	return records, nil
}

// IsPurgeReport reports whether a path below PurgesPrefix is the path of a purge's report.
func IsPurgeReport(path string) bool {
	return strings.HasSuffix(path, ".json") && path != SuppressedPath
}

// PurgedBefore counts, by the day of their last purge, the schools of a plan that were purged from the destination. The
// service still lists them, so the run exports them again. The counts come from the reports of purges, finished or not,
// which are never removed.
func (c Catalog) PurgedBefore(ctx context.Context, plan *Plan) ([]PurgedSchools, error) {
	records, err := c.purgeRecords(ctx)
	if err != nil {
		return nil, err
	}
	last := make(map[string]string) // days by school
	for _, report := range records {
		for i := range plan.Schools {
			school := &plan.Schools[i]
			purged := slices.Contains(report.Schools, school.Bid) || slices.Contains(report.Asked.Districts, school.District)
			if purged && !slices.Contains(report.Unknown, school.Bid) {
				last[school.Bid] = max(last[school.Bid], report.day())
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
