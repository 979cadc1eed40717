package parquetfile

import (
	"encoding/binary"
	"slices"

	"example.org/growthexport/internal/rows"
)

// textDictionary is the dictionary of a text column's open chunk, in the form that coded vectors share.
type textDictionary struct {
	data []byte
	ends []uint32 // the ends of the texts, of an additional empty text for nulls, and of texts that addRows has added
	null int32    // the code of the additional text
	id   uint64   // for rows.Vector.Dictionary
	own  []int32  // reused by addRows
}

// set decodes a dictionary of n texts.
func (d *textDictionary) set(plain []byte, n int) error {
	d.data = slices.Grow(d.data[:0], len(plain))
	d.ends = slices.Grow(d.ends[:0], min(max(0, n), len(plain)/4)+1)
	for len(plain) >= 4 {
		size := uint64(binary.LittleEndian.Uint32(plain))
		if plain = plain[4:]; size > uint64(len(plain)) {
			return errUneven
		}
		d.data = append(d.data, plain[:size]...)
		d.ends = append(d.ends, uint32(len(d.data)))
		plain = plain[size:]
	}
	if len(d.ends) != n || len(plain) > 0 {
		return errUneven
	}
	d.ends = append(d.ends, uint32(len(d.data)))
	d.null, d.id = int32(n), rows.NewDictionary()
	return nil
}

// appendPage appends n rows of a page, as codes, to a column.
func (d *textDictionary) appendPage(v *rows.Vector, indexes []int32, levels []byte, n int) error {
	d.addRows(v)
	if err := d.appendCodes(v, indexes, levels, n); err != nil {
		return err
	}
	v.Coded, v.Shared, v.Data, v.End, v.Dictionary = true, true, d.data, d.ends, d.id
	return nil
}

// unshare gives a column that has rows of an earlier page its own copy of the texts that it shares with the dictionary.
func unshare(v *rows.Vector) {
	if v.Shared && len(v.Code) > 0 {
		v.Data, v.End, v.Shared, v.Dictionary = slices.Clone(v.Data), slices.Clone(v.End), false, 0
	}
}

// addRows adds the texts of a column's existing rows, which are usually few, to the dictionary, and replaces the
// column's codes.
func (d *textDictionary) addRows(v *rows.Vector) {
	n := len(v.End)
	if v.Coded {
		n = len(v.Code)
	}
	if base := int(d.null) + 1; n > 0 || len(d.ends) > base {
		d.ends = d.ends[:base]
		d.data = d.data[:d.ends[d.null]]
		d.id = rows.NewDictionary()
	}
	d.own = d.own[:0]
	for row := range n {
		switch {
		case v.Null(row):
			d.own = append(d.own, d.null)
			continue
		case row > 0 && v.Coded && v.Code[row] == v.Code[row-1] && !v.Null(row-1):
			d.own = append(d.own, d.own[row-1])
			continue
		}
		d.data = append(d.data, v.Text(row)...)
		d.ends = append(d.ends, uint32(len(d.data)))
		d.own = append(d.own, int32(len(d.ends)-1))
	}
	v.Code = append(v.Code[:0], d.own...)
}

// appendCodes appends the codes of n rows. It returns errUneven if an index is not in the dictionary.
func (d *textDictionary) appendCodes(v *rows.Vector, indexes []int32, levels []byte, n int) error {
	for _, index := range indexes {
		if uint32(index) >= uint32(d.null) {
			return errUneven
		}
	}
	if len(indexes) == n {
		v.Code = append(v.Code, indexes...)
		return nil
	}
	start := len(v.Code)
	v.Code = slices.Grow(v.Code, n)[:start+n]
	codes := v.Code[start:]
	if len(indexes) == 0 {
		indexes = []int32{d.null}
	}
	at, last := 0, len(indexes)-1
	for row, level := range levels {
		// This avoids a branch, because nulls are hard to predict.
		mask := -int32(level)
		codes[row] = indexes[min(at, last)]&mask | d.null&^mask
		at += int(level)
	}
	return nil
}

// lookUp appends the texts of n rows to a column.
func (d *textDictionary) lookUp(v *rows.Vector, indexes []int32, levels []byte, n int) error {
	v.End = slices.Grow(v.End, n)
	at := 0
	for row := range n {
		if levels == nil || levels[row] != 0 {
			if at == len(indexes) || uint32(indexes[at]) >= uint32(d.null) {
				return errUneven
			}
			var start uint32
			if index := indexes[at]; index > 0 {
				start = d.ends[index-1]
			}
			v.Data = append(v.Data, d.data[start:d.ends[indexes[at]]]...)
			at++
		}
		v.End = append(v.End, uint32(len(v.Data)))
	}
	if at != len(indexes) {
		return errUneven
	}
	return nil
}
