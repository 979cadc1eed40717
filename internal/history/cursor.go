package history

import (
	"bytes"
	"errors"
	"io"
	"sort"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// source returns the rows of a table in sort order, in batches, and io.EOF after the last one. It appends the rows to a
// batch whose Order is not set, and returns that batch. If the given batch is empty, source may instead return a batch
// of its own, which stays valid until the next call.
type source func(to *rows.Batch) (*rows.Batch, error)

// cursor reads rows unit by unit. A unit is a school, a district in district_schools, or a whole lookup table.
type cursor struct {
	next  source
	unit  int // the column that identifies the unit; -1 if the table is one unit
	batch *rows.Batch
	at    int // the first unread row, in the batch's order
	ended bool
	loads int   // how many times the batch was replaced
	found found // the last result of end
	// own is the batch that rows are read into. unread keeps unread rows while own is being refilled.
	own, unread *rows.Batch
}

// found records where the rows of a unit end in the loaded batch.
type found struct {
	unit     []byte
	loads    int
	end      int
	complete bool
}

func newCursor(table *schemas.Table, next source) *cursor {
	c := &cursor{unit: unitColumn(table), own: rows.New(table), unread: rows.New(table)}
	c.restart(next)
	return c
}

// restart makes the cursor read from another source. It reuses the cursor's memory.
func (c *cursor) restart(next source) {
	c.next, c.at, c.ended, c.batch = next, 0, false, c.own
	c.batch.Reset()
	c.loads++
}

// unitColumn returns the position of the column that identifies a row's unit, or -1 if the table is one unit.
func unitColumn(table *schemas.Table) int {
	if at := table.Column("requested_school_bid"); at >= 0 {
		return at
	}
	return table.Column("requested_district_bid")
}

// more reads more rows and places them after the unread ones. If the source has ended, it sets ended.
func (c *cursor) more() error {
	c.unread.Reset()
	if c.at < c.batch.Len() {
		c.unread.AppendRows(c.batch, c.at, c.batch.Len())
	}
	joined, unread := c.own, c.unread.N
	joined.Reset()
	if unread > 0 {
		joined.AppendRows(c.unread, 0, unread)
	}
	c.batch, c.at = joined, 0
	c.loads++
	batch, err := c.next(joined)
	switch {
	case errors.Is(err, io.EOF):
		c.ended = true
	case err != nil:
		return err
	case unread > 0 && batch != joined:
		return errors.New("the source lost unread rows")
	default:
		c.batch = batch
	}
	return nil
}

// seek skips the rows of all units before the given one.
func (c *cursor) seek(unit []byte) error {
	for c.unit >= 0 {
		c.at += sort.Search(c.batch.Len()-c.at, func(i int) bool { return bytes.Compare(c.unitOf(c.at+i), unit) >= 0 })
		if c.at < c.batch.Len() || c.ended {
			return nil
		}
		if err := c.more(); err != nil {
			return err
		}
	}
	return nil
}

// end returns where the available rows of the unit end, and whether these are all its remaining rows.
func (c *cursor) end(unit []byte) (end int, complete bool) {
	if c.found.loads != c.loads || !bytes.Equal(c.found.unit, unit) {
		c.found.unit, c.found.loads = append(c.found.unit[:0], unit...), c.loads
		c.found.end, c.found.complete = c.findEnd(unit)
	}
	return c.found.end, c.found.complete
}

func (c *cursor) findEnd(unit []byte) (end int, complete bool) {
	n := c.batch.Len()
	if c.unit < 0 || c.at == n || bytes.Equal(c.unitOf(n-1), unit) {
		return n, c.ended
	}
	return c.at + sort.Search(n-c.at, func(i int) bool { return bytes.Compare(c.unitOf(c.at+i), unit) > 0 }), true
}

// unitOf returns the unit of the i-th row.
func (c *cursor) unitOf(i int) []byte { return c.batch.Cols[c.unit].Text(c.batch.Row(i)) }

// group returns the end of the unit's next group of rows, or c.at if the unit has no rows left. The rows of a group are
// equal in the given columns.
func (c *cursor) group(unit []byte, columns []int) (int, error) {
	for {
		end, complete := c.end(unit)
		g := c.at
		for g < end && (g == c.at || sameGroup(c.batch, g-1, columns)) {
			g++
		}
		if g < end || complete {
			return g, nil
		}
		if err := c.more(); err != nil {
			return 0, err
		}
	}
}

// sameGroup reports whether row i and the next row are equal in the given columns.
func sameGroup(b *rows.Batch, i int, columns []int) bool {
	row, next := b.Row(i), b.Row(i+1)
	for _, column := range columns {
		v := &b.Cols[column]
		if !rows.Equal(v, row, v, next) {
			return false
		}
	}
	return true
}
