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

var errTextOfNull = errors.New("a null value has text")

// textBits is the approximate number of bits for a byte of text after compression, which halves identifiers in
// hexadecimal digits. A text that repeats the previous text costs next to nothing, even without a dictionary.
const textBits = 4

// encodeTexts appends a page's texts to e.raw.
func (c *column) encodeTexts(v *rows.Vector, nulls int, e *encoder) (format.Encoding, bounds, error) {
	if len(v.Data) > math.MaxInt32 {
		return 0, bounds{}, errPageTooLarge
	}
	data, ends, own := v.Data, v.End, v.Code
	if nulls > 0 && v.Coded {
		own = presentValues(e.own, v.Code, v.Present)
		e.own = own
	} else if nulls > 0 {
		var ok bool
		if e.ends, ok = endsOfPresent(e.ends[:0], v); !ok {
			return 0, bounds{}, errTextOfNull
		}
		ends = e.ends
	}
	n := len(ends)
	if v.Coded {
		n = len(own)
	}
	if c.isEmpty(n) {
		return format.Plain, bounds{}, nil
	}
	if c.dictUse != dictDropped {
		had := c.dict.len()
		if v.Coded {
			e.codes = c.dict.recodeTexts(e.codes[:0], v, own)
		} else {
			e.codes = c.dict.codeTexts(e.codes[:0], data, ends)
		}
		if b, ok, err := c.encodeTextCodes(had, e); ok || err != nil {
			return format.RLEDictionary, b, err
		}
	}
	if v.Coded {
		e.text, e.ends = expand(e.text[:0], e.ends[:0], v, own)
		data, ends = e.text, e.ends
	}
	e.ints32 = e.ints32[:0]
	var start uint32
	for _, end := range ends {
		e.ints32 = append(e.ints32, int32(end-start))
		start = end
	}
	c.addToBloom(data, ends, 0)
	var err error
	if e.values, err = new(delta.BinaryPackedEncoding).EncodeInt32(e.values, e.ints32); err != nil {
		return 0, bounds{}, fmt.Errorf("encode lengths: %w", err)
	}
	e.raw = append(e.raw, e.values...)
	e.raw = append(e.raw, data...)
	least, greatest := boundsOfTexts(data, ends)
	return format.DeltaLengthByteArray, c.textBounds(n, least, greatest), nil
}

// encodeTextCodes appends the codes of a page's texts, e.codes, to e.raw. If it drops the dictionary instead, ok is
// false. had is the number of texts in the dictionary before this page.
func (c *column) encodeTextCodes(had int, e *encoder) (b bounds, ok bool, err error) {
	if err := e.encodeCodes(&c.dict); err != nil {
		return bounds{}, false, err
	}
	n := len(e.codes)
	if c.mustDecide(n) && !c.keepDictionary(n, textBits*len(c.dict.data), 8*e.codesSize(), textBits*c.dict.changed(e.codes)+n) {
		c.dict.truncate(had)
		return bounds{}, false, nil
	}
	c.addToBloom(c.dict.data, c.dict.ends, had)
	c.addCoded(n)
	e.appendCodes()
	least, greatest := c.dict.boundsOfTexts()
	return c.textBounds(n, least, greatest), true, nil
}

// expand appends the texts of the codes to data, and their ends to ends.
func expand(data []byte, ends []uint32, v *rows.Vector, codes []int32) ([]byte, []uint32) {
	for _, code := range codes {
		data = append(data, v.Entry(int(code))...)
		ends = append(ends, uint32(len(data)))
	}
	return data, ends
}

// endsOfPresent appends the ends of the texts that are not null. It returns false if a null has text, because this text
// would be read as part of the next row's text.
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

// boundsOfTexts returns the least and the greatest of texts that are stored end to end, or nil if there are no texts.
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
