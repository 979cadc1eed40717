package simulator

import "strconv"

// student is a student of a school's roster.
type student struct {
	school  int
	index   int
	bid     Bid
	matched bool // 4.4 gives no studentBid for one who is not
	grade   int  // in the current academic year, 0 for kindergarten
	ability int  // thousandths of a standard deviation
	since   int  // academic year of enrollment
	from    int  // the school in which older results were taken, or school
	draw    Rand // goes on with names, which most callers do not need
}

// student makes the student at an index of the roster, below school.students.
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

// person is a name.
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

// studentID is the state's student id: digits, at times with leading zeros, which make it text.
func (st *student) studentID() string {
	n := Hash(st.bid.Low, 1) % 10_000_000_000
	digits := strconv.FormatUint(n, 10)
	return "0000000000"[:10-len(digits)] + digits
}

// identity is the studentBid of one who has one.
func (st *student) identity() Value {
	if !st.matched {
		return Value{}
	}
	return idOf(st.bid)
}

// identityText is the same as text, empty for one who has none.
func (w *World) identityText(st *student) string {
	if !st.matched {
		return ""
	}
	return w.bidText(st.bid)
}

// studentRecord is an element of 4.4.
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
