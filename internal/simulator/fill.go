package simulator

import (
	"slices"
	"strconv"
	"time"
)

// filler completes records. A declared column that the world does not send gets a made-up value of its type, so that a
// new column needs no code here.
type filler struct {
	draw Rand // the random values of the record
}

// filled returns the list of a call with complete records.
func (w *World) filled(c *Call, list List) List {
	record, t := list.Record, &c.Op.Tables[0]
	list.Record = func(a *Arena, i int) []Member {
		f := filler{Rand{w.Style(c, t.Position(i)) ^ c.Op.salt}}
		return f.fill(record(a, i), t.Shape)
	}
	return list
}

// fill removes absent members from an object and its nested objects, adds missing members, and returns the result.
// s is nil for an object without columns.
func (f *filler) fill(members []Member, s *Shape) []Member {
	var missing *unsentMembers
	if s != nil {
		missing = s.unsent(members)
	}
	kept := members[:0]
	for i := range members {
		m := &members[i]
		switch m.Kind {
		case Absent:
			continue
		case Object:
			m.Sub = f.fill(m.Sub, s.nest(m.Name))
		case Array:
			child := s.child(m.Name)
			for e := range m.Sub {
				if element := &m.Sub[e]; element.Kind == Object {
					element.Sub = f.fill(element.Sub, child)
				}
			}
		}
		kept = append(kept, *m)
	}
	if missing == nil {
		return kept
	}
	for _, col := range missing.columns {
		if v := f.value(&col); v.Kind != Absent {
			kept = append(kept, Member{col.Source, v})
		}
	}
	for _, name := range missing.nests {
		kept = append(kept, Member{name, Value{Kind: Object, Sub: f.fill(nil, s.Nests[name])}})
	}
	for _, name := range missing.children {
		elements := make([]Member, f.draw.Below(3))
		for i := range elements {
			elements[i].Value = Value{Kind: Object, Sub: f.fill(nil, s.Children[name])}
		}
		kept = append(kept, Member{name, Value{Kind: Array, Sub: elements}})
	}
	return slices.Clip(kept)
}

// value returns a made-up value for a column. One in ten values is absent, unless the column is a key.
func (f *filler) value(col *Column) Value {
	d := &f.draw
	number := d.next()
	switch {
	case col.Key:
		return TextOf(Bid{number, d.next()}.String())
	case number%10 == 0:
		return Value{}
	}
	switch col.Type {
	case "int32":
		return integerOf(d.Below(1000))
	case "int64":
		return longOf(d.Below(1 << 40))
	case "double":
		return decimalOf(d.Below(100_000))
	case "boolean":
		return booleanOf(d.Chance(500))
	case "date":
		return dateOf(firstOf(time.January, 2023) + Day(d.Below(1000)))
	case "timestamp":
		return TimestampOf(firstOf(time.January, 2025).Millis()+int64(d.Below(365*MillisPerDay)), withMillis)
	default:
		return TextOf(col.Source + " " + strconv.Itoa(d.Below(1000)))
	}
}

// List returns the list that a call reads, with complete records and all deviations of this world.
func (w *World) List(c *Call) List {
	list := w.withReorderedArrays(c, w.filled(c, c.Op.source(w, c)))
	if w.quirks != nil {
		list = w.quirks.List(w, c, list)
	}
	return w.reordered(c, list)
}
