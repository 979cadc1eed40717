package transform

import (
	"cmp"
	"encoding/binary"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// Finish sorts the rows of all pages and drops duplicate records. The decoder must not read more pages until Reset.
func (d *Decoder) Finish() Result {
	d.completeRows()
	tables, duplicates := d.finishRows()
	return d.result(tables, duplicates)
}

// result returns the result of Finish or MergeRuns, and counts the duplicates as drift.
func (d *Decoder) result(tables []*rows.Batch, duplicates int64) Result {
	d.drift.add(d.plan.tables[0], DuplicateRecord, "", []byte(d.plan.keySource), int(duplicates))
	d.drift.commit()
	return Result{Tables: tables, Records: int64(d.count), Duplicates: duplicates, Drift: d.drift.sorted()}
}

// completeRows must be called after all rows have been read. It applies the profile to the rows and fills the columns
// of child rows whose values come from the record.
func (d *Decoder) completeRows() {
	if d.plan.coarsensModified() {
		d.tables[0].keepModified(d.plan.modified)
	}
	for _, t := range d.tables {
		t.complete(d.tables[0], d.maker)
	}
}

// finishRows sorts the rows that the decoder holds and drops duplicate records.
func (d *Decoder) finishRows() (tables []*rows.Batch, duplicates int64) {
	d.sortRecords()
	records := d.tables[0]
	hasParams := d.hasKeyParams()
	for i := 0; i < len(d.sorted); {
		end := i + 1
		for end < len(d.sorted) && d.sorted[end].prefix == d.sorted[i].prefix &&
			d.plan.compareKeys(records.cols, d.sorted[end].row, records.cols, d.sorted[i].row) == 0 {
			end++
		}
		kept := d.sorted[i:end]
		if hasParams && len(kept) > 1 && d.hasWholeKey(kept[0].row) {
			kept = d.withoutDuplicates(kept)
			duplicates += int64(end - i - len(kept))
		}
		for _, k := range kept {
			records.order = append(records.order, k.row)
		}
		for _, ct := range d.tables[1:] {
			ct.orderChildren(kept)
		}
		i = end
	}
	for _, t := range d.tables {
		t.batch.Order = t.order
		tables = append(tables, t.batch)
	}
	return tables, duplicates
}

// sortedRow is a record with the first bytes of its key, which are enough to order most records.
type sortedRow struct {
	prefix uint64
	row    int32
}

// sortRecords sorts the records by their keys, nulls first. Records with equal keys stay in the order received. It also
// makes room for the order of the rows of all tables. Parameters of the calls are the same for all records and are not
// compared.
func (d *Decoder) sortRecords() {
	for _, t := range d.tables {
		t.order = slices.Grow(t.order[:0], t.n)
	}
	t := d.tables[0]
	d.sorted = slices.Grow(d.sorted[:0], t.n)
	for row := range t.n {
		d.sorted = append(d.sorted, sortedRow{prefix: d.plan.keyPrefix(t.cols, row), row: int32(row)})
	}
	slices.SortFunc(d.sorted, func(a, b sortedRow) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return cmp.Or(d.plan.compareKeys(t.cols, a.row, t.cols, b.row), cmp.Compare(a.row, b.row))
	})
}

// keyPrefix returns the first bytes of a record's first key column.
func (p *Plan) keyPrefix(cols []rows.Vector, row int) uint64 {
	var first [8]byte
	if len(p.keys) > 0 {
		copy(first[:], cols[p.keys[0]].Text(row))
	}
	return binary.BigEndian.Uint64(first[:])
}

// compareKeys compares the keys of two records.
func (p *Plan) compareKeys(a []rows.Vector, i int32, b []rows.Vector, j int32) int {
	for _, k := range p.keys {
		if order := rows.Compare(&a[k], int(i), &b[k], int(j)); order != 0 {
			return order
		}
	}
	return 0
}

// hasKeyParams reports whether the records have a key and all parameters in the key have values.
func (d *Decoder) hasKeyParams() bool {
	plan := d.plan.tables[0]
	for _, p := range plan.params {
		if plan.table.Columns[p.column].Key && d.params[p.name] == "" {
			return false
		}
	}
	return slices.ContainsFunc(plan.table.Columns, func(col schemas.Column) bool { return col.Key })
}

// hasWholeKey reports whether no key column of a record is null or empty.
func (d *Decoder) hasWholeKey(row int32) bool {
	for _, k := range d.plan.keys {
		if len(d.tables[0].cols[k].Text(int(row))) == 0 {
			return false
		}
	}
	return true
}

// withoutDuplicates returns those records of a group with the same key that are kept. Usually this is the record that
// was modified last. If several records were, or if their times cannot be read, it is the last of them in the order
// received. With WholeRecordDuplicates, only equal records are duplicates.
func (d *Decoder) withoutDuplicates(group []sortedRow) []sortedRow {
	if d.plan.dataset.WholeRecordDuplicates {
		return d.withoutEqualRows(group)
	}
	best := group[0]
	for _, s := range group[1:] {
		if d.plan.modified < 0 || d.compareModified(s.row, best.row) >= 0 {
			best = s
		}
	}
	return append(group[:0], best)
}

// compareModified compares modified_date_time of two records, as received.
func (d *Decoder) compareModified(a, b int32) int {
	t := d.tables[0]
	if len(t.modified) > 0 {
		return cmp.Compare(t.modified[a], t.modified[b])
	}
	return compareCells(&t.cols[d.plan.modified], a, b)
}

// withoutEqualRows keeps only the last of several records that have equal rows and had the same modified_date_time when
// they were received. A row holds every member of the record that the profile keeps, in its columns or in _extra,
// except unknown members that are null.
func (d *Decoder) withoutEqualRows(group []sortedRow) []sortedRow {
	cols := d.tables[0].cols
	compare := func(a, b int32) int {
		for i := range cols {
			if order := compareCells(&cols[i], a, b); order != 0 {
				return order
			}
		}
		if d.plan.modified < 0 {
			return 0
		}
		return d.compareModified(a, b)
	}
	slices.SortFunc(group, func(a, b sortedRow) int {
		return cmp.Or(compare(a.row, b.row), cmp.Compare(b.row, a.row))
	})
	group = slices.CompactFunc(group, func(a, b sortedRow) bool { return compare(a.row, b.row) == 0 })
	slices.SortFunc(group, func(a, b sortedRow) int { return cmp.Compare(a.row, b.row) })
	return group
}

func compareCells(v *rows.Vector, a, b int32) int { return rows.Compare(v, int(a), v, int(b)) }

// orderChildren appends to t.order the child rows of consecutive records with the same key. The rows of one record are
// already in order. If there are several records, which happens if the key is not complete, their rows are merged by
// position, because the files must be sorted by the key columns alone.
func (t *tableRows) orderChildren(records []sortedRow) {
	start := len(t.order)
	for _, s := range records {
		for row := int(t.starts[s.row]); row < t.childEnd(int(s.row)); row++ {
			t.order = append(t.order, int32(row))
		}
	}
	if len(records) > 1 {
		ordinals := t.cols[t.plan.ordinal].I32
		slices.SortFunc(t.order[start:], func(a, b int32) int {
			return cmp.Or(cmp.Compare(ordinals[a], ordinals[b]), cmp.Compare(a, b))
		})
	}
}
