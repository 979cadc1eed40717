package transform

import (
	"bytes"
	"slices"
)

// leftovers collects the members of every open object that have no column or whose value does not fit the column.
type leftovers struct {
	off     bool // no members are collected
	members []leftover
	text    []byte
}

// leftover is one member. In leftovers.text, its name, with escapes resolved, is followed by its value in compact form.
type leftover struct {
	start, value, end int
	// null is true if the member's value is null. Such a member is not written, but it is kept so that duplicates are
	// found.
	null bool
}

func (l *leftovers) bytes() int { return cap(l.text) + 32*cap(l.members) }

func (l *leftovers) reset() { l.members, l.text = l.members[:0], l.text[:0] }

// leftoverMark is where the leftovers of an object begin.
type leftoverMark struct{ members, text int }

// mark returns where the leftovers of an object that begins now will start.
func (l *leftovers) mark() leftoverMark { return leftoverMark{len(l.members), len(l.text)} }

// count returns the number of members from a mark on.
func (l *leftovers) count(mark leftoverMark) int { return len(l.members) - mark.members }

// add adds a member, and returns how many parts of its value were replaced because they are not valid text.
func (l *leftovers) add(name, value []byte) (replaced int) {
	if l.off {
		return 0
	}
	m := leftover{start: len(l.text)}
	l.text = append(l.text, name...)
	m.value = len(l.text)
	l.text, replaced = appendCompact(l.text, value)
	m.end = len(l.text)
	l.members = append(l.members, m)
	return replaced
}

func (l *leftovers) addNull(name []byte) {
	if l.off {
		return
	}
	start := len(l.text)
	l.text = append(l.text, name...)
	l.members = append(l.members, leftover{start: start, value: len(l.text), end: len(l.text), null: true})
}

func (l *leftovers) name(m leftover) []byte { return l.text[m.start:m.value] }

// sortMembers sorts the members from mark on by name and removes the nulls. It returns false if two members have the
// same name.
func (l *leftovers) sortMembers(mark leftoverMark) bool {
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

// nested reports whether a member from mark on is an array or an object.
func (l *leftovers) nested(mark leftoverMark) bool {
	return slices.ContainsFunc(l.members[mark.members:], func(m leftover) bool {
		return !m.null && (l.text[m.value] == '[' || l.text[m.value] == '{')
	})
}

// appendObject appends the sorted members from mark on as an object.
func (l *leftovers) appendObject(dst []byte, mark leftoverMark) []byte {
	separator := byte('{')
	for _, m := range l.members[mark.members:] {
		dst = appendQuoted(append(dst, separator), l.name(m))
		dst = append(append(dst, ':'), l.text[m.value:m.end]...)
		separator = ','
	}
	return append(dst, '}')
}

// wrap replaces the members from mark on, if any are not null, with one member that holds them. It returns false if two
// of them have the same name.
func (l *leftovers) wrap(mark leftoverMark, name string) bool {
	if !l.sortMembers(mark) {
		return false
	}
	if l.count(mark) == 0 {
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
