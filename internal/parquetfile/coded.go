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
	ends []uint32 // the ends of the texts, and of an additional empty text for nulls
	page rows.Vector
}

// appendPage appends the texts of a page to a column and returns their number.
func (d *textDictionary) appendPage(v *rows.Vector, page parquet.Page) (int, error) {
	if v.Shared && len(v.Code) > 0 { // the rows of an earlier page
		v.Data, v.End, v.Shared = slices.Clone(v.Data), slices.Clone(v.End), false
	}
	dictionary := page.Dictionary()
	if dictionary == nil && !v.Coded {
		return appendPage(v, page)
	}
	to := &d.page
	*to = rows.Vector{Type: v.Type, Required: v.Required, Present: to.Present[:0], Data: to.Data[:0], End: to.End[:0], Code: to.Code[:0]}
	if dictionary == nil {
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
	empty := len(v.End) == 0 && len(v.Code) == 0
	if empty {
		to = v
	}
	values := page.Data()
	if err := d.appendCodes(to, values.Int32(), levels, n); err != nil {
		return 0, err
	}
	to.Present = append(to.Present, levels...)
	to.Coded, to.Shared, to.Data, to.End = true, true, d.data, d.ends
	if !empty {
		v.AppendRange(to, 0, n)
		to.Data, to.End, to.Shared = nil, nil, false
	}
	return n, nil
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
	return nil
}

// appendCodes appends the codes of n rows.
func (d *textDictionary) appendCodes(v *rows.Vector, indexes []int32, levels []byte, n int) error {
	null := int32(len(d.ends) - 1)
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
