package simulator

import "strconv"

// student is a student of a school's roster.
type student struct {
	school  int
	index   int
	bid     Bid
	matched bool // 4.4 has a studentBid
	grade   int  // in the current academic year, 0 for kindergarten
	ability int  // thousandths of a standard deviation
	since   int  // academic year of enrollment
	from    int  // the school of older results
	draw    Rand // continues with names, which most callers do not need
}

// student returns the student at an index of the roster, below school.students.
func (w *World) student(school, index int) student {
	s := &w.schools[school]
	d := Rand{Hash(w.seed, int(StudentEntity), school, index)}
	st := student{
		school:  school,
		index:   index,
		bid:     w.BidOf(StudentEntity, school, index),
		matched: index < s.tested || index%3 != 0,
		grade:   d.Between(s.lowest, s.highest),
		ability: d.normal(),
		from:    school,
	}
	st.since = w.yearOf(s.district, w.today) - d.Below(min(4, st.grade-s.lowest+1))
	if d.Chance(25) {
		st.from = d.Below(w.listed)
	}
	st.draw = d
	return st
}

type person struct{ first, middle, last string }

func (d *Rand) person() person {
	p := person{first: firstNames[d.Below(len(firstNames))], last: lastNames[d.Below(len(lastNames))]}
	if d.Chance(400) {
		p.middle = middleNames[d.Below(len(middleNames))]
	}
	return p
}

func (st *student) person() person {
	d := st.draw
	return d.person()
}

// studentID returns the state's student id: digits, some with leading zeros, so it is text.
func (st *student) studentID() string {
	n := Hash(st.bid.Low, 1) % 10_000_000_000
	digits := strconv.FormatUint(n, 10)
	return "0000000000"[:10-len(digits)] + digits
}

// identity returns the studentBid, absent for unmatched students.
func (st *student) identity() Value {
	if !st.matched {
		return Value{}
	}
	return idOf(st.bid)
}

// identityText returns the studentBid as text, empty for unmatched students.
func (w *World) identityText(st *student) string {
	if !st.matched {
		return ""
	}
	return w.bidText(st.bid)
}

// studentRecord returns an element of 4.4.
func (w *World) studentRecord(a *Arena, school, index int) []Member {
	st := w.student(school, index)
	name := st.person()
	return a.list(
		Member{"studentId", TextOf(st.studentID())},
		Member{"studentBid", st.identity()},
		Member{"lastName", TextOf(name.last)},
		Member{"firstName", TextOf(name.first)},
	)
}
