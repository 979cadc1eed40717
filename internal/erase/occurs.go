package erase

import (
	"maps"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// Occurs says where listed bids or numbers occur, in the form that rows hold. A list made from a wrong column, such as
// last names, occurs only in other columns than those for ids of students.
type Occurs struct {
	// IDs are those in columns for ids of students, or in _extra.
	IDs Set
	// Others has the other columns in which each occurs, as table.column.
	Others map[string]Set
}

// NewOccurs returns an empty Occurs.
func NewOccurs() Occurs { return Occurs{IDs: make(Set), Others: make(map[string]Set)} }

// Add adds what was found elsewhere.
func (o Occurs) Add(other Occurs) {
	maps.Copy(o.IDs, other.IDs)
	for text, columns := range other.Others {
		for column := range columns {
			Put(o.Others, text, column)
		}
	}
}

// OnlyElsewhere returns the listed bids or numbers that occur, but only in columns that do not hold ids of students, and
// these columns.
func (s *Students) OnlyElsewhere(o Occurs) (listed, columns []string) {
	named := make(Set)
	for _, text := range s.listed {
		forms := s.Written(text)
		if slices.ContainsFunc(forms, func(form string) bool { return o.IDs[form] }) {
			continue
		}
		found := false
		for _, form := range forms {
			maps.Copy(named, o.Others[form])
			found = found || len(o.Others[form]) > 0
		}
		if found {
			listed = append(listed, text)
		}
	}
	return listed, named.Sorted()
}

// holdsIDs reports whether a column may hold a listed bid or number: a column for ids of students, or _extra. A list of
// bids may also have the number of a student without a bid.
func (s *Students) holdsIDs(column string) bool {
	return column == extraColumn || slices.Contains(numberColumns(), column) ||
		!s.ByNumber && slices.Contains(schemas.StudentColumns(), column)
}

// Locate notes in m.Occurs where row i has listed bids or numbers.
func (m *Match) Locate(batch *rows.Batch, i int) {
	if m.Students == nil {
		return
	}
	for c := range batch.Cols {
		m.inText(&batch.Cols[c], i, func(text []byte) {
			switch column := batch.Table.Columns[c].Name; {
			case !m.Students.asked[string(text)]:
			case m.Students.holdsIDs(column):
				m.Occurs.IDs.add(text)
			default:
				Put(m.Occurs.Others, string(text), m.table+"."+column)
			}
		})
	}
}

// Carriers adds the students with a bid in row i who have a number by which rows are found, by number.
func (m *Match) Carriers(batch *rows.Batch, i int, to map[string]Set) {
	for _, c := range m.numberAt {
		number := &batch.Cols[c]
		if number.Null(i) {
			continue
		}
		if _, known := m.Students.numbers[string(number.Text(i))]; !known {
			continue
		}
		for _, b := range m.studentAt {
			if bid := &batch.Cols[b]; !bid.Null(i) {
				Put(to, string(number.Text(i)), string(bid.Text(i)))
			}
		}
	}
}
