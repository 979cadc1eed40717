package history

import (
	"bytes"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// guardTally is a tally that also counts what the limits on changes need.
type guardTally struct {
	tally

	district *districtCounts
}

// districtCounts are the counts of a table in a district while they are added up.
type districtCounts struct {
	snapshot.DistrictComparison

	table *schemas.Table
	// watched are the columns of an identified row that can lose their values; values and emptied count them by column.
	watched         []int
	values, emptied []int64
	modified        int // the column modified_date_time, or -1
}

func newDistrictCounts(table *schemas.Table) *districtCounts {
	d := &districtCounts{
		DistrictComparison: snapshot.DistrictComparison{TableComparison: *snapshot.NewTableComparison()},
		table:              table, modified: table.Column("modified_date_time"),
		values: make([]int64, len(table.Columns)), emptied: make([]int64, len(table.Columns)),
	}
	if ordinalColumn(table) >= 0 {
		return d // its rows have no identity
	}
	for i := range table.Columns {
		if column := &table.Columns[i]; !column.Key && !column.Required {
			d.watched = append(d.watched, i)
		}
	}
	return d
}

func (t *guardTally) same(from *rows.Batch, i int, to *rows.Batch, j, n int) error {
	for _, column := range t.district.watched {
		t.district.values[column] += countValues(from, column, i, n)
	}
	return t.tally.same(from, i, to, j, n)
}

func (t *guardTally) changed(from *rows.Batch, i int, to *rows.Batch, j int) error {
	d := t.district
	row, now := from.Row(i), to.Row(j)
	altered := false
	for column := range from.Cols {
		v, w := &from.Cols[column], &to.Cols[column]
		altered = altered || column != d.modified && rows.Compare(v, row, w, now) != 0
	}
	if altered {
		d.Altered++
	}
	for _, column := range d.watched {
		if hasValue(&from.Cols[column], row) {
			d.values[column]++
			if !hasValue(&to.Cols[column], now) {
				d.emptied[column]++
			}
		}
	}
	return t.tally.changed(from, i, to, j)
}

// hasValue reports whether a row has a value that is neither null nor an empty text.
func hasValue(v *rows.Vector, row int) bool {
	return !v.Null(row) && (!v.IsText() || len(v.Text(row)) > 0)
}

// countValues counts the values of a column in n rows from the i-th on.
func countValues(b *rows.Batch, column, i, n int) int64 {
	v := &b.Cols[column]
	if b.Order == nil && !v.IsText() {
		return int64(bytes.Count(v.Present[i:i+n], []byte{1}))
	}
	var count int64
	if b.Order == nil && v.Coded {
		for k, code := range v.Code[i : i+n] {
			if v.Present[i+k] != 0 && len(v.Entry(int(code))) > 0 {
				count++
			}
		}
		return count
	}
	for k := i; k < i+n; k++ {
		if hasValue(v, b.Row(k)) {
			count++
		}
	}
	return count
}

// finish returns the counts as a checkpoint holds them.
func (d *districtCounts) finish() snapshot.DistrictComparison {
	counts := d.DistrictComparison
	counts.Values, counts.Emptied = make(map[string]int64), make(map[string]int64)
	for _, column := range d.watched {
		name := d.table.Columns[column].Name
		if n := d.values[column]; n > 0 {
			counts.Values[name] = n
		}
		if n := d.emptied[column]; n > 0 {
			counts.Emptied[name] = n
		}
	}
	return counts
}
