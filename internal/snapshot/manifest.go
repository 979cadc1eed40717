package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
)

// The states of a manifest.
const (
	Published = "published"
	Replaced  = "replaced"
)

// Manifest is _runs/<run>/manifest.json. It lists the files of a published run. A run without a manifest is not
// published.
type Manifest struct {
	FormatVersion int                        `json:"format_version"`
	RunID         string                     `json:"run_id"`
	Status        string                     `json:"status"`
	SnapshotDate  string                     `json:"snapshot_date"`
	Kind          Kind                       `json:"kind"`
	StartedAt     time.Time                  `json:"started_at"`
	PublishedAt   time.Time                  `json:"published_at"`
	ToolVersion   string                     `json:"tool_version"`
	SchemaVersion string                     `json:"schema_version"` // the version of the declared tables
	BaseURL       string                     `json:"base_url"`
	Parameters    Parameters                 `json:"parameters"`
	Tables        map[string]ManifestTable   `json:"tables"`
	Ledger        sink.File                  `json:"ledger"`
	Schools       ManifestSchools            `json:"schools"`
	Datasets      map[string]ManifestDataset `json:"datasets"`
	Requests      Requests                   `json:"requests"`
	Drift         []Drift                    `json:"drift"`
	// Checks are the results of checking the service's own rules.
	Checks []review.Check `json:"checks"`
	// Comparison counts the differences from the previous snapshot. It is nil if the run was not compared. For a full run,
	// NotCompared is then the reason.
	Comparison  *Comparison `json:"comparison,omitempty"`
	NotCompared string      `json:"not_compared,omitempty"`
	// Replaces lists the runs that this run replaced, as known when publishing began.
	Replaces []string `json:"replaces,omitempty"`
	// Accepted are the reasons for holding the run that an operator overruled with --accept-held.
	Accepted []review.Reason `json:"accepted,omitempty"`
	// Activity aggregates the activity of all processes, each up to its last checkpoint.
	Activity activity.Log `json:"activity"`
	// Purges are the purges of the run since it was published, the earliest first. Tables, Datasets and Schools count only
	// what is left. So does the ledger after a purge of schools or districts, but a purge of students does not change the
	// ledger.
	Purges []ManifestPurge `json:"purges,omitempty"`
}

// Parameters are the settings recorded in a manifest.
type Parameters struct {
	Scope
	SchoolsPerFile int `json:"schools_per_file"`
	Shards         int `json:"shards"`
	review.Limits
	// Suppressed and NotSuppressed have the same meaning as in the plan.
	Suppressed    *Suppression     `json:"suppressed,omitempty"`
	NotSuppressed []PurgedStudents `json:"not_suppressed,omitempty"`
}

// Requests counts the requests of a run, or of a part of a run.
type Requests struct {
	Total          int64            `json:"total"`           // all requests except requests for tokens
	Retries        int64            `json:"retries"`         // requests that repeated an earlier request
	TokenRefreshes int64            `json:"token_refreshes"` // tokens after the first
	ByStatus       map[string]int64 `json:"by_status"`       // by HTTP status or kind of error
}

// Add adds the counts in other to r.
func (r *Requests) Add(other Requests) {
	r.Total += other.Total
	r.Retries += other.Retries
	r.TokenRefreshes += other.TokenRefreshes
	for status, n := range other.ByStatus {
		if r.ByStatus == nil {
			r.ByStatus = make(map[string]int64)
		}
		r.ByStatus[status] += n
	}
}

// ManifestTable is a table of a published run.
type ManifestTable struct {
	Rows  int64       `json:"rows"` // the rows in all files
	Files []sink.File `json:"files"`
}

// NewManifestTable returns a table with the given files.
func NewManifestTable(files ...sink.File) ManifestTable {
	t := ManifestTable{Files: append([]sink.File{}, files...)}
	for _, file := range files {
		t.Rows += file.Rows
	}
	return t
}

// ManifestDataset counts a dataset's schools, for comparison with the next run. For datasets that are not fetched per
// school it counts ledger rows.
type ManifestDataset struct {
	OK             int64 `json:"ok"`
	Denied         int64 `json:"denied"`
	Failed         int64 `json:"failed"`
	SchoolsWithRow int64 `json:"schools_with_rows"`
}

// ManifestSchools counts the schools of a run by outcome.
type ManifestSchools struct {
	Total    int64           `json:"total"`
	OK       int64           `json:"ok"`
	Denied   int64           `json:"denied"`
	Failed   int64           `json:"failed"`
	Failures []SchoolFailure `json:"failures"`
}

// ManifestPurge counts the rows that a purge has removed from a published run.
type ManifestPurge struct {
	// ID is the id of the proof, _purges/<id>.json.
	ID string    `json:"id"`
	At time.Time `json:"at"` // when the purge was requested
	// RowsRemoved counts rows by table.
	RowsRemoved map[string]int64 `json:"rows_removed"`
	// ExtraRemoved counts, by table, the rows that have lost _extra because it mentioned a purged student.
	ExtraRemoved map[string]int64 `json:"extra_removed,omitempty"`
	// SchoolsEmptied counts, by dataset, the schools that had rows in its first table and now have none. The manifest
	// no longer counts them as schools with rows, so the next run does not report them as lost.
	SchoolsEmptied map[string]int64 `json:"schools_emptied,omitempty"`
	Files          []PurgedFile     `json:"files"`
	// LedgerRemoved counts, by dataset, the rows that were removed from the ledger.
	LedgerRemoved map[string]LedgerRemoved `json:"ledger_rows_removed,omitempty"`
	// Suppressed describes the suppression list that contains the students of the purge, so that runs notice if the
	// list is lost.
	Suppressed *Suppression `json:"suppressed,omitempty"`
}

// LedgerRemoved counts the rows that were removed from the ledger, like ManifestDataset, and adds up their
// rows_written.
type LedgerRemoved struct {
	ManifestDataset

	RowsWritten int64 `json:"rows_written"` // rows of the first table
}

// Rows returns how many rows were removed.
func (r LedgerRemoved) Rows() int64 { return r.OK + r.Denied + r.Failed }

// PurgedFile is a file with which a purge replaced another file.
type PurgedFile struct {
	Path         string `json:"path"`                    // the new file
	Was          string `json:"was"`                     // the path of the file that it replaced
	RowsRemoved  int64  `json:"rows_removed"`            // rows that were left out
	ExtraRemoved int64  `json:"extra_removed,omitempty"` // rows that lost _extra
}

// Add adds a replaced file of a table and its counts.
func (p *ManifestPurge) Add(table string, file PurgedFile) {
	AddRows(&p.RowsRemoved, table, file.RowsRemoved)
	AddRows(&p.ExtraRemoved, table, file.ExtraRemoved)
	p.Files = append(p.Files, file)
}

// AddRows adds n to the count of a table. If n is 0, it does not create a count.
func AddRows(counts *map[string]int64, table string, n int64) {
	if n == 0 {
		return
	}
	if *counts == nil {
		*counts = make(map[string]int64)
	}
	(*counts)[table] += n
}

// Status is the outcome for a school and dataset.
type Status string

// The statuses of ledger rows.
const (
	StatusOK     Status = "ok"
	StatusDenied Status = "denied"
	StatusFailed Status = "failed"
)

// add counts a ledger row.
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

// Files returns the data files of the run, sorted by path.
func (m *Manifest) Files() []sink.File { return filesOf(m.Tables) }

// filesOf returns the files of tables, sorted by path.
func filesOf(tables map[string]ManifestTable) []sink.File {
	var files []sink.File
	for _, table := range tables {
		files = append(files, table.Files...)
	}
	slices.SortFunc(files, func(a, b sink.File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// Bytes returns the size of the run's data files.
func (m *Manifest) Bytes() int64 {
	var n int64
	for _, file := range m.Files() {
		n += file.Bytes
	}
	return n
}

// Paths returns the set of the paths of the run's data files.
func (m *Manifest) Paths() map[string]bool {
	paths := make(map[string]bool)
	for _, file := range m.Files() {
		paths[file.Path] = true
	}
	return paths
}

// Covers reports whether the run has the given service and scope.
func (m *Manifest) Covers(baseURL string, scope Scope) bool {
	return len(m.differences(baseURL, scope)) == 0
}

// Like reports whether another run has the same service and scope as this run.
func (m *Manifest) Like(other *Manifest) bool { return other.Covers(m.BaseURL, m.Parameters.Scope) }

// differences describes how the run differs from a run with the given service and scope.
func (m *Manifest) differences(baseURL string, scope Scope) []string {
	var found []string
	if !SameService(m.BaseURL, baseURL) {
		found = append(found, fmt.Sprintf("base URL %s instead of %s", m.BaseURL, baseURL))
	}
	return append(found, m.Parameters.Differences(scope)...)
}

// differencesApartFromDatasets works like differences, but ignores the datasets, because two runs can be compared in
// the datasets that they have in common.
func (m *Manifest) differencesApartFromDatasets(baseURL string, scope Scope) []string {
	scope.Datasets = m.Parameters.Datasets
	return m.differences(baseURL, scope)
}

// Purged returns the number of rows that purges have removed from a table.
func (m *Manifest) Purged(table string) int64 {
	var n int64
	for i := range m.Purges {
		n += m.Purges[i].RowsRemoved[table]
	}
	return n
}

// SchoolsEmptied returns the number of schools that purges have left without rows of a dataset.
func (m *Manifest) SchoolsEmptied(dataset string) int64 {
	var n int64
	for i := range m.Purges {
		n += m.Purges[i].SchoolsEmptied[dataset]
	}
	return n
}

// LedgerRemoved returns the sums of SchoolsWithRow and RowsWritten over the rows that purges have removed from the
// ledger of a dataset. The other counts are zero.
func (m *Manifest) LedgerRemoved(dataset string) LedgerRemoved {
	var sum LedgerRemoved
	for i := range m.Purges {
		removed := m.Purges[i].LedgerRemoved[dataset]
		sum.SchoolsWithRow += removed.SchoolsWithRow
		sum.RowsWritten += removed.RowsWritten
	}
	return sum
}

// WithPurge returns the manifest after a purge. takes maps the paths of files to their replacements, and ledger is the
// new ledger, or nil if the ledger does not change.
func (m *Manifest) WithPurge(takes map[string]sink.File, purge ManifestPurge, ledger *PurgedLedger) Manifest {
	after := *m
	after.Purges = append(slices.Clone(m.Purges), purge)
	after.Tables = make(map[string]ManifestTable, len(m.Tables))
	for name, table := range m.Tables {
		files := slices.Clone(table.Files)
		for i, file := range files {
			if other, ok := takes[file.Path]; ok {
				files[i] = other
			}
		}
		slices.SortFunc(files, func(a, b sink.File) int { return strings.Compare(a.Path, b.Path) })
		after.Tables[name] = ManifestTable{Rows: table.Rows - purge.RowsRemoved[name], Files: files}
	}
	after.Datasets = maps.Clone(m.Datasets)
	for name, emptied := range purge.SchoolsEmptied {
		counts := after.Datasets[name]
		counts.SchoolsWithRow -= emptied
		after.Datasets[name] = counts
	}
	if ledger != nil {
		after.Ledger, after.Schools = ledger.File, ledger.schools
		after.Activity.Slowest, after.Accepted = ledger.slowest, ledger.accepted
		if m.Comparison != nil {
			comparison := *m.Comparison
			comparison.Warnings = ledger.warnings
			after.Comparison = &comparison
		}
		for name, removed := range ledger.Removed {
			counts := after.Datasets[name]
			counts.OK -= removed.OK
			counts.Denied -= removed.Denied
			counts.Failed -= removed.Failed
			after.Datasets[name] = counts
		}
	}
	return after
}

// ReadManifest reads the manifest of a run. It returns ErrNotFound if the run is not published, and ErrDamaged if the
// manifest is damaged or belongs to another run.
func (c Catalog) ReadManifest(ctx context.Context, run string) (*Manifest, error) {
	manifest, _, err := c.readManifest(ctx, run)
	return manifest, err
}

func (c Catalog) readManifest(ctx context.Context, run string) (*Manifest, string, error) {
	path := ManifestPath(run)
	manifest, version, err := ReadDocument[Manifest](ctx, c, path)
	if err != nil {
		return nil, version, err
	}
	if manifest.RunID != run {
		return nil, version, fmt.Errorf("read %s: %w: it is the manifest of another run", path, sink.ErrDamaged)
	}
	return manifest, version, nil
}

// markReplaced sets the status of a run to replaced and returns its manifest, or nil if the manifest is missing or
// damaged.
func (c Catalog) markReplaced(ctx context.Context, run string) (manifest *Manifest, err error) {
	err = sink.Swap(ctx, ManifestPath(run), func() error {
		var version string
		var err error
		manifest, version, err = c.readManifest(ctx, run)
		if Unreadable(err) {
			manifest = nil
			return nil
		}
		if err != nil || manifest.Status == Replaced {
			return err
		}
		manifest.Status = Replaced
		return WriteDocument(ctx, c.store, ManifestPath(run), manifest, sink.Condition{Version: version})
	})
	return manifest, err
}
