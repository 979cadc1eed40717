package oracle

import (
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/simulator"
)

// listRows holds the expected rows of all pages of one list, or of one single read.
type listRows struct {
	rows              map[string][]Row // by table, in the order received, without duplicates
	received, dropped int64
	drift             map[Drift]int64 // counts
}

// received holds the rows of one record by table, in the order of the operation's tables.
type received struct {
	rows [][]Row
	key  string // shared by duplicates; empty if the record cannot be a duplicate
	kept bool
}

// readList returns the expected rows of a whole list. c is the call for its first page.
func readList(w *simulator.World, c *simulator.Call) *listRows {
	result := &listRows{rows: map[string][]Row{}, drift: map[Drift]int64{}}
	list := w.List(c)
	var records []received
	var a simulator.Arena
	for i := list.Next(0); i < list.Count; i = list.Next(i + 1) {
		a.Reset()
		element := list.At(&a, i)
		records = append(records, receive(w, c, &element, result))
	}
	dropDuplicates(records, c.Op.Tables[0].WholeRecord)
	result.received = int64(len(records))
	for i := range records {
		if !records[i].kept {
			result.dropped++
			continue
		}
		for t, rows := range records[i].rows {
			name := c.Op.Tables[t].Name
			result.rows[name] = append(result.rows[name], rows...)
		}
	}
	if result.dropped > 0 {
		result.drift[Drift{Table: c.Op.Tables[0].Name, Field: c.Op.Tables[0].KeySource(), Kind: DuplicateRecord}] = result.dropped
	}
	return result
}

// receive returns the rows of one record, and adds its drift to into.
func receive(w *simulator.World, c *simulator.Call, record *simulator.Value, into *listRows) received {
	r := received{rows: make([][]Row, len(c.Op.Tables))}
	for i := range c.Op.Tables {
		t := &c.Op.Tables[i]
		if t.Each == "" {
			first := row(w, c, t, nil, 0, record, into)
			r.key = keyOf(t, first)
			r.rows[i] = []Row{first}
			continue
		}
		if record.Kind != simulator.Object {
			continue
		}
		elements := simulator.Find(record.Sub, t.Each)
		if elements == nil || elements.Kind != simulator.Array {
			continue
		}
		for ordinal := range elements.Sub {
			r.rows[i] = append(r.rows[i], row(w, c, t, r.rows[0][0], ordinal, &elements.Sub[ordinal].Value, into))
		}
	}
	return r
}

// row returns the row of a record, or of an element of a record's array, and adds its drift to into. For an element,
// parent is the record's row.
func row(w *simulator.World, c *simulator.Call, t *simulator.Table, parent Row, ordinal int, v *simulator.Value, into *listRows) Row {
	var record, extra []simulator.Member
	switch {
	case v.Kind == simulator.Object:
		record = v.Sub
		extra = leftovers(t, t.Shape, "", record, into.drift)
	case t.Bare != "" && v.IsText() && v.Fits():
		record = []simulator.Member{{Name: t.Bare, Value: *v}}
		leftovers(t, t.Shape, "", record, into.drift)
	default:
		extra = []simulator.Member{{Name: "_value", Value: *v}}
		into.drift[Drift{Table: t.Name, Field: "_value", Kind: TypeMismatch}] += 1 + v.Replaced()
	}
	row := Row{}
	for _, col := range t.Columns {
		switch {
		case strings.HasPrefix(col.Source, "$"):
			row[col.Name] = w.Parameter(c, col.Source[1:])
		case strings.HasPrefix(col.Source, "^"):
			row[col.Name] = parent[c.Op.Tables[0].ColumnOf(col.Source[1:])]
		case col.Source == "#":
			row[col.Name] = int64(ordinal)
		case col.Source != "*":
			row[col.Name] = plainAt(record, col.Source)
		case len(extra) > 0:
			row[col.Name] = (&simulator.Value{Kind: simulator.Object, Sub: extra}).JSON()
		default:
			row[col.Name] = nil
		}
	}
	return row
}

// dropDuplicates marks the records that are kept. Of records with the same complete key, the one modified last is kept
// or, if the times are equal or unreadable, the one received last. If wholeRecord is true, only records that are equal
// in every member are duplicates.
func dropDuplicates(records []received, wholeRecord bool) {
	alike := map[string][]int{} // kept records by key
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

// modified returns the time at which a record was modified, or the lowest time if that time is unreadable.
func modified(r *received) int64 {
	if at, readable := r.rows[0][0]["modified_date_time"].(int64); readable {
		return at
	}
	return -1 << 63
}

// keyOf returns the key of a row within its list, or "" if the key is incomplete or the table has no key.
func keyOf(t *simulator.Table, row Row) string {
	source := t.KeySource()
	if source == "" {
		return ""
	}
	key, _ := row[t.ColumnOf(source)].(string)
	return key
}
