package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// Version is the version of the declared tables. The second number rises when tables or columns are added or their
// descriptions change. The first number rises when a change can break a reader.
const Version = "1.1"

// Type is the type of a column.
type Type uint8

// The types of columns. Dates are days since 1970-01-01, timestamps microseconds since then in UTC. JSON is text that
// holds valid JSON.
const (
	String Type = iota + 1
	Int32
	Int64
	Double
	Boolean
	Date
	Timestamp
	JSON
)

var typeNames = [...]string{
	String: "string", Int32: "int32", Int64: "int64", Double: "double",
	Boolean: "boolean", Date: "date", Timestamp: "timestamp", JSON: "json",
}

// String returns the type's name in tables.csv.
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Class is the privacy class of a column: what it reveals about a person. A column without a class is withheld under
// every profile except Full.
type Class string

// The classes of columns.
const (
	None    Class = "none"   // nothing
	ID      Class = "id"     // identifies a student or an educator
	Record  Class = "record" // identifies a record about one person
	Direct  Class = "direct" // a person's name
	Birth   Class = "birth"  // date of birth
	Grade   Class = "grade"
	Text    Class = "text"  // free text that may name a person
	Trait   Class = "trait" // gender, ethnicity
	Score   Class = "score"
	Moment  Class = "moment"  // when a record about one person began, ended or changed
	Measure Class = "measure" // how a test went: its duration, its numbers of items
	Extra   Class = "extra"   // _extra, which may hold anything
)

// The sources of a column that are not a path in the record.
const (
	// SourceOrdinal is the 0-based position of the element in its array.
	SourceOrdinal = "#"
	// SourceExtra stands for all members that have no column, or whose value does not fit their column.
	SourceExtra = "*"
	// SourceParam starts a parameter of the call, such as $school_bid.
	SourceParam = '$'
	// SourceParent starts a member of the parent record, such as ^testResultBid.
	SourceParent = '^'
)

// Column is one column of a table.
type Column struct {
	Name string
	Type Type
	// Key columns together identify a row and order a file.
	Key bool
	// Required columns are never null.
	Required bool
	// Source is a JSON path in the record such as items.shown, ^name in the parent record, $name a parameter of the
	// call, SourceOrdinal or SourceExtra.
	Source string
	Class  Class
	// Doc describes the column, with its unit, and names the source of the description: a section of the specification,
	// Observed or Presumed. Positions and _extra have no such source.
	Doc string
	// Refers is the table and column that hold the same identifier under another name, such as
	// enrollment_sessions.enrollment_session_bid. Columns with the same name do not need Refers, because they hold the
	// same identifier.
	Refers string
}

// HasBloomFilter reports whether files have a Bloom filter for the column, for queries about one person. Files are
// sorted by school first, so the bounds of such a column exclude few rows.
func (c *Column) HasBloomFilter() bool { return c.Class == ID && c.Type == String }

// Table is one Parquet table.
type Table struct {
	Name string
	// Each is the array of the parent record whose elements are this table's rows. It is empty for a dataset's first
	// table, whose rows are the records.
	Each string
	// Bare is the source of the column that takes elements of Each that are text instead of objects. It is empty if such
	// elements are drift.
	Bare    string
	Doc     string
	Columns []Column
}

// Column returns the position of the column with that name, or -1 if there is no such column.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// KeyColumns returns the positions of the key columns in the sort order of files: requested_school_bid first, then the
// other key columns in the order of declaration.
func (t *Table) KeyColumns() []int {
	var keys []int
	for i, c := range t.Columns {
		switch {
		case !c.Key:
		case c.Name == "requested_school_bid":
			keys = slices.Insert(keys, 0, i)
		default:
			keys = append(keys, i)
		}
	}
	return keys
}

// FanOut says which calls fetch a dataset: one for the run, or one for each district, school, student, educator or
// record.
type FanOut uint8

// The fan-outs. If Operation.Query has perspective-bid, there is one call for each perspective too.
const (
	Once FanOut = iota
	PerDistrict
	PerSchool
	PerStudent
	PerEducator
	PerRecord
)

// String returns the fan-out's name in the data dictionary.
func (f FanOut) String() string {
	return [...]string{"run", "district", "school", "student", "educator", "record"}[f]
}

// Operation is one operation of the service (specification, Endpoints).
type Operation struct {
	// Section is the specification's section, such as 4.6.
	Section string
	// Path is the route template below the base URL; {name} is the call's parameter of that name.
	Path string
	// Query lists the parameters of every call, such as school-bid, whose value is the call's parameter school_bid.
	Query []string
	// Filters lists the optional parameters that the operation accepts: effective-date, modified-since, include-removed.
	Filters []string
	// PinsDate operations filter by the current date unless effective-date is sent. A run sends the date of its plan, so
	// that all answers are for the same day.
	PinsDate bool
	// Records is the member of the answer that holds the records, as documented or observed. It is empty if the answer is
	// a bare array or a single object.
	Records string
	// Paged operations are documented to answer with a pagination object. A page without a readable hasNextPage is an
	// error.
	Paged bool
	// Single operations answer with one object rather than a list.
	Single bool
}

// Dataset is one operation of the service and the tables that it fills.
type Dataset struct {
	Name string
	Doc  string
	// Default datasets are part of --datasets default.
	Default bool
	Per     FanOut
	// Feeds lists the tables whose column FedParam provides the identifiers for a fan-out per student, educator or record.
	Feeds     []string
	Operation Operation
	// Tables are the tables that the dataset fills, the table of its records first.
	Tables []*Table
	// Known lists documented members without a column. They stay in _extra and are not drift.
	Known []string
	// WholeRecordDuplicates is true if the key is a guess, because the specification does not show the record. Only
	// records that are equal in every member are then duplicates.
	WholeRecordDuplicates bool
}

// TakesPerspective reports whether the dataset's operation reads through a perspective (specification, What the service
// does, 6).
func (d *Dataset) TakesPerspective() bool {
	return slices.Contains(d.Operation.Query, "perspective-bid")
}

// IsLookup reports whether the dataset is fetched before the data of schools, once for the run or for each district.
func (d *Dataset) IsLookup() bool { return d.Per == Once || d.Per == PerDistrict }

// SharedBySchool returns the names of the datasets in both lists that are fetched by school: all except lookups.
func SharedBySchool(one, other []string) []string {
	return slices.DeleteFunc(slices.Clone(one), func(name string) bool {
		dataset, ok := Find(name)
		return !ok || dataset.IsLookup() || !slices.Contains(other, name)
	})
}

// StudentColumns returns the names of the columns that hold a student's bid, in any table.
func StudentColumns() []string { return []string{"student_bid", "requested_student_bid"} }

// ExtraListsStudents reports whether _extra of the dataset's records lists students, as is the case for a class with
// its roster.
func (d *Dataset) ExtraListsStudents() bool { return slices.Contains(d.Known, "students") }

// FedParam returns the parameter whose values come from Feeds, such as student_bid, or "" for a dataset without feeds.
func (d *Dataset) FedParam() string {
	if len(d.Feeds) == 0 {
		return ""
	}
	for _, c := range d.Tables[0].Columns {
		name, isParam := strings.CutPrefix(c.Source, string(SourceParam))
		if isParam && name != "school_bid" && name != "perspective_bid" {
			return name
		}
	}
	return ""
}

// FindTable returns the table with that name and its dataset. It returns false if there is no such table.
func FindTable(name string) (*Table, *Dataset, bool) {
	for _, d := range Datasets() {
		for _, t := range d.Tables {
			if t.Name == name {
				return t, d, true
			}
		}
	}
	return nil, nil, false
}

// Tables returns the tables of every dataset, in the order of tables.csv. The caller may change the slice but not the
// tables, which are shared.
func Tables() []*Table {
	var tables []*Table
	for _, d := range Datasets() {
		tables = append(tables, d.Tables...)
	}
	return tables
}
