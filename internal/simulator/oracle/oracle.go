package oracle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/simulator"
)

// Row is a row of a table as a correct export holds it: every column of the table by its name. Values are nil for null, string,
// int64 (for int32 and int64), float64, bool; a date is the string YYYY-MM-DD, a timestamp the int64 of its microseconds since
// 1970-01-01T00:00:00Z, JSON its canonical text.
type Row map[string]any

// OracleOptions say what was exported. The zero value is a full run of the default datasets on the world's day.
type Options struct {
	// Datasets are those exported; nil means those that need no call per student, educator or record. See [AllDatasets].
	Datasets []string
	// Schools are the bids that the run fans out over; nil means all of 4.1. Lookup tables are whole in any case.
	Schools []string
	// OwnPerspective reads enrollment in the perspective of the school's own district alone.
	OwnPerspective bool
	// EffectiveDate is sent to the operations that have a default for it; zero means the world's day. With AsOf it is sent to 4.7
	// too, which has none.
	EffectiveDate time.Time
	AsOf          bool
	// ModifiedSince and IncludeRemoved are sent to the operations that know them; zero means that they are not sent. Lists are read
	// without ModifiedSince where they name what other operations are called for.
	ModifiedSince  time.Time
	IncludeRemoved bool
	// PageSize is the server's page size, default 1000.
	PageSize int
}

// Expected is what a correct export holds and reports. It is computed from the world's records directly: no JSON, no HTTP and no
// code of the exporter lies between.
type Expected struct {
	// Rows are those of every table of the datasets, in the order of the contract.
	Rows map[string][]Row
	// Drift is sorted by table, field and kind. What is met in a record counts though the record be dropped as a duplicate.
	Drift []Drift
	// Ledger is sorted by dataset, school and district.
	Ledger []LedgerRow
	// Checks say how often test results break a rule of the service; nil if they are not exported.
	Checks []Check
}

// Drift is something that the records of a table hold beyond what is declared, and how often.
type Drift struct {
	Table string
	// Field is the source of a column, the JSON path of any other member, in which a name that does not look like one in code is #,
	// or _value for an array element that is not an object.
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

// LedgerRow is what the ledger says of a dataset and a school, a district (of district_schools) or neither, if nothing fails.
type LedgerRow struct {
	Dataset, School, District string
	// Received are the records of all answers: Rows, which are those of the dataset's first table, and Duplicates, which were dropped.
	Received, Duplicates, Rows int64
	// Unavailable are the records of a list, after dropping duplicates, without the id by which another call was to be made.
	Unavailable int64
}

// AllDatasets names every dataset.
func AllDatasets() []string {
	var names []string
	for _, op := range simulator.Operations() {
		names = append(names, op.Name)
	}
	return names
}

// Oracle returns the rows that are expected; see [World.Expect].
func Rows(w *simulator.World, options Options) map[string][]Row { return Expect(w, options).Rows }

// Expect returns what a correct export of the given scope holds and reports.
func Expect(w *simulator.World, options Options) *Expected {
	h := newExpectation(w, &options)
	expected := &Expected{Rows: map[string][]Row{}}
	drift := map[Drift]int64{}
	for _, op := range h.operations {
		if options.Datasets == nil && op.About != 0 || options.Datasets != nil && !slices.Contains(options.Datasets, op.Name) {
			continue
		}
		for _, t := range op.Tables {
			expected.Rows[t.Name] = []Row{}
		}
		for _, s := range h.scopes(op) {
			ledger := LedgerRow{Dataset: op.Name, School: w.SchoolBid(s.school), District: w.DistrictBid(s.district)}
			var calls []*simulator.Call
			calls, ledger.Unavailable = h.calls(op, s)
			for _, c := range calls {
				chained := h.readList(c)
				ledger.Received += chained.received
				ledger.Duplicates += chained.dropped
				for name, rows := range chained.rows {
					expected.Rows[name] = append(expected.Rows[name], rows...)
				}
				for fact, n := range chained.drift {
					drift[fact] += n
				}
			}
			ledger.Rows = ledger.Received - ledger.Duplicates
			expected.Ledger = append(expected.Ledger, ledger)
		}
		for i := range op.Tables {
			SortRows(&op.Tables[i], expected.Rows[op.Tables[i].Name])
		}
	}
	for fact, n := range drift {
		fact.Count = n
		expected.Drift = append(expected.Drift, fact)
	}
	slices.SortFunc(expected.Drift, func(a, b Drift) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Field, b.Field), strings.Compare(a.Kind, b.Kind))
	})
	slices.SortFunc(expected.Ledger, func(a, b LedgerRow) int {
		return cmp.Or(strings.Compare(a.Dataset, b.Dataset), strings.Compare(a.School, b.School), strings.Compare(a.District, b.District))
	})
	expected.Checks = h.checks(expected)
	return expected
}

// sortRows orders rows by requested_school_bid, then by the other key columns in their order, nulls first, text by bytes; rows
// with equal keys stay as they were received.
func SortRows(t *simulator.Table, rows []Row) {
	var keys []string
	for _, col := range t.Columns {
		switch {
		case col.Name == "requested_school_bid":
			keys = append([]string{col.Name}, keys...)
		case col.Key:
			keys = append(keys, col.Name)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		for _, key := range keys {
			if order := compare(a[key], b[key]); order != 0 {
				return order
			}
		}
		return 0
	})
}

// compare orders the values of a key column, which are text or whole numbers.
func compare(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	if x, ok := a.(int64); ok {
		y, _ := b.(int64)
		return cmp.Compare(x, y)
	}
	x, _ := a.(string)
	y, _ := b.(string)
	return strings.Compare(x, y)
}
