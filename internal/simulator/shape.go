package simulator

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Shape is what the contract knows about an object's members. All others are unknown.
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

// Takes reports whether a column takes the member of that name.
func (s *Shape) Takes(name string) bool {
	return slices.ContainsFunc(s.Columns, func(col Column) bool { return col.Source == name })
}

// unsent compares the contract with the first object of this shape that the world made, which still has its absent
// members.
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

// Find returns the last member of that name: of doubled members the last one counts.
func Find(members []Member, name string) *Value {
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].Name == name && members[i].Kind != Absent {
			return &members[i].Value
		}
	}
	return nil
}
