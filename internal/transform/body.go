package transform

import "strconv"

// Members of an answer's outermost object other than the records.
const (
	paginationMember = "pagination"
	hasNextMember    = "hasNextPage"
	nextMember       = "nextPage"
)

// maxOuterMembers is the maximum number of members of the outermost object.
const maxOuterMembers = 100

// outerMember is a member of the outermost object.
type outerMember struct {
	name       string
	first      byte // the first byte of the value
	value      int  // position of the value
	superseded bool // replaced by a later member of the same name
	read       bool // its array has been read as the records
}

// readBody finds and reads the records in a body. It returns their number and the cursor of the next page.
//
// A list is usually read in one pass: the first array that may be the records is read as the records. If the complete
// object shows that the records are in another array, that array is read instead.
func (d *Decoder) readBody() (Page, error) {
	pos := spaceEnd(d.body, 0)
	single := d.plan.dataset.Operation.Single
	if pos == len(d.body) || single {
		d.readAll()
		pos = spaceEnd(d.body, 0)
	}
	first := at(d.body, pos)
	var members, end int
	bare := first == '[' && !single
	switch {
	case bare:
		d.depth = 2
		end = d.readRecords(pos + 1)
	case first == '{':
		d.depth = 3
		if members, end = d.scanOuter(pos+1, !single); end == failed && d.source != nil {
			d.readAll() // the window holds no records yet
			members, end = d.scanOuter(pos+1, !single)
		}
	default:
		d.readAll()
		end = d.skipper.skip(d.body, pos, 0)
	}
	if end >= 0 {
		d.readAll()
	}
	switch {
	case end == tooDeep:
		return Page{}, d.shapeError("nested deeper than " + strconv.Itoa(maxDepth))
	case end == duplicated || end == limitReached:
		return Page{}, d.readError(end)
	case end < 0 || spaceEnd(d.body, end) != len(d.body):
		return Page{}, ErrNotJSON
	case string(d.body[pos:end]) == `""`:
		return Page{}, ErrEmptyString
	case single:
		return d.readSingle(pos, members)
	case members > maxOuterMembers:
		return Page{}, d.shapeError("an object of more than " + strconv.Itoa(maxOuterMembers) + " members")
	case bare && d.plan.dataset.Operation.Paged:
		return Page{}, d.shapeError("a bare array, without the " + paginationMember + " that shows whether it is complete")
	case bare:
		return Page{Records: d.pageRecords() + d.others}, nil
	case first == '{':
		return d.finishList()
	}
	return Page{}, d.shapeError(kindName(first))
}

// readError returns the error for a scan that ended early although the JSON is valid.
func (d *Decoder) readError(end int) error {
	if end == limitReached {
		return d.limitErr
	}
	return errDuplicateMember
}

// scanOuter reads and counts the members of the outermost object. pos is the position after the object's opening brace,
// and end is the position after its closing brace. If records is true, it also reads the first array that may hold the
// records. A negative end means that the scan failed.
func (d *Decoder) scanOuter(pos int, records bool) (members, end int) {
	wanted := d.plan.dataset.Operation.Records
	d.outer = d.outer[:0]
	pos, more := firstEnd(d.body, pos, '}')
	for ; more; members++ {
		b, start := d.body, pos
		if pos = nameEnd(b, pos); pos < 0 {
			return members, failed
		}
		name, _, _ := unescape(nil, b[start+1:stringEnd(b, start+1)-1])
		m := outerMember{name: string(name), first: at(b, pos), value: pos}
		m.read = records && m.first == '[' && m.name != paginationMember && (wanted == "" || m.name == wanted)
		if m.read {
			records = false
			pos = d.readRecords(pos + 1)
		} else {
			pos = d.skipper.skip(b, pos, 1)
		}
		if pos < 0 {
			return members, pos
		}
		if members < maxOuterMembers {
			d.outer = append(d.outer, m)
		}
		pos, more = nextEnd(d.body, pos, '}')
	}
	return members, pos
}

// markSuperseded marks the outer members that are replaced by a later member of the same name.
func (d *Decoder) markSuperseded() {
	for i := range d.outer {
		for _, later := range d.outer[i+1:] {
			if later.name == d.outer[i].name {
				d.outer[i].superseded = true
				break
			}
		}
	}
}

// countSuperseded counts the replaced members of the given name as drift.
func (d *Decoder) countSuperseded(name string) {
	shown := []byte(name)
	if d.left.off && name != paginationMember && name != d.plan.dataset.Operation.Records {
		shown = []byte(maskedName)
	}
	for _, m := range d.outer {
		if m.superseded && m.name == name {
			d.drift.add(d.plan.tables[0], DuplicateMember, "", shown, 1)
		}
	}
}

// finishList decides which outer member holds the records, reads it if scanOuter has read another member, and returns
// the page. It returns a *ShapeError if the records could be in several members or in none.
func (d *Decoder) finishList() (Page, error) {
	op := &d.plan.dataset.Operation
	var list, pagination *outerMember
	count, arrays := 0, 0
	byName := false
	d.markSuperseded()
	for i := range d.outer {
		m := &d.outer[i]
		if m.superseded || m.first == 'n' {
			continue
		}
		count++
		switch {
		case m.name == paginationMember:
			pagination = m
		case byName:
		case op.Records != "" && m.name == op.Records && m.first == '[':
			list, byName = m, true
		case m.first == '[':
			list = m
			arrays++
		}
	}
	others := count
	if pagination != nil {
		others--
	}
	if !byName && (arrays != 1 || others != 1) {
		met := "an object (members: " + strconv.Itoa(count) + ", arrays: " + strconv.Itoa(arrays) + ")"
		if op.Records != "" {
			met += ", without an array " + op.Records
		}
		return Page{}, d.shapeError(met)
	}
	if pagination == nil && others > 1 {
		// One of the other members might say that there are more pages.
		return Page{}, d.shapeError("an object of " + strconv.Itoa(count) + " members without a " + paginationMember)
	}
	if !list.read {
		d.rollBack()
		if end := d.readRecords(list.value + 1); end < 0 {
			return Page{}, d.readError(end)
		}
	}
	d.countSuperseded(list.name)
	d.countSuperseded(paginationMember)
	next, err := d.nextCursor(pagination)
	return Page{Records: d.pageRecords() + d.others, Next: next}, err
}

// nextCursor returns the cursor of the next page, or "" on the last page. It returns an error if it cannot determine
// which of the two applies, because an incomplete list must not be taken for a complete one.
func (d *Decoder) nextCursor(pagination *outerMember) (string, error) {
	if pagination == nil {
		if d.plan.dataset.Operation.Paged {
			return "", d.shapeError("an object without a " + paginationMember)
		}
		return "", nil
	}
	if pagination.first != '{' {
		return "", d.shapeError("an object whose " + paginationMember + " is " + kindName(pagination.first))
	}
	members, _ := d.namedMembers(pagination.value+1, 2)
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
			d.drift.add(d.plan.tables[0], DuplicateMember, paginationMember+".", m.name, 1)
		}
		*value = d.body[m.value:d.skipper.skip(d.body, m.value, 2)]
	}
	next, readable := pageText(cursor)
	word, _ := pageText(more)
	switch {
	case string(more) == "true" || word == "true":
		if !readable || next == "" {
			return "", d.shapeError("an object whose " + hasNextMember + " is true without a " + nextMember)
		}
		return next, nil
	case string(more) == "false" || word == "false":
		return "", nil
	case len(members) == 0 && !d.plan.dataset.Operation.Paged:
		return "", nil
	}
	return "", d.shapeError("an object without a readable " + hasNextMember)
}

// pageText returns a cursor, which may be a string or a number, as text. A missing or null cursor is "". readable is
// false for other values and for invalid text.
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

// readSingle reads the record in the answer to a single read: an object, either bare or wrapped in one member. A member
// that the dataset declares is not a wrapper.
func (d *Decoder) readSingle(pos, members int) (Page, error) {
	if d.body[pos] != '{' {
		return Page{}, d.shapeError(kindName(d.body[pos]))
	}
	var wrapper *outerMember
	count := 0
	d.markSuperseded()
	for i := range d.outer {
		m := &d.outer[i]
		if !m.superseded && m.first != 'n' {
			wrapper = m
			count++
		}
	}
	root := d.plan.tables[0].root
	d.depth = 1
	if count == 1 && members <= maxOuterMembers && wrapper.first == '{' && root.lookup([]byte(wrapper.name)).number == 0 {
		d.depth = 2
		pos = wrapper.value
		d.countSuperseded(wrapper.name)
	}
	if end := d.readRecord(pos); end < 0 {
		return Page{}, d.readError(end)
	}
	d.endRecord()
	return Page{Records: 1}, nil
}

// kindName returns the kind of the value that begins with the given character.
func kindName(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

func (d *Decoder) shapeError(met string) error {
	return &ShapeError{Dataset: d.plan.dataset.Name, Met: met}
}
