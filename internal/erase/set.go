package erase

import (
	"maps"
	"slices"
)

// Set is a set of strings, such as bids.
type Set map[string]bool

// SetOf returns the set of the given strings.
func SetOf(texts ...string) Set {
	s := make(Set, len(texts))
	for _, text := range texts {
		s[text] = true
	}
	return s
}

// Sorted returns the members in ascending order.
func (s Set) Sorted() []string { return append([]string{}, slices.Sorted(maps.Keys(s))...) }

// Within reports whether all members are in another set.
func (s Set) Within(other Set) bool {
	for x := range s {
		if !other[x] {
			return false
		}
	}
	return true
}

// overlaps reports whether any member is in another set.
func (s Set) overlaps(other Set) bool {
	for x := range s {
		if other[x] {
			return true
		}
	}
	return false
}

// add adds a text to the set. It does not copy a text that is already a member.
func (s Set) add(text []byte) {
	if !s[string(text)] {
		s[string(text)] = true
	}
}

// Put adds a value to the set of a key, unless the key or the value is empty.
func Put(m map[string]Set, key, value string) {
	if key == "" || value == "" {
		return
	}
	if m[key] == nil {
		m[key] = make(Set)
	}
	m[key][value] = true
}
