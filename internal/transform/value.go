package transform

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"example.org/growthexport/internal/rows"
)

// keepNonObject reads an element that is not an object, in an array of records or child rows. All columns of its row
// are null except _extra, which holds the element unless the profile or the cohort forbids it.
func (d *Decoder) keepNonObject(t *tableRows, pos int) int {
	end := d.skip(t.plan.root.depth-1, pos)
	if end < 0 {
		return end
	}
	t.fillNulls(t.n, 0)
	if d.left.off || d.plan.cohort != nil && d.body[pos] == '[' {
		d.drift.add(t.plan, TypeMismatch, "", []byte(valueName), 1)
		return end
	}
	t.extendExtra()
	v := &t.cols[t.plan.extra]
	v.Data = append(append(append(v.Data, `{"`...), valueName...), `":`...)
	var replaced int
	v.Data, replaced = appendCompact(v.Data, d.body[pos:end])
	v.AppendText([]byte{'}'})
	d.drift.add(t.plan, TypeMismatch, "", []byte(valueName), 1+replaced)
	return end
}

// readBareText reads an element that is text instead of an object. If it fits, the text becomes the value of one column
// of its row.
func (d *Decoder) readBareText(t *tableRows, pos int) int {
	m := t.plan.bare
	column := &d.targets[t.plan.root.id][m.number]
	end := column.readUsual(t.n, d.body, pos)
	if end >= 0 {
		column.values.Present[t.n] = 1
	} else {
		if end = d.skip(t.plan.root.depth-1, pos); end < 0 {
			return end
		}
		replaced, ok := d.convert(m, t, t.n, d.body[pos:end])
		if !ok {
			return d.keepNonObject(t, pos)
		}
		d.drift.add(t.plan, TypeMismatch, "", []byte(m.name), replaced)
	}
	t.fillNulls(t.n, m.bit)
	return end
}

// skip skips a value of any kind in an object that is depth levels below a record.
func (d *Decoder) skip(depth, pos int) int {
	return d.skipper.skip(d.body, pos, d.depth+depth)
}

// readOther reads a value that the fast path does not read: a null, an unusual form of a value that fits its column, or
// a leftover. An undeclared member's name is in d.unknown.
func (d *Decoder) readOther(obj *objectPlan, m *member, t *tableRows, row, pos int) int {
	end := d.skip(obj.depth, pos)
	if end < 0 {
		return end
	}
	value := d.body[pos:end]
	null := value[0] == 'n'
	switch {
	case m.kind.isColumn():
		replaced, ok := 0, false
		if !null {
			replaced, ok = d.convert(m, t, row, value)
		}
		if ok {
			d.drift.add(t.plan, TypeMismatch, obj.path, []byte(m.name), replaced)
			return end
		}
		t.setNull(m.column, row)
		if !null {
			d.drift.add(t.plan, TypeMismatch, obj.path, []byte(m.name), 1+d.left.add([]byte(m.name), value))
		}
	case m.kind == withheld:
		t.setNull(m.column, row)
	case m.kind == unknown && null:
		d.left.addNull(d.unknown)
	case m.kind == unknown && d.left.off:
		d.drift.add(t.plan, UnknownField, obj.path, []byte(maskedName), 1)
	case m.kind == unknown:
		d.drift.add(t.plan, UnknownField, obj.path, d.unknown, 1)
		replaced := d.unknownReplaced + d.left.add(d.unknown, value)
		d.drift.add(t.plan, TypeMismatch, obj.path, d.unknown, replaced)
	case null:
	case m.kind == documented:
		d.drift.add(t.plan, TypeMismatch, obj.path, []byte(m.name), d.left.add([]byte(m.name), value))
	case m.kind == childArray && d.plan.cohort != nil && len(m.child.students) > 0: // a roster of another type may list other students
		d.drift.add(t.plan, TypeMismatch, obj.path, []byte(m.name), 1)
	default: // nestedObject without an object, childArray without an array
		d.drift.add(t.plan, TypeMismatch, obj.path, []byte(m.name), 1+d.left.add([]byte(m.name), value))
	}
	return end
}

// convert writes the value to a row of a column and reports whether it fits. If it does, replaced counts its invalid
// bytes of UTF-8.
func (d *Decoder) convert(m *member, t *tableRows, row int, value []byte) (replaced int, ok bool) {
	text, lone := value, false
	switch value[0] {
	case '"':
		d.text, replaced, lone = unescape(d.text[:0], value[1:len(value)-1])
		text = d.text
	case '{', '[':
		return 0, false
	}
	if lone {
		return 0, false
	}
	v := &t.cols[m.column]
	switch m.kind {
	case textColumn:
		t.setText(m.column, row, text)
		ok = true
	case int32Column, int64Column:
		if !isNumber(text) {
			break
		}
		var x int64
		x, ok = parseWhole(text)
		if m.kind == int64Column && ok {
			v.I64[row] = x
		} else if ok = ok && x >= math.MinInt32 && x <= math.MaxInt32; ok {
			v.I32[row] = int32(x)
		}
	case doubleColumn:
		if isNumber(text) {
			v.F64[row], ok = parseDouble(text)
		}
	case booleanColumn:
		v.Bool[row] = 0
		if string(text) == "true" {
			v.Bool[row] = 1
		}
		ok = v.Bool[row] == 1 || string(text) == "false"
	case timestampColumn:
		v.I64[row], ok = parseTimestamp(text)
	case dateColumn:
		v.I32[row], ok = parseDate(text)
	}
	if ok {
		v.Present[row] = 1
	}
	return replaced, ok
}

// readUsual reads the value of a row's column if it has the column's usual form. Otherwise it returns failed and leaves
// the row's slot undefined.
func (m *target) readUsual(row int, b []byte, pos int) (end int) {
	v := m.values
	switch m.kind {
	case textColumn:
		if !v.Coded {
			return appendPlainText(v, row, b, pos)
		}
		v.Code[row], end = m.texts.read(v, b, pos)
		return end
	case int32Column:
		return m.readInt32(row, b, pos)
	case int64Column:
		var fraction int
		v.I64[row], fraction, end = shortNumber(b, pos)
		if fraction != 0 {
			return failed
		}
		return end
	case doubleColumn:
		return m.readDouble(row, b, pos)
	case booleanColumn:
		v.Bool[row] = 1
		if end = literalEnd(b, pos, "true"); end < 0 {
			v.Bool[row] = 0
			end = literalEnd(b, pos, "false")
		}
		return end
	}
	var text []byte
	var ok bool
	text, end = plainText(b, pos)
	if m.kind == dateColumn {
		v.I32[row], ok = parseDate(text)
	} else {
		v.I64[row], ok = parseTimestamp(text)
	}
	if !ok {
		return failed
	}
	return end
}

func (m *target) readInt32(row int, b []byte, pos int) int {
	mantissa, fraction, end := shortNumber(b, pos)
	m.values.I32[row] = int32(mantissa)
	if fraction != 0 || int64(int32(mantissa)) != mantissa {
		return failed
	}
	return end
}

func (m *target) readDouble(row int, b []byte, pos int) int {
	mantissa, fraction, end := shortNumber(b, pos)
	if mantissa == 0 && at(b, pos) == '-' {
		return failed // -0 is a distinct double
	}
	// Both operands are exact, so the quotient is the nearest double.
	m.values.F64[row] = float64(mantissa) / powersOfTen[fraction]
	return end
}

// appendPlainText reads a short ASCII text without escapes, and copies its words while checking them. It returns failed
// for any other value.
func appendPlainText(v *rows.Vector, row int, b []byte, pos int) int {
	const maxBytes = 64
	have := len(v.Data)
	if cap(v.Data)-have < maxBytes {
		v.Data = slices.Grow(v.Data, maxBytes)
	}
	if len(b)-pos <= maxBytes || b[pos] != '"' {
		return failed
	}
	from, to := (*[maxBytes]byte)(b[pos+1:]), (*[maxBytes]byte)(v.Data[have:have+maxBytes])
	for i := 0; i < maxBytes; i += 8 {
		w := binary.LittleEndian.Uint64(from[i : i+8])
		binary.LittleEndian.PutUint64(to[i:i+8], w)
		if marks := specials(w); marks != 0 {
			i += bits.TrailingZeros64(marks) >> 3
			if from[i&(maxBytes-1)] != '"' {
				return failed
			}
			v.Data = v.Data[:have+i]
			v.End[row] = uint32(have + i)
			return pos + i + 2
		}
	}
	return failed
}

// maxShortDigits is the maximum number of decimal digits that a double can always hold.
const maxShortDigits = 15

// shortNumber reads a number of at most maxShortDigits digits without an exponent. mantissa is the integer that all
// digits form, and fraction is the number of digits after the decimal point. It returns failed for any other value.
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

// powersOfTen are powers of ten that doubles represent exactly.
var powersOfTen = [maxShortDigits + 1]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
}
