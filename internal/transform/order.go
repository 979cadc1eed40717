package transform

import (
	"cmp"
	"encoding/binary"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// Finish sorts what the pages held and drops duplicates. The chain takes no
// more pages until its Reset.
func (c *Chain) Finish() Result {
	result := Result{Records: int64(c.count)}
	for _, t := range c.tables {
		result.Tables = append(result.Tables, t.close())
		t.order = slices.Grow(t.order[:0], t.n)
	}
	c.sortRecords()
	records := c.tables[0]
	complete := c.completeParams()
	for i := 0; i < len(c.sorted); {
		end := i + 1
		for end < len(c.sorted) && c.sorted[end].prefix == c.sorted[i].prefix &&
			c.compareKeys(c.sorted[end].row, c.sorted[i].row) == 0 {
			end++
		}
		kept := c.sorted[i:end]
		if complete && len(kept) > 1 && c.completeKey(kept[0].row) {
			kept = c.withoutDuplicates(kept)
			result.Duplicates += int64(end - i - len(kept))
		}
		for _, k := range kept {
			records.order = append(records.order, k.row)
		}
		for _, ct := range c.tables[1:] {
			ct.orderChildren(kept)
		}
		i = end
	}
	for i, t := range c.tables {
		result.Tables[i].Order = t.order
	}
	c.events.add(c.plan.tables[0], DuplicateRecord, "", []byte(c.plan.keySource), int(result.Duplicates))
	c.events.keep()
	result.Drift = c.events.drift()
	return result
}

// sortedRow is a record and the first bytes of its key, which tell most
// records apart.
type sortedRow struct {
	prefix uint64
	row    int32
}

// sortRecords lists the records by their keys, equal ones as received. Nulls
// come first; the parameters of the call are the same for all.
func (c *Chain) sortRecords() {
	t := c.tables[0]
	c.sorted = slices.Grow(c.sorted[:0], t.n)
	for row := range t.n {
		s := sortedRow{row: int32(row)}
		if len(c.plan.keys) > 0 {
			var first [8]byte
			copy(first[:], t.cols[c.plan.keys[0]].Text(row))
			s.prefix = binary.BigEndian.Uint64(first[:])
		}
		c.sorted = append(c.sorted, s)
	}
	slices.SortFunc(c.sorted, func(a, b sortedRow) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return cmp.Or(c.compareKeys(a.row, b.row), cmp.Compare(a.row, b.row))
	})
}

// compareKeys compares the keys of two records.
func (c *Chain) compareKeys(a, b int32) int {
	for _, k := range c.plan.keys {
		if order := compareCells(&c.tables[0].cols[k], a, b); order != 0 {
			return order
		}
	}
	return 0
}

// completeParams tells whether there is a key, and no parameter that is part of
// it is empty.
func (c *Chain) completeParams() bool {
	if !slices.ContainsFunc(c.tables[0].plan.table.Columns, func(col schemas.Column) bool { return col.Key }) {
		return false
	}
	for _, p := range c.plan.tables[0].params {
		if c.plan.tables[0].table.Columns[p.column].Key && c.params[p.name] == "" {
			return false
		}
	}
	return true
}

// completeKey tells whether no key column of a record is null or empty.
func (c *Chain) completeKey(row int32) bool {
	for _, k := range c.plan.keys {
		if len(c.tables[0].cols[k].Text(int(row))) == 0 {
			return false
		}
	}
	return true
}

// withoutDuplicates returns the records to keep of those that have one key:
// the one modified last, of several or unreadable moments the one received
// last. Where only records equal in every member are duplicates, all others
// stay.
func (c *Chain) withoutDuplicates(group []sortedRow) []sortedRow {
	if c.plan.dataset.WholeRecordDuplicates {
		return c.withoutEqualRows(group)
	}
	best := group[0]
	for _, s := range group[1:] {
		if c.plan.modified < 0 || compareCells(&c.tables[0].cols[c.plan.modified], s.row, best.row) >= 0 {
			best = s
		}
	}
	return append(group[:0], best)
}

// withoutEqualRows keeps the last of the records whose rows are equal: a row
// holds every member, in its columns or in _extra.
func (c *Chain) withoutEqualRows(group []sortedRow) []sortedRow {
	cols := c.tables[0].cols
	compare := func(a, b int32) int {
		for i := range cols {
			if order := compareCells(&cols[i], a, b); order != 0 {
				return order
			}
		}
		return 0
	}
	slices.SortFunc(group, func(a, b sortedRow) int {
		return cmp.Or(compare(a.row, b.row), cmp.Compare(b.row, a.row))
	})
	group = slices.CompactFunc(group, func(a, b sortedRow) bool { return compare(a.row, b.row) == 0 })
	slices.SortFunc(group, func(a, b sortedRow) int { return cmp.Compare(a.row, b.row) })
	return group
}

func compareCells(v *rows.Vector, a, b int32) int { return rows.Compare(v, int(a), v, int(b)) }

// orderChildren adds the rows of records that follow each other and have one
// key. Of one record they are in order; several, whose key is not complete,
// mix by position, because a file is sorted by the key columns alone.
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
