package transform

import (
	"errors"
	"slices"
)

// readRecords reads the array of records, from the position after its opening bracket, and returns the position after
// its closing bracket. If the body is read through a window, readRecords removes the records that it has read from the
// window and reads on.
//
// If the rows take too much memory, it only counts the remaining records, because ErrTooManyRecords, if it applies, is
// the more helpful error.
func (d *Decoder) readRecords(pos int) int {
	start, counted := pos, int64(-1)
	if spaceEnd(d.body, pos) == len(d.body) && d.source != nil {
		d.readAll() // the array may be empty
	}
	pos, more := firstEnd(d.body, pos, ']')
	for more {
		var end int
		switch counted {
		case -1:
			end = d.readRecord(pos)
		case d.limits.Records:
			return d.stopAtLimit(ErrTooManyRecords)
		default:
			end = d.skip(-1, pos)
		}
		if end >= 0 {
			end, more = nextEnd(d.body, end, ']')
		}
		switch {
		case end == failed && d.source != nil: // the record may end after the window
			d.undoRecord()
			d.advance(start, pos)
			pos, more = spaceEnd(d.body, start), true
		case end == limitReached && errors.Is(d.limitErr, ErrNearlyEmpty):
			counted = int64(d.count + d.pageRecords())
		case end < 0:
			return end
		case counted >= 0:
			counted, pos = counted+1, end
		default:
			d.endRecord()
			pos = end
		}
	}
	if counted >= 0 {
		return limitReached
	}
	if d.source != nil {
		d.advance(start, pos)
		d.readAll()
		pos = start
	}
	return pos
}

// readRecord reads one record and its child rows into the next rows.
func (d *Decoder) readRecord(pos int) int {
	t := d.tables[0]
	if int64(d.count+d.pageRecords()) >= d.limits.Records {
		return d.stopAtLimit(ErrTooManyRecords)
	}
	for _, ct := range d.tables[1:] {
		ct.starts = append(ct.starts[:t.n], int32(ct.n))
	}
	d.recordChildRows, d.recordDrift = 0, d.drift.mark()
	if !d.makeRoom(t) {
		return d.stopAtLimit(ErrNearlyEmpty)
	}
	if at(d.body, pos) != '{' {
		return d.keepNonObject(t, pos)
	}
	end := d.readRow(t, pos+1)
	if end != duplicated {
		return end
	}

	// Read the record again without the members that are replaced by a later member.
	d.undoRecord()
	d.dropped = d.dropped[:0]
	if end = d.findDuplicates(t.plan.root, pos+1); end < 0 {
		return end
	}
	slices.Sort(d.dropped)
	d.setNextDropped()
	end = d.readRow(t, pos+1)
	d.nextDropped = -1
	return end
}

// endRecord accepts the record just read, or drops it if keepsRow returns false.
func (d *Decoder) endRecord() {
	if t := d.tables[0]; d.keepsRow(t) {
		t.n++
		return
	}
	d.undoRecord()
	d.others++
}

// undoRecord drops the values of the current record.
func (d *Decoder) undoRecord() {
	d.left.reset()
	d.drift.rewind(d.recordDrift)
	d.childRows -= int64(d.recordChildRows)
	d.recordChildRows = 0
	t := d.tables[0]
	t.rewind(t.n)
	for _, ct := range d.tables[1:] {
		ct.rewind(int(ct.starts[t.n]))
	}
}

// readElements reads an array of child rows, from the position after its opening bracket, and returns the position
// after its closing bracket.
func (d *Decoder) readElements(t *tableRows, pos int) int {
	pos, more := firstEnd(d.body, pos, ']')
	for ordinal := int32(0); more; ordinal++ {
		if err := d.countChildRow(); err != nil {
			return d.stopAtLimit(err)
		}
		if !d.makeRoom(t) {
			return d.stopAtLimit(ErrNearlyEmpty)
		}
		drift := 0
		if d.plan.drops() {
			drift = d.drift.mark()
		}
		switch first := at(d.body, pos); {
		case first == '{':
			pos = d.readRow(t, pos+1)
		case first == '"' && t.plan.bare != nil:
			pos = d.readBareText(t, pos)
		default:
			pos = d.keepNonObject(t, pos)
		}
		if pos < 0 {
			return pos
		}
		if d.keepsRow(t) {
			t.cols[t.plan.ordinal].I32[t.n] = ordinal
			t.n++
		} else {
			t.rewind(t.n)
			d.drift.rewind(drift)
		}
		pos, more = nextEnd(d.body, pos, ']')
	}
	return pos
}

// readRow reads an object into the next row of a table, from the position after its opening brace, and returns the
// position after its closing brace.
func (d *Decoder) readRow(t *tableRows, pos int) int {
	mark := d.left.mark()
	pos, seen := d.readMembers(t.plan.root, t, pos, 0)
	if pos < 0 {
		return pos
	}
	t.fillNulls(t.n, seen)
	if d.left.count(mark) == 0 {
		return pos
	}
	return d.writeExtra(t, mark, pos)
}

// writeExtra writes the _extra of the row just read, from its leftovers, unless other students could be listed there;
// see Plan.Restrict. It returns pos, or duplicated if two leftovers have the same name.
func (d *Decoder) writeExtra(t *tableRows, mark leftoverMark, pos int) int {
	if !d.left.sortMembers(mark) {
		return duplicated
	}
	if d.left.count(mark) > 0 && !t.plan.dropsExtra && (d.plan.cohort == nil || !d.left.nested(mark)) {
		t.extendExtra()
		v := &t.cols[t.plan.extra]
		v.Data = d.left.appendObject(v.Data, mark)
		v.AppendText(nil)
	}
	d.left.members, d.left.text = d.left.members[:mark.members], d.left.text[:mark.text]
	return pos
}

// readMembers reads the members of an object into the next row. pos is the position after the object's opening brace,
// and end is the position after its closing brace. The bits of seen are the members that the row already has. seenNow
// also has the bits of the members read here.
//
// This is the fast path: it reads values in their column's usual form, without white space around them. readMember
// reads all other values.
func (d *Decoder) readMembers(obj *objectPlan, t *tableRows, pos int, seen uint64) (end int, seenNow uint64) {
	b, targets, row := d.body, d.targets[obj.id], t.n
	last := &targets[0]
	pos, more := firstEnd(b, pos, '}')
	for more {
		start, m := pos, &targets[0]
		if len(b)-pos > window && b[pos] == '"' {
			ahead := (*[window]byte)(b[pos+1:])
			if m = last.next; !m.pattern.matches(ahead) {
				m = &targets[obj.match(ahead)]
				last.next = m
			}
			last = m
			pos += 1 + m.width
		}
		end = failed
		if seen&m.bit == 0 && start != d.nextDropped {
			switch m.kind {
			case textColumn:
				if v := m.values; v.Coded {
					v.Code[row], end = m.texts.read(v, b, pos)
				} else {
					end = appendPlainText(v, row, b, pos)
				}
			case doubleColumn:
				end = m.readDouble(row, b, pos)
			case int32Column:
				end = m.readInt32(row, b, pos)
			case timestampColumn:
				if m.values.I64[row], end = readTime(b, pos); end < 0 {
					end = m.readUsual(row, b, pos)
				}
			case int64Column, booleanColumn, dateColumn:
				end = m.readUsual(row, b, pos)
			}
		}
		if end >= 0 {
			m.values.Present[row] = 1
			seen |= m.bit
		} else if end, seen = d.readMember(obj, m, t, start, pos, seen); end < 0 {
			return end, seen
		}
		if pos = end; pos+1 < len(b) && b[pos] == ',' && b[pos+1] == '"' {
			pos++
			continue
		}
		pos, more = nextEnd(b, pos, '}')
	}
	return pos, seen
}

// readMember reads a member in any form. The member is at start and its value is at pos. If m is the undeclared member,
// the name is read again.
func (d *Decoder) readMember(obj *objectPlan, m *target, t *tableRows, start, pos int, seen uint64) (end int, seenNow uint64) {
	b := d.body
	if m.number == 0 {
		var number uint8
		if number, pos = d.readName(obj, start); pos < 0 {
			return failed, seen
		}
		m = &d.targets[obj.id][number]
	}
	pos = spaceEnd(b, pos)
	if start == d.nextDropped {
		return d.skipDropped(pos, obj), seen
	}
	if seen&m.bit != 0 {
		return duplicated, seen
	}
	seen |= m.bit
	switch first := at(b, pos); {
	case m.kind.isColumn():
		if end = m.readUsual(t.n, b, pos); end >= 0 {
			m.values.Present[t.n] = 1
			return end, seen
		}
	case m.kind == nestedObject && first == '{':
		return d.readNested(m.member, t, pos+1, seen)
	case m.kind == childArray && first == '[':
		return d.readElements(d.tables[m.child.index], pos+1), seen
	}
	return d.readOther(obj, m.member, t, t.n, pos), seen
}

// readName reads the name of a member, from its opening quote, and returns the member's number and the position of its
// value. The name of an undeclared member is kept in d.unknown.
func (d *Decoder) readName(obj *objectPlan, pos int) (number uint8, end int) {
	b := d.body
	if pos >= len(b) || b[pos] != '"' {
		return 0, failed
	}
	start := pos + 1
	var name []byte
	replaced := 0
	if pos = plainEnd(b, start); pos < len(b) && b[pos] == '"' {
		name = b[start:pos]
		pos++
	} else {
		if pos = stringEnd(b, start); pos < 0 {
			return 0, failed
		}
		d.text, replaced, _ = unescape(d.text[:0], b[start:pos-1])
		name = d.text
	}
	if number = obj.lookup(name).number; number == 0 {
		d.unknown, d.unknownReplaced = append(d.unknown[:0], name...), replaced
	}
	if pos < len(b) && b[pos] == ':' {
		return number, spaceEnd(b, pos+1)
	}
	return number, colonEnd(b, pos)
}

// readNested reads a nested object. pos is after its opening brace. Its leftovers become one leftover of the object
// around it.
func (d *Decoder) readNested(m *member, t *tableRows, pos int, seen uint64) (end int, seenNow uint64) {
	mark := d.left.mark()
	if pos, seen = d.readMembers(m.object, t, pos, seen); pos < 0 || d.left.count(mark) == 0 {
		return pos, seen
	}
	if !d.left.wrap(mark, m.name) {
		return duplicated, seen
	}
	return pos, seen
}
