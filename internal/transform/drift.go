package transform

import (
	"cmp"
	"slices"
)

// The kinds of drift.
const (
	// UnknownField is a member that is neither a column nor documented.
	UnknownField = "unknown_field"
	// TypeMismatch is a value that does not fit its column, an array element that is not an object, a member whose
	// value should be an array or an object but is not, an invalid byte of UTF-8, or a lone surrogate escape in _extra.
	TypeMismatch = "type_mismatch"
	// DuplicateRecord is a record that was replaced by another one with the same key.
	DuplicateRecord = "duplicate_record"
	// DuplicateMember is a member that was replaced by a later one with the same name.
	DuplicateMember = "duplicate_member"
)

// Drift counts one deviation of the service's answers from the declarations.
type Drift struct {
	Table string
	// Field is the source of a column as in tables.csv, the JSON path of any other member, or valueName for an element
	// that is not an object. The name of an undeclared member is masked unless it looks like a name in code, and always
	// under a profile that needs a key.
	Field string
	Kind  string
	Count int64
}

// valueName is the name, in _extra, of an array element that is not an object.
const valueName = "_value"

// maxFields is the maximum number of fields of one table whose names drift reports. These are the first ones seen;
// drift of further fields is counted under maskedName.
const maxFields = 1000

// driftCounter counts drift. The drift of the current page is kept in pending, so that a page or a record can be
// undone.
type driftCounter struct {
	pending []driftEvent
	marked  int // length of pending at the last mark
	fields  []field
	numbers map[string]int // the numbers of fields, by table and name
	named   []int          // by table, the number of fields reported by name since the last reset
	key     []byte
}

// field is a field with drift.
type field struct {
	table  *tablePlan
	name   string
	named  bool         // not masked
	counts [4]kindCount // one for each kind, in the order in which they were first seen
	events int          // since the last reset, including the current page
}

type kindCount struct {
	kind  string
	count int64
}

// driftEvent is drift of a field, seen n times in a row.
type driftEvent struct {
	field, n int
	kind     string
}

func (c *driftCounter) reset() {
	c.pending, c.marked = c.pending[:0], 0
	clear(c.named)
	if len(c.fields) > maxFields {
		c.fields, c.numbers = nil, nil
	}
	for i := range c.fields {
		f := &c.fields[i]
		f.counts, f.events = [4]kindCount{}, 0
	}
}

func (c *driftCounter) bytes() int {
	return 32*cap(c.pending) + 250*cap(c.fields)
}

// add counts n deviations in the field of a table that has this path and name.
func (c *driftCounter) add(table *tablePlan, kind, path string, name []byte, n int) {
	if n == 0 {
		return
	}
	if kind != DuplicateRecord { // its field is a declared source or empty
		name = reportableName(name)
	}
	number := c.field(table, path, name)
	if last := len(c.pending) - 1; last >= c.marked && c.pending[last].field == number && c.pending[last].kind == kind {
		c.pending[last].n += n
		return
	}
	c.pending = append(c.pending, driftEvent{field: number, n: n, kind: kind})
	c.fields[number].events++
}

// field returns the number of the field under which drift of a name is counted.
func (c *driftCounter) field(table *tablePlan, path string, name []byte) int {
	for len(c.named) <= table.index {
		c.named = append(c.named, 0)
	}
	c.key = append(append(append(c.key[:0], byte(table.index)), path...), name...)
	number, exists := c.numbers[string(c.key)]
	named := string(name) != maskedName
	if named && (!exists || c.fields[number].events == 0) {
		if c.named[table.index] == maxFields {
			return c.field(table, "", []byte(maskedName))
		}
		c.named[table.index]++
	}
	if !exists {
		number = len(c.fields)
		if c.numbers == nil {
			c.numbers = make(map[string]int)
		}
		c.numbers[string(c.key)] = number
		c.fields = append(c.fields, field{table: table, name: path + string(name), named: named})
	}
	return number
}

// mark returns a position for rewind. Later events are not merged into earlier ones.
func (c *driftCounter) mark() int {
	c.marked = len(c.pending)
	return c.marked
}

// rewind drops all pending events except the first n.
func (c *driftCounter) rewind(n int) {
	for _, e := range c.pending[n:] {
		f := &c.fields[e.field]
		f.events--
		if f.events == 0 && f.named {
			c.named[f.table.index]--
		}
	}
	c.pending, c.marked = c.pending[:n], n
}

// commit adds the pending events to the counts.
func (c *driftCounter) commit() {
	for _, e := range c.pending {
		counts := &c.fields[e.field].counts
		i := slices.IndexFunc(counts[:], func(k kindCount) bool { return k.kind == e.kind || k.count == 0 })
		counts[i].kind = e.kind
		counts[i].count += int64(e.n)
	}
	c.pending, c.marked = c.pending[:0], 0
}

// sorted returns the drift counted so far, sorted by table, field and kind.
func (c *driftCounter) sorted() []Drift {
	var all []Drift
	for i := range c.fields {
		f := &c.fields[i]
		for _, k := range f.counts {
			if k.count > 0 {
				all = append(all, Drift{Table: f.table.table.Name, Field: f.name, Kind: k.kind, Count: k.count})
			}
		}
	}
	slices.SortFunc(all, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

const (
	maxNameLength = 40
	maxNameDigits = 4
	// maskedName replaces member names that are not reported.
	maskedName = "#"
)

// reportableName returns the name under which drift reports a member. A service may use data, such as student ids, as
// member names, so only names that look like identifiers in code are reported.
func reportableName(name []byte) []byte {
	digits := 0
	for i, b := range name {
		switch {
		case 'a' <= b|0x20 && b|0x20 <= 'z', b == '_':
		case '0' <= b && b <= '9' && i > 0:
			digits++
		default:
			return []byte(maskedName)
		}
	}
	if len(name) == 0 || len(name) > maxNameLength || digits > maxNameDigits {
		return []byte(maskedName)
	}
	return name
}
