package transform

import (
	"bytes"
	"cmp"
	"slices"
)

// Of a member that an object has twice the last counts. Nobody sends such
// objects on purpose, so the fast path only notices them; then the record is
// searched here for the members that do not count, and read again without
// them.

// namedMember is a member of an object that is searched.
type namedMember struct {
	name         []byte
	start, value int // of the name and of the value
}

// findDoubled adds to c.dropped, and counts as drift, the members of an object
// that a later one replaces, and those in the nests and child rows that count.
// It reads from behind the opening brace to behind the closing one.
func (c *Chain) findDoubled(lv *level, pos int) int {
	members, end := c.namedMembers(pos, c.depth+lv.depth)
	if end < 0 {
		return end
	}
	slices.SortFunc(members, func(a, b namedMember) int {
		return cmp.Or(bytes.Compare(a.name, b.name), cmp.Compare(a.start, b.start))
	})
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.name, members[i+1].name) {
			c.dropped = append(c.dropped, m.start)
			c.events.add(lv.table, DuplicateMember, lv.path, m.name, 1)
			continue
		}
		declared := lv.lookup(m.name)
		switch {
		case declared.kind == nest && c.body[m.value] == '{':
			c.findDoubled(declared.nest, m.value+1)
		case declared.kind == child && c.body[m.value] == '[':
			c.findDoubledElements(declared.child.root, m.value+1)
		}
	}
	return end
}

// findDoubledElements searches the elements of an array, from behind its
// opening bracket. That they are JSON is known by now.
func (c *Chain) findDoubledElements(lv *level, pos int) {
	pos, more := firstEnd(c.body, pos, ']')
	for more {
		if c.body[pos] == '{' {
			pos = c.findDoubled(lv, pos+1)
		} else {
			pos = c.skip(lv.depth-1, pos)
		}
		pos, more = nextEnd(c.body, pos, ']')
	}
}

// namedMembers lists the members of an object that is within depth brackets,
// its own included, from behind its opening brace to behind its closing one.
func (c *Chain) namedMembers(pos, depth int) (members []namedMember, end int) {
	b := c.body
	pos, more := firstEnd(b, pos, '}')
	for more {
		m := namedMember{start: pos}
		if m.value = nameEnd(b, pos); m.value < 0 {
			return nil, failed
		}
		m.name, _, _ = unescape(nil, b[pos+1:stringEnd(b, pos+1)-1])
		if pos = c.skipper.skip(b, m.value, depth); pos < 0 {
			return nil, pos
		}
		members = append(members, m)
		pos, more = nextEnd(b, pos, '}')
	}
	return members, pos
}

// startDropping makes the decoder pass over the members found.
func (c *Chain) startDropping() {
	slices.Sort(c.dropped)
	c.nextDropped = -1
	if len(c.dropped) > 0 {
		c.nextDropped = c.dropped[0]
	}
}

// drop passes over the value of a member that does not count.
func (c *Chain) drop(pos int, lv *level) int {
	c.dropped = c.dropped[1:]
	c.nextDropped = -1
	if len(c.dropped) > 0 {
		c.nextDropped = c.dropped[0]
	}
	return c.skip(lv.depth, pos)
}
