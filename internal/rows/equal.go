package rows

import (
	"bytes"
	"math"
	"slices"

	"example.org/growthexport/schemas"
)

// Matcher compares rows of two batches of a table. It caches what it learns about their columns. The zero value is
// ready to use.
type Matcher struct {
	columns []columnMatch
}

// columnMatch is the state of a column in a Matcher.
type columnMatch struct {
	// first and nulls record whether none, some or all rows of the first and of the second batch are null.
	first, nulls nulls
	// empty records whether a row of the first batch has an empty text that is not null.
	empty knowledge
	// same maps codes of the second batch to the code of the same text in the first batch, plus one. 0 means that the code
	// in the first batch is not known.
	same []int32
}

type knowledge uint8

const (
	unknown knowledge = iota
	yes
	no
)

type nulls uint8

const (
	unknownNulls nulls = iota
	noNulls
	someNulls
	onlyNulls
)

// Reset clears what is known about the columns. It must be called whenever a batch changes. first must be true if the
// first batch has changed.
func (m *Matcher) Reset(first bool) {
	for i := range m.columns {
		c := &m.columns[i]
		c.nulls, c.same = unknownNulls, c.same[:0]
		if first {
			c.first, c.empty = unknownNulls, unknown
		}
	}
}

// EqualPrefix returns how many of n rows, starting with row i of a and row j of b, are equal in a column according to
// Compare. It stops at the first difference.
func (m *Matcher) EqualPrefix(a, b *Batch, column, i, j, n int) int {
	m.prepare(a)
	v, w := &a.Cols[column], &b.Cols[column]
	for k := 0; k < n; k++ {
		k += m.columns[column].equalSlots(v, a.Order, i+k, w, b.Order, j+k, n-k)
		// The difference may only be in the unused values of two nulls.
		if k == n || Compare(v, a.Row(i+k), w, b.Row(j+k)) != 0 {
			return k
		}
	}
	return n
}

func (m *Matcher) prepare(a *Batch) {
	if m.columns == nil {
		m.columns = make([]columnMatch, len(a.Cols))
	}
}

// equalSlots returns how many of n slots, up to the first difference, hold equal values.
func (m *columnMatch) equalSlots(v *Vector, of []int32, i int, w *Vector, by []int32, j, n int) int {
	if !v.Required {
		if n = m.equalNulls(v, of, i, w, by, j, n); m.nulls == onlyNulls {
			return n
		}
	}
	switch v.Type {
	case schemas.Int32, schemas.Date:
		return equalPrefix(v.I32, of, i, w.I32, by, j, n)
	case schemas.Int64, schemas.Timestamp:
		return equalPrefix(v.I64, of, i, w.I64, by, j, n)
	case schemas.Boolean:
		return equalPrefix(v.Bool, of, i, w.Bool, by, j, n)
	case schemas.Double:
		return equalDoubles(v.F64, of, i, w.F64, by, j, n)
	case schemas.String, schemas.JSON:
	}
	switch {
	case v.Coded && w.Coded:
		return m.equalCodes(v, of, i, w, by, j, n)
	case !v.Coded && !w.Coded && of == nil && by == nil && v.equalTexts(i, w, j, n):
		return n
	case !v.Coded && w.Coded && of == nil:
		return v.equalToCoded(i, w, by, j, n)
	}
	for k := range n {
		if string(v.Text(slot(of, i+k))) != string(w.Text(slot(by, j+k))) {
			return k
		}
	}
	return n
}

// equalCodes returns how many of n rows of coded columns, up to the first difference, have the same text.
func (m *columnMatch) equalCodes(v *Vector, of []int32, i int, w *Vector, by []int32, j, n int) int {
	if len(m.same) != len(w.End) {
		m.same = slices.Grow(m.same[:0], len(w.End))[:len(w.End)]
		clear(m.same)
	}
	switch {
	case of == nil && by == nil:
		others := w.Code[j : j+n]
		for k, x := range v.Code[i : i+n] {
			if y := others[k]; m.same[y] != x+1 && !m.equalEntries(v, x, w, y) {
				return k
			}
		}
	case of == nil:
		codes := v.Code[i : i+n]
		for k, row := range by[j : j+n] {
			if y := w.Code[row]; m.same[y] != codes[k]+1 && !m.equalEntries(v, codes[k], w, y) {
				return k
			}
		}
	default:
		for k := range n {
			x, y := v.Code[of[i+k]], w.Code[slot(by, j+k)]
			if m.same[y] != x+1 && !m.equalEntries(v, x, w, y) {
				return k
			}
		}
	}
	return n
}

// equalEntries reports whether the texts of two codes are equal, and caches this if they are.
func (m *columnMatch) equalEntries(v *Vector, x int32, w *Vector, y int32) bool {
	if string(v.Entry(int(x))) != string(w.Entry(int(y))) {
		return false
	}
	m.same[y] = x + 1
	return true
}

// equalNulls returns how many of n rows, up to the first difference, are null in both columns or in neither.
func (m *columnMatch) equalNulls(v *Vector, of []int32, i int, w *Vector, by []int32, j, n int) int {
	if m.nulls == unknownNulls {
		m.nulls = nullsOf(w)
	}
	if m.first == unknownNulls {
		m.first = nullsOf(v)
	}
	if m.first == m.nulls && m.nulls != someNulls {
		return n
	}
	if of != nil || m.nulls == someNulls {
		return equalPrefix(v.Present, of, i, w.Present, by, j, n)
	}
	other := byte(0)
	if m.nulls == onlyNulls {
		other = 1
	}
	if k := bytes.IndexByte(v.Present[i:i+n], other); k >= 0 {
		return k
	}
	return n
}

func nullsOf(v *Vector) nulls {
	switch {
	case bytes.IndexByte(v.Present, 0) < 0:
		return noNulls
	case bytes.IndexByte(v.Present, 1) < 0:
		return onlyNulls
	}
	return someNulls
}

// CountValues counts the values of a column in n rows of a, the first batch, starting with row i. An empty text does
// not count as a value.
func (m *Matcher) CountValues(a *Batch, column, i, n int) int64 {
	m.prepare(a)
	v, empty := &a.Cols[column], &m.columns[column].empty
	if *empty == unknown {
		*empty = no
		if v.hasEmptyText() {
			*empty = yes
		}
	}
	if *empty == no && a.Order == nil && !v.Required {
		return int64(bytes.Count(v.Present[i:i+n], []byte{1}))
	}
	var count int64
	for k := i; k < i+n; k++ {
		if v.HasValue(a.Row(k)) {
			count++
		}
	}
	return count
}

// hasEmptyText reports whether a row has an empty text that is not null.
func (v *Vector) hasEmptyText() bool {
	if !v.IsText() {
		return false
	}
	for i := range max(len(v.Present), len(v.Code)) {
		if !v.Null(i) && len(v.Text(i)) == 0 {
			return true
		}
	}
	return false
}

// slot returns the slot of the i-th row.
func slot(order []int32, i int) int {
	if order == nil {
		return i
	}
	return int(order[i])
}

// equalPrefix returns how many of n values, up to the first difference, are equal.
func equalPrefix[T comparable](a []T, of []int32, i int, b []T, by []int32, j, n int) int {
	switch {
	case of == nil && by == nil:
		a, b = a[i:i+n], b[j:j+n]
		if slices.Equal(a, b) {
			return n
		}
		for k := range a {
			if a[k] != b[k] {
				return k
			}
		}
	case of == nil:
		a = a[i : i+n]
		for k, at := range by[j : j+n] {
			if a[k] != b[at] {
				return k
			}
		}
	default:
		for k := range n {
			if a[of[i+k]] != b[slot(by, j+k)] {
				return k
			}
		}
	}
	return n
}

// equalDoubles returns how many of n doubles, up to the first difference, have the same bits.
func equalDoubles(a []float64, of []int32, i int, b []float64, by []int32, j, n int) int {
	if of == nil && by != nil {
		a = a[i : i+n]
		for k, at := range by[j : j+n] {
			if math.Float64bits(a[k]) != math.Float64bits(b[at]) {
				return k
			}
		}
		return n
	}
	for k := range n {
		if math.Float64bits(a[slot(of, i+k)]) != math.Float64bits(b[slot(by, j+k)]) {
			return k
		}
	}
	return n
}

// equalToCoded returns how many of n texts, starting with text i and up to the first difference, are equal to the texts
// of a coded vector.
func (v *Vector) equalToCoded(i int, w *Vector, by []int32, j, n int) int {
	start := v.start(i)
	for k, end := range v.End[i : i+n] {
		if string(v.Data[start:end]) != string(w.Entry(int(w.Code[slot(by, j+k)]))) {
			return k
		}
		start = end
	}
	return n
}

// equalTexts reports whether n texts of vectors that are not coded are equal.
func (v *Vector) equalTexts(i int, w *Vector, j, n int) bool {
	start, other := v.start(i), w.start(j)
	shift := other - start // may overflow, which the addition below undoes
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
