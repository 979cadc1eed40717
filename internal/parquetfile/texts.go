package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
)

var errTextOfNull = errors.New("a null value with text")

// textBits is the approximate cost of a byte of text after compression: identifiers in hexadecimal digits halve. A text
// that repeats the one before it costs next to nothing, even without a dictionary.
const textBits = 4

// encodeTexts appends a page's texts to e.raw.
func (c *column) encodeTexts(v *rows.Vector, nulls int, e *encoder) (format.Encoding, bounds, error) {
	if len(v.Data) > math.MaxInt32 {
		return 0, bounds{}, errPageTooLarge
	}
	ends := v.End
	if nulls > 0 {
		var ok bool
		if e.ends, ok = endsOfPresent(e.ends[:0], v); !ok {
			return 0, bounds{}, errTextOfNull
		}
		ends = e.ends
	}
	if c.isEmpty(len(ends)) {
		return format.Plain, bounds{}, nil
	}
	if c.dictUse != dictDropped {
		if b, ok, err := c.encodeTextCodes(v.Data, ends, e); ok || err != nil {
			return format.RLEDictionary, b, err
		}
	}
	e.ints32 = e.ints32[:0]
	var start uint32
	for _, end := range ends {
		e.ints32 = append(e.ints32, int32(end-start))
		start = end
	}
	c.addToBloom(v.Data, ends, 0)
	var err error
	if e.values, err = new(delta.BinaryPackedEncoding).EncodeInt32(e.values, e.ints32); err != nil {
		return 0, bounds{}, fmt.Errorf("encode lengths: %w", err)
	}
	e.raw = append(e.raw, e.values...)
	e.raw = append(e.raw, v.Data...)
	least, greatest := boundsOfTexts(v.Data, ends)
	return format.DeltaLengthByteArray, c.textBounds(len(ends), least, greatest), nil
}

// encodeTextCodes appends the codes of a page's texts to e.raw, unless it drops the dictionary.
func (c *column) encodeTextCodes(data []byte, ends []uint32, e *encoder) (b bounds, ok bool, err error) {
	had := c.dict.len()
	e.codes = c.dict.codeTexts(e.codes[:0], data, ends)
	if err := e.encodeCodes(); err != nil {
		return bounds{}, false, err
	}
	n := len(ends)
	if c.mustDecide(n) && !c.keepDictionary(n, textBits*len(c.dict.data), 8*len(e.values), textBits*c.dict.changed+n) {
		c.dict.truncate(had)
		return bounds{}, false, nil
	}
	c.addToBloom(c.dict.data, c.dict.ends, had)
	c.addCoded(n)
	e.raw = append(e.raw, e.values...)
	least, greatest := c.dict.boundsOfTexts()
	return c.textBounds(n, least, greatest), true, nil
}

// endsOfPresent appends the ends of the texts that are not null. It returns false if a null has text, which would be
// taken for text of the next row.
func endsOfPresent(dst []uint32, v *rows.Vector) ([]uint32, bool) {
	var before uint32
	for i, end := range v.End {
		if v.Present[i] != 0 {
			dst = append(dst, end)
		} else if end != before {
			return dst, false
		}
		before = end
	}
	return dst, true
}

// boundsOfTexts returns the least and the greatest of texts that are end to end, nil if there are no texts.
func boundsOfTexts(data []byte, ends []uint32) (least, greatest []byte) {
	if len(ends) == 0 {
		return nil, nil
	}
	start := ends[0]
	least = data[:start:start]
	greatest = least
	for _, end := range ends[1:] {
		s := data[start:end]
		start = end
		if bytes.Compare(s, least) < 0 {
			least = s
		}
		if bytes.Compare(s, greatest) > 0 {
			greatest = s
		}
	}
	return least, greatest
}
