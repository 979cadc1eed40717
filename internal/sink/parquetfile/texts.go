package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
)

var errTextOfNull = errors.New("a null that has a text")

// textBits is what a byte of text costs after compression, about: identifiers
// in hexadecimal digits halve.
const textBits = 4

// texts appends a page's texts to e.raw.
func (c *column) texts(v *rows.Vector, nulls int, e *encoder) (format.Encoding, bounds, error) {
	ends := v.End
	if nulls > 0 {
		var ok bool
		if e.ends, ok = endsOfPresent(e.ends[:0], v); !ok {
			return 0, bounds{}, errTextOfNull
		}
		ends = e.ends
	}
	if len(ends) == 0 && (c.dict.len() == 0 || c.dictUse == dictRefused) {
		return format.Plain, bounds{}, nil
	}
	if c.dictUse != dictRefused {
		had := c.dict.len()
		e.codes = c.dict.codeTexts(e.codes[:0], v.Data, ends)
		if err := e.encodeCodes(); err != nil {
			return 0, bounds{}, err
		}
		if c.undecided(len(ends)) {
			c.judge(len(ends), textBits*len(c.dict.data), 8*len(e.values), textBits*c.dict.changed+len(ends))
		}
		if c.dictUse != dictRefused {
			c.noteCoded(len(ends))
			e.raw = append(e.raw, e.values...)
			least, greatest := c.dict.boundsOfTexts()
			return format.RLEDictionary, c.textBounds(len(ends), least, greatest), nil
		}
		c.dict.truncate(had)
	}
	e.ints32 = e.ints32[:0]
	var start uint32
	for _, end := range ends {
		e.ints32 = append(e.ints32, int32(end-start))
		start = end
	}
	var err error
	if e.values, err = new(delta.BinaryPackedEncoding).EncodeInt32(e.values, e.ints32); err != nil {
		return 0, bounds{}, fmt.Errorf("encode lengths: %w", err)
	}
	e.raw = append(e.raw, e.values...)
	e.raw = append(e.raw, v.Data...)
	least, greatest := boundsOfTexts(v.Data, ends)
	return format.DeltaLengthByteArray, c.textBounds(len(ends), least, greatest), nil
}

// endsOfPresent appends where the texts end that are not null, and tells
// whether nulls have no text, without which the texts would not stand end to
// end.
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

// boundsOfTexts returns the least and the greatest of texts that stand end to
// end, nil if there are none.
func boundsOfTexts(data []byte, ends []uint32) (least, greatest []byte) {
	if len(ends) == 0 {
		return nil, nil
	}
	start := ends[0]
	least = data[:start:start]
	greatest = least
	leastHead, greatestHead := head(least), head(least)
	for _, end := range ends[1:] {
		s := data[start:end]
		start = end
		h := head(s)
		if h <= leastHead && (h < leastHead || bytes.Compare(s, least) < 0) {
			least, leastHead = s, h
		}
		if h >= greatestHead && (h > greatestHead || bytes.Compare(s, greatest) > 0) {
			greatest, greatestHead = s, h
		}
	}
	return least, greatest
}

// head returns the first eight bytes of a text as a number of the same order;
// texts of equal heads may still differ.
func head(s []byte) uint64 {
	if len(s) >= 8 {
		return binary.BigEndian.Uint64(s)
	}
	var h uint64
	for i, b := range s {
		h |= uint64(b) << (56 - 8*i)
	}
	return h
}
