package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Gathered is what the journals of a run add up to.
type Gathered struct {
	Plan *Plan
	// Missing are the units without a journal, or with one whose staged files
	// the store no longer holds. While there are any the rest is of the others.
	Missing []Unit
	// Damaged are the missing units that have a journal: their staged files are
	// gone or have changed.
	Damaged []Unit
	// Failed are the units with a failed school, which a rerun does again.
	Failed   []Unit
	Tables   map[string]ManifestTable
	Ledger   []LedgerRow
	Schools  ManifestSchools
	Datasets map[string]ManifestDataset
	Requests Requests
	Drift    []Drift
	// Checks are the checks of the service's own rules that were made.
	Checks   []Check
	Activity activity.Log
}

// MissingError says that a run cannot be published because units of it are not
// staged.
type MissingError struct {
	Run     string
	Missing []Unit
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("run %s is not staged: %d units are missing, the first is %s; run it again",
		e.Run, len(e.Missing), e.Missing[0])
}

// Gather adds up what a run has staged. It compares only the sizes of staged
// files, which is enough to show how far a run is. It fails if the ledger does
// not add up: that is a bug in this program, which a rerun would not fix.
func (c Catalog) Gather(ctx context.Context, plan *Plan) (*Gathered, error) {
	return c.gatherWith(ctx, plan, c.Holds)
}

// GatherIntact does the same as Gather for a run that is about to be published: files staged by another process are read
// again (Store.Intact), because they may have waited for days.
func (c Catalog) GatherIntact(ctx context.Context, plan *Plan) (*Gathered, error) {
	return c.gatherWith(ctx, plan, c.Intact)
}

// look is Store.Holds or Store.Intact.
type look func(ctx context.Context, run string, file sink.File) (bool, error)

func (c Catalog) gatherWith(ctx context.Context, plan *Plan, look look) (*Gathered, error) {
	byUnit, damaged, err := c.stagedUnits(ctx, plan, look)
	if err != nil {
		return nil, err
	}
	g := &Gathered{
		Plan:     plan,
		Damaged:  damaged,
		Tables:   make(map[string]ManifestTable),
		Datasets: make(map[string]ManifestDataset),
	}
	for _, d := range plan.datasets() {
		g.Datasets[d.Name] = ManifestDataset{}
		for _, table := range d.Tables {
			g.Tables[table.Name] = ManifestTable{Files: []sink.File{}}
		}
	}
	var drift DriftSums
	checks := newCheckSums()
	for _, unit := range plan.Units() {
		journal := byUnit[unit]
		dataset, _ := schemas.Find(unit.Dataset)
		if journal == nil {
			g.Missing = append(g.Missing, unit)
			continue
		}
		if err := g.add(journal, dataset, &drift); err != nil {
			return nil, fmt.Errorf("add up %s: %w", unit, err)
		}
		checks.add(journal)
	}
	g.addFailedSchools()
	g.finish(&drift)
	g.Checks = checks.list(g.Ledger)
	return g, nil
}

// StagedUnits returns the units of a run that are staged, with their journals:
// these cover their unit, and the store holds their files, intact. Damaged are
// the units with a journal whose files are gone or have changed.
func (c Catalog) StagedUnits(ctx context.Context, plan *Plan) (staged map[Unit]*Journal, damaged []Unit, err error) {
	return c.stagedUnits(ctx, plan, c.Intact)
}

func (c Catalog) stagedUnits(ctx context.Context, plan *Plan, look look) (map[Unit]*Journal, []Unit, error) {
	journals, err := c.ReadJournals(ctx, plan.RunID)
	if err != nil {
		return nil, nil, err
	}
	held, err := lookAtAll(ctx, plan.RunID, journals, look)
	if err != nil {
		return nil, nil, err
	}
	staged := make(map[Unit]*Journal, len(journals))
	var damaged []Unit
	for i, j := range journals {
		unit := Unit{Bucket: j.Bucket, Dataset: j.Dataset}
		dataset, known := schemas.Find(j.Dataset)
		switch {
		case !known || !j.covers(plan, dataset):
		case held[i]:
			staged[unit] = j
		default:
			damaged = append(damaged, unit)
		}
	}
	return staged, damaged, nil
}

// lookAtAll reports for each journal whether its files are all there.
func lookAtAll(ctx context.Context, run string, journals []*Journal, look look) ([]bool, error) {
	lost := make([][]bool, len(journals))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sink.MaxConcurrency)
	for i, journal := range journals {
		lost[i] = make([]bool, len(journal.Files))
		next := 0
		for _, file := range journal.Files {
			slot := &lost[i][next]
			next++
			group.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				there, err := look(ctx, run, file)
				*slot = !there
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	held := make([]bool, len(journals))
	for i := range lost {
		held[i] = !slices.Contains(lost[i], true)
	}
	return held, nil
}

// add adds a staged unit.
func (g *Gathered) add(journal *Journal, dataset *schemas.Dataset, drift *DriftSums) error {
	for name, file := range journal.Files {
		table := g.Tables[name]
		table.Rows += file.Rows
		table.Files = append(table.Files, file)
		g.Tables[name] = table
	}
	var written int64
	for i := range journal.Ledger {
		row := &journal.Ledger[i]
		if row.Dataset != dataset.Name {
			return fmt.Errorf("its ledger has a row of %q", row.Dataset)
		}
		if row.Status == StatusOK && row.RecordsReceived != row.RowsWritten+row.DuplicatesDropped {
			return fmt.Errorf("school %q: %d records were received, %d written and %d dropped",
				row.SchoolBid, row.RecordsReceived, row.RowsWritten, row.DuplicatesDropped)
		}
		written += row.RowsWritten
		g.addRow(*row)
	}
	if rows := journal.Files[dataset.Tables[0].Name].Rows; rows != written {
		return fmt.Errorf("its ledger counts %d rows, table %s has %d", written, dataset.Tables[0].Name, rows)
	}
	for _, d := range journal.Drift {
		drift.Add(d)
	}
	g.Requests.Add(journal.Requests)
	g.Activity.Add(&journal.Activity)
	if journal.Failed() {
		g.Failed = append(g.Failed, Unit{Bucket: journal.Bucket, Dataset: journal.Dataset})
	}
	return nil
}

func (g *Gathered) addRow(row LedgerRow) {
	g.Ledger = append(g.Ledger, row)
	counts := g.Datasets[row.Dataset]
	counts.add(row.Status, row.RowsWritten)
	g.Datasets[row.Dataset] = counts
}

// add counts a row of the ledger.
func (d *ManifestDataset) add(status Status, rowsWritten int64) {
	switch status {
	case StatusOK:
		d.OK++
		if rowsWritten > 0 {
			d.SchoolsWithRow++
		}
	case StatusDenied:
		d.Denied++
	case StatusFailed:
		d.Failed++
	}
}

// addFailedSchools gives the schools that could not be fetched at all their
// rows in the ledger: one per dataset they were wanted for.
func (g *Gathered) addFailedSchools() {
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

// openSchools reports for each school of the plan whether some of its tasks are not staged. Such a school is not known to be
// ok.
func (g *Gathered) openSchools() []bool {
	open := make([]bool, len(g.Plan.Schools))
	for _, unit := range g.Missing {
		for _, bucket := range g.Plan.Buckets {
			for i := bucket.First; unit.Bucket == bucket.Index && i < bucket.End; i++ {
				open[i] = true
			}
		}
	}
	return open
}

// finish sorts what was added and judges the schools: one failed if a dataset
// of it did, else it is denied if one was, else ok.
func (g *Gathered) finish(drift *DriftSums) {
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
	open := g.openSchools()
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

// Preview returns the manifest that the run would have if it were published now: its files are not visible, and it has no
// status.
func (g *Gathered) Preview() *Manifest {
	manifest, _ := g.manifest()
	manifest.Status = ""
	return manifest
}

// manifest returns the manifest of the run, without its ledger's file and the
// time of publishing, and what the store needs to commit its files.
func (g *Gathered) manifest() (*Manifest, map[string]sink.File) {
	plan := g.Plan
	m := &Manifest{
		FormatVersion: FormatVersion,
		RunID:         plan.RunID,
		Status:        Published,
		SnapshotDate:  plan.SnapshotDate,
		Kind:          plan.Kind,
		StartedAt:     plan.PlannedAt.UTC(),
		ToolVersion:   plan.ToolVersion,
		BaseURL:       plan.BaseURL,
		Parameters: Parameters{
			Scope:            plan.Scope,
			SchoolsPerFile:   plan.SchoolsPerFile,
			Shards:           plan.Shards,
			MaxFailedSchools: plan.MaxFailedSchools,
			MaxShrink:        plan.MaxShrink,
			StrictChecks:     plan.StrictChecks,
		},
		Tables:   make(map[string]ManifestTable, len(g.Tables)),
		Schools:  g.Schools,
		Datasets: g.Datasets,
		Requests: g.Requests,
		Drift:    orEmpty(g.Drift),
		Checks:   orEmpty(g.Checks),
		Activity: g.Activity,
	}
	m.Parameters.Datasets = orEmpty(m.Parameters.Datasets)
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
