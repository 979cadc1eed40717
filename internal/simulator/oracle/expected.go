package oracle

import "time"

// Row is a row of a correct export, with every column of its table by name. Values are nil, string, int64 (for int32
// and int64), float64 or bool. A date is text in the form YYYY-MM-DD, a timestamp is the number of microseconds since
// 1970 in UTC, and JSON is its canonical text.
type Row map[string]any

// Options describe the export. The zero value is a full run of the default datasets on the world's day.
type Options struct {
	// Datasets are the exported datasets; nil means all that do not need a call per student, educator or record. See
	// [AllDatasets].
	Datasets []string
	// Schools are the bids of the run's schools; nil means all of 4.1. Lookup tables are always complete.
	Schools []string
	// OwnPerspective is true if enrollment is read only in the perspective of the school's own district.
	OwnPerspective bool
	// EffectiveDate is sent to the operations that have a default for it; zero means the world's day. If AsOf is true, it
	// is also sent to 4.7, which has no default.
	EffectiveDate time.Time
	AsOf          bool
	// If not zero, ModifiedSince and IncludeRemoved are sent to the operations that accept them. Lists that supply ids for
	// other operations are read without ModifiedSince.
	ModifiedSince  time.Time
	IncludeRemoved bool
	// PageSize is the server's page size, default 1000.
	PageSize int
}

// Expected holds the expected contents and counts of an export.
type Expected struct {
	// Rows holds the rows of every table of the datasets, by table and in the sort order of files.
	Rows map[string][]Row
	// Drift is sorted by table, field and kind. It includes drift in records that are dropped as duplicates.
	Drift []Drift
	// Ledger is sorted by dataset, school and district.
	Ledger []LedgerRow
	// Checks is nil if test results are not exported.
	Checks []Check
}

// Drift is one kind of deviation from the declarations in a field of a table, with the number of occurrences.
type Drift struct {
	Table string
	// Field is the source of a column, the JSON path of any other member (# stands for an unusual name), or _value for
	// an array element that is not an object.
	Field string
	Kind  string
	Count int64
}

// The kinds of drift.
const (
	UnknownField    = "unknown_field"
	TypeMismatch    = "type_mismatch"
	DuplicateRecord = "duplicate_record"
	DuplicateMember = "duplicate_member"
)

// LedgerRow is a row of the ledger of an export in which nothing fails. It is about a dataset of a school, of a
// district (district_schools), or of neither.
type LedgerRow struct {
	Dataset, School, District string
	// Received counts the records of all answers. It is the sum of Rows, the number of rows of the dataset's first table,
	// and Duplicates, the number of records that were dropped as duplicates.
	Received, Duplicates, Rows int64
	// Unavailable counts the records of a list, without duplicates, that lack the id for another call or have an id
	// that the service does not know.
	Unavailable int64
	// Denied is true if the service denies access to the school. All counts are then 0.
	Denied bool
}

// Check counts how often test results break a rule of the service, and the schools that were checked.
type Check struct {
	Check, Table   string
	Count, Schools int64
}
