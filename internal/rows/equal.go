package rows

import (
	"bytes"
	"slices"

	"example.org/growthexport/schemas"
)

// EqualPrefix returns how many of n rows, from row i of a and row j of b on, are equal in a column of both, as Compare
// compares them.
func EqualPrefix(a, b *Batch, column, i, j, n int) int {
	v, w := &a.Cols[column], &b.Cols[column]
	if a.Order == nil && b.Order == nil && v.equalRange(i, w, j, n) {
		return n
	}
	for k := range n {
		if Compare(v, a.Row(i+k), w, b.Row(j+k)) != 0 {
			return k
		}
	}
	return n
}

// equalRange reports whether n rows are equal. It compares memory, so rows that differ only in what a null holds or in
// the sign of a zero, and coded texts, may be called different.
func (v *Vector) equalRange(i int, w *Vector, j, n int) bool {
	if !v.Required && !bytes.Equal(v.Present[i:i+n], w.Present[j:j+n]) {
		return false
	}
	switch v.Type {
	case schemas.Int32, schemas.Date:
		return slices.Equal(v.I32[i:i+n], w.I32[j:j+n])
	case schemas.Int64, schemas.Timestamp:
		return slices.Equal(v.I64[i:i+n], w.I64[j:j+n])
	case schemas.Boolean:
		return bytes.Equal(v.Bool[i:i+n], w.Bool[j:j+n])
	case schemas.String, schemas.JSON:
		return !v.Coded && !w.Coded && v.equalTexts(i, w, j, n)
	case schemas.Double:
	}
	return false // NaN is not equal to itself, but its bits are
}

// equalTexts reports whether n texts of vectors that are not coded are equal.
func (v *Vector) equalTexts(i int, w *Vector, j, n int) bool {
	start, other := v.start(i), w.start(j)
	shift := other - start // may wrap, and wraps back below
	ends, others := v.End[i:i+n], w.End[j:j+n]
	for k := range ends {
		if ends[k]+shift != others[k] {
			return false
		}
	}
	return n == 0 || bytes.Equal(v.Data[start:ends[n-1]], w.Data[other:others[n-1]])
}

// start returns where the text of row i starts.
func (v *Vector) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return v.End[i-1]
}
