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

// fact is a drift without its count.
type fact struct{ table, field, kind string }

// event is a fact met n times in a row.
type event struct {
	fact int
	n    int
}

// events counts drift. What is met while a page is read waits in pending, so
// that a page or a record can be taken back.
type events struct {
	pending []event
	facts   []fact
	counts  []int64
	numbers map[string]int // of facts, by their key
	key     []byte
}

// maxFacts is how many facts are remembered from one use of a chain to the
// next.
const maxFacts = 1000

func (e *events) reset() {
	e.pending = e.pending[:0]
	if len(e.facts) > maxFacts {
		e.facts, e.counts, e.numbers = nil, nil, nil
	}
	clear(e.counts)
}

func (e *events) bytes() int {
	return 16*cap(e.pending) + 120*cap(e.facts)
}

// add notes that a fact about a table was met n times. The field is a path and
// a name.
func (e *events) add(table *tablePlan, kind, path string, name []byte, n int) {
	if n == 0 {
		return
	}
	if kind != DuplicateRecord { // whose field is a declared source, or none
		name = drifted(name)
	}
	e.key = append(append(append(e.key[:0], byte(table.index)), kind...), 0)
	e.key = append(append(append(e.key, path...), 0), name...)
	number, ok := e.numbers[string(e.key)]
	if !ok {
		number = len(e.facts)
		if e.numbers == nil {
			e.numbers = make(map[string]int)
		}
		e.numbers[string(e.key)] = number
		e.facts = append(e.facts, fact{table: table.table.Name, field: path + string(name), kind: kind})
		e.counts = append(e.counts, 0)
	}
	e.pending = append(e.pending, event{fact: number, n: n})
}

// rewind forgets what was met since there were n pending events.
func (e *events) rewind(n int) { e.pending = e.pending[:n] }

// keep counts what is pending.
func (e *events) keep() {
	for _, ev := range e.pending {
		e.counts[ev.fact] += int64(ev.n)
	}
	e.pending = e.pending[:0]
}

// drift returns what was counted, sorted.
func (e *events) drift() []Drift {
	sums := make(map[fact]int64)
	for i, n := range e.counts {
		if n > 0 {
			sums[e.facts[i]] += n
		}
	}
	if len(sums) == 0 {
		return nil
	}
	all := make([]Drift, 0, len(sums))
	for f, n := range sums {
		all = append(all, Drift{Table: f.table, Field: f.field, Kind: f.kind, Count: n})
	}
	slices.SortFunc(all, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
