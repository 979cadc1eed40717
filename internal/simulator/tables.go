package simulator

import (
	"encoding/csv"
	"maps"
	"slices"
	"strings"
	"sync"

	"example.org/growthexport/schemas/contract"
)

// Table is a table of tables.csv: its columns in order, their sources, and the key of a row.
type Table struct {
	Name    string
	Dataset string
	Each    string // the array of the record whose elements are the rows; empty if the record is the row
	// Bare is the source of the column for elements that are text instead of objects, or "" if the table has no such
	// column.
	Bare string
	// Known lists documented members without a column.
	Known []string
	// WholeRecord is true if only records that are equal in every member are duplicates.
	WholeRecord bool
	Columns     []Column
	Shape       *Shape
}

// Column is a column of a table. Source says where its value comes from: a member of the record, or member.member;
// ^member of the parent record; $parameter of the call; # for the position in the array; * for everything without a
// column.
type Column struct {
	Name, Type, Source string
	Key                bool
}

// Properties of tables that are not in tables.csv.
var (
	bareElements = map[string]string{"school_class_educators": "educatorBid", "school_class_students": "studentBid"}
	knownMembers = map[string][]string{
		"student_details":      {"personalNeedsProfile", "englishLearner", "individualizedPrograms"},
		"test_results":         {"accommodations"},
		"school_class_details": {"educators", "students"},
	}
	wholeRecords = map[string]bool{"student_school_classes": true, "educator_school_classes": true}
)

// Tables returns the tables of tables.csv. The first table of each dataset precedes its child tables.
var Tables = sync.OnceValue(func() []Table {
	lines, err := csv.NewReader(strings.NewReader(contract.TablesCSV())).ReadAll()
	if err != nil {
		panic("tables.csv: " + err.Error())
	}
	at := map[string]int{}
	for i, heading := range lines[0] {
		at[heading] = i
	}
	var list []Table
	for _, line := range lines[1:] {
		name := line[at["table"]]
		if len(list) == 0 || list[len(list)-1].Name != name {
			list = append(list, Table{
				Name: name, Dataset: line[at["dataset"]], Each: line[at["each"]],
				Bare: bareElements[name], Known: knownMembers[name], WholeRecord: wholeRecords[name],
			})
		}
		t := &list[len(list)-1]
		t.Columns = append(t.Columns, Column{
			Name: line[at["column"]], Type: line[at["type"]], Source: line[at["source"]], Key: line[at["key"]] == "key",
		})
	}
	return list
})

// recordsPerClass is the maximum number of records that a student or educator has for one class.
const recordsPerClass = 2

// Position returns the position that determines the made-up values and oddities of the record at i. Records that are
// equal in every member share a position.
func (t *Table) Position(i int) int {
	if t.WholeRecord {
		return i - i%recordsPerClass
	}
	return i
}

// ColumnOf returns the name of the column with the given source.
func (t *Table) ColumnOf(source string) string {
	return t.Columns[slices.IndexFunc(t.Columns, func(col Column) bool { return col.Source == source })].Name
}

// KeySource returns the source that identifies the records of one list, or "" if there is none.
func (t *Table) KeySource() string {
	at := slices.IndexFunc(t.Columns, func(col Column) bool { return col.Key && col.Source[0] != '$' })
	if at < 0 {
		return ""
	}
	return t.Columns[at].Source
}

// Shape lists the known members of an object. All other members are unknown.
type Shape struct {
	Columns  []Column          // source is the name of the member
	Nests    map[string]*Shape // objects whose members are columns of the same row
	Children map[string]*Shape // arrays whose elements are rows of another table
	Known    []string          // documented members without a column

	once    sync.Once
	missing unsentMembers
}

// unsentMembers are the declared members of an object that the world does not send.
type unsentMembers struct {
	columns         []Column
	nests, children []string
}

// newShape returns the shape of a table's records or elements.
func newShape(t *Table) *Shape {
	s := &Shape{Nests: map[string]*Shape{}, Children: map[string]*Shape{}, Known: t.Known}
	for _, col := range t.Columns {
		name, rest, nested := strings.Cut(col.Source, ".")
		switch {
		case nested:
			if s.Nests[name] == nil {
				s.Nests[name] = &Shape{}
			}
			col.Source = rest
			s.Nests[name].Columns = append(s.Nests[name].Columns, col)
		case !strings.ContainsAny(name[:1], "$^#*"):
			s.Columns = append(s.Columns, col)
		}
	}
	return s
}

// Takes reports whether the member with this name has a column.
func (s *Shape) Takes(name string) bool {
	return slices.ContainsFunc(s.Columns, func(col Column) bool { return col.Source == name })
}

// unsent returns the declared members that the world does not send. It determines them from the first object of this
// shape that it gets, which must still have its absent members.
func (s *Shape) unsent(members []Member) *unsentMembers {
	s.once.Do(func() {
		sent := func(name string) bool {
			return slices.ContainsFunc(members, func(m Member) bool { return m.Name == name })
		}
		for _, col := range s.Columns {
			if !sent(col.Source) {
				s.missing.columns = append(s.missing.columns, col)
			}
		}
		s.missing.nests = slices.DeleteFunc(slices.Sorted(maps.Keys(s.Nests)), sent)
		s.missing.children = slices.DeleteFunc(slices.Sorted(maps.Keys(s.Children)), sent)
	})
	return &s.missing
}

// nest and child return the shape of an object's member, or nil.
func (s *Shape) nest(name string) *Shape {
	if s == nil {
		return nil
	}
	return s.Nests[name]
}

func (s *Shape) child(name string) *Shape {
	if s == nil {
		return nil
	}
	return s.Children[name]
}

// Find returns the value of the last member of this name, because the last of duplicate members counts. It returns nil
// if there is no such member.
func Find(members []Member, name string) *Value {
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].Name == name && members[i].Kind != Absent {
			return &members[i].Value
		}
	}
	return nil
}
