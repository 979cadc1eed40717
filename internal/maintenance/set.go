package maintenance

import (
	"maps"
	"slices"
)

type set map[string]bool

// sorted returns the members in order.
func (s set) sorted() []string { return append([]string{}, slices.Sorted(maps.Keys(s))...) }

func put(m map[string]set, key, value string) {
	if key == "" || value == "" {
		return
	}
	if m[key] == nil {
		m[key] = make(set)
	}
	m[key][value] = true
}

func overlap(a, b set) bool {
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}

func within(a, b set) bool {
	for x := range a {
		if !b[x] {
			return false
		}
	}
	return true
}
