package odd

import "example.org/growthexport/internal/simulator"

// Quirks makes a world odd; see [simulator.Quirks].
type Quirks struct{ oddities []oddity }

// New returns quirks with every oddity.
func New() *Quirks { return &Quirks{oddities()} }

// List returns the list of a call with some records changed, replaced or repeated.
func (o *Quirks) List(w *simulator.World, c *simulator.Call, plain simulator.List) simulator.List {
	q := &oddList{oddities: o.oddities, world: w, call: c, plain: plain}
	odd := simulator.List{Count: q.withRepeats(plain.Count), Element: q.element}
	if plain.Keep != nil {
		odd.Keep = func(i int) bool {
			at, _ := q.original(i)
			return plain.Keep(at)
		}
	}
	return odd
}

// oddList makes the records of a plain list odd.
type oddList struct {
	oddities []oddity
	world    *simulator.World
	call     *simulator.Call
	plain    simulator.List
}

// period returns the number of records between repeats, which is smaller for short lists.
func (q *oddList) period() int {
	switch {
	case q.call.Op.Single != "":
		return 1 << 30
	case q.plain.Count < 60:
		return 4
	default:
		return 15
	}
}

// withRepeats returns the number of positions in a list of n records and their repeats.
func (q *oddList) withRepeats(n int) int { return n + n/q.period() }

// original returns the position in the plain list of the record at position i of the odd list, and whether that record
// is a repeat.
func (q *oddList) original(i int) (at int, again bool) {
	period := q.period()
	block, offset := i/(period+1), i%(period+1)
	if offset < period {
		return block*period + offset, false
	}
	d := *simulator.NewRand(q.world.Hash(q.call, i, 2))
	return max(0, (block+1)*period-1-d.Below(3*period)), true
}

// element returns the element at a position of the list.
func (q *oddList) element(a *simulator.Arena, i int) simulator.Value {
	luck := *simulator.NewRand(simulator.Mix(q.world.Style(q.call, i)))
	if _, again := q.original(i); again && q.call.Op.Name != "schools" && luck.Chance(120) {
		return nonRecord(luck.Below(6))
	}
	s := q.oddCase(a, i, &luck)
	s.shuffle(&luck)
	return simulator.Value{Kind: simulator.Object, Sub: s.members}
}

// oddCase returns the record at a position. In about two thirds of the cases, the record is odd.
func (q *oddList) oddCase(a *simulator.Arena, i int, luck *simulator.Rand) *oddCase {
	at, again := q.original(i)
	table := &q.call.Op.Tables[0]
	seat := i // determines how the record is odd
	if table.WholeRecord {
		seat = table.Position(at) // Records that are equal in every member must be odd in the same way.
	}
	s := &oddCase{op: q.call.Op, members: q.plain.Record(a, at), draw: *simulator.NewRand(simulator.Mix(q.world.Style(q.call, seat) ^ simulator.Golden))}
	formatBids(q.world, s.members)
	if again {
		s.varyRepeat(table, luck.Below(5))
	}
	if s.draw.Chance(350) {
		return s
	}
	// Oddities are assigned in turn, from an offset that depends on the list, so that a long enough list gets all of
	// them. The oddities of one record are of different kinds.
	const apart = 61
	all := q.oddities
	first := int(q.world.Hash(q.call, q.call.Subject, 4) % uint64(len(all)))
	for n := range s.draw.Between(1, 3) {
		s.apply(all, first+2*seat+apart*n)
	}
	return s
}

// nonRecord returns a list element that is not a record.
func nonRecord(sort int) simulator.Value {
	switch sort {
	case 0:
		return mismatch("5")
	case 1:
		return mismatch(`"a \u00e9 \/"`)
	case 2:
		return spaced("[ 1, { \"a\" : null } ]", `[1,{"a":null}]`)
	case 3:
		return mismatch("true")
	case 4:
		return simulator.Value{Kind: simulator.Null}
	default:
		return simulator.Value{Kind: simulator.Object}
	}
}

// varyRepeat changes a repeated record: its time of modification may become later, earlier, unreadable or null, its
// arrays become shorter, and a text changes. If records are duplicates only if they are equal, it changes at most the
// time.
func (s *oddCase) varyRepeat(t *simulator.Table, sort int) {
	const aDay = simulator.MillisPerDay
	if t.WholeRecord && sort != 1 {
		return
	}
	for i := range s.members {
		m := &s.members[i]
		switch {
		case m.Name == "modifiedDateTime" && sort == 1:
			m.Value = simulator.TimestampOf(m.N+aDay, m.M)
		case m.Name == "modifiedDateTime" && sort == 2:
			m.Value = simulator.TimestampOf(m.N-aDay, m.M)
		case m.Name == "modifiedDateTime" && sort == 3:
			m.Value = mismatch(`"yesterday"`)
		case m.Name == "modifiedDateTime" && sort == 4:
			m.Value = simulator.Value{Kind: simulator.Null}
		case m.Kind == simulator.Array && len(m.Sub) > 0 && !t.WholeRecord:
			m.Sub = m.Sub[:len(m.Sub)-1]
		}
	}
	if t.WholeRecord {
		return
	}
	for i := range s.members {
		if m := &s.members[i]; m.Kind == simulator.Text {
			m.Value = simulator.TextOf(m.S + " (again)")
			return
		}
	}
}

// shuffle reorders the members of the record and of its known objects. Members that occur twice keep their order.
func (s *oddCase) shuffle(d *simulator.Rand) {
	for _, p := range s.objects() {
		members := *p.members
		for i := len(members) - 1; i > 0; i-- {
			if j := d.Below(i + 1); isUnique(members, i) && isUnique(members, j) {
				members[i], members[j] = members[j], members[i]
			}
		}
	}
}

// Mark returns an empty text, because odd answers do not mark their values about people.
func (*Quirks) Mark() string { return "" }

// Container returns the container of a list with its undocumented parts varied, in the same way for all pages.
func (o *Quirks) Container(w *simulator.World, c *simulator.Call, k simulator.Container) simulator.Container {
	d := *simulator.NewRand(w.Hash(c, c.Subject, 3))
	k.TextFlags = d.Chance(150)
	switch c.Op.Name {
	case "test_results", "academic_years", "school_classes":
		k.Beside = [...]string{"", "", `"total":12,`, `"links":{"self":"/x"},"warnings":[],`}[d.Below(4)]
		return k
	}
	names := [...]string{"items", "data", "results", "Elements", c.Op.Wrapper}
	if k.Wrapper = names[d.Below(len(names))]; k.Wrapper == "" {
		k.Wrapper = "content"
	}
	switch d.Below(5) {
	case 0:
		k = simulator.Container{}
	case 1:
		k.Paged = false
	case 2:
		k.Paged, k.Pagination = false, [...]string{`{"hasNextPage":false}`, "null", `{"hasNextPage":false,"nextPage":null}`}[d.Below(3)]
	default:
		k.Paged = true
	}
	return k
}
