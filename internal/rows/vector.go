package rows

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"example.org/growthexport/schemas"
)

// Vector holds one column's values. Every row has a slot, null or not, in the slice of its type: Int32 and Date in I32,
// Int64 and Timestamp in I64, Double in F64, Boolean in Bool (0 or 1), String and JSON in Data and End.
//
// Hot code appends to the fields directly. The methods are slower and safer.
type Vector struct {
	Type schemas.Type
	// Required columns have no Present.
	Required bool
	// Present is 1 if the row has a value and 0 if it is null, like the definition levels of Parquet.
	Present []uint8
	I32     []int32
	I64     []int64
	F64     []float64
	Bool    []uint8
	// Data holds texts end to end. Text i starts at End[i-1] and ends at End[i]. It is the text of row i, unless the
	// vector is coded.
	Data []byte
	End  []uint32
	// Coded is true if the text of row i is text Code[i]. This text is empty if the row is null. Of the methods, only
	// AppendRows, AppendRange and AppendRow may append rows to such a vector.
	Coded bool
	Code  []int32
	// Shared is true if another vector or a dictionary owns Data and End. No texts are appended to them.
	Shared bool
	// Dictionary, if not 0, identifies the texts of a shared vector: vectors with the same number share the same texts.
	Dictionary uint64
	// recoded maps the codes of a source of AppendRows to the vector's own codes plus one. 0 means that a code has not
	// been mapped yet. recoded is kept for further rows of the dictionary recodedOf. few is the number of rows of that
	// dictionary that have been appended without recoded.
	recoded   []int32
	recodedOf uint64
	few       int
}

var dictionaries atomic.Uint64

// NewDictionary returns a number for Vector.Dictionary that this process has not used before.
func NewDictionary() uint64 { return dictionaries.Add(1) }

// IsText reports whether the vector's values are texts.
func (v *Vector) IsText() bool { return v.Type == schemas.String || v.Type == schemas.JSON }

// Null reports whether row i has no value.
func (v *Vector) Null(i int) bool { return !v.Required && v.Present[i] == 0 }

// HasValue reports whether row i has a value that is neither null nor an empty text.
func (v *Vector) HasValue(i int) bool {
	return !v.Null(i) && (!v.IsText() || len(v.Text(i)) > 0)
}

// Text returns the text of row i, which is valid until the vector changes.
func (v *Vector) Text(i int) []byte {
	if v.Coded {
		i = int(v.Code[i])
	}
	return v.Entry(i)
}

// Entry returns text i, which is valid until the vector changes.
func (v *Vector) Entry(i int) []byte {
	var start uint32
	if i > 0 {
		start = v.End[i-1]
	}
	return v.Data[start:v.End[i]]
}

// addEntry appends a text that is not yet the text of a row.
func (v *Vector) addEntry(text []byte) {
	v.Data = append(v.Data, text...)
	v.End = append(v.End, uint32(len(v.Data)))
}

// setCoded makes the vector coded and keeps its rows.
func (v *Vector) setCoded() {
	if v.Coded {
		return
	}
	v.Coded, v.Code = true, slices.Grow(v.Code[:0], len(v.End))
	for i := range v.End {
		v.Code = append(v.Code, int32(i))
	}
}

// AppendNull appends a row without a value.
func (v *Vector) AppendNull() {
	v.Present = append(v.Present, 0)
	switch v.Type {
	case schemas.Int32, schemas.Date:
		v.I32 = append(v.I32, 0)
	case schemas.Int64, schemas.Timestamp:
		v.I64 = append(v.I64, 0)
	case schemas.Double:
		v.F64 = append(v.F64, 0)
	case schemas.Boolean:
		v.Bool = append(v.Bool, 0)
	case schemas.String, schemas.JSON:
		v.End = append(v.End, uint32(len(v.Data)))
	}
}

func (v *Vector) present() {
	if !v.Required {
		v.Present = append(v.Present, 1)
	}
}

// AppendText appends a row with a text.
func (v *Vector) AppendText(s []byte) {
	v.present()
	v.Data = append(v.Data, s...)
	v.End = append(v.End, uint32(len(v.Data)))
}

// AppendString appends a row with a text.
func (v *Vector) AppendString(s string) {
	v.present()
	v.Data = append(v.Data, s...)
	v.End = append(v.End, uint32(len(v.Data)))
}

// AppendInt32 appends a row of type Int32, or a Date in days since 1970-01-01.
func (v *Vector) AppendInt32(x int32) {
	v.present()
	v.I32 = append(v.I32, x)
}

// AppendInt64 appends a row of type Int64, or a Timestamp in microseconds since 1970-01-01 UTC.
func (v *Vector) AppendInt64(x int64) {
	v.present()
	v.I64 = append(v.I64, x)
}

// AppendDouble appends a row of type Double.
func (v *Vector) AppendDouble(x float64) {
	v.present()
	v.F64 = append(v.F64, x)
}

// AppendBool appends a row of type Boolean.
func (v *Vector) AppendBool(x bool) {
	v.present()
	var b uint8
	if x {
		b = 1
	}
	v.Bool = append(v.Bool, b)
}

// Equal reports whether Compare returns 0.
func Equal(a *Vector, i int, b *Vector, j int) bool {
	if a.IsText() && !a.Null(i) && !b.Null(j) {
		return string(a.Text(i)) == string(b.Text(j))
	}
	return Compare(a, i, b, j) == 0
}

// Compare compares row i of a with row j of b, vectors of the same column, in the sort order of files: nulls first,
// texts by their bytes. Doubles, which are never part of a key, are compared by their bits.
func Compare(a *Vector, i int, b *Vector, j int) int {
	if !a.Required && a.Present[i] != b.Present[j] {
		return cmp.Compare(a.Present[i], b.Present[j])
	}
	if a.Null(i) {
		return 0
	}
	switch a.Type {
	case schemas.Int32, schemas.Date:
		return cmp.Compare(a.I32[i], b.I32[j])
	case schemas.Int64, schemas.Timestamp:
		return cmp.Compare(a.I64[i], b.I64[j])
	case schemas.Double:
		return cmp.Compare(math.Float64bits(a.F64[i]), math.Float64bits(b.F64[j]))
	case schemas.Boolean:
		return cmp.Compare(a.Bool[i], b.Bool[j])
	case schemas.String, schemas.JSON:
	}
	if a.Coded && a == b && a.Code[i] == a.Code[j] {
		return 0
	}
	return bytes.Compare(a.Text(i), b.Text(j))
}

// Truncate keeps the first n rows. Truncate(0) leaves a vector that is not coded.
func (v *Vector) Truncate(n int) {
	v.Present, v.Bool = v.Present[:min(n, len(v.Present))], v.Bool[:min(n, len(v.Bool))]
	v.I32, v.I64, v.F64 = v.I32[:min(n, len(v.I32))], v.I64[:min(n, len(v.I64))], v.F64[:min(n, len(v.F64))]
	v.Code = v.Code[:min(n, len(v.Code))]
	if v.Coded && n > 0 {
		return
	}
	v.Dictionary, v.recodedOf = 0, 0
	if v.Shared {
		v.Data, v.End = nil, nil
	}
	v.Coded, v.Shared = false, false
	v.End = v.End[:min(n, len(v.End))]
	v.Data = v.Data[:0]
	if len(v.End) > 0 {
		v.Data = v.Data[:v.End[len(v.End)-1]]
	}
}

// Bytes returns the memory that the vector holds, in bytes, including spare capacity.
func (v *Vector) Bytes() int {
	n := cap(v.Present) + 4*cap(v.I32) + 8*cap(v.I64) + 8*cap(v.F64) + cap(v.Bool) + 4*cap(v.Code) + 4*cap(v.recoded)
	if v.Shared {
		return n
	}
	return n + cap(v.Data) + 4*cap(v.End)
}

// size returns the size of the values in bytes, without spare capacity.
func (v *Vector) size() int {
	n := len(v.Present) + 4*len(v.I32) + 8*len(v.I64) + 8*len(v.F64) + len(v.Bool) + 4*len(v.Code)
	if v.Shared {
		return n
	}
	return n + len(v.Data) + 4*len(v.End)
}
