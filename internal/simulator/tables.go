package simulator

import (
	"encoding/csv"
	"slices"
	"strings"
	"sync"

	"example.org/growthexport/schemas/contract"
)

// table is a table of the contract: its columns in order, where each value comes from, and what identifies a row.
type table struct {
	name    string
	dataset string
	each    string // the array of the record whose elements are the rows; empty if the record is the row
	// bare is the source of the column that takes elements that are text rather than objects; empty if there is none.
	bare string
	// known are documented members that have no column.
	known []string
	// wholeRecord is set where only records equal in every member are duplicates.
	wholeRecord bool
	columns     []column
	shape       *shape
}

// column takes its value from source: a member of the record, or member.member; ^member of the parent record; $parameter of the
// call; # for the position in the array; * for everything without a column.
type column struct {
	name, kind, source string
	key                bool
}

// What tables.csv does not say. Everything else about a table follows from it.
var (
	bareElements = map[string]string{"school_class_educators": "educatorBid", "school_class_students": "studentBid"}
	knownMembers = map[string][]string{
		"student_details":      {"personalNeedsProfile", "englishLearner", "individualizedPrograms"},
		"test_results":         {"accommodations"},
		"school_class_details": {"educators", "students"},
	}
	wholeRecords = map[string]bool{"student_school_classes": true, "educator_school_classes": true}
)

// tables returns the tables of tables.csv, a dataset's first table before its children.
var tables = sync.OnceValue(func() []table {
	lines, err := csv.NewReader(strings.NewReader(contract.TablesCSV())).ReadAll()
	if err != nil {
		panic("tables.csv: " + err.Error())
	}
	at := map[string]int{}
	for i, heading := range lines[0] {
		at[heading] = i
	}
	var list []table
	for _, line := range lines[1:] {
		name := line[at["table"]]
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, table{
				name: name, dataset: line[at["dataset"]], each: line[at["each"]],
				bare: bareElements[name], known: knownMembers[name], wholeRecord: wholeRecords[name],
			})
		}
		t := &list[len(list)-1]
		t.columns = append(t.columns, column{
			name: line[at["column"]], kind: line[at["type"]], source: line[at["source"]], key: line[at["key"]] == "key",
		})
	}
	return list
})

// columnOf returns the name of the column of a source.
func (t *table) columnOf(source string) string {
	return t.columns[slices.IndexFunc(t.columns, func(col column) bool { return col.source == source })].name
}

// keySource returns the source by which the records of one list are told apart.
func (t *table) keySource() string {
	at := slices.IndexFunc(t.columns, func(col column) bool { return col.key && col.source[0] != '$' })
	if at < 0 {
		return ""
	}
	return t.columns[at].source
}

// keyOf returns the key of a row within its list; empty if it is incomplete, or the table has none.
func (t *table) keyOf(row Row) string {
	source := t.keySource()
	if source == "" {
		return ""
	}
	key, _ := row[t.columnOf(source)].(string)
	return key
}
