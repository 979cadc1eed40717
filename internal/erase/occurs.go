package erase

import (
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// Occurs records where listed bids or numbers occur, in the form that rows hold. If a list was made from the wrong
// column, such as last names, its entries occur only in columns that are not for ids of students.
type Occurs struct {
	// IDs are the listed bids or numbers that occur in columns for ids of students, or in _extra, except in members
	// that are not for ids of students, such as lastName.
	IDs Set
	// Others maps each listed bid or number to the other columns in which it occurs, as table.column.
	Others map[string]Set
}

// NewOccurs returns an empty Occurs.
func NewOccurs() Occurs { return Occurs{IDs: make(Set), Others: make(map[string]Set)} }

// Add adds the contents of another Occurs.
func (o Occurs) Add(other Occurs) {
	maps.Copy(o.IDs, other.IDs)
	for text, columns := range other.Others {
		for column := range columns {
			Put(o.Others, text, column)
		}
	}
}

// OnlyElsewhere returns the listed bids or numbers that occur, but only in columns that do not hold ids of students. It
// also returns these columns.
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

// holdsIDs reports whether a column is for listed bids or numbers. A list of bids may also contain the number of a
// student without a bid.
func (s *Students) holdsIDs(column string) bool {
	return slices.Contains(numberColumns(), column) || !s.ByNumber && slices.Contains(schemas.StudentColumns(), column)
}

// otherMembers returns the names of the members whose columns are not for ids of students.
func otherMembers() Set {
	ids := slices.Concat(schemas.StudentColumns(), numberColumns())
	members, named := make(Set), make(Set)
	for _, table := range schemas.Tables() {
		for i := range table.Columns {
			c := &table.Columns[i]
			member := strings.TrimLeft(c.Source, string(schemas.SourceParam)+string(schemas.SourceParent))
			if slices.Contains(ids, c.Name) {
				named[member] = true
			} else {
				members[member] = true
			}
		}
	}
	for member := range named {
		delete(members, member)
	}
	return members
}

// locateExtra records the listed bids and numbers in _extra. privacy.EachValue passes the name of a member directly
// before its value.
func (m *Match) locateExtra(text []byte) {
	if m.Students.asked[string(text)] {
		m.Occurs.IDs.add(text)
	}
	var before []byte
	privacy.EachValue(text, func(value []byte) bool {
		if m.Students.asked[string(value)] && !m.Students.others[string(before)] {
			m.Occurs.IDs.add(value)
		}
		before = value
		return false
	})
}

// Locate records in m.Occurs where row i has listed bids or numbers.
func (m *Match) Locate(batch *rows.Batch, i int) {
	if m.Students == nil {
		return
	}
	for c := range batch.Cols {
		if v := &batch.Cols[c]; c == m.extraAt {
			if !v.Null(i) {
				m.locateExtra(v.Text(i))
			}
			continue
		}
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

// Carriers records who has the numbers by which rows are found: for each such number in row i, it adds the bid of the
// row, if there is one, to the number's set in to.
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
