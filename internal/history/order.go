package history

import (
	"cmp"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// item is a row: a version, or a row of the snapshot that begins a new version.
type item struct {
	batch *rows.Batch
	row   int
}

// fileOrder is the order of a table's versions in a file: by key and valid_from, and then by all values, so that the
// order never depends on how the file was made.
type fileOrder struct {
	keys    []int
	columns int // the number of the table's columns, which valid_from follows
	day     int32
}

// newFileOrder returns the order of a table's versions. Rows of the snapshot begin a version on day.
func newFileOrder(table *schemas.Table, day int32) fileOrder {
	return fileOrder{keys: table.KeyColumns(), columns: len(table.Columns), day: day}
}

func (o fileOrder) sort(items []item) {
	if len(items) > 1 {
		slices.SortStableFunc(items, o.compare)
	}
}

func (o fileOrder) compare(a, b item) int {
	column := func(c int) int {
		return rows.Compare(&a.batch.Cols[c], a.batch.Row(a.row), &b.batch.Cols[c], b.batch.Row(b.row))
	}
	for _, c := range o.keys {
		if order := column(c); order != 0 {
			return order
		}
	}
	if order := cmp.Compare(o.began(a), o.began(b)); order != 0 {
		return order
	}
	for c := range o.columns {
		if order := column(c); order != 0 {
			return order
		}
	}
	return 0
}

// began returns the day on which the version of an item begins.
func (o fileOrder) began(it item) int32 {
	if o.columns < len(it.batch.Cols) {
		return it.batch.Cols[o.columns].I32[it.batch.Row(it.row)]
	}
	return o.day
}
