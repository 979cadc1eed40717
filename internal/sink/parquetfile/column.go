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
	// enoughValues is how many values of a row group a dictionary sees before
	// its worth is judged.
	enoughValues = 1024
	// maxDictionaryBytes ends the use of a dictionary with the page that takes
	// it there.
	maxDictionaryBytes = 2 << 20
)

// column is one column's part of the open row group.
type column struct {
	def  *schemas.Column
	body []byte // finished data pages, headers included
	raw  int    // bytes of body before compression, headers included
	// pages lists the pages of body.
	pages []page
	arena []byte // what the pages' bounds point into

	dict dictionary
	// dictUse tells whether pages still use the dictionary.
	dictUse dictUse
	// coded is how many values the dictionary has coded.
	coded int
}

type dictUse uint8

const (
	dictTried   dictUse = iota // until enoughValues have been seen
	dictKept                   // it pays
	dictRefused                // it does not, or has grown too large
)

// page is what the footer tells of a data page.
type page struct {
	offset   int // in body
	size     int // header included
	firstRow int64
	rows     int
	nulls    int
	encoding format.Encoding
	bounds   bounds
}

func (c *column) define(def *schemas.Column) {
	c.def = def
	if c.arena == nil {
		c.arena = make([]byte, 0, 1024)
	}
}

func (c *column) reset() {
	c.body, c.raw = c.body[:0], 0
	c.pages, c.arena = c.pages[:0], c.arena[:0]
	c.dict.reset()
	c.dictUse, c.coded = dictTried, 0
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
		p.encoding, p.bounds, err = c.texts(v, nulls, e)
	case c.def.Type == schemas.Boolean:
		p.encoding, p.bounds = format.Plain, c.booleans(v, nulls, e)
	default:
		p.encoding, p.bounds, err = c.numbers(v, nulls, e)
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
	if c.body, err = e.appendPage(c.body, &header); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	p.size = len(c.body) - p.offset
	c.raw += p.size - len(e.packed) + len(e.raw)
	c.pages = append(c.pages, p)
	return nil
}

// nothing tells whether a page of n values has nothing to encode: no value, and
// no dictionary whose codes it would lack. Such a page is PLAIN.
func (c *column) nothing(n int) bool {
	return n == 0 && (c.dict.len() == 0 || c.dictUse == dictRefused)
}

// undecided tells whether this page, with n values more, is the one at which
// the dictionary's worth is judged.
func (c *column) undecided(n int) bool { return c.dictUse == dictTried && c.coded+n >= enoughValues }

// judge decides whether the dictionary stays. The costs are bits, estimated
// after compression: of the dictionary, and of this page's n values as codes
// and directly.
func (c *column) judge(n, dictionary, codes, direct int) bool {
	c.dictUse = dictKept
	if all := c.coded + n; dictionary*n+codes*all > direct*all {
		c.dictUse = dictRefused
	}
	return c.dictUse == dictKept
}

// noteCoded notes that a page uses n codes.
func (c *column) noteCoded(n int) {
	c.coded += n
	if c.dict.size(c.def.Type) > maxDictionaryBytes {
		c.dictUse = dictRefused
	}
}

// dictionaryPage returns the page of the dictionary, which is valid until the
// next is made, or nil where no page uses one.
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
	if e.dict, err = e.appendPage(e.dict[:0], &header); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	c.raw += len(e.dict) - len(e.packed) + len(e.raw)
	return e.dict, nil
}
