package transform

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"example.org/growthexport/internal/rows"
)

// doubled is what reading a record returns where a member has been found
// twice: it has to be read again, knowing which members count.
const doubled = -3

// records reads the elements of the array of records, from behind its opening
// bracket to behind its closing one.
func (c *Chain) records(pos int) int {
	if pos = c.checkCount(pos); pos < 0 {
		return pos
	}
	t := c.tables[0]
	pos, more := firstEnd(c.body, pos, ']')
	for more {
		if pos = c.record(pos); pos < 0 {
			return pos
		}
		t.n++
		pos, more = nextEnd(c.body, pos, ']')
	}
	return pos
}

// record reads one record into the next row, and its children.
func (c *Chain) record(pos int) int {
	t := c.tables[0]
	if int64(c.count+t.n-t.kept) >= c.limits.Records {
		return c.exceed(ErrTooManyRecords)
	}
	if t.n == t.capacity {
		t.grow()
	}
	for _, ct := range c.tables[1:] {
		ct.starts = append(ct.starts, int32(ct.n))
	}
	if at(c.body, pos) != '{' {
		return c.notAnObject(t, pos)
	}
	c.recordChildRows = 0
	pending := c.events.mark()
	end := c.row(t, pos+1)
	if end != doubled {
		return end
	}

	c.left.reset()
	c.events.rewind(pending)
	c.uncountRecord()
	t.rewind(t.n)
	for _, ct := range c.tables[1:] {
		ct.rewind(int(ct.starts[t.n]))
	}
	c.dropped = c.dropped[:0]
	if end = c.findDoubled(t.plan.root, pos+1); end < 0 {
		return end
	}
	c.startDropping()
	end = c.row(t, pos+1)
	c.nextDropped = -1
	return end
}

// elements reads an array of child rows, from behind its opening bracket to
// behind its closing one.
func (c *Chain) elements(t *tableRows, pos int) int {
	pos, more := firstEnd(c.body, pos, ']')
	for more {
		if err := c.countChildRow(); err != nil {
			return c.exceed(err)
		}
		if t.n == t.capacity {
			t.grow()
		}
		switch first := at(c.body, pos); {
		case first == '{':
			pos = c.row(t, pos+1)
		case first == '"' && t.plan.bare != nil:
			pos = c.bareText(t, pos)
		default:
			pos = c.notAnObject(t, pos)
		}
		if pos < 0 {
			return pos
		}
		t.n++
		pos, more = nextEnd(c.body, pos, ']')
	}
	return pos
}

// row reads an object, from behind its opening brace to behind its closing
// one, into the next row of a table.
func (c *Chain) row(t *tableRows, pos int) int {
	mark := c.left.mark()
	pos, seen := c.members(t.plan.root, t, pos, 0)
	if pos < 0 {
		return pos
	}
	t.fillNulls(t.n, seen)
	if c.left.since(mark) == 0 {
		t.setNull(t.plan.extra, t.n)
		return pos
	}
	return c.leftoversOf(t, mark, pos)
}

// members reads the members of an object, from behind its opening brace to
// behind its closing one, into the next row. Of the table's members, seen are
// those that the row already has.
//
// This is the fast path: each value is taken if it has its column's usual
// form, else it is left to other.
func (c *Chain) members(lv *level, t *tableRows, pos int, seen uint64) (end int, seenNow uint64) {
	b, hints, row := c.body, c.hints[lv.id], t.n
	last := uint8(0)
	pos, more := firstEnd(b, pos, '}')
	for more {
		start := pos
		m := &lv.members[0]
		if len(b)-pos > window && b[pos] == '"' {
			ahead := (*[window]byte)(b[pos+1:])
			if m = &lv.members[hints[last]]; !m.pattern.matches(ahead) {
				m = lv.match(ahead)
				hints[last] = m.number
			}
			last = m.number
			pos += 1 + m.width
		}
		if m.number == 0 {
			if m, pos = c.name(lv, start); pos < 0 {
				return failed, seen
			}
		}
		if pos < len(b) && b[pos] <= ' ' {
			pos = spaceEnd(b, pos)
		}
		if start == c.nextDropped {
			pos = c.drop(pos, lv)
		} else {
			if seen&m.bit != 0 {
				return doubled, seen
			}
			seen |= m.bit
			switch first := at(b, pos); {
			case m.kind.isColumn():
				if end = c.usual(m, t, row, pos); end < 0 {
					end = c.other(lv, m, t, row, pos)
				}
				pos = end
			case m.kind == nest && first == '{':
				pos, seen = c.nested(m, t, pos+1, seen)
			case m.kind == child && first == '[':
				pos = c.elements(c.tables[m.child.index], pos+1)
			default:
				pos = c.other(lv, m, t, row, pos)
			}
		}
		if pos < 0 {
			return pos, seen
		}
		if pos+1 < len(b) && b[pos] == ',' && b[pos+1] == '"' {
			pos++
			continue
		}
		pos, more = nextEnd(b, pos, '}')
	}
	return pos, seen
}

// name reads the name of a member, from its opening quote, and goes to its
// value. If the member is not declared, the name is kept in c.unknown.
func (c *Chain) name(lv *level, pos int) (m *member, end int) {
	b := c.body
	if pos >= len(b) || b[pos] != '"' {
		return nil, failed
	}
	start := pos + 1
	var name []byte
	replaced := 0
	if pos = plainEnd(b, start); pos < len(b) && b[pos] == '"' {
		name = b[start:pos]
		pos++
	} else {
		if pos = stringEnd(b, start); pos < 0 {
			return nil, failed
		}
		c.text, replaced, _ = unescape(c.text[:0], b[start:pos-1])
		name = c.text
	}
	if m = lv.lookup(name); m.number == 0 {
		c.unknown, c.unknownReplaced = append(c.unknown[:0], name...), replaced
	}
	if pos < len(b) && b[pos] == ':' {
		return m, spaceEnd(b, pos+1)
	}
	return m, colonEnd(b, pos)
}

// nested reads a nest, from behind its opening brace; what it leaves over is a
// leftover of the object around it.
func (c *Chain) nested(m *member, t *tableRows, pos int, seen uint64) (end int, seenNow uint64) {
	mark := c.left.mark()
	if pos, seen = c.members(m.nest, t, pos, seen); pos < 0 || c.left.since(mark) == 0 {
		return pos, seen
	}
	if !c.left.nest(mark, m.name) {
		return doubled, seen
	}
	return pos, seen
}

// usual gives a row of a column its value, if that has the column's usual form;
// else it returns failed, and the row's slot means nothing yet.
func (c *Chain) usual(m *member, t *tableRows, row, pos int) int {
	b, v := c.body, &t.cols[m.column]
	end := failed
	switch m.kind {
	case textColumn:
		end = appendPlainText(v, row, b, pos)
	case int32Column:
		var mantissa int64
		var fraction int
		mantissa, fraction, end = shortNumber(b, pos)
		v.I32[row] = int32(mantissa)
		if fraction != 0 || int64(v.I32[row]) != mantissa {
			return failed
		}
	case int64Column:
		var fraction int
		v.I64[row], fraction, end = shortNumber(b, pos)
		if fraction != 0 {
			return failed
		}
	case doubleColumn:
		var mantissa int64
		var fraction int
		mantissa, fraction, end = shortNumber(b, pos)
		if mantissa == 0 && at(b, pos) == '-' {
			return failed // -0 is a double of its own
		}
		// Both are exact, so the quotient is the nearest double.
		v.F64[row] = float64(mantissa) / powersOfTen[fraction]
	case booleanColumn:
		v.Bool[row] = 1
		if end = literalEnd(b, pos, "true"); end < 0 {
			v.Bool[row] = 0
			end = literalEnd(b, pos, "false")
		}
	case dateColumn, timestampColumn:
		var text []byte
		var ok bool
		text, end = plainText(b, pos)
		if m.kind == dateColumn {
			v.I32[row], ok = date(text)
		} else {
			v.I64[row], ok = timestamp(text)
		}
		if !ok {
			return failed
		}
	}
	if end >= 0 {
		v.Present[row] = 1
	}
	return end
}

// appendPlainText takes a text of ASCII without escapes that is not long,
// copying words while it looks at them.
func appendPlainText(v *rows.Vector, row int, b []byte, pos int) int {
	const most = 64
	have := len(v.Data)
	if cap(v.Data)-have < most {
		v.Data = slices.Grow(v.Data, most)
	}
	if len(b)-pos <= most || b[pos] != '"' {
		return failed
	}
	from, to := (*[most]byte)(b[pos+1:]), (*[most]byte)(v.Data[have:have+most])
	for i := 0; i < most; i += 8 {
		w := binary.LittleEndian.Uint64(from[i : i+8])
		binary.LittleEndian.PutUint64(to[i:i+8], w)
		if marks := specials(w); marks != 0 {
			i += bits.TrailingZeros64(marks) >> 3
			if from[i&(most-1)] != '"' {
				return failed
			}
			v.Data = v.Data[:have+i]
			v.End[row] = uint32(have + i)
			return pos + i + 2
		}
	}
	return failed
}

// plainText reads a text of ASCII without escapes, from its opening quote; any
// other value gives failed.
func plainText(b []byte, pos int) (text []byte, end int) {
	if at(b, pos) != '"' {
		return nil, failed
	}
	end = plainEnd(b, pos+1)
	if at(b, end) != '"' {
		return nil, failed
	}
	return b[pos+1 : end], end + 1
}

// maxShortDigits is how many digits every double can hold.
const maxShortDigits = 15

// shortNumber reads a number of at most 15 digits without an exponent: the
// integer that its digits write, and how many of them are a fraction. Any
// other value gives failed.
func shortNumber(b []byte, pos int) (mantissa int64, fraction, end int) {
	start := pos
	negative := at(b, pos) == '-'
	if negative {
		start++
		pos++
	}
	for pos < len(b) && b[pos]-'0' <= 9 {
		mantissa = mantissa*10 + int64(b[pos]-'0')
		pos++
	}
	digits := pos - start
	if digits == 0 || digits > maxShortDigits || (digits > 1 && b[start] == '0') {
		return 0, 0, failed
	}
	if pos < len(b) && b[pos] == '.' {
		pos++
		point := pos
		for pos < len(b) && b[pos]-'0' <= 9 {
			mantissa = mantissa*10 + int64(b[pos]-'0')
			pos++
		}
		fraction = pos - point
		if fraction == 0 || digits+fraction > maxShortDigits {
			return 0, 0, failed
		}
	}
	if pos < len(b) && b[pos]|0x20 == 'e' {
		return 0, 0, failed
	}
	if negative {
		mantissa = -mantissa
	}
	return mantissa, fraction, pos
}

// powersOfTen are those that a double holds exactly and a short number needs.
var powersOfTen = [maxShortDigits + 1]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
}
