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

// Add adds other counts.
func (t *TableComparison) Add(other *TableComparison) {
	t.Same += other.Same
	t.Added += other.Added
	t.Changed += other.Changed
	t.Removed += other.Removed
	for column, n := range other.ChangedColumns {
		t.ChangedColumns[column] += n
	}
	for reason, n := range other.Because {
		t.Because[reason] += n
	}
}

// NewTableComparison returns counts of zero.
func NewTableComparison() *TableComparison {
	return &TableComparison{ChangedColumns: make(map[string]int64), Because: make(map[string]int64)}
}
