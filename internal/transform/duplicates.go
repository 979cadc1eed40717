package transform

import (
	"bytes"
	"cmp"
	"slices"
)

// If an object has a member twice, the last one counts. This hardly ever happens, so the fast path only detects it. The
// record is then searched here for the members that do not count, and read again without them.

// namedMember is the position of a member.
type namedMember struct {
	name         []byte // with escapes resolved
	start, value int    // the positions of the name and of the value
}

// findDuplicates finds members that are replaced by a later member of the same name, in an object, its nested objects
// and its child rows. It adds their positions to d.dropped and counts them as drift. pos is the position after the
// object's opening brace, and the result is the position after its closing brace.
func (d *Decoder) findDuplicates(obj *objectPlan, pos int) int {
	members, end := d.namedMembers(pos, d.depth+obj.depth)
	if end < 0 {
		return end
	}
	slices.SortFunc(members, func(a, b namedMember) int {
		return cmp.Or(bytes.Compare(a.name, b.name), cmp.Compare(a.start, b.start))
	})
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.name, members[i+1].name) {
			d.dropped = append(d.dropped, m.start)
			d.drift.add(obj.table, DuplicateMember, obj.path, d.plan.nameForDrift(obj, m.name), 1)
			continue
		}
		declared := obj.lookup(m.name)
		switch {
		case declared.kind == nestedObject && d.body[m.value] == '{':
			d.findDuplicates(declared.object, m.value+1)
		case declared.kind == childArray && d.body[m.value] == '[':
			d.findDuplicatesInElements(declared.child.root, m.value+1)
		}
	}
	return end
}

// findDuplicatesInElements searches the elements of an array. pos is after its opening bracket. The elements are known
// to be valid JSON.
func (d *Decoder) findDuplicatesInElements(obj *objectPlan, pos int) {
	pos, more := firstEnd(d.body, pos, ']')
	for more {
		if d.body[pos] == '{' {
			pos = d.findDuplicates(obj, pos+1)
		} else {
			pos = d.skip(obj.depth-1, pos)
		}
		pos, more = nextEnd(d.body, pos, ']')
	}
}

// namedMembers lists the members of an object that is within depth brackets, including its own. pos is the position
// after its opening brace, and end is the position after its closing brace.
func (d *Decoder) namedMembers(pos, depth int) (members []namedMember, end int) {
	b := d.body
	pos, more := firstEnd(b, pos, '}')
	for more {
		m := namedMember{start: pos}
		if m.value = nameEnd(b, pos); m.value < 0 {
			return nil, failed
		}
		m.name, _, _ = unescape(nil, b[pos+1:stringEnd(b, pos+1)-1])
		if pos = d.skipper.skip(b, m.value, depth); pos < 0 {
			return nil, pos
		}
		members = append(members, m)
		pos, more = nextEnd(b, pos, '}')
	}
	return members, pos
}

// skipDropped skips the value of a member that does not count.
func (d *Decoder) skipDropped(pos int, obj *objectPlan) int {
	d.dropped = d.dropped[1:]
	d.setNextDropped()
	return d.skip(obj.depth, pos)
}

func (d *Decoder) setNextDropped() {
	d.nextDropped = -1
	if len(d.dropped) > 0 {
		d.nextDropped = d.dropped[0]
	}
}
