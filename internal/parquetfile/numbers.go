package parquetfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// doubleBits is the approximate number of bits of a double after compression.
const doubleBits = 56

// encodeNumbers appends a page's numbers, dates or timestamps to e.raw.
func (c *column) encodeNumbers(v *rows.Vector, nulls int, e *encoder) (format.Encoding, bounds, error) {
	e.ints = presentInts(e.ints, v, nulls)
	if c.isEmpty(len(e.ints)) {
		return format.Plain, bounds{}, nil
	}
	if c.dictUse != dictDropped {
		if b, ok, err := c.encodeNumberCodes(e); ok || err != nil {
			return format.RLEDictionary, b, err
		}
	}
	b := c.intBounds(e.ints)
	if c.def.Type == schemas.Double {
		for _, x := range e.ints {
			e.raw = binary.LittleEndian.AppendUint64(e.raw, uint64(x))
		}
		return format.Plain, b, nil
	}
	if err := c.encodeDelta(e); err != nil {
		return 0, bounds{}, err
	}
	e.raw = append(e.raw, e.values...)
	return format.DeltaBinaryPacked, b, nil
}

// encodeNumberCodes appends the codes of e.ints to e.raw. If it drops the dictionary instead, ok is false.
func (c *column) encodeNumberCodes(e *encoder) (b bounds, ok bool, err error) {
	had, n := c.dict.len(), len(e.ints)
	e.codes = c.dict.codeInts(e.codes[:0], e.ints)
	entry, direct := doubleBits, doubleBits*n
	if c.mustDecide(n) && c.def.Type != schemas.Double {
		if err := c.encodeDelta(e); err != nil {
			return bounds{}, false, err
		}
		entry, direct = 8*c.width(), 8*len(e.values)
	}
	if err := e.encodeCodes(&c.dict); err != nil {
		return bounds{}, false, err
	}
	if c.mustDecide(n) && !c.keepDictionary(n, entry*c.dict.len(), 8*e.codesSize(), direct) {
		c.dict.truncate(had)
		return bounds{}, false, nil
	}
	c.addCoded(n)
	e.appendCodes()
	e.used = c.dict.usedInts(e.used[:0])
	return c.intBounds(e.used), true, nil
}

// encodeDelta encodes e.ints as DELTA_BINARY_PACKED into e.values.
func (c *column) encodeDelta(e *encoder) error {
	var err error
	if c.width() == 8 {
		e.values, err = new(delta.BinaryPackedEncoding).EncodeInt64(e.values, e.ints)
	} else {
		e.ints32 = e.ints32[:0]
		for _, x := range e.ints {
			e.ints32 = append(e.ints32, int32(x))
		}
		e.values, err = new(delta.BinaryPackedEncoding).EncodeInt32(e.values, e.ints32)
	}
	if err != nil {
		return fmt.Errorf("encode differences: %w", err)
	}
	return nil
}

// presentInts replaces the contents of dst with the numbers that are not null. Doubles are given by their bits.
func presentInts(dst []int64, v *rows.Vector, nulls int) []int64 {
	present := v.Present
	if nulls == 0 {
		present = nil
	}
	switch v.Type {
	case schemas.Int32, schemas.Date:
		return presentValues(dst, v.I32, present)
	case schemas.Double:
		dst = slices.Grow(dst[:0], len(v.F64))[:len(v.F64)]
		for i, x := range v.F64 {
			dst[i] = int64(math.Float64bits(x))
		}
		return presentValues(dst, dst, present)
	default:
		return presentValues(dst, v.I64, present)
	}
}

// presentValues replaces the contents of dst, which may be values itself, with the values that are not null. If present
// is nil, there are no nulls.
func presentValues[To, From int32 | int64](dst []To, values []From, present []uint8) []To {
	dst = slices.Grow(dst[:0], len(values))[:len(values)]
	if present == nil {
		for i, x := range values {
			dst[i] = To(x)
		}
		return dst
	}
	n := 0
	for i, x := range values {
		dst[n] = To(x) // without a branch, because nulls are hard to predict
		n += int(present[i] & 1)
	}
	return dst[:n]
}

// encodeBooleans appends a page's booleans to e.raw as PLAIN, one bit each.
func (c *column) encodeBooleans(v *rows.Vector, nulls int, e *encoder) bounds {
	var (
		word  byte
		count [2]int
		n     int
	)
	for i, x := range v.Bool {
		if nulls > 0 && v.Present[i] == 0 {
			continue
		}
		count[x&1]++
		word |= (x & 1) << (n & 7)
		if n++; n&7 == 0 {
			e.raw = append(e.raw, word)
			word = 0
		}
	}
	if n&7 != 0 {
		e.raw = append(e.raw, word)
	}
	if n == 0 {
		return bounds{}
	}
	var least, greatest byte
	if count[0] == 0 {
		least = 1
	}
	if count[1] > 0 {
		greatest = 1
	}
	return c.exactBounds([]byte{least}, []byte{greatest})
}
