package parquetfile

import (
	"bytes"
	"errors"
	"slices"

	"example.org/growthexport/internal/rows"
)

var errUneven = errors.New("the values, indexes or levels of a page do not match")

// spread appends n rows: the values in their order, and a zero for each null, whose level is 0. If levels is nil, there
// are no nulls. It returns errUneven unless there is exactly one value for each row that is not null.
func spread[T any](dst, values []T, levels []byte, n int) ([]T, error) {
	if len(values) == n && bytes.IndexByte(levels, 0) < 0 {
		return append(dst, values...), nil
	}
	dst = slices.Grow(dst, n)
	at := 0
	for _, level := range levels {
		var value T
		if level != 0 {
			if at == len(values) {
				return dst, errUneven
			}
			value = values[at]
			at++
		}
		dst = append(dst, value)
	}
	if len(levels) != n || at != len(values) {
		return dst, errUneven
	}
	return dst, nil
}

// spreadBits works like spread for booleans of one bit each.
func spreadBits(dst, bits, levels []byte, n int) ([]byte, error) {
	at := 0
	for row := range n {
		var value byte
		if levels == nil || levels[row] != 0 {
			if at/8 >= len(bits) {
				return dst, errUneven
			}
			value = bits[at/8] >> (at % 8) & 1
			at++
		}
		dst = append(dst, value)
	}
	if (at+7)/8 != len(bits) {
		return dst, errUneven
	}
	return dst, nil
}

// spreadTexts works like spread for texts. Each text ends where the next one starts.
func spreadTexts(v *rows.Vector, data []byte, offsets []uint32, levels []byte, n int) error {
	if len(offsets) == 0 {
		offsets = []uint32{0}
	}
	first, last := offsets[0], offsets[len(offsets)-1]
	if !slices.IsSorted(offsets) || int(last) > len(data) {
		return errUneven
	}
	shift := uint32(len(v.Data)) - first // may overflow, which the addition below undoes
	v.Data = append(v.Data, data[first:last]...)
	v.End = slices.Grow(v.End, n)
	at := 0
	for row := range n {
		if levels == nil || levels[row] != 0 {
			at++
		}
		if at >= len(offsets) {
			return errUneven
		}
		v.End = append(v.End, offsets[at]+shift)
	}
	if at != len(offsets)-1 {
		return errUneven
	}
	return nil
}

// lookUp appends n rows: the values of the dictionary at the given indexes, and a zero for each null.
func lookUp[T any](dst, dictionary []T, indexes []int32, levels []byte, n int) ([]T, error) {
	dst = slices.Grow(dst, n)
	if len(indexes) == n && bytes.IndexByte(levels, 0) < 0 {
		for _, index := range indexes {
			if uint(index) >= uint(len(dictionary)) {
				return dst, errUneven
			}
			dst = append(dst, dictionary[index])
		}
		return dst, nil
	}
	at := 0
	for row := range n {
		var value T
		if levels == nil || levels[row] != 0 {
			if at == len(indexes) || uint(indexes[at]) >= uint(len(dictionary)) {
				return dst, errUneven
			}
			value = dictionary[indexes[at]]
			at++
		}
		dst = append(dst, value)
	}
	if at != len(indexes) {
		return dst, errUneven
	}
	return dst, nil
}
