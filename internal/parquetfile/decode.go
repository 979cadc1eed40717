package parquetfile

import (
	"bytes"
	"errors"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

var errUneven = errors.New("a page whose values, indexes or levels do not add up")

// appendPage appends the values of a page to a column and returns their number. It reads the page's arrays rather than
// the library's Values, which cost about five times as much.
func appendPage(v *rows.Vector, page parquet.Page) (int, error) {
	n := int(page.NumRows())
	levels := page.DefinitionLevels()
	if v.Required {
		levels = nil
	} else if len(levels) != n {
		return 0, errUneven
	}
	values := page.Data()
	var err error
	if dictionary := page.Dictionary(); dictionary != nil {
		err = appendIndexed(v, dictionary.Page().Data(), values.Int32(), levels, n)
	} else {
		err = appendPlain(v, values, levels, n)
	}
	if err != nil {
		return 0, err
	}
	if !v.Required {
		v.Present = append(v.Present, levels...)
	}
	return n, nil
}

// appendPlain appends n rows of a page without a dictionary.
func appendPlain(v *rows.Vector, values encoding.Values, levels []byte, n int) (err error) {
	switch v.Type {
	case schemas.Int32, schemas.Date:
		v.I32, err = spread(v.I32, values.Int32(), levels, n)
	case schemas.Int64, schemas.Timestamp:
		v.I64, err = spread(v.I64, values.Int64(), levels, n)
	case schemas.Double:
		v.F64, err = spread(v.F64, values.Double(), levels, n)
	case schemas.Boolean:
		v.Bool, err = spreadBits(v.Bool, values.Boolean(), levels, n)
	case schemas.String, schemas.JSON:
		data, offsets := values.ByteArray()
		err = spreadTexts(v, data, offsets, levels, n)
	}
	return err
}

// appendIndexed appends n rows of a page of indexes into a dictionary.
func appendIndexed(v *rows.Vector, dictionary encoding.Values, indexes []int32, levels []byte, n int) (err error) {
	switch v.Type {
	case schemas.Int32, schemas.Date:
		v.I32, err = lookUp(v.I32, dictionary.Int32(), indexes, levels, n)
	case schemas.Int64, schemas.Timestamp:
		v.I64, err = lookUp(v.I64, dictionary.Int64(), indexes, levels, n)
	case schemas.Double:
		v.F64, err = lookUp(v.F64, dictionary.Double(), indexes, levels, n)
	case schemas.String, schemas.JSON:
		data, offsets := dictionary.ByteArray()
		err = lookUpTexts(v, data, offsets, indexes, levels, n)
	case schemas.Boolean:
		err = errors.New("a dictionary of booleans")
	}
	return err
}

// spread appends n rows: the values in their order, and zeros where the level says null. Without levels there are no
// nulls.
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
	shift := uint32(len(v.Data)) - first // may wrap, and wraps back below
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

// lookUp appends n rows of indexes into a dictionary, and zeros for nulls.
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

// lookUpTexts works like lookUp for texts.
func lookUpTexts(v *rows.Vector, data []byte, offsets []uint32, indexes []int32, levels []byte, n int) error {
	if !slices.IsSorted(offsets) || len(offsets) > 0 && int(offsets[len(offsets)-1]) > len(data) {
		return errUneven
	}
	v.End = slices.Grow(v.End, n)
	at := 0
	for row := range n {
		if levels == nil || levels[row] != 0 {
			if at == len(indexes) || uint(indexes[at])+1 >= uint(len(offsets)) {
				return errUneven
			}
			index := indexes[at]
			v.Data = append(v.Data, data[offsets[index]:offsets[index+1]]...)
			at++
		}
		v.End = append(v.End, uint32(len(v.Data)))
	}
	if at != len(indexes) {
		return errUneven
	}
	return nil
}
