package parquetfile

import (
	"bytes"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// encodePage appends a page with the n rows of the vector to the column.
func (c *column) encodePage(v *rows.Vector, n int, firstRow int64, e *encoder) error {
	e.raw = e.raw[:0]
	nulls := 0
	if !v.Required {
		nulls = n - bytes.Count(v.Present, []byte{1})
		if err := e.levels(v.Present, nulls); err != nil {
			return err
		}
	}
	var (
		p   = page{offset: c.body.size, firstRow: firstRow, rows: n, nulls: nulls}
		err error
	)
	switch {
	case c.isText():
		p.encoding, p.bounds, err = c.encodeTexts(v, nulls, e)
	case c.def.Type == schemas.Boolean:
		p.encoding, p.bounds = format.Plain, c.encodeBooleans(v, nulls, e)
	default:
		p.encoding, p.bounds, err = c.encodeNumbers(v, nulls, e)
	}
	if err != nil {
		return err
	}
	header := pageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(dataPageHeader{
			NumValues:               int32(n),
			Encoding:                p.encoding,
			DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE,
		}),
	}
	c.stored = c.lean && !c.compresses(e)
	if err := e.finishPage(&header, c.stored); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	e.pool.appendTo(&c.body, e.header.Bytes())
	e.pool.appendTo(&c.body, e.packed)
	p.size = c.body.size - p.offset
	c.raw += p.size - len(e.packed) + len(e.raw)
	c.pages = append(c.pages, p)
	return nil
}

// compresses reports whether compression makes the page in e.raw and the dictionary, taken together, smaller.
func (c *column) compresses(e *encoder) bool {
	raw := len(e.raw)
	packed := len(e.zstd.EncodeAll(e.raw, e.packed[:0]))
	if c.dict.len() > 0 {
		e.dict = c.dict.appendPlain(e.dict[:0], c.def.Type)
		raw += len(e.dict)
		packed += len(e.zstd.EncodeAll(e.dict, e.packed[:0]))
	}
	return packed < raw
}

// dictionaryPage returns the page of the dictionary, which is valid until the next call, or nil if no page uses a
// dictionary.
func (c *column) dictionaryPage(e *encoder) ([]byte, error) {
	if c.dict.len() == 0 {
		return nil, nil
	}
	e.raw = c.dict.appendPlain(e.raw[:0], c.def.Type)
	header := pageHeader{
		Type: format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(c.dict.len()),
			Encoding:  format.Plain,
		}),
	}
	if err := e.finishPage(&header, c.stored); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	e.dict = append(append(e.dict[:0], e.header.Bytes()...), e.packed...)
	c.raw += len(e.dict) - len(e.packed) + len(e.raw)
	return e.dict, nil
}
