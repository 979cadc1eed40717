package simulator

import (
	"slices"
	"time"
)

// This file contains the changes of whole schools and lists from day to day. Schools join or leave the list and lose
// their agreements at any time except in fall 2026, the time of the default world.

// quarterDays is the length of the periods in which agreements end. One of these periods begins on 1 September 2026.
const quarterDays = 91

// listSchools decides how many schools 4.1 lists on the world's day. If there are more than a few schools, the last of
// them joined the list in December 2025 or January 2026. Further schools join from December 2026 on.
func (w *World) listSchools(counts []int) {
	if w.listed-w.steady < 6 {
		return
	}
	w.listed--
	for i := 0; w.listed < w.total && w.hasOpened(i, counts); i++ {
		w.listed++
	}
}

// hasOpened reports whether, of the schools that are not listed from the beginning, the i-th is listed on the world's
// day. Every third of these schools leaves the list for 30 days, together with the schools added after it.
func (w *World) hasOpened(i int, counts []int) bool {
	came := firstOf(time.December, 2025) + Day(Hash(w.seed, int(SchoolEntity), i, 2)%60)
	if i > 0 {
		came += Day(305 + 60*i)
	}
	left := came + 70
	return came <= w.today && (i%3 > 0 || isLarge(w.listed, counts) || w.today < left || w.today >= left+30)
}

// isLarge reports whether a school has so many results that a snapshot without it would be noticeably smaller.
func isLarge(school int, counts []int) bool {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return counts[school]*8 > sum
}

// isDenied reports whether the data sharing agreement with a school has ended on the world's day. The service still
// lists such a school, but denies access to it. A new agreement begins after 10 to 40 days.
func (w *World) isDenied(school int, counts []int) bool {
	if school < w.steady || isLarge(school, counts) {
		return false
	}
	const fall2026 = 1000
	day := int(w.today-firstOf(time.September, 2026)) + fall2026*quarterDays // not negative
	if day/quarterDays == fall2026 {
		return false
	}
	// The number 59 was chosen so that no school of the default world is denied on the nights of `make demo`.
	d := Rand{Hash(w.seed, int(SchoolEntity), school, day/quarterDays, 59)}
	from := d.Below(quarterDays - 10)
	return d.Chance(80) && day%quarterDays >= from && day%quarterDays < from+d.Between(10, 40)
}

// Denied reports whether the service denies access to a school of 4.1.
func (w *World) Denied(school int) bool { return w.schools[school].denied }

// withReorderedArrays returns a list in which each array of rows is in reverse order on a few days.
func (w *World) withReorderedArrays(c *Call, list List) List {
	record, t := list.Record, &c.Op.Tables[0]
	if len(t.Shape.Children) == 0 {
		return list
	}
	list.Record = func(a *Arena, i int) []Member {
		members := record(a, i)
		for at := range members {
			m := &members[at]
			if m.Kind == Array && t.Shape.child(m.Name) != nil && w.Hash(c, t.Position(i), at, int(w.today))%50 == 0 {
				slices.Reverse(m.Sub)
			}
		}
		return members
	}
	return list
}

// reordered returns a list that is rotated on some days, so that it begins at another record. The order of test results
// does not change, because faults and broken rules depend on positions.
func (w *World) reordered(c *Call, list List) List {
	by := int(w.Hash(c, c.Subject, int(w.today)) >> 32)
	if c.Op.Name == "test_results" || list.Count < 2 || by%10 != 0 {
		return list
	}
	plain := list
	at := func(i int) int { return (i + by) % plain.Count }
	if plain.Keep != nil {
		list.Keep = func(i int) bool { return plain.Keep(at(i)) }
	}
	if plain.Element != nil {
		list.Element = func(a *Arena, i int) Value { return plain.Element(a, at(i)) }
	} else {
		list.Record = func(a *Arena, i int) []Member { return plain.Record(a, at(i)) }
	}
	return list
}
