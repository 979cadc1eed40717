package transform

import "strconv"

// The members of a wrapper that are ours to know.
const (
	paginationMember = "pagination"
	hasNextMember    = "hasNextPage"
	nextMember       = "nextPage"
)

// maxOuterMembers is how many members an object around the records may have.
const maxOuterMembers = 100

// outerMember is a member of the outermost object.
type outerMember struct {
	name        string
	first       byte // of the value
	value       int  // where it starts
	superseded  bool
	recordsHere bool // its array has been read as the records
}

// container reads a body: it finds the records, reads them, and says what page
// follows.
//
// A list is mostly read in one pass: the first array that may be the records
// is read as such when it is met. When the object is complete it is judged,
// and in the rare case that another array is the right one, read again.
func (c *Chain) container() (Page, error) {
	b := c.body
	pos := spaceEnd(b, 0)
	single := c.plan.dataset.Operation.Single
	c.outer = c.outer[:0]
	var members int
	var end int
	bare := at(b, pos) == '[' && !single
	switch {
	case bare:
		c.depth = 2
		end = c.records(pos + 1)
	case at(b, pos) == '{':
		c.depth = 3
		members, end = c.outerMembers(pos+1, !single)
	default:
		end = c.skipper.skip(b, pos, 0)
	}
	switch {
	case end == tooDeep:
		return Page{}, c.shape("nested deeper than " + strconv.Itoa(maxDepth))
	case end == doubled:
		return Page{}, errDoubled
	case end == limited:
		return Page{}, c.beyond
	case end < 0 || spaceEnd(b, end) != len(b):
		return Page{}, ErrNotJSON
	case string(b[pos:end]) == `""`:
		return Page{}, ErrEmptyString
	case single:
		return c.single(pos, members)
	case members > maxOuterMembers:
		return Page{}, c.shape("an object of more than " + strconv.Itoa(maxOuterMembers) + " members")
	case bare && c.plan.dataset.Operation.Paged:
		return Page{}, c.shape("a bare array, without the " + paginationMember + " that tells whether it is whole")
	case bare:
		return Page{Records: c.received()}, nil
	case at(b, pos) == '{':
		return c.list()
	}
	return Page{}, c.shape(kindName(b[pos]))
}

// received returns how many records the page has so far.
func (c *Chain) received() int { return c.tables[0].n - c.tables[0].kept }

// outerMembers reads the members of the outermost object, from behind its
// opening brace to behind its closing one, and counts them. With records, it
// reads the first array that may be them.
func (c *Chain) outerMembers(pos int, records bool) (members, end int) {
	b := c.body
	wanted := c.plan.dataset.Operation.Records
	pos, more := firstEnd(b, pos, '}')
	for ; more; members++ {
		start := pos
		if pos = nameEnd(b, pos); pos < 0 {
			return members, failed
		}
		name, _, _ := unescape(nil, b[start+1:stringEnd(b, start+1)-1])
		m := outerMember{name: string(name), first: at(b, pos), value: pos}
		m.recordsHere = records && m.first == '[' && m.name != paginationMember && (wanted == "" || m.name == wanted)
		if m.recordsHere {
			records = false
			pos = c.records(pos + 1)
		} else {
			pos = c.skipper.skip(b, pos, 1)
		}
		if pos < 0 {
			return members, pos
		}
		if members < maxOuterMembers {
			c.outer = append(c.outer, m)
		}
		pos, more = nextEnd(b, pos, '}')
	}
	return members, pos
}

// supersede marks the outer members that a later one of the same name
// replaces.
func (c *Chain) supersede() {
	for i := range c.outer {
		for _, later := range c.outer[i+1:] {
			if later.name == c.outer[i].name {
				c.outer[i].superseded = true
				break
			}
		}
	}
}

// countSuperseded counts as drift that a member which matters was doubled.
func (c *Chain) countSuperseded(name string) {
	for _, m := range c.outer {
		if m.superseded && m.name == name {
			c.events.add(c.plan.tables[0], DuplicateMember, "", []byte(name), 1)
		}
	}
}

// list judges an object whose members are known: which of them is the list.
func (c *Chain) list() (Page, error) {
	op := &c.plan.dataset.Operation
	var list, pagination *outerMember
	count, arrays := 0, 0
	documented := false
	c.supersede()
	for i := range c.outer {
		m := &c.outer[i]
		if m.superseded || m.first == 'n' {
			continue
		}
		count++
		switch {
		case m.name == paginationMember:
			pagination = m
		case documented:
		case op.Records != "" && m.name == op.Records && m.first == '[':
			list, documented = m, true
		case m.first == '[':
			list = m
			arrays++
		}
	}
	others := count
	if pagination != nil {
		others--
	}
	if !documented && (arrays != 1 || others != 1) {
		met := "an object of " + strconv.Itoa(count) + " members, " + strconv.Itoa(arrays) + " of them arrays"
		if op.Records != "" {
			met += ", without an array " + op.Records
		}
		return Page{}, c.shape(met)
	}
	if !list.recordsHere {
		c.rollBack()
		if end := c.records(list.value + 1); end < 0 {
			return Page{}, c.again(end)
		}
	}
	c.countSuperseded(list.name)
	c.countSuperseded(paginationMember)
	next, err := c.next(pagination)
	return Page{Records: c.received(), Next: next}, err
}

// again returns why records of a body of valid JSON could not be read.
func (c *Chain) again(end int) error {
	if end == limited {
		return c.beyond
	}
	return errDoubled
}

// next reads the pagination: the cursor of the next page, or "" if there is
// none. Whatever leaves that in doubt is an error, because a part of a list
// must not be taken for the whole.
func (c *Chain) next(pagination *outerMember) (string, error) {
	if pagination == nil {
		if c.plan.dataset.Operation.Paged {
			return "", c.shape("an object without a " + paginationMember)
		}
		return "", nil
	}
	if pagination.first != '{' {
		return "", c.shape("an object whose " + paginationMember + " is " + kindName(pagination.first))
	}
	members, _ := c.namedMembers(pagination.value+1, 2)
	var more, cursor []byte // values as sent
	for _, m := range members {
		value := &more
		switch string(m.name) {
		case hasNextMember:
		case nextMember:
			value = &cursor
		default:
			continue
		}
		if *value != nil {
			c.events.add(c.plan.tables[0], DuplicateMember, paginationMember+".", m.name, 1)
		}
		*value = c.body[m.value:c.skipper.skip(c.body, m.value, 2)]
	}
	next, readable := pageText(cursor)
	word, _ := pageText(more)
	switch {
	case string(more) == "true" || word == "true":
		if !readable || next == "" {
			return "", c.shape("an object whose " + hasNextMember + " is true without a " + nextMember)
		}
		return next, nil
	case string(more) == "false" || word == "false":
		return "", nil
	case len(more) == 0 || more[0] == 'n':
		if !c.plan.dataset.Operation.Paged && readable && next == "" {
			return "", nil
		}
	}
	return "", c.shape("an object without a readable " + hasNextMember)
}

// pageText returns a cursor: a text, or a number as sent; none or null is "".
func pageText(value []byte) (text string, readable bool) {
	switch {
	case len(value) == 0 || value[0] == 'n':
		return "", true
	case value[0] == '"':
		decoded, replaced, _ := unescape(nil, value[1:len(value)-1])
		return string(decoded), replaced == 0
	case isNumber(value):
		return string(value), true
	}
	return "", false
}

// single judges the body of a single read: an object, bare or wrapped in one
// member. A member that the dataset declares is no wrapper.
func (c *Chain) single(pos, members int) (Page, error) {
	if c.body[pos] != '{' {
		return Page{}, c.shape(kindName(c.body[pos]))
	}
	var wrapper *outerMember
	count := 0
	c.supersede()
	for i := range c.outer {
		m := &c.outer[i]
		if !m.superseded && m.first != 'n' {
			wrapper = m
			count++
		}
	}
	root := c.plan.tables[0].root
	c.depth = 1
	if count == 1 && members <= maxOuterMembers && wrapper.first == '{' && root.lookup([]byte(wrapper.name)).number == 0 {
		c.depth = 2
		pos = wrapper.value
		c.countSuperseded(wrapper.name)
	}
	if end := c.record(pos); end < 0 {
		return Page{}, c.again(end)
	}
	c.tables[0].n++
	return Page{Records: 1}, nil
}

// kindName says what kind of value begins with a character.
func kindName(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a text"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}
