package snapshot

import (
	"strings"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
)

// The reasons why a row is gone (TableComparison.Because).
const (
	// Moved test results are listed under another school.
	Moved = "moved"
	// Superseded test results belong to a student who has another result in the same subject.
	Superseded = "superseded"
	// AgedOut test results were taken more than a year before the snapshot.
	AgedOut = "aged_out"
	// LeftRoster test results belong to a student who is no longer listed at the school.
	LeftRoster = "left_roster"
	// Unexplained test results are gone, but for none of these reasons.
	Unexplained = "unexplained"
	// ElementsChanged is the reason for child rows whose parent still exists. In a history, it is also the reason for
	// versions that a new version of the same row replaces.
	ElementsChanged = "changed"
	// Removed is the reason for all other rows.
	Removed = "removed"
)

// ReasonText describes a reason for removed rows in words.
func ReasonText(reason string) string {
	if reason == ElementsChanged {
		return "list changed" // of a parent that still exists
	}
	return strings.ReplaceAll(reason, "_", " ")
}

// Comparison counts the differences between two snapshots.
type Comparison struct {
	// With is the id of the earlier run, and SnapshotDate its date.
	With         string `json:"with"`
	SnapshotDate string `json:"snapshot_date"`
	// Tables holds the tables that both snapshots have, by name.
	Tables map[string]*TableComparison `json:"tables"`
	// SchoolsCompared counts the schools that were compared in all datasets that both snapshots have. SchoolsNotCompared
	// counts the other schools in the plans of the two runs.
	SchoolsCompared    int64           `json:"schools_compared"`
	SchoolsNotCompared int64           `json:"schools_not_compared"`
	Warnings           []review.Reason `json:"warnings"`
}

// TableComparison counts the rows of a table by their change.
type TableComparison struct {
	Same    int64 `json:"same"`    // equal rows
	Added   int64 `json:"added"`   // rows without an earlier version
	Changed int64 `json:"changed"` // rows that have a new version
	Removed int64 `json:"removed"` // rows that are gone
	// ChangedColumns counts the changed rows by column.
	ChangedColumns map[string]int64 `json:"changed_columns"`
	// Because counts the removed rows by reason.
	Because map[string]int64 `json:"because"`
}

// Before returns the number of rows of the earlier snapshot that were compared.
func (t *TableComparison) Before() int64 { return t.Same + t.Changed + t.Removed }

// After returns the number of rows of the later snapshot that were compared.
func (t *TableComparison) After() int64 { return t.Same + t.Changed + t.Added }

// Differs reports whether a row was added, changed or removed.
func (t *TableComparison) Differs() bool { return t.Added+t.Changed+t.Removed > 0 }

// Add adds the counts in other to t.
func (t *TableComparison) Add(other *TableComparison) {
	t.Same += other.Same
	t.Added += other.Added
	t.Changed += other.Changed
	t.Removed += other.Removed
	addCounts(&t.ChangedColumns, other.ChangedColumns)
	addCounts(&t.Because, other.Because)
}

// addCounts adds the counts in other to the map that sums points to. If that map is nil, it creates one.
func addCounts(sums *map[string]int64, other map[string]int64) {
	if *sums == nil {
		*sums = make(map[string]int64, len(other))
	}
	for name, n := range other {
		(*sums)[name] += n
	}
}

// NewTableComparison returns a TableComparison whose counts are all zero.
func NewTableComparison() *TableComparison {
	return &TableComparison{ChangedColumns: make(map[string]int64), Because: make(map[string]int64)}
}

// DistrictComparison counts the rows of a table in the schools of one district, for the limits on changes.
type DistrictComparison struct {
	TableComparison
	// Altered counts the rows that changed in a column other than grade, _extra and modified_date_time. It includes child
	// rows that were replaced by others of the same parent, and rows in which only the key changed.
	Altered int64 `json:"altered,omitempty"`
	// Paired counts the rows that are counted as removed and added, but that the limits treat as two versions of one row.
	Paired int64 `json:"paired,omitempty"`
	// Parents counts the records of both snapshots that had rows in a child table in the earlier snapshot. Childless
	// counts the records among them that have no such rows in the later snapshot.
	Parents   int64 `json:"parents,omitempty"`
	Childless int64 `json:"childless,omitempty"`
	// Had and Has count, by column, the rows with a value in the earlier and in the later snapshot.
	Had map[string]int64 `json:"had,omitempty"`
	Has map[string]int64 `json:"has,omitempty"`
	// Values counts, by column, the rows of both snapshots that had a value in the earlier snapshot. Emptied counts the
	// rows among them that have no value in the later snapshot.
	Values  map[string]int64 `json:"values,omitempty"`
	Emptied map[string]int64 `json:"emptied,omitempty"`
}

// add adds the counts in other to d.
func (d *DistrictComparison) add(other *DistrictComparison) {
	d.Add(&other.TableComparison)
	d.Altered += other.Altered
	d.Paired += other.Paired
	d.Parents += other.Parents
	d.Childless += other.Childless
	addCounts(&d.Had, other.Had)
	addCounts(&d.Has, other.Has)
	addCounts(&d.Values, other.Values)
	addCounts(&d.Emptied, other.Emptied)
}

// DistrictComparisons are the counts by district and table. The district is empty for the lookup tables districts and
// schools, and for schools without a district.
type DistrictComparisons map[string]map[string]*DistrictComparison

// Of returns the counts of a table in a district. It creates them if they do not exist yet.
func (d DistrictComparisons) Of(district, table string) *DistrictComparison {
	tables := d[district]
	if tables == nil {
		tables = make(map[string]*DistrictComparison)
		d[district] = tables
	}
	if tables[table] == nil {
		tables[table] = &DistrictComparison{TableComparison: *NewTableComparison()}
	}
	return tables[table]
}

// TaskComparison counts how the rows of a task differ from the baseline.
type TaskComparison struct {
	// Problem is the reason why the task could not be compared. The other fields are then empty.
	Problem   string              `json:"problem,omitempty"`
	Districts DistrictComparisons `json:"districts,omitempty"`
	// NotCovered are the schools of the task that were not compared, because one of the snapshots lacks them or did not
	// read them completely.
	NotCovered []string `json:"not_covered,omitempty"`
	// Turnover lists files with the added and removed test results of the task. The reasons for removals are not in
	// Districts, because they depend on all schools.
	Turnover []sink.File `json:"turnover,omitempty"`
}
