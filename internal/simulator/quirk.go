package simulator

// The list of a call as an odd world serves it: the same records, some of them odd, some of them once more.

// list is what a call reads.
func (w *World) list(c *call) source {
	list := w.filled(c, c.op.source(w, c))
	if !w.quirks() {
		return list
	}
	q := &quirks{world: w, call: c, plain: list}
	odd := source{count: q.stretched(list.count), element: q.element}
	if list.keep != nil {
		odd.keep = func(i int) bool {
			at, _ := q.base(i)
			return list.keep(at)
		}
	}
	return odd
}

// quirks makes a list odd.
type quirks struct {
	world *World
	call  *call
	plain source
}

// period is the number of records after which one is repeated: small, where lists are short.
func (q *quirks) period() int {
	switch {
	case q.call.op.single != "":
		return 1 << 30
	case q.plain.count < 60:
		return 4
	default:
		return 15
	}
}

// stretched is the number of positions of a list of n records with its repeats.
func (q *quirks) stretched(n int) int { return n + n/q.period() }

// base is the position in the plain list of what stands at a position, and whether it stands there once more.
func (q *quirks) base(i int) (at int, again bool) {
	period := q.period()
	block, offset := i/(period+1), i%(period+1)
	if offset < period {
		return block*period + offset, false
	}
	d := draw{hash(q.world.seed^q.call.op.salt, q.call.school, q.call.district, i, 2)}
	return max(0, (block+1)*period-1-d.below(3*period)), true
}

// element makes what stands at a position of the list.
func (q *quirks) element(a *arena, i int) value {
	luck := draw{mix(q.world.style(q.call, i))}
	if _, again := q.base(i); again && q.call.op.name != "schools" && luck.chance(120) {
		return noRecord(luck.below(6))
	}
	s := q.specimen(a, i, &luck)
	s.shuffle(&luck)
	return value{kind: object, sub: s.members}
}

// specimen makes the record at a position odd, or leaves it as it is.
func (q *quirks) specimen(a *arena, i int, luck *draw) *specimen {
	at, again := q.base(i)
	table := &q.call.op.tables[0]
	seat := i // what decides how the record is odd
	if table.wholeRecord {
		// Records that are equal in every member must be odd in the same way.
		seat = at - at%staysPerClass
	}
	s := &specimen{op: q.call.op, members: q.plain.record(a, at), draw: draw{mix(q.world.style(q.call, seat) ^ golden)}}
	q.world.spell(s.members)
	if again {
		s.vary(table, luck.below(5))
	}
	if s.draw.chance(350) {
		return s
	}
	// One after the other, from another one in each list, so that a list of some length has them all. A record that has several has
	// them of different sorts, as few are to be had of one member.
	const apart = 61
	all := q.world.oddities
	first := int(hash(q.world.seed^q.call.op.salt, q.call.school, q.call.district, q.call.subject, 4) % uint64(len(all)))
	for n := range s.draw.between(1, 3) {
		s.afflict(all, first+2*seat+apart*n)
	}
	return s
}

// noRecord is an element of a list of records that is none.
func noRecord(sort int) value {
	switch sort {
	case 0:
		return unfit("5")
	case 1:
		return unfit(`"a \u00e9 \/"`)
	case 2:
		return spaced("[ 1, { \"a\" : null } ]", `[1,{"a":null}]`)
	case 3:
		return unfit("true")
	case 4:
		return value{kind: none}
	default:
		return value{kind: object}
	}
}

// vary changes a record that was listed before: what was modified later or earlier or cannot be read, and what is left of its arrays.
func (s *specimen) vary(t *table, sort int) {
	const aDay = millisPerDay
	if t.wholeRecord && sort != 1 {
		return
	}
	for i := range s.members {
		m := &s.members[i]
		switch {
		case m.name == "modifiedDateTime" && sort == 1:
			m.value = stampOf(m.n+aDay, m.m)
		case m.name == "modifiedDateTime" && sort == 2:
			m.value = stampOf(m.n-aDay, m.m)
		case m.name == "modifiedDateTime" && sort == 3:
			m.value = unfit(`"yesterday"`)
		case m.name == "modifiedDateTime" && sort == 4:
			m.value = value{kind: none}
		case m.kind == array && len(m.sub) > 0 && !t.wholeRecord:
			m.sub = m.sub[:len(m.sub)-1]
		}
	}
	if t.wholeRecord {
		return
	}
	for i := range s.members {
		if m := &s.members[i]; m.kind == text {
			m.value = textOf(m.s + " (again)")
			return
		}
	}
}

// shuffle brings the members of the record, and of the objects of its own tables, into an order of their own. Of doubled members the
// last stays the last.
func (s *specimen) shuffle(d *draw) {
	for _, p := range s.places() {
		members := *p.members
		for i := len(members) - 1; i > 0; i-- {
			if j := d.below(i + 1); movable(members, i) && movable(members, j) {
				members[i], members[j] = members[j], members[i]
			}
		}
	}
}

// movable says whether a member stands in its object once.
func movable(members []member, i int) bool {
	for j := range members {
		if j != i && members[j].name == members[i].name {
			return false
		}
	}
	return true
}
