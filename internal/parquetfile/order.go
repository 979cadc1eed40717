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
	last  *rows.Batch // the keys of the last row of the previous page
	row   int64       // rows checked so far
}

func (o *order) reset(table *schemas.Table) {
	if o.table != table {
		o.table, o.keys, o.last = table, table.KeyColumns(), rows.New(table)
	}
	o.row = 0
}

// remember keeps the keys of the page's last row for the next page.
func (o *order) remember(page *rows.Batch) {
	for _, k := range o.keys {
		o.last.Cols[k].Truncate(0)
		o.last.Cols[k].AppendRow(&page.Cols[k], page.N-1)
	}
}

// check compares every row of the page, starting with row from, with the previous row. It returns an error if the rows
// are not sorted.
func (o *order) check(page *rows.Batch, from int) error {
	for r := from; r < page.N; r++ {
		if !o.isSorted(page, r) {
			return fmt.Errorf("append rows to table %s: row %d sorts before the row that precedes it",
				o.table.Name, o.row)
		}
		o.row++
	}
	return nil
}

func (o *order) isSorted(page *rows.Batch, r int) bool {
	if o.row == 0 {
		return true
	}
	before, b := page, r-1
	if r == 0 {
		before, b = o.last, 0
	}
	for _, k := range o.keys {
		v := &page.Cols[k]
		if r > 0 && v.Coded && v.Code[r-1] == v.Code[r] && (v.Required || v.Present[r-1] == v.Present[r]) {
			continue // most rows have the same school as the previous row, and many the same record
		}
		if c := rows.Compare(&before.Cols[k], b, &page.Cols[k], r); c != 0 {
			return c < 0
		}
	}
	return true
}
