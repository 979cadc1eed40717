package simulator

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// shape is what the contract knows of an object's members. All others are unknown.
type shape struct {
	columns  []column          // source is the name of the member
	nests    map[string]*shape // objects whose members are columns of the same row
	children map[string]*shape // arrays whose elements are rows of another table
	known    []string          // documented members without a column

	once    sync.Once
	missing unsentMembers
}

// unsentMembers are the declared members of an object that the world does not send.
type unsentMembers struct {
	columns         []column
	nests, children []string
}

// newShape returns the shape of a table's records or elements.
func newShape(t *table) *shape {
	s := &shape{nests: map[string]*shape{}, children: map[string]*shape{}, known: t.known}
	for _, col := range t.columns {
		name, rest, nested := strings.Cut(col.source, ".")
		switch {
		case nested:
			if s.nests[name] == nil {
				s.nests[name] = &shape{}
			}
			col.source = rest
			s.nests[name].columns = append(s.nests[name].columns, col)
		case !strings.ContainsAny(name[:1], "$^#*"):
			s.columns = append(s.columns, col)
		}
	}
	return s
}

// takes reports whether a column takes the member of that name.
func (s *shape) takes(name string) bool {
	return slices.ContainsFunc(s.columns, func(col column) bool { return col.source == name })
}

// unsent compares the contract with the first object of this shape that the world made, in which absent members still have their
// place.
func (s *shape) unsent(members []member) *unsentMembers {
	s.once.Do(func() {
		sent := func(name string) bool {
			return slices.ContainsFunc(members, func(m member) bool { return m.name == name })
		}
		for _, col := range s.columns {
			if !sent(col.source) {
				s.missing.columns = append(s.missing.columns, col)
			}
		}
		s.missing.nests = slices.DeleteFunc(slices.Sorted(maps.Keys(s.nests)), sent)
		s.missing.children = slices.DeleteFunc(slices.Sorted(maps.Keys(s.children)), sent)
	})
	return &s.missing
}

// nest and child return the shape of an object's member, nil if it has none.
func (s *shape) nest(name string) *shape {
	if s == nil {
		return nil
	}
	return s.nests[name]
}

func (s *shape) child(name string) *shape {
	if s == nil {
		return nil
	}
	return s.children[name]
}
