package rows

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"example.org/growthexport/schemas"
)

// MaxTextBytes is the maximum number of bytes of text that a column of a batch can hold, because offsets are 32 bits
// wide. Code that fills a batch must check this limit.
const MaxTextBytes = math.MaxUint32

// Batch holds rows of one table, column by column. It must be used by only one goroutine at a time.
type Batch struct {
	Table *schemas.Table
	Cols  []Vector
	// N is the number of rows; every column has that many slots.
	N int
	// Order, if not nil, lists the batch's rows in the order in which they are written. Rows that are not in it have been
	// dropped.
	Order []int32
}

// New returns an empty batch of the table.
func New(table *schemas.Table) *Batch {
	b := &Batch{Table: table, Cols: make([]Vector, len(table.Columns))}
	for i, c := range table.Columns {
		b.Cols[i] = Vector{Type: c.Type, Required: c.Required}
	}
	return b
}

// Len returns the number of rows that have not been dropped.
func (b *Batch) Len() int {
	if b.Order != nil {
		return len(b.Order)
	}
	return b.N
}

// Row returns the position in the columns of the i-th row in the batch's order.
func (b *Batch) Row(i int) int {
	if b.Order != nil {
		return int(b.Order[i])
	}
	return i
}

// Columns returns the columns with these names. The table must have them.
func (b *Batch) Columns(names ...string) []*Vector {
	found := make([]*Vector, len(names))
	for i, name := range names {
		found[i] = &b.Cols[b.Table.Column(name)]
	}
	return found
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Truncate(0) }

// Truncate keeps the first n rows in the order in which they were appended, and removes any Order.
func (b *Batch) Truncate(n int) {
	for i := range b.Cols {
		b.Cols[i].Truncate(n)
	}
	b.N, b.Order = n, nil
}

// Bytes returns the memory that the batch holds, in bytes, including spare capacity.
func (b *Batch) Bytes() int {
	n := 4 * cap(b.Order)
	for i := range b.Cols {
		n += b.Cols[i].Bytes()
	}
	return n
}

// Size returns the size of the rows in bytes, without spare capacity.
func (b *Batch) Size() int {
	n := 0
	for i := range b.Cols {
		n += b.Cols[i].size()
	}
	return n
}

// TextBytes returns the number of text bytes in the column that has the most.
func (b *Batch) TextBytes() int {
	largest := 0
	for i := range b.Cols {
		largest = max(largest, len(b.Cols[i].Data))
	}
	return largest
}

// AppendRows appends the rows i to j, exclusive, of src in its order. The caller must check that no column exceeds
// MaxTextBytes. If the batch has more columns than src, the caller must also append to the additional columns.
func (b *Batch) AppendRows(src *Batch, i, j int) {
	if src.Order == nil {
		for c := range src.Cols {
			b.Cols[c].AppendRange(&src.Cols[c], i, j)
		}
	} else {
		for c := range src.Cols {
			b.Cols[c].appendPicked(&src.Cols[c], src.Order[i:j])
		}
	}
	b.N += j - i
}

// Check returns an error if a column does not have one slot per row. Such a batch would result in a corrupt file.
func (b *Batch) Check() error {
	for i := range b.Cols {
		v := &b.Cols[i]
		slots := len(v.I32) + len(v.I64) + len(v.F64) + len(v.Bool) + len(v.Code)
		if !v.Coded {
			slots += len(v.End)
		}
		if slots != b.N || (!v.Required && len(v.Present) != b.N) {
			return fmt.Errorf("table %s, column %s: %d slots for %d rows",
				b.Table.Name, b.Table.Columns[i].Name, slots, b.N)
		}
	}
	return nil
}

// AppendRow appends row i of src, a vector of the same column.
func (v *Vector) AppendRow(src *Vector, i int) {
	v.AppendRange(src, i, i+1)
}

// AppendRange appends the rows i to j, exclusive, of src, a vector of the same column.
func (v *Vector) AppendRange(src *Vector, i, j int) {
	if !v.Required {
		v.Present = append(v.Present, src.Present[i:j]...)
	}
	switch v.Type {
	case schemas.Int32, schemas.Date:
		v.I32 = append(v.I32, src.I32[i:j]...)
	case schemas.Int64, schemas.Timestamp:
		v.I64 = append(v.I64, src.I64[i:j]...)
	case schemas.Double:
		v.F64 = append(v.F64, src.F64[i:j]...)
	case schemas.Boolean:
		v.Bool = append(v.Bool, src.Bool[i:j]...)
	case schemas.String, schemas.JSON:
		switch {
		case src.Coded:
			v.setCoded()
			v.Code = append(v.Code, src.Code[i:j]...)
			v.recode(src, v.Code[len(v.Code)-(j-i):])
		case i < j:
			v.codeEntries(j - i)
			var start uint32
			if i > 0 {
				start = src.End[i-1]
			}
			shift := uint32(len(v.Data)) - start // may overflow, which the addition below undoes
			v.Data = append(v.Data, src.Data[start:src.End[j-1]]...)
			for _, end := range src.End[i:j] {
				v.End = append(v.End, end+shift)
			}
		}
	}
}

func (v *Vector) appendPicked(src *Vector, order []int32) {
	switch {
	case len(order) == 0:
		return
	case v.Required:
	case 2*len(order) < len(src.Present) || !allEqual(src.Present):
		v.Present = pick(v.Present, src.Present, order)
	case src.Present[0] == 0: // all rows are null, so any rows can be copied
		v.AppendRange(src, 0, len(order))
		return
	default:
		v.Present = append(v.Present, src.Present[:len(order)]...)
	}
	switch v.Type {
	case schemas.Int32, schemas.Date:
		v.I32 = pick(v.I32, src.I32, order)
	case schemas.Int64, schemas.Timestamp:
		v.I64 = pick(v.I64, src.I64, order)
	case schemas.Double:
		v.F64 = pick(v.F64, src.F64, order)
	case schemas.Boolean:
		v.Bool = pick(v.Bool, src.Bool, order)
	case schemas.String, schemas.JSON:
		if src.Coded {
			v.setCoded()
			v.Code = pick(v.Code, src.Code, order)
			v.recode(src, v.Code[len(v.Code)-len(order):])
			return
		}
		v.codeEntries(len(order))
		v.End = slices.Grow(v.End, len(order))
		for _, r := range order {
			v.addEntry(src.Entry(int(r)))
		}
	}
}

// codeEntries assigns the next n texts to the next n rows, if the vector is coded.
func (v *Vector) codeEntries(n int) {
	if v.Coded {
		for i := range n {
			v.Code = append(v.Code, int32(len(v.End)+i))
		}
	}
}

// fewCodes is the number of rows below which it is faster to append each text than to look for texts that are already
// there.
const fewCodes = 16

// recode replaces codes of src with codes of v, and appends the texts that are missing in v. If there are few codes, it
// may append a text more than once.
func (v *Vector) recode(src *Vector, codes []int32) {
	if src.Dictionary == 0 && (len(codes) < fewCodes || 8*len(codes) < len(src.End)) {
		v.addEntries(src, codes)
		return
	}
	if src.Dictionary == 0 || src.Dictionary != v.recodedOf {
		v.recodedOf, v.recoded, v.few = src.Dictionary, v.recoded[:0], 0
	}
	if len(v.recoded) == 0 {
		if v.few += len(codes); 8*v.few < len(src.End) {
			v.addEntries(src, codes)
			return
		}
		v.recoded = slices.Grow(v.recoded, len(src.End))[:len(src.End)]
		clear(v.recoded)
	}
	for i, code := range codes {
		own := v.recoded[code]
		if own == 0 {
			v.addEntry(src.Entry(int(code)))
			own = int32(len(v.End))
			v.recoded[code] = own
		}
		codes[i] = own - 1
	}
}

// addEntries appends the text of each code of src, and replaces the code with the code of the appended text.
func (v *Vector) addEntries(src *Vector, codes []int32) {
	for i, code := range codes {
		v.addEntry(src.Entry(int(code)))
		codes[i] = int32(len(v.End) - 1)
	}
}

// allEqual reports whether all levels are equal. There must be at least one level.
func allEqual(present []uint8) bool { return bytes.IndexByte(present, present[0]^1) < 0 }

func pick[T any](dst, src []T, order []int32) []T {
	start := len(dst)
	dst = slices.Grow(dst, len(order))[:start+len(order)]
	to := dst[start:][:len(order)]
	for i, r := range order {
		to[i] = src[r]
	}
	return dst
}
