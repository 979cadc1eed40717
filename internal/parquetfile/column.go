package parquetfile

import (
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/schemas"
)

const (
	// minDictionaryValues is the number of values of a row group after which it is decided whether a column uses a
	// dictionary.
	minDictionaryValues = 1024
	// maxDictionaryBytes is the size beyond which a dictionary is not used for further pages.
	maxDictionaryBytes = 2 << 20
	// dictionaryPageBits is the approximate overhead of a page beyond its values. It only matters in small files.
	dictionaryPageBits = 8 * 45
)

// column is one column's part of the open row group.
type column struct {
	def  *schemas.Column
	body blocks // finished data pages, headers included
	raw  int    // bytes of body before compression, including headers
	// pages lists the pages of body.
	pages []page
	arena []byte // holds the pages' bounds

	dict    dictionary
	dictUse dictUse
	coded   int // number of values coded by the dictionary

	bloom bloomFilter // not used unless the column identifies a person
	lean  bool        // the column has one page, and nothing helps readers skip parts of it; see Options.LeanRows
	// stored is true if the column of a lean file is not compressed, because compression would not make it smaller.
	stored bool
}

type dictUse uint8

const (
	dictUndecided dictUse = iota // before minDictionaryValues
	dictKept                     // the dictionary is estimated not to make the column larger
	dictDropped                  // the dictionary is estimated to make the column larger, or it has grown too large
)

// page describes a data page for the footer.
type page struct {
	offset   int // position in body
	size     int // including the header
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

func (c *column) reset(pool *blockPool) {
	pool.empty(&c.body)
	c.raw = 0
	c.pages, c.arena = c.pages[:0], c.arena[:0]
	c.dict.reset()
	c.dictUse, c.coded, c.lean, c.stored = dictUndecided, 0, false, false
	c.bloom.reset()
}

func (c *column) isText() bool { return c.def.Type == schemas.String || c.def.Type == schemas.JSON }

// width returns the size of a PLAIN number in bytes.
func (c *column) width() int {
	if c.def.Type == schemas.Int32 || c.def.Type == schemas.Date {
		return 4
	}
	return 8
}

// isEmpty reports whether a page with n values that are not null is empty and PLAIN: it has no values, and its column
// does not use a dictionary, which would require codes.
func (c *column) isEmpty(n int) bool {
	return n == 0 && (c.dict.len() == 0 || c.dictUse == dictDropped)
}

// mustDecide reports whether the use of the dictionary has to be decided with this page of n values.
func (c *column) mustDecide(n int) bool {
	return c.dictUse == dictUndecided && (c.lean || c.coded+n >= minDictionaryValues)
}

// keepDictionary decides whether the column keeps its dictionary, and returns the decision. The costs of the
// dictionary, of this page's n values as codes, and of the same values encoded directly are estimates in bits, after
// compression.
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

// addCoded counts the n codes of a page. If the dictionary has grown too large, further pages do not use it.
func (c *column) addCoded(n int) {
	c.coded += n
	if c.dict.size(c.def.Type) > maxDictionaryBytes {
		c.dictUse = dictDropped
	}
}
