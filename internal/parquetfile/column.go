package parquetfile

import (
	"bytes"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

const (
	// minDictionaryValues is the number of values of a row group after which the use of a dictionary is decided.
	minDictionaryValues = 1024
	// maxDictionaryBytes is the size of a dictionary from which on further pages do not use it.
	maxDictionaryBytes = 2 << 20
	// dictionaryPageBits is about what a page adds to its values. It matters in small files only.
	dictionaryPageBits = 8 * 45
)

// column is one column's part of the open row group.
type column struct {
	def  *schemas.Column
	body []byte // finished data pages, headers included
	raw  int    // bytes of body before compression, headers included
	// pages lists the pages of body.
	pages []page
	arena []byte // holds the pages' bounds

	dict    dictionary
	dictUse dictUse
	coded   int // number of values coded by the dictionary

	bloom bloomFilter // not used unless the column identifies a person
	lean  bool        // the file has one page, and nothing for readers that skip parts; see Options.LeanRows
	// stored means that the column of a lean file is not compressed, because that would not make it smaller.
	stored bool
}

type dictUse uint8

const (
	dictUndecided dictUse = iota // before minDictionaryValues
	dictKept                     // it pays
	dictDropped                  // it does not pay, or has grown too large
)

// page describes a data page for the footer.
type page struct {
	offset   int // in body
	size     int // header included
	firstRow int64
	rows     int
	nulls    int
	encoding format.Encoding
	bounds   bounds
}

func (c *column) setColumn(def *schemas.Column, maxRows int) {
	c.def = def
	if def.HasBloomFilter() {
		c.bloom.setRows(maxRows)
	}
	if c.arena == nil {
		c.arena = make([]byte, 0, 1024)
	}
}

func (c *column) reset() {
	c.body, c.raw = c.body[:0], 0
	c.pages, c.arena = c.pages[:0], c.arena[:0]
	c.dict.reset()
	c.dictUse, c.coded, c.lean, c.stored = dictUndecided, 0, false, false
	c.bloom.reset()
}

func (c *column) isText() bool { return c.def.Type == schemas.String || c.def.Type == schemas.JSON }

// encodePage appends one page with the n rows of the vector.
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
		p   = page{offset: len(c.body), firstRow: firstRow, rows: n, nulls: nulls}
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
	if c.body, err = e.appendPage(c.body, &header, c.stored); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	p.size = len(c.body) - p.offset
	c.raw += p.size - len(e.packed) + len(e.raw)
	c.pages = append(c.pages, p)
	return nil
}

// compresses reports whether compression makes the page e.raw and the dictionary smaller.
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

// isEmpty reports whether a page of n values is PLAIN because it has no value, nor a dictionary that would need codes.
func (c *column) isEmpty(n int) bool {
	return n == 0 && (c.dict.len() == 0 || c.dictUse == dictDropped)
}

// mustDecide reports whether the use of the dictionary is decided with this page of n values.
func (c *column) mustDecide(n int) bool {
	return c.dictUse == dictUndecided && (c.lean || c.coded+n >= minDictionaryValues)
}

// keepDictionary decides the use of the dictionary and reports whether it is kept. The costs are bits, estimated after
// compression: of the dictionary, and of this page's n values as codes and directly.
func (c *column) keepDictionary(n, dictionary, codes, direct int) bool {
	c.dictUse = dictKept
	if c.lean {
		dictionary += dictionaryPageBits
	}
	if all := c.coded + n; dictionary*n+codes*all > direct*all {
		c.dictUse = dictDropped
	}
	return c.dictUse == dictKept
}

// addCoded counts the n codes of a page.
func (c *column) addCoded(n int) {
	c.coded += n
	if c.dict.size(c.def.Type) > maxDictionaryBytes {
		c.dictUse = dictDropped
	}
}

// dictionaryPage returns the page of the dictionary, which is valid until the next call, or nil if no page uses one.
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
	var err error
	if e.dict, err = e.appendPage(e.dict[:0], &header, c.stored); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	c.raw += len(e.dict) - len(e.packed) + len(e.raw)
	return e.dict, nil
}
