package snapshot

// The reasons for which a row is gone (TableComparison.Because).
const (
	// Moved test results are listed under another school.
	Moved = "moved"
	// Superseded test results have given way to another result of the same student and subject.
	Superseded = "superseded"
	// AgedOut test results were taken more than a year before the snapshot.
	AgedOut = "aged_out"
	// LeftRoster test results belong to a student who is no longer listed at the school.
	LeftRoster = "left_roster"
	// Unexplained test results are gone for none of these reasons.
	Unexplained = "unexplained"
	// ElementsChanged is the reason of child rows whose parent is still there.
	ElementsChanged = "changed"
	// Removed is the reason of all other rows.
	Removed = "removed"
)

// Comparison is what differs between two snapshots.
type Comparison struct {
	// With is the run that was compared with, the earlier one, and SnapshotDate its date.
	With         string `json:"with"`
	SnapshotDate string `json:"snapshot_date"`
	// Tables holds the tables that both snapshots have, by name.
	Tables map[string]*TableComparison `json:"tables"`
	// SchoolsCompared counts the schools all of whose datasets were compared, SchoolsNotCompared the others of either
	// side.
	SchoolsCompared    int64    `json:"schools_compared"`
	SchoolsNotCompared int64    `json:"schools_not_compared"`
	Warnings           []string `json:"warnings"`
}

// TableComparison counts the rows of a table by what became of them.
type TableComparison struct {
	Same    int64 `json:"same"`
	Added   int64 `json:"added"`
	Changed int64 `json:"changed"`
	Removed int64 `json:"removed"`
	// ChangedColumns counts the changed rows by column.
	ChangedColumns map[string]int64 `json:"changed_columns"`
	// Because counts the removed rows by reason.
	Because map[string]int64 `json:"because"`
}

// Before returns the number of rows of the earlier snapshot that were compared.
func (t *TableComparison) Before() int64 { return t.Same + t.Changed + t.Removed }

// Differs reports whether a row was added, changed or removed.
func (t *TableComparison) Differs() bool { return t.Added+t.Changed+t.Removed > 0 }

// Add adds other counts.
func (t *TableComparison) Add(other *TableComparison) {
	t.Same += other.Same
	t.Added += other.Added
	t.Changed += other.Changed
	t.Removed += other.Removed
	addCounts(&t.ChangedColumns, other.ChangedColumns)
	addCounts(&t.Because, other.Because)
}

// addCounts adds other counts to those of sums, which it makes if needed.
func addCounts(sums *map[string]int64, other map[string]int64) {
	if *sums == nil {
		*sums = make(map[string]int64, len(other))
	}
	for name, n := range other {
		(*sums)[name] += n
	}
}

// NewTableComparison returns counts of zero.
func NewTableComparison() *TableComparison {
	return &TableComparison{ChangedColumns: make(map[string]int64), Because: make(map[string]int64)}
}

// DistrictComparison counts the rows of a table in the schools of one district, with what the limits on changes need.
type DistrictComparison struct {
	TableComparison
	// Altered counts the changed rows that differ in a column other than modified_date_time.
	Altered int64 `json:"altered,omitempty"`
	// Values counts, by column, the rows in both snapshots that had a value, and Emptied those of them that have none now.
	Values  map[string]int64 `json:"values,omitempty"`
	Emptied map[string]int64 `json:"emptied,omitempty"`
}

// add adds other counts.
func (d *DistrictComparison) add(other *DistrictComparison) {
	d.Add(&other.TableComparison)
	d.Altered += other.Altered
	addCounts(&d.Values, other.Values)
	addCounts(&d.Emptied, other.Emptied)
}

// DistrictComparisons are the counts by district and table. The district of the lookup tables districts and schools,
// and of schools without one, is empty.
type DistrictComparisons map[string]map[string]*DistrictComparison

// Of returns the counts of a table in a district, zero at first.
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

// TaskComparison is how the rows of a task differ from the baseline.
type TaskComparison struct {
	// Problem is why the task could not be compared. The other fields are then empty.
	Problem   string              `json:"problem,omitempty"`
	Districts DistrictComparisons `json:"districts,omitempty"`
	// NotCovered are the schools of the task that were not compared, because one of the snapshots lacks them or did not read
	// them completely.
	NotCovered []string `json:"not_covered,omitempty"`
}
