package simulator

import (
	"slices"
	"strconv"
)

// filler completes records by the contract: a declared column that the world does not send gets a value made up from its type, so
// that it needs no code here.
type filler struct {
	today day
	draw  draw // of the record
}

// filled returns the list of a call with complete records.
func (w *World) filled(c *call, list source) source {
	record, t := list.record, &c.op.tables[0]
	list.record = func(a *arena, i int) []member {
		seat := i
		if t.wholeRecord {
			seat -= i % staysPerClass // Records that are equal in every member stay equal.
		}
		f := filler{today: w.today, draw: draw{w.style(c, seat) ^ c.op.salt}}
		return f.fill(record(a, i), t.shape)
	}
	return list
}

// fill drops absent members and adds the missing ones of an object, and of the objects in it. The shape is nil for an object that
// has no columns.
func (f *filler) fill(members []member, s *shape) []member {
	var missing *unsentMembers
	if s != nil {
		missing = s.unsent(members)
	}
	kept := members[:0]
	for i := range members {
		m := &members[i]
		switch m.kind {
		case absent:
			continue
		case object:
			m.sub = f.fill(m.sub, s.nest(m.name))
		case array:
			child := s.child(m.name)
			for e := range m.sub {
				if element := &m.sub[e]; element.kind == object {
					element.sub = f.fill(element.sub, child)
				}
			}
		}
		kept = append(kept, *m)
	}
	if missing == nil {
		return kept
	}
	for _, col := range missing.columns {
		if v := f.value(&col); v.kind != absent {
			kept = append(kept, member{col.source, v})
		}
	}
	for _, name := range missing.nests {
		kept = append(kept, member{name, value{kind: object, sub: f.fill(nil, s.nests[name])}})
	}
	for _, name := range missing.children {
		elements := make([]member, f.draw.below(3))
		for i := range elements {
			elements[i].value = value{kind: object, sub: f.fill(nil, s.children[name])}
		}
		kept = append(kept, member{name, value{kind: array, sub: elements}})
	}
	return slices.Clip(kept)
}

// value makes up the value of a column. Now and then there is none.
func (f *filler) value(col *column) value {
	d := &f.draw
	number := d.next()
	switch {
	case col.key:
		return textOf(bid{number, d.next()}.String())
	case number%10 == 0:
		return value{}
	}
	switch col.kind {
	case "int32":
		return wholeOf(d.below(1000))
	case "int64":
		return longOf(d.below(1 << 40))
	case "double":
		return decimalOf(d.below(100_000))
	case "boolean":
		return truthOf(d.chance(500))
	case "date":
		return dateOf(f.today - day(d.below(1000)))
	case "timestamp":
		return stampOf(f.today.millis()-int64(d.below(365*millisPerDay)), withMillis)
	default:
		return textOf(col.source + " " + strconv.Itoa(d.below(1000)))
	}
}
