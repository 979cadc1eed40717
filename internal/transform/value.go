package transform

import (
	"bytes"
	"math"
	"slices"

	"example.org/growthexport/internal/rows"
)

// notAnObject reads an element of an array of records or child rows that is not an
// object: a row without columns, whose _extra holds it.
func (c *Chain) notAnObject(t *tableRows, pos int) int {
	end := c.skip(t.plan.root.depth-1, pos)
	if end < 0 {
		return end
	}
	t.fillNulls(t.n, 0)
	v := &t.cols[t.plan.extra]
	v.Data = append(append(append(v.Data, `{"`...), valueName...), `":`...)
	var replaced int
	v.Data, replaced = appendCompact(v.Data, c.body[pos:end])
	t.setText(t.plan.extra, t.n, []byte{'}'})
	c.events.add(t.plan, TypeMismatch, "", []byte(valueName), 1+replaced)
	return end
}

// bareText reads an element that is text instead of an object: a row of which
// it is one column, unless it does not fit.
func (c *Chain) bareText(t *tableRows, pos int) int {
	m := t.plan.bare
	end := c.usual(m, t, t.n, pos)
	if end < 0 {
		if end = c.skip(t.plan.root.depth-1, pos); end < 0 {
			return end
		}
		replaced, ok := c.fit(m.kind, &t.cols[m.column], t.n, c.body[pos:end])
		if !ok {
			return c.notAnObject(t, pos)
		}
		c.events.add(t.plan, TypeMismatch, "", []byte(m.name), replaced)
	}
	t.fillNulls(t.n, m.bit)
	t.setNull(t.plan.extra, t.n)
	return end
}

// skip reads any value of an object that is that many levels below a record.
func (c *Chain) skip(depth, pos int) int {
	return c.skipper.skip(c.body, pos, c.depth+depth)
}

// other reads a value in a form that the fast path does not take: one that
// fits its column all the same, a null, or a leftover. The member is the one
// last read by name, if it is not declared.
func (c *Chain) other(lv *level, m *member, t *tableRows, row, pos int) int {
	end := c.skip(lv.depth, pos)
	if end < 0 {
		return end
	}
	value := c.body[pos:end]
	null := value[0] == 'n'
	switch {
	case m.kind.isColumn():
		replaced, ok := 0, false
		if !null {
			replaced, ok = c.fit(m.kind, &t.cols[m.column], row, value)
		}
		if ok {
			c.events.add(t.plan, TypeMismatch, lv.path, []byte(m.name), replaced)
			return end
		}
		t.setNull(m.column, row)
		if !null {
			c.events.add(t.plan, TypeMismatch, lv.path, []byte(m.name), 1+c.left.add([]byte(m.name), value))
		}
	case m.kind == unknown && null:
		c.left.addNull(c.unknown)
	case m.kind == unknown:
		c.events.add(t.plan, UnknownField, lv.path, c.unknown, 1)
		replaced := c.unknownReplaced + c.left.add(c.unknown, value)
		c.events.add(t.plan, TypeMismatch, lv.path, c.unknown, replaced)
	case null:
	case m.kind == known:
		c.events.add(t.plan, TypeMismatch, lv.path, []byte(m.name), c.left.add([]byte(m.name), value))
	default: // a nest that is no object, a child that is no array
		c.events.add(t.plan, TypeMismatch, lv.path, []byte(m.name), 1+c.left.add([]byte(m.name), value))
	}
	return end
}

// fit gives a row of a column its value and reports whether it fits. If it does,
// replaced counts its invalid bytes of UTF-8.
func (c *Chain) fit(k kind, v *rows.Vector, row int, value []byte) (replaced int, ok bool) {
	text, quoted, lone := value, value[0] == '"', false
	switch {
	case quoted:
		c.text, replaced, lone = unescape(c.text[:0], value[1:len(value)-1])
		text = c.text
	case value[0] == '{' || value[0] == '[':
		return 0, false
	}
	if lone {
		return 0, false
	}
	switch k {
	case textColumn:
		v.Data = append(v.Data, text...)
		v.End[row] = uint32(len(v.Data))
		ok = true
	case int32Column, int64Column:
		if !isNumber(text) {
			break
		}
		var x int64
		x, ok = wholeNumber(text)
		if k == int64Column && ok {
			v.I64[row] = x
		} else if ok = ok && x >= math.MinInt32 && x <= math.MaxInt32; ok {
			v.I32[row] = int32(x)
		}
	case doubleColumn:
		if isNumber(text) {
			v.F64[row], ok = double(text)
		}
	case booleanColumn:
		v.Bool[row] = 0
		if string(text) == "true" {
			v.Bool[row] = 1
		}
		ok = v.Bool[row] == 1 || string(text) == "false"
	case timestampColumn:
		v.I64[row], ok = timestamp(text)
	case dateColumn:
		v.I32[row], ok = date(text)
	}
	if ok {
		v.Present[row] = 1
	}
	return replaced, ok
}

// leftovers are the members that no column took, of every object that is open.
type leftovers struct {
	members []leftover
	text    []byte
}

// leftover is one member: its name, escapes resolved, and its value in compact
// form follow each other in leftovers.text.
type leftover struct {
	start, value, end int
	// null members are left out; they are here to be found if they are
	// doubled.
	null bool
}

func (l *leftovers) bytes() int { return cap(l.text) + 32*cap(l.members) }

func (l *leftovers) reset() { l.members, l.text = l.members[:0], l.text[:0] }

// leftoverMark is where the leftovers of an object begin.
type leftoverMark struct{ members, text int }

// mark returns where those of an object that opens now will begin.
func (l *leftovers) mark() leftoverMark { return leftoverMark{len(l.members), len(l.text)} }

// since tells how many there are from a mark on.
func (l *leftovers) since(mark leftoverMark) int { return len(l.members) - mark.members }

// rewind forgets those from a mark on.
func (l *leftovers) rewind(mark leftoverMark) {
	l.members, l.text = l.members[:mark.members], l.text[:mark.text]
}

// add adds a member and returns how many parts of its value had to be replaced
// because they are not text.
func (l *leftovers) add(name, value []byte) (replaced int) {
	m := leftover{start: len(l.text)}
	l.text = append(l.text, name...)
	m.value = len(l.text)
	l.text, replaced = appendCompact(l.text, value)
	m.end = len(l.text)
	l.members = append(l.members, m)
	return replaced
}

func (l *leftovers) addNull(name []byte) {
	start := len(l.text)
	l.text = append(l.text, name...)
	l.members = append(l.members, leftover{start: start, value: len(l.text), end: len(l.text), null: true})
}

func (l *leftovers) name(m leftover) []byte { return l.text[m.start:m.value] }

// settle sorts the members from mark on by name and leaves out the nulls. It
// returns false if a member is doubled.
func (l *leftovers) settle(mark leftoverMark) bool {
	members := l.members[mark.members:]
	if len(members) > 1 {
		slices.SortFunc(members, func(a, b leftover) int { return bytes.Compare(l.name(a), l.name(b)) })
		for i := range members[1:] {
			if bytes.Equal(l.name(members[i]), l.name(members[i+1])) {
				return false
			}
		}
	}
	members = slices.DeleteFunc(members, func(m leftover) bool { return m.null })
	l.members = l.members[:mark.members+len(members)]
	return true
}

// appendObject appends the members from mark on, which are settled, as an
// object.
func (l *leftovers) appendObject(dst []byte, mark leftoverMark) []byte {
	separator := byte('{')
	for _, m := range l.members[mark.members:] {
		dst = appendQuoted(append(dst, separator), l.name(m))
		dst = append(append(dst, ':'), l.text[m.value:m.end]...)
		separator = ','
	}
	return append(dst, '}')
}

// nest makes the members from mark on one member that holds them, if any is
// left. It returns false if one is doubled.
func (l *leftovers) nest(mark leftoverMark, name string) bool {
	if !l.settle(mark) {
		return false
	}
	if l.since(mark) == 0 {
		return true
	}
	m := leftover{start: len(l.text)}
	l.text = append(l.text, name...)
	m.value = len(l.text)
	l.text = l.appendObject(l.text, mark)
	m.end = len(l.text)
	l.members = append(l.members[:mark.members], m)
	return true
}

// leftoversOf gives the row just read its _extra and returns pos, or doubled.
func (c *Chain) leftoversOf(t *tableRows, mark leftoverMark, pos int) int {
	if !c.left.settle(mark) {
		return doubled
	}
	if c.left.since(mark) == 0 {
		t.setNull(t.plan.extra, t.n)
	} else {
		v := &t.cols[t.plan.extra]
		v.Data = c.left.appendObject(v.Data, mark)
		v.Present[t.n] = 1
		v.End[t.n] = uint32(len(v.Data))
	}
	c.left.rewind(mark)
	return pos
}
