package parquetfile

import (
	"bytes"
	"slices"

	"github.com/parquet-go/parquet-go"

	"example.org/growthexport/internal/rows"
)

// textDictionary is the dictionary of a text column's open chunk, in the form that coded vectors share.
type textDictionary struct {
	of   parquet.Dictionary
	data []byte
	ends []uint32 // the ends of the texts, of an additional empty text for nulls, and of texts that addRows has added
	null int32    // the code of the additional text
	id   uint64   // of rows.Vector.Dictionary
	// page and codes are reused.
	page  rows.Vector
	codes []int32
}

// appendPage appends the texts of a page to a column and returns their number.
func (d *textDictionary) appendPage(v *rows.Vector, page parquet.Page) (int, error) {
	if v.Shared && len(v.Code) > 0 { // the rows of an earlier page
		v.Data, v.End, v.Shared, v.Dictionary = slices.Clone(v.Data), slices.Clone(v.End), false, 0
	}
	dictionary := page.Dictionary()
	switch {
	case dictionary == nil && !v.Coded:
		return appendPage(v, page)
	case dictionary == nil:
		to := &d.page
		*to = rows.Vector{Type: v.Type, Required: v.Required, Present: to.Present[:0], Data: to.Data[:0], End: to.End[:0]}
		n, err := appendPage(to, page)
		if err == nil {
			v.AppendRange(to, 0, n)
		}
		return n, err
	}
	n := int(page.NumRows())
	levels := page.DefinitionLevels()
	if v.Required {
		levels = nil
	} else if len(levels) != n {
		return 0, errUneven
	}
	if d.of != dictionary {
		if err := d.set(dictionary); err != nil {
			return 0, err
		}
	}
	d.addRows(v)
	values := page.Data()
	if err := d.appendCodes(v, values.Int32(), levels, n); err != nil {
		return 0, err
	}
	v.Present = append(v.Present, levels...)
	v.Coded, v.Shared, v.Data, v.End, v.Dictionary = true, true, d.data, d.ends, d.id
	return n, nil
}

// addRows adds the texts of a column's rows, of which there are usually few, and replaces the column's codes.
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
	d.codes = d.codes[:0]
	for row := range n {
		switch {
		case v.Null(row):
			d.codes = append(d.codes, d.null)
			continue
		case row > 0 && v.Coded && v.Code[row] == v.Code[row-1] && !v.Null(row-1):
			d.codes = append(d.codes, d.codes[row-1])
			continue
		}
		d.data = append(d.data, v.Text(row)...)
		d.ends = append(d.ends, uint32(len(d.data)))
		d.codes = append(d.codes, int32(len(d.ends)-1))
	}
	v.Code = append(v.Code[:0], d.codes...)
}

// set copies a dictionary.
func (d *textDictionary) set(dictionary parquet.Dictionary) error {
	values := dictionary.Page().Data()
	data, offsets := values.ByteArray()
	if len(offsets) == 0 {
		offsets = []uint32{0}
	}
	last := offsets[len(offsets)-1]
	if !slices.IsSorted(offsets) || int(last) > len(data) || offsets[0] != 0 {
		return errUneven
	}
	d.of = dictionary
	d.data = append(d.data[:0], data[:last]...)
	d.ends = append(append(d.ends[:0], offsets[1:]...), last)
	d.null, d.id = int32(len(d.ends)-1), rows.NewDictionary()
	return nil
}

// appendCodes appends the codes of n rows.
func (d *textDictionary) appendCodes(v *rows.Vector, indexes []int32, levels []byte, n int) error {
	null := d.null
	for _, index := range indexes {
		if uint32(index) >= uint32(null) {
			return errUneven
		}
	}
	switch {
	case len(indexes) == n && bytes.IndexByte(levels, 0) < 0:
		v.Code = append(v.Code, indexes...)
		return nil
	case len(indexes) != bytes.Count(levels, []byte{1}) || n-len(indexes) != bytes.Count(levels, []byte{0}):
		return errUneven
	}
	start := len(v.Code)
	v.Code = slices.Grow(v.Code, n)[:start+n]
	codes := v.Code[start:]
	if len(indexes) == 0 {
		indexes = []int32{null}
	}
	at, last := 0, len(indexes)-1
	for row, level := range levels {
		// This avoids a branch, because nulls are hard to predict.
		mask := -int32(level)
		codes[row] = indexes[min(at, last)]&mask | null&^mask
		at += int(level)
	}
	return nil
}
