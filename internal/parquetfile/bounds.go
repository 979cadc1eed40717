package parquetfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"example.org/growthexport/schemas"
)

// maxBoundBytes is the length at which texts are cut in statistics. A greatest bound may be one byte longer. This
// length is enough for any identifier and keeps the footer small.
const maxBoundBytes = 64

// bounds are the least and the greatest value of a page or a column chunk, encoded as in statistics. If a text was cut,
// they are not exact: least may be less than every value, and greatest is greater than every value.
type bounds struct {
	least, greatest           []byte
	leastExact, greatestExact bool
	// known is false if all values are null or there are no valid bounds.
	known bool
}

// exactBounds returns bounds that are exact. It copies the values into the column's arena.
func (c *column) exactBounds(least, greatest []byte) bounds {
	return bounds{c.keep(least), c.keep(greatest), true, true, true}
}

func (c *column) keep(b []byte) []byte {
	at := len(c.arena)
	c.arena = append(c.arena, b...) // never nil: an empty text is a bound
	return c.arena[at:len(c.arena):len(c.arena)]
}

// textBounds returns the bounds of n texts, given the least and the greatest of them. It cuts long texts.
func (c *column) textBounds(n int, least, greatest []byte) bounds {
	if n == 0 || c.lean {
		return bounds{}
	}
	if len(greatest) <= maxBoundBytes && len(least) <= maxBoundBytes {
		return c.exactBounds(least, greatest)
	}
	b := bounds{leastExact: len(least) <= maxBoundBytes, greatestExact: len(greatest) <= maxBoundBytes, known: true}
	if !b.leastExact {
		least = least[:cutText(least)]
	}
	b.least = c.keep(least)
	if b.greatestExact {
		b.greatest = c.keep(greatest)
	} else {
		at := len(c.arena)
		c.arena, b.known = appendAbove(c.arena, greatest[:cutText(greatest)])
		b.greatest = c.arena[at:len(c.arena):len(c.arena)]
	}
	return b
}

// cutText returns how many bytes of a longer text, at most maxBoundBytes, can be kept without splitting a character.
func cutText(s []byte) int {
	for n := maxBoundBytes; n > maxBoundBytes-utf8.UTFMax; n-- {
		if utf8.RuneStart(s[n]) {
			return n
		}
	}
	return maxBoundBytes // not UTF-8
}

// appendAbove appends a text that is greater than every text that begins with s, and that is valid UTF-8 if s is. The
// text is s up to its last character that has a successor, with that character replaced by the successor. appendAbove
// returns false if no character has a successor.
func appendAbove(dst, s []byte) ([]byte, bool) {
	for len(s) > 0 {
		r, size := utf8.DecodeLastRune(s)
		s = s[:len(s)-size]
		switch {
		case r == utf8.RuneError && size == 1, r == utf8.MaxRune:
			continue
		case r == 0xD7FF:
			r = 0xE000 // after the surrogates
		default:
			r++
		}
		return utf8.AppendRune(append(dst, s...), r), true
	}
	return dst, false
}

// intBounds returns the bounds of numbers. Doubles are given by their bits.
func (c *column) intBounds(values []int64) bounds {
	if len(values) == 0 {
		return bounds{}
	}
	if c.def.Type == schemas.Double {
		return c.doubleBounds(values)
	}
	least, greatest := values[0], values[0]
	for _, x := range values[1:] {
		least, greatest = min(least, x), max(greatest, x)
	}
	if c.width() == 4 {
		return c.exactBounds(binary.LittleEndian.AppendUint32(nil, uint32(int32(least))),
			binary.LittleEndian.AppendUint32(nil, uint32(int32(greatest))))
	}
	return c.exactBounds(binary.LittleEndian.AppendUint64(nil, uint64(least)),
		binary.LittleEndian.AppendUint64(nil, uint64(greatest)))
}

// doubleBounds returns bounds according to the format's rules for doubles. It returns no bounds if a value is NaN. A
// least bound of zero is negative and a greatest bound of zero is positive, so that they cover both zeros.
func (c *column) doubleBounds(values []int64) bounds {
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, x := range values {
		f := math.Float64frombits(uint64(x))
		if math.IsNaN(f) {
			return bounds{}
		}
		least, greatest = min(least, f), max(greatest, f)
	}
	if least == 0 {
		least = math.Copysign(0, -1)
	}
	if greatest == 0 {
		greatest = 0
	}
	return c.exactBounds(binary.LittleEndian.AppendUint64(nil, math.Float64bits(least)),
		binary.LittleEndian.AppendUint64(nil, math.Float64bits(greatest)))
}

// widen returns bounds that cover b and o, which must both be known.
func (c *column) widen(b, o bounds) bounds {
	if d := c.compare(o.least, b.least); d < 0 || (d == 0 && !o.leastExact) {
		b.least, b.leastExact = o.least, o.leastExact
	}
	if d := c.compare(o.greatest, b.greatest); d > 0 || (d == 0 && !o.greatestExact) {
		b.greatest, b.greatestExact = o.greatest, o.greatestExact
	}
	return b
}

// compare compares two values of the column that are encoded as in statistics.
func (c *column) compare(a, b []byte) int { return compareBounds(c.def.Type, a, b) }

// compareBounds compares two values of a type that are encoded as in statistics.
func compareBounds(t schemas.Type, a, b []byte) int {
	switch t {
	case schemas.Int32, schemas.Date:
		return cmp.Compare(int64(int32(binary.LittleEndian.Uint32(a))), int64(int32(binary.LittleEndian.Uint32(b))))
	case schemas.Int64, schemas.Timestamp:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case schemas.Double:
		return cmp.Compare(math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)))
	default: // texts and booleans
		return bytes.Compare(a, b)
	}
}
