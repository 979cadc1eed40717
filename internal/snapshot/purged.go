package snapshot

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// PurgedSchools counts the schools that were purged from the destination on the same day.
type PurgedSchools struct {
	Date    string `json:"purged_on"`
	Schools int    `json:"schools"`
}

// purgeRecord is the part of a purge's report (maintenance.PurgeReport) that concerns runs.
type purgeRecord struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Asked struct {
		Schools     []string        `json:"schools"`
		Districts   []string        `json:"districts"`
		Students    *recordStudents `json:"students"`
		EndedFor    string          `json:"ended_for"`
		EndedBefore string          `json:"history_ended_before"`
	} `json:"asked"`
	Schools []string `json:"schools"`
	Runs    []struct {
		RunID       string           `json:"run_id"`
		RowsRemoved map[string]int64 `json:"rows_removed"`
	} `json:"runs"`
	Unknown    []string  `json:"unknown"`
	BegunAt    time.Time `json:"begun_at"`
	FinishedAt time.Time `json:"finished_at"`
	// Suppressed is not nil if the students were put on the suppression list.
	Suppressed *struct {
		Key string `json:"key_fingerprint"`
	} `json:"suppressed"`
}

// recordStudents is the part of maintenance.AskedStudents that concerns runs.
type recordStudents struct {
	Students

	ByNumber bool `json:"by_number"`
}

// count returns how many students were erased or, if that is not known yet, how many were listed.
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

// purgeRecords reads the reports of all purges, finished or not. Damaged reports are left out.
func (c Catalog) purgeRecords(ctx context.Context) ([]purgeRecord, error) {
	records, _, err := c.readPurges(ctx)
	return records, err
}

// readPurges reads the reports of all purges, finished or not. damaged holds the errors of the damaged reports.
func (c Catalog) readPurges(ctx context.Context) (records []purgeRecord, damaged []error, err error) {
	entries, err := sink.ListAll(ctx, c, PurgesPrefix)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		if !IsPurgeReport(entry.Path) {
			continue
		}
		record, _, err := ReadDocument[purgeRecord](ctx, c, entry.Path, sink.ErrNotFound)
		switch {
		case errors.Is(err, sink.ErrDamaged):
			damaged = append(damaged, err)
		case err != nil:
			return nil, nil, err
		case record != nil:
			records = append(records, *record)
		}
	}
	return records, damaged, nil
}

// IsPurgeReport reports whether a path below PurgesPrefix belongs to the report of a purge.
func IsPurgeReport(path string) bool {
	return strings.HasSuffix(path, ".json") && path != SuppressedPath
}

// PurgeTimeFormat is the format of the time at the start of a purge's id. A hyphen follows it.
const PurgeTimeFormat = "20060102T150405Z"

// PurgeBegun is the state of a purge that has begun but not ended.
const PurgeBegun = "begun"

// UnfinishedPurge is a purge that has begun but not ended. Other commands finish the changes to single runs that the
// purge has begun, but only a repetition of the purge finds the remaining rows.
type UnfinishedPurge struct {
	// Proof is the path of the purge's report.
	Proof   string
	BegunAt time.Time
	// Remedy says how to finish the purge.
	Remedy string
}

// String describes the purge and says what to do.
func (u UnfinishedPurge) String() string { return u.Finding() + ": " + u.Remedy }

// Finding returns a description of the purge, without the remedy.
func (u UnfinishedPurge) Finding() string {
	return u.Proof + ": this purge began at " + u.BegunAt.UTC().Format(time.RFC3339) + " and has not ended, so rows that it erases may remain"
}

// UnfinishedPurges returns the purges that have begun but not ended, oldest first. A purge of schools or districts
// counts as ended once a later purge has erased all of them.
func (c Catalog) UnfinishedPurges(ctx context.Context) ([]UnfinishedPurge, error) {
	records, err := c.purgeRecords(ctx)
	if err != nil {
		return nil, err
	}
	var found []UnfinishedPurge
	for i := range records {
		r := &records[i]
		if r.State == PurgeBegun && !slices.ContainsFunc(records, r.isCoveredBy) {
			found = append(found, UnfinishedPurge{Proof: PurgesPrefix + r.ID + ".json", BegunAt: r.BegunAt, Remedy: r.remedy()})
		}
	}
	slices.SortStableFunc(found, func(a, b UnfinishedPurge) int { return a.BegunAt.Compare(b.BegunAt) })
	return found, nil
}

// MissingProofs returns the paths of the proofs that no longer exist, sorted. ids are the ids of purges, from the
// manifests of runs and of the history.
func (c Catalog) MissingProofs(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	entries, err := sink.ListAll(ctx, c, PurgesPrefix)
	if err != nil {
		return nil, err
	}
	missing := make(map[string]bool)
	for _, id := range ids {
		missing[PurgesPrefix+id+".json"] = true
	}
	for _, entry := range entries {
		delete(missing, entry.Path)
	}
	return slices.Sorted(maps.Keys(missing)), nil
}

// RestoreProof is the advice for a missing or damaged report of a purge.
const RestoreProof = "restore it from a backup, or keep the notice of this purge in its place"

// DamagedPurges describes the damage to the reports of purges and to the suppression list, with one string per
// document.
func (c Catalog) DamagedPurges(ctx context.Context) ([]string, error) {
	_, damaged, err := c.readPurges(ctx)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, report := range damaged {
		problems = append(problems, (&wording.AdvisedError{Err: report, Advice: RestoreProof}).Error())
	}
	_, _, err = c.readSuppressionList(ctx)
	if errors.Is(err, sink.ErrDamaged) {
		return append(problems, err.Error()), nil
	}
	return problems, err
}

// UndonePurges describes the runs in which purged rows may be back. Some are runs from which a purge has removed rows,
// but whose manifests do not list that purge, because someone has restored them from a backup. Others could not leave
// out the students of a suppression list.
func (c Catalog) UndonePurges(ctx context.Context, runs []RunState) ([]string, error) {
	records, err := c.purgeRecords(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range records {
		r := &records[i]
		var undone []string
		for _, run := range runs {
			if r.State != PurgeBegun && r.isUndoneIn(&run, records) {
				undone = append(undone, run.RunID)
			}
		}
		if len(undone) > 0 {
			found = append(found, PurgesPrefix+r.ID+".json: this purge removed rows from "+wording.First(undone, 3)+
				", but their manifests do not list it; these runs were probably restored from a backup, with the purged rows: repeat the purge")
		}
	}
	list, _, err := c.readSuppressionList(ctx)
	if errors.Is(err, sink.ErrDamaged) {
		return found, nil // DamagedPurges reports it
	}
	if err != nil {
		return nil, err
	}
	var without []string
	for i := range runs {
		s := &runs[i]
		missed := func(key string) bool {
			of := list.Keys[key]
			return len(of.Students) > 0 && !areRepeated(of.Purges, s.LastProgress)
		}
		if s.State == StatePublished && slices.ContainsFunc(s.notSuppressed, missed) {
			without = append(without, s.RunID)
		}
	}
	if len(without) > 0 {
		found = append(found, "students who were erased may be in "+wording.First(without, 3)+
			", because these runs could not leave them out: repeat the earlier purges of students, with the same lists")
	}
	return found, nil
}

// isUndoneIn reports whether the purge removed rows from a run whose manifest lists neither this purge nor a later
// purge that removed as many rows. A run that was published after the purge does not count, because it is a new run
// with the same id.
func (r *purgeRecord) isUndoneIn(s *RunState, records []purgeRecord) bool {
	removed := r.removedFrom(s.RunID)
	visible := s.State == StatePublished || s.State == StateReplaced
	if removed == nil || !visible || len(s.Problems) > 0 || s.LastProgress.After(r.BegunAt) || slices.Contains(s.Purges, r.ID) {
		return false
	}
	return !slices.ContainsFunc(records, func(other purgeRecord) bool {
		again := other.removedFrom(s.RunID)
		if again == nil || other.BegunAt.Before(r.BegunAt) || !slices.Contains(s.Purges, other.ID) {
			return false
		}
		for table, rows := range removed {
			if again[table] < rows {
				return false
			}
		}
		return true
	})
}

// removedFrom returns how many rows were removed from a run, by table, or nil if the purge did not change the run.
func (r *purgeRecord) removedFrom(run string) map[string]int64 {
	for _, purged := range r.Runs {
		if purged.RunID == run {
			return purged.RowsRemoved
		}
	}
	return nil
}

// areRepeated reports whether each of the given purges, or a repetition of it, began after the given time. The id of a
// purge of students begins with the time of the purge. The rest of the id is the same for the same list under the same
// key.
func areRepeated(ids []string, before time.Time) bool {
	later := make(map[string]bool)
	for _, id := range ids {
		at, list, _ := strings.Cut(id, "-")
		if began, err := time.Parse(PurgeTimeFormat, at); err == nil && began.After(before) {
			later[list] = true
		}
	}
	return !slices.ContainsFunc(ids, func(id string) bool {
		_, list, _ := strings.Cut(id, "-")
		return !later[list]
	})
}

// isCoveredBy reports whether the other purge began no earlier, has ended, and has erased all schools and districts of
// this purge. It returns false if this purge erases students, or versions of the history by their end.
func (r *purgeRecord) isCoveredBy(other purgeRecord) bool {
	within := func(bids, others []string) bool {
		return !slices.ContainsFunc(bids, func(bid string) bool { return !slices.Contains(others, bid) })
	}
	return r.Asked.Students == nil && r.Asked.EndedBefore == "" && other.State != PurgeBegun && !other.BegunAt.Before(r.BegunAt) &&
		within(r.Asked.Districts, other.Asked.Districts) && within(slices.Concat(r.Asked.Schools, r.Schools), other.Schools)
}

// remedy returns the advice on how to finish a purge that has begun.
func (r *purgeRecord) remedy() string {
	command := "growth-export purge with the same list"
	switch {
	case r.Asked.EndedFor != "":
		command = wording.Command("purge", wording.Setting("ended-for"), r.Asked.EndedFor)
	case r.Asked.EndedBefore != "":
		command = wording.Command("history", wording.Setting("drop-ended-before"), r.Asked.EndedBefore)
	case r.Suppressed != nil:
		command += " and the same privacy key"
	}
	return "unless it is still running, repeat " + command
}

// PurgedBefore counts, by the day of their last purge, the schools of a staged run that were purged from the
// destination and that the service returns again. A school that the service lists but denies access to does not count.
// The counts come from the reports of purges, finished or not, which no command removes.
func (c Catalog) PurgedBefore(ctx context.Context, staged *StagedRun) ([]PurgedSchools, error) {
	records, err := c.purgeRecords(ctx)
	if len(records) == 0 || err != nil {
		return nil, err
	}
	plan, read := staged.Plan, make(map[string]bool)
	for i := range staged.Ledger {
		if row := &staged.Ledger[i]; row.Status == StatusOK {
			read[row.SchoolBid] = true
		}
	}
	last := make(map[string]string) // days by school
	for _, report := range records {
		for i := range plan.Schools {
			school := &plan.Schools[i]
			purged := slices.Contains(report.Schools, school.Bid) || slices.Contains(report.Asked.Districts, school.District)
			if purged && read[school.Bid] && !slices.Contains(report.Unknown, school.Bid) {
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
