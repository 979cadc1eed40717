package transform

import (
	"math"
	"math/bits"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// tableRows is a table's batch while it is filled by row number. Every column for members, and the ordinal, has room
// for capacity rows. n rows exist, and committed of them belong to complete pages. The column _extra ends with the last
// row that has a value. The other columns are empty until complete fills them. These columns and _extra release memory
// at reset, because most decoders spend most of their time waiting for an answer.
type tableRows struct {
	plan      *tablePlan
	batch     *rows.Batch
	cols      []rows.Vector // the batch's columns
	indexes   []textIndex   // by column
	capacity  int
	n         int
	committed int
	starts    []int32 // for a child table, the first row of each record
	order     []int32
	spare     []byte  // the memory of texts that pseudonyms have replaced
	modified  []int64 // modified_date_time of each record as received, if it is written differently
}

// minCapacity is the minimum number of rows to make room for.
const minCapacity = 16

func newTableRows(p *Plan, tp *tablePlan) *tableRows {
	b := rows.New(tp.table)
	t := &tableRows{plan: tp, batch: b, cols: b.Cols, indexes: make([]textIndex, len(b.Cols))}
	for column := range t.indexes {
		t.indexes[column].varied = column == tp.extra || tp.table.Columns[column].Key || tp.plain
	}
	t.reset(p, nil)
	return t
}

func (t *tableRows) bytes() int {
	n := t.batch.Bytes() + 4*cap(t.starts) + 4*cap(t.order) + cap(t.spare) + 8*cap(t.modified)
	for i := range t.indexes {
		n += 8*cap(t.indexes[i].slots) + 4*cap(t.indexes[i].next)
	}
	return n
}

// clear empties the table for AppendRows.
func (t *tableRows) clear() {
	t.batch.Reset()
	t.n, t.committed, t.starts, t.modified = 0, 0, t.starts[:0], t.modified[:0]
}

// reset empties the table for calls with these parameters.
func (t *tableRows) reset(p *Plan, params Params) {
	t.clear()
	for _, column := range t.plan.texts {
		t.indexes[column].reset(&t.cols[column])
	}
	for _, c := range t.plan.params {
		v := &t.cols[c.column]
		v.Coded, v.Code = true, nil
		v.Data = append(v.Data, p.Written(c.name, params[c.name])...)
		v.End = append(v.End, uint32(len(v.Data)))
	}
	for _, p := range t.plan.parents {
		v := &t.cols[p.column]
		v.Coded, v.Code, v.Present = true, nil, nil
	}
	extra := &t.cols[t.plan.extra]
	extra.Present, extra.End, t.order = nil, nil, nil
}

// maxExpansion bounds the bytes in one column for one byte of a page. An element that is a digit takes 12 bytes in
// _extra, and two bytes of the page with its comma.
const maxExpansion = 8

// maxRows is the maximum number of rows that a batch can order.
const maxRows = math.MaxInt32

// prepare extends the columns to their whole capacity. It returns ErrTooLarge if the rows of a page of that many bytes
// might not fit in a batch.
func (t *tableRows) prepare(pageBytes int) error {
	if t.n+pageBytes > maxRows {
		return ErrTooLarge
	}
	if t.batch.TextBytes()+maxExpansion*pageBytes > rows.MaxTextBytes {
		return ErrTooLarge
	}
	if len(t.plan.protected) > 0 && t.n+pageBytes > rows.MaxTextBytes/privacy.PseudonymLength {
		return ErrTooLarge
	}
	t.resize(t.capacity)
	return nil
}

// commit accepts the rows of a page. Coded columns with varied texts become plain.
func (t *tableRows) commit() {
	t.committed = t.n
	for _, column := range t.plan.texts {
		if x := &t.indexes[column]; x.isVaried(t.n) {
			x.setPlain(&t.cols[column], t.n)
		}
	}
}

// grow makes room for more rows.
func (t *tableRows) grow() {
	t.capacity = max(minCapacity, t.capacity+t.capacity/2)
	t.resize(t.capacity)
}

// resize gives each column that is filled row by row the given number of slots. The bytes of texts do not change.
func (t *tableRows) resize(slots int) {
	for _, column := range t.plan.slots {
		v := &t.cols[column]
		if !v.Required {
			v.Present = resized(v.Present, slots)
		}
		switch v.Type {
		case schemas.Int32, schemas.Date:
			v.I32 = resized(v.I32, slots)
		case schemas.Int64, schemas.Timestamp:
			v.I64 = resized(v.I64, slots)
		case schemas.Double:
			v.F64 = resized(v.F64, slots)
		case schemas.Boolean:
			v.Bool = resized(v.Bool, slots)
		case schemas.String, schemas.JSON:
			if v.Coded {
				v.Code = resized(v.Code, slots)
			} else {
				v.End = resized(v.End, slots)
			}
		}
	}
}

func resized[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	grown := make([]T, n)
	copy(grown, s)
	return grown
}

// complete truncates the batch's columns to its rows and fills the columns that are still empty. No rows may be added
// afterwards.
func (t *tableRows) complete(records *tableRows, maker *privacy.Maker) {
	t.resize(t.n)
	t.batch.N = t.n
	t.extendExtra()
	t.protect(maker)
	for _, p := range t.plan.params {
		t.cols[p.column].Code = make([]int32, t.n)
	}
	t.fillParents(records)
}

// extendExtra adds a null for every row of the table that has no slot in _extra yet.
func (t *tableRows) extendExtra() {
	v := &t.cols[t.plan.extra]
	missing := t.n - len(v.End)
	v.Present, v.End = append(v.Present, make([]uint8, missing)...), append(v.End, make([]uint32, missing)...)
	for row := t.n - missing; row < t.n; row++ {
		v.End[row] = uint32(len(v.Data))
	}
}

// rewind drops the rows from n on.
func (t *tableRows) rewind(n int) {
	t.n = n
	extra := &t.cols[t.plan.extra]
	extra.Truncate(min(n, len(extra.End)))
	for _, column := range t.plan.texts {
		v := &t.cols[column]
		if v.Coded {
			continue // texts that no row has are not written
		}
		end := uint32(0)
		if n > 0 {
			end = v.End[n-1]
		}
		v.Data = v.Data[:end]
	}
}

// setNull makes a row of a column null.
func (t *tableRows) setNull(column, row int) {
	v := &t.cols[column]
	v.Present[row] = 0
	switch v.Type {
	case schemas.String, schemas.JSON:
		if v.Coded {
			v.Code[row] = 0
			return
		}
		v.End[row] = uint32(len(v.Data))
	case schemas.Int32, schemas.Date:
		v.I32[row] = 0
	case schemas.Int64, schemas.Timestamp:
		v.I64[row] = 0
	case schemas.Double:
		v.F64[row] = 0
	case schemas.Boolean:
		v.Bool[row] = 0
	}
}

// setText writes the value of a row of a text column.
func (t *tableRows) setText(column, row int, text []byte) {
	v := &t.cols[column]
	v.Present[row] = 1
	if v.Coded {
		v.Code[row] = t.indexes[column].code(v, text)
		return
	}
	v.Data = append(v.Data, text...)
	v.End[row] = uint32(len(v.Data))
}

// fillNulls sets the columns whose members were not seen to null.
func (t *tableRows) fillNulls(row int, seen uint64) {
	for missing := t.plan.filled &^ seen; missing != 0; missing &= missing - 1 {
		t.setNull(int(t.plan.columnOf[bits.TrailingZeros64(missing)]), row)
	}
}

// childEnd returns the row after the last child row of a record.
func (t *tableRows) childEnd(record int) int {
	if record+1 < len(t.starts) {
		return int(t.starts[record+1])
	}
	return t.n
}

// protect changes the values of the table's rows as the profile requires. No rows may be added afterwards.
func (t *tableRows) protect(maker *privacy.Maker) {
	for _, p := range t.plan.protected {
		if p.kind == "" {
			coarsen(&t.cols[p.column], p.keeps)
		} else {
			t.pseudonymize(&t.cols[p.column], p.kind, maker)
		}
	}
}

// pseudonymize replaces the texts of a column with pseudonyms: one text per row or, if the column is coded, the texts
// that rows share.
func (t *tableRows) pseudonymize(v *rows.Vector, kind string, maker *privacy.Maker) {
	received, start := v.Data, uint32(0)
	written := t.spare[:0]
	for i, end := range v.End {
		written = maker.Append(written, kind, received[start:end])
		start, v.End[i] = end, uint32(len(written))
	}
	v.Data, t.spare = written, received
}

// fillParents fills the columns of child rows whose values come from the record. These columns hold codes of the
// record's texts.
func (t *tableRows) fillParents(records *tableRows) {
	for _, p := range t.plan.parents {
		v, from := &t.cols[p.column], &records.cols[p.from]
		v.Data, v.End, v.Shared = from.Data, from.End, true
		v.Code, v.Present = make([]int32, t.n), make([]uint8, t.n)
		for record := range records.n {
			code, present := int32(record), from.Present[record]
			if from.Coded {
				code = from.Code[record]
			}
			for row := int(t.starts[record]); row < t.childEnd(record); row++ {
				v.Code[row], v.Present[row] = code, present
			}
		}
	}
}
