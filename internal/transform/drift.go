package transform

import (
	"cmp"
	"slices"
)

// The kinds of drift.
const (
	// UnknownField is a member that is neither a column nor documented.
	UnknownField = "unknown_field"
	// TypeMismatch is a value that does not fit its column, an array element
	// that is not an object, a child member that is not an array, an invalid
	// byte of UTF-8, or a lone surrogate escape in _extra.
	TypeMismatch = "type_mismatch"
	// DuplicateRecord is a record that another one of the same key replaced.
	DuplicateRecord = "duplicate_record"
	// DuplicateMember is a member that a later one of the same name replaced.
	DuplicateMember = "duplicate_member"
)

// Drift is something about the service's answers that the declarations do not
// expect, and how often it was met.
type Drift struct {
	Table string
	// Field is the source of a column as tables.csv has it, the JSON path of
	// any other member, whose name is unnamed unless it looks like a name in
	// code, or valueName for an element that is not an object.
	Field string
	Kind  string
	Count int64
}

// valueName is the name, in _extra, of an array element that is not an object.
const valueName = "_value"

// maxFields is how many fields of one table a chain names in drift: those met
// first. Drift of any others is counted under unnamed.
const maxFields = 1000

// field is a field with drift.
type field struct {
	table  *tablePlan
	name   string
	named  bool    // not unnamed
	facts  [4]fact // one for each kind, in the order in which they were met
	events int     // of the chain's use, including the page being read
}

// fact is a kind of drift and how often it was met.
type fact struct {
	kind  string
	count int64
}

// event is drift of a field, met n times in a row.
type event struct {
	field, n int
	kind     string
}

// events counts drift. What is met while a page is read waits in pending, so
// that a page or a record can be taken back.
type events struct {
	pending []event
	marked  int // how many of pending were there at the last mark
	fields  []field
	numbers map[string]int // of fields, by table and name
	named   []int          // by table: how many fields the use has named
	key     []byte
}

func (e *events) reset() {
	e.pending, e.marked = e.pending[:0], 0
	clear(e.named)
	if len(e.fields) > maxFields {
		e.fields, e.numbers = nil, nil
	}
	for i := range e.fields {
		f := &e.fields[i]
		f.facts, f.events = [4]fact{}, 0
	}
}

func (e *events) bytes() int {
	return 32*cap(e.pending) + 250*cap(e.fields)
}

// add records that drift of a table's field, which is a path and a name, was
// met n times.
func (e *events) add(table *tablePlan, kind, path string, name []byte, n int) {
	if n == 0 {
		return
	}
	if kind != DuplicateRecord { // whose field is a declared source, or none
		name = drifted(name)
	}
	number := e.field(table, path, name)
	if last := len(e.pending) - 1; last >= e.marked && e.pending[last].field == number && e.pending[last].kind == kind {
		e.pending[last].n += n
		return
	}
	e.pending = append(e.pending, event{field: number, n: n, kind: kind})
	e.fields[number].events++
}

// field returns the number of the field under which drift of a name is counted.
func (e *events) field(table *tablePlan, path string, name []byte) int {
	for len(e.named) <= table.index {
		e.named = append(e.named, 0)
	}
	e.key = append(append(append(e.key[:0], byte(table.index)), path...), name...)
	number, known := e.numbers[string(e.key)]
	named := string(name) != unnamed
	if named && (!known || e.fields[number].events == 0) {
		if e.named[table.index] == maxFields {
			return e.field(table, "", []byte(unnamed))
		}
		e.named[table.index]++
	}
	if !known {
		number = len(e.fields)
		if e.numbers == nil {
			e.numbers = make(map[string]int)
		}
		e.numbers[string(e.key)] = number
		e.fields = append(e.fields, field{table: table, name: path + string(name), named: named})
	}
	return number
}

// mark returns what rewind needs to forget the drift met from now on.
func (e *events) mark() int {
	e.marked = len(e.pending)
	return e.marked
}

// rewind forgets what was met since there were n pending events.
func (e *events) rewind(n int) {
	for _, ev := range e.pending[n:] {
		f := &e.fields[ev.field]
		f.events--
		if f.events == 0 && f.named {
			e.named[f.table.index]--
		}
	}
	e.pending, e.marked = e.pending[:n], n
}

// keep counts what is pending.
func (e *events) keep() {
	for _, ev := range e.pending {
		facts := &e.fields[ev.field].facts
		i := slices.IndexFunc(facts[:], func(f fact) bool { return f.kind == ev.kind || f.count == 0 })
		facts[i].kind = ev.kind
		facts[i].count += int64(ev.n)
	}
	e.pending, e.marked = e.pending[:0], 0
}

// drift returns what was counted, sorted.
func (e *events) drift() []Drift {
	var all []Drift
	for i := range e.fields {
		f := &e.fields[i]
		for _, met := range f.facts {
			if met.count > 0 {
				all = append(all, Drift{Table: f.table.table.Name, Field: f.name, Kind: met.kind, Count: met.count})
			}
		}
	}
	slices.SortFunc(all, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
