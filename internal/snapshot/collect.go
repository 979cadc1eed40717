package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// StagedRun is the sum of a run's checkpoints.
type StagedRun struct {
	Plan *Plan
	// Missing are the tasks that are not staged: they have no valid checkpoint, or the store no longer holds the files of
	// their checkpoint. The counts in the other fields leave them out.
	Missing []Task
	// Damaged are the missing tasks that have a valid checkpoint: their staged files are gone or have changed.
	Damaged []Task
	// Failed are the tasks with a failed school. Running the command again repeats them.
	Failed   []Task
	Tables   map[string]ManifestTable
	Ledger   []LedgerRow
	Schools  ManifestSchools
	Datasets map[string]ManifestDataset
	Requests Requests
	Drift    []Drift
	// Students is the plan's cohort with the number of students who have a row. It is nil if the run covers all students.
	Students *Students
	// Suppressed is the plan's suppression list with the number of students whom the service still lists.
	Suppressed *Suppression
	// Checks are the results of checking the service's own rules.
	Checks   []review.Check
	Activity activity.Log
	// Baseline is the manifest of the plan's baseline. It is nil if there is no baseline, if the baseline has changed or
	// was removed since, or if its ledger cannot be read.
	Baseline *Manifest
	// Replaced is the manifest of the published run that this run replaces and that has the same scope. It is nil if there
	// is no such run.
	Replaced *Manifest
	// NewlyDenied are the ledger rows of the baseline for schools that were read then and are denied now.
	NewlyDenied []LedgerRow
	// Warnings are the warnings that the comparison has produced, and the warnings that do not need a comparison.
	Warnings []review.Reason
	// Lost counts, by dataset, the schools that have lost all rows since the baseline. It is nil without a baseline, and
	// until everything is staged.
	Lost map[string]SchoolsLost
	// Comparison describes how a full run differs from its baseline, and Districts has the counts by district.
	// Comparison is nil if the run is incomplete, or if it was not compared for the reason in NotCompared.
	Comparison  *Comparison
	NotCompared string
	Districts   DistrictComparisons
	// Turnover lists files with the added and removed test results. Comparison and Districts do not contain the reasons
	// for removals until history.Explain adds them.
	Turnover []sink.File
}

// MissingError reports that a run cannot be published because some of its tasks are not staged.
type MissingError struct {
	Run     string
	Missing []Task
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("run %s is not staged: %d tasks are missing, the first is %s; run it again",
		e.Run, len(e.Missing), e.Missing[0])
}

// Collect adds up the staged tasks of a run. It checks only the sizes of staged files, which is enough to report
// progress. It returns an error if the counts in the ledger do not add up. Such an error is a bug in this program,
// which running the command again would not fix.
func (c Catalog) Collect(ctx context.Context, plan *Plan) (*StagedRun, error) {
	return c.collectWith(ctx, plan, c.store.Holds)
}

// CollectIntact works like Collect, for a run about to be published. It reads the staged files of other processes again
// (Store.Intact), because they may be days old.
func (c Catalog) CollectIntact(ctx context.Context, plan *Plan) (*StagedRun, error) {
	return c.collectWith(ctx, plan, c.store.Intact)
}

func (c Catalog) collectWith(ctx context.Context, plan *Plan, check fileCheck) (*StagedRun, error) {
	byTask, damaged, err := c.stagedTasks(ctx, plan, check)
	if err != nil {
		return nil, err
	}
	g := &StagedRun{
		Plan:     plan,
		Damaged:  damaged,
		Tables:   make(map[string]ManifestTable),
		Datasets: make(map[string]ManifestDataset),
	}
	for _, d := range plan.datasets() {
		g.Datasets[d.Name] = ManifestDataset{}
		for _, table := range d.Tables {
			g.Tables[table.Name] = NewManifestTable()
		}
	}
	var drift DriftSums
	var students, suppressed []byte
	checks := newCheckSums()
	for _, task := range plan.Tasks() {
		checkpoint := byTask[task]
		dataset, _ := schemas.Find(task.Dataset)
		if checkpoint == nil {
			g.Missing = append(g.Missing, task)
			continue
		}
		if err := g.add(checkpoint, dataset, &drift); err != nil {
			return nil, fmt.Errorf("add up %s: %w", task, err)
		}
		checks.add(checkpoint)
		students, suppressed = addBits(students, checkpoint.Students), addBits(suppressed, checkpoint.Suppressed)
	}
	g.addFailedSchools()
	g.finish(&drift)
	g.countStudents(students, suppressed)
	g.Checks = checks.list(g.Ledger)
	if err := g.addBaseline(ctx, c); err != nil {
		return nil, fmt.Errorf("read the previous snapshot: %w", err)
	}
	g.addComparison(byTask)
	return g, nil
}

// add adds the counts of a staged task. It returns an error if the task's ledger contradicts itself or the files.
func (g *StagedRun) add(checkpoint *Checkpoint, dataset *schemas.Dataset, drift *DriftSums) error {
	for name, file := range checkpoint.Files {
		table := g.Tables[name]
		table.Rows += file.Rows
		table.Files = append(table.Files, file)
		g.Tables[name] = table
	}
	var written int64
	for i := range checkpoint.Ledger {
		row := &checkpoint.Ledger[i]
		if row.Dataset != dataset.Name {
			return fmt.Errorf("its ledger has a row for %q", row.Dataset)
		}
		if row.Status == StatusOK && row.RecordsReceived != row.RowsWritten+row.DuplicatesDropped {
			return fmt.Errorf("school %q: %d records were received, %d written and %d dropped",
				row.SchoolBid, row.RecordsReceived, row.RowsWritten, row.DuplicatesDropped)
		}
		written += row.RowsWritten
		g.addRow(*row)
	}
	if rows := checkpoint.Files[dataset.Tables[0].Name].Rows; rows != written {
		return fmt.Errorf("its ledger counts %d rows, but table %s has %d", written, dataset.Tables[0].Name, rows)
	}
	for _, d := range checkpoint.Drift {
		drift.Add(d)
	}
	g.Requests.Add(checkpoint.Requests)
	g.Activity.Add(&checkpoint.Activity)
	if checkpoint.Failed() {
		g.Failed = append(g.Failed, Task{Bucket: checkpoint.Bucket, Dataset: checkpoint.Dataset})
	}
	return nil
}

// addBits adds the bits of a set to another set, which grows as needed, and returns the result.
func addBits(to, set []byte) []byte {
	to = append(to, make([]byte, max(0, len(set)-len(to)))...)
	for i, b := range set {
		to[i] |= b
	}
	return to
}

// countStudents counts the students of a cohort who have a row, and the suppressed students whom the service still
// lists.
func (g *StagedRun) countStudents(found, suppressed []byte) {
	if g.Plan.Scope.Students != nil {
		students := *g.Plan.Scope.Students
		students.Matched = countBits(found)
		g.Students = &students
	}
	if g.Plan.Suppressed != nil {
		list := *g.Plan.Suppressed
		list.Matched = countBits(suppressed)
		g.Suppressed = &list
	}
}

func countBits(set []byte) *int {
	n := 0
	for _, b := range set {
		n += bits.OnesCount8(b)
	}
	return &n
}

func (g *StagedRun) addRow(row LedgerRow) {
	g.Ledger = append(g.Ledger, row)
	counts := g.Datasets[row.Dataset]
	counts.add(row.Status, row.RowsWritten)
	g.Datasets[row.Dataset] = counts
}

// addFailedSchools adds, for each school that could not be fetched at all, a ledger row for each dataset that is
// fetched per school.
func (g *StagedRun) addFailedSchools() {
	for _, d := range g.Plan.datasets() {
		if d.IsLookup() {
			continue
		}
		for _, failure := range g.Plan.FailedSchools {
			g.addRow(LedgerRow{
				Dataset: d.Name, SchoolBid: failure.SchoolBid, Status: StatusFailed, Error: failure.Error,
			})
		}
	}
}

// incompleteSchools reports for each school of the plan whether one of its tasks is missing. The outcome of such a
// school is not yet known.
func (g *StagedRun) incompleteSchools() []bool {
	open := make([]bool, len(g.Plan.Schools))
	for _, task := range g.Missing {
		for _, bucket := range g.Plan.Buckets {
			for i := bucket.First; task.Bucket == bucket.Index && i < bucket.End; i++ {
				open[i] = true
			}
		}
	}
	return open
}

// finish sorts the ledger, the files and the drift, and classifies the schools. A school is failed if one of its
// datasets failed, denied if one was denied, and otherwise ok if none of its tasks is missing. Other schools are not
// counted yet, except in the total.
func (g *StagedRun) finish(drift *DriftSums) {
	slices.SortStableFunc(g.Ledger, compareLedger)
	for _, table := range g.Tables {
		slices.SortFunc(table.Files, func(a, b sink.File) int { return cmp.Compare(a.Path, b.Path) })
	}
	g.Drift = drift.List()

	unknown := make(map[string]bool)
	failures := slices.Clone(g.Plan.FailedSchools)
	for _, failure := range failures {
		unknown[failure.SchoolBid] = true
	}
	names := g.Plan.SchoolNames()
	worst := make(map[string]Status)
	for i := range g.Ledger {
		row := &g.Ledger[i]
		if row.SchoolBid == "" || unknown[row.SchoolBid] {
			continue
		}
		switch row.Status {
		case StatusFailed:
			worst[row.SchoolBid] = StatusFailed
			failures = append(failures, SchoolFailure{
				SchoolBid: row.SchoolBid, SchoolName: names[row.SchoolBid], Dataset: row.Dataset, Error: row.Error,
			})
		case StatusDenied:
			if worst[row.SchoolBid] != StatusFailed {
				worst[row.SchoolBid] = StatusDenied
			}
		case StatusOK:
		}
	}
	slices.SortStableFunc(failures, func(a, b SchoolFailure) int {
		return cmp.Or(cmp.Compare(a.SchoolBid, b.SchoolBid), cmp.Compare(a.Dataset, b.Dataset))
	})
	g.Schools = ManifestSchools{Failures: orEmpty(failures), Failed: int64(len(g.Plan.FailedSchools))}
	open := g.incompleteSchools()
	for i, school := range g.Plan.Schools {
		switch {
		case worst[school.Bid] == StatusFailed:
			g.Schools.Failed++
		case worst[school.Bid] == StatusDenied:
			g.Schools.Denied++
		case !open[i]:
			g.Schools.OK++
		}
	}
	g.Schools.Total = int64(len(g.Plan.Schools) + len(g.Plan.FailedSchools))
}

// Preview returns the manifest that would be written if the run were published now. It has no status, and its files are
// not visible.
func (g *StagedRun) Preview() *Manifest {
	manifest, _ := g.manifest()
	manifest.Status = ""
	return manifest
}

// manifest returns the manifest of the run, without the ledger's file and the time of publishing, and the staged files
// by path.
func (g *StagedRun) manifest() (*Manifest, map[string]sink.File) {
	plan := g.Plan
	m := &Manifest{
		FormatVersion: FormatVersion,
		RunID:         plan.RunID,
		Status:        Published,
		SnapshotDate:  plan.SnapshotDate,
		Kind:          plan.Kind,
		StartedAt:     plan.PlannedAt.UTC(),
		ToolVersion:   plan.ToolVersion,
		SchemaVersion: schemas.Version,
		BaseURL:       plan.BaseURL,
		Parameters: Parameters{
			Scope: plan.Scope, SchoolsPerFile: plan.SchoolsPerFile, Shards: plan.Shards, Limits: plan.Limits,
			Suppressed: g.Suppressed, NotSuppressed: plan.NotSuppressed,
		},
		Tables:   make(map[string]ManifestTable, len(g.Tables)),
		Schools:  g.Schools,
		Datasets: g.Datasets,
		Requests: g.Requests,
		Drift:    orEmpty(g.Drift),
		Checks:   orEmpty(g.Checks),
		Activity: g.Activity,

		Comparison:  g.Comparison,
		NotCompared: g.NotCompared,
	}
	m.Parameters.Datasets, m.Parameters.Students = orEmpty(m.Parameters.Datasets), g.Students
	if m.Requests.ByStatus == nil {
		m.Requests.ByStatus = map[string]int64{}
	}
	staged := make(map[string]sink.File)
	for name, table := range g.Tables {
		files := make([]sink.File, len(table.Files))
		for i, file := range table.Files {
			staged[file.Path] = file
			file.Staged = nil
			files[i] = file
		}
		m.Tables[name] = ManifestTable{Rows: table.Rows, Files: files}
	}
	return m, staged
}
