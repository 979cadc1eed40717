package parquetfile

import (
	"fmt"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// order checks that the rows of a file are sorted by the key columns.
type order struct {
	table *schemas.Table
	keys  []int
	// last holds the keys of the last row of the page before, if any.
	last []rows.Vector
	row  int64 // rows checked so far
}

func (o *order) reset(table *schemas.Table) {
	o.row = 0
	if o.table != table {
		o.table, o.keys = table, table.KeyColumns()
		o.last = make([]rows.Vector, len(o.keys))
		for i, k := range o.keys {
			o.last[i] = rows.Vector{Type: table.Columns[k].Type, Required: table.Columns[k].Required}
		}
	}
	o.clear()
}

func (o *order) clear() {
	for i := range o.last {
		o.last[i].Truncate(0)
	}
}

// remember keeps the keys of the page's last row for the next page.
func (o *order) remember(page *rows.Batch) {
	o.clear()
	for i, k := range o.keys {
		o.last[i].AppendRow(&page.Cols[k], page.N-1)
	}
}

// check compares every row of the page, from the row from on, with the row before it.
func (o *order) check(page *rows.Batch, from int) error {
	for r := from; r < page.N; r++ {
		if !o.sorted(page, r) {
			return fmt.Errorf("append rows to table %s: row %d sorts before the row that precedes it",
				o.table.Name, o.row)
		}
		o.row++
	}
	return nil
}

func (o *order) sorted(page *rows.Batch, r int) bool {
	if o.row == 0 {
		return true
	}
	for i, k := range o.keys {
		v, before, b := &page.Cols[k], &page.Cols[k], r-1
		if r == 0 {
			before, b = &o.last[i], 0
		}
		if c := rows.Compare(before, b, v, r); c != 0 {
			return c < 0
		}
	}
	return true
}
