package simulator

import (
	"maps"
	"slices"
	"strings"
)

// chain is what a correct export makes of one call chain: all pages of one list, or one single read.
type chain struct {
	rows              map[string][]Row // by table, in the order received, duplicates dropped
	received, dropped int64
	drift             map[Drift]int64 // counts, by drift without count
}

// received is one record: its rows by table, in the order of the operation's tables.
type received struct {
	rows [][]Row
	key  string // equal for records that are duplicates of each other; empty for a record that is none
	kept bool
}

// chain reads a whole list. The call is that of its first page.
func (w *World) chain(c *call) *chain {
	result := &chain{rows: map[string][]Row{}, drift: map[Drift]int64{}}
	list := w.list(c)
	var records []received
	var a arena
	for i := list.next(0); i < list.count; i = list.next(i + 1) {
		a.reset()
		element := list.at(&a, i)
		records = append(records, w.receive(c, &element, result))
	}
	dropDuplicates(records, c.op.tables[0].wholeRecord)
	result.received = int64(len(records))
	for i := range records {
		if !records[i].kept {
			result.dropped++
			continue
		}
		for t, rows := range records[i].rows {
			name := c.op.tables[t].name
			result.rows[name] = append(result.rows[name], rows...)
		}
	}
	if result.dropped > 0 {
		result.drift[Drift{Table: c.op.tables[0].name, Field: c.op.tables[0].keySource(), Kind: DuplicateRecord}] = result.dropped
	}
	return result
}

// receive makes the rows of one record.
func (w *World) receive(c *call, record *value, into *chain) received {
	r := received{rows: make([][]Row, len(c.op.tables))}
	for i := range c.op.tables {
		t := &c.op.tables[i]
		if t.each == "" {
			row := w.row(c, t, nil, 0, record, into)
			r.key = t.keyOf(row)
			r.rows[i] = []Row{row}
			continue
		}
		if record.kind != object {
			continue
		}
		elements := find(record.sub, t.each)
		if elements == nil || elements.kind != array {
			continue
		}
		for ordinal := range elements.sub {
			r.rows[i] = append(r.rows[i], w.row(c, t, r.rows[0][0], ordinal, &elements.sub[ordinal].value, into))
		}
	}
	return r
}

// row makes the row of a record, or of an element of a record's array, whose own row is the parent.
func (w *World) row(c *call, t *table, parent Row, ordinal int, v *value, into *chain) Row {
	var record, extra []member
	switch {
	case v.kind == object:
		record = v.sub
		extra = t.sift(t.shape, "", record, into.drift)
	case t.bare != "" && v.isText() && v.fits():
		record = []member{{t.bare, *v}}
		t.sift(t.shape, "", record, into.drift)
	default:
		extra = []member{{"_value", *v}}
		into.drift[Drift{Table: t.name, Field: "_value", Kind: TypeMismatch}] += 1 + v.invalid()
	}
	row := Row{}
	for _, col := range t.columns {
		switch {
		case strings.HasPrefix(col.source, "$"):
			row[col.name] = w.parameter(c, col.source[1:])
		case strings.HasPrefix(col.source, "^"):
			row[col.name] = parent[c.op.tables[0].columnOf(col.source[1:])]
		case col.source == "#":
			row[col.name] = int64(ordinal)
		case col.source != "*":
			row[col.name] = plainAt(record, col.source)
		case len(extra) > 0:
			row[col.name] = string(appendCanonical(nil, &value{kind: object, sub: extra}))
		default:
			row[col.name] = nil
		}
	}
	return row
}

// dropDuplicates marks the records that are kept. Of records with equal, complete keys that is the one modified last, of several or
// unreadable moments the one received last; with wholeRecord, only records equal in every member are duplicates.
func dropDuplicates(records []received, wholeRecord bool) {
	alike := map[string][]int{} // the kept ones, by key
	for i := range records {
		r := &records[i]
		r.kept = true
		if r.key == "" {
			continue
		}
		others := alike[r.key]
		at := slices.IndexFunc(others, func(j int) bool { return !wholeRecord || maps.Equal(records[j].rows[0][0], r.rows[0][0]) })
		switch {
		case at < 0:
			alike[r.key] = append(others, i)
		case modified(r) < modified(&records[others[at]]):
			r.kept = false
		default:
			records[others[at]].kept = false
			others[at] = i
		}
	}
}

// modified is when a record was modified, before all times if that cannot be read.
func modified(r *received) int64 {
	if at, readable := r.rows[0][0]["modified_date_time"].(int64); readable {
		return at
	}
	return -1 << 63
}
