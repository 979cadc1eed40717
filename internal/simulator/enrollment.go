package simulator

import (
	"strconv"
	"time"
)

// validity holds the values of a record that the filters of an enrollment list check.
type validity struct {
	begin, end Day // both included; end is 0 if the validity is open
	modified   int64
	removed    bool
}

// passes reports whether a record passes the parameters of an enrollment list (specification, "Rules common to all
// endpoints").
func (f *Filter) passes(l *validity) bool {
	if f.Dated && (l.begin > f.On || l.end != 0 && l.end < f.On) {
		return false
	}
	return l.modified >= f.Since && (f.Removed || !l.removed)
}

// matches reports whether a record with the given value passes the filter of a parameter. Every record passes if the
// request does not have the parameter.
func (f *Filter) matches(parameter, value string) bool {
	wanted, asked := f.equal[parameter]
	return !asked || wanted == value
}

// withDefaultDate returns the filter of an operation whose effective date defaults to the current day.
func (w *World) withDefaultDate(c *Call) Filter {
	f := c.Filter
	if !f.Dated {
		f.On, f.Dated = w.today, true
	}
	return f
}

// lastModified returns when a record was last modified, and whether that modification removed it. Every record is
// modified once a year, at a different time.
func (w *World) lastModified(d *Rand, removedPerMille int) (modified int64, removed bool) {
	const year = 365 * secondsPerDay
	now := w.today.Millis() / 1000
	ago := (now-int64(d.Below(year)))%year + 1
	return 1000 * (now - ago), d.Chance(removedPerMille)
}

// 4.7 lists two past academic years, the current year and the next year.
const (
	pastYears   = 2
	listedYears = pastYears + 2
)

func (w *World) academicYearLife(perspective, year int) validity {
	d := Rand{Hash(w.seed, int(academicYearEntity), perspective, year)}
	l := validity{begin: w.yearBegin(perspective, year), end: w.yearBegin(perspective, year+1) - 1}
	l.modified, _ = w.lastModified(&d, 0)
	// Only the oldest year may be removed, so that the terms of results stay known.
	l.removed = year == w.districts[perspective].year-pastYears && d.Chance(300)
	return l
}

// academicYears returns the list of 4.7. The terms of a district's results are among the district's sessions. The state
// has its own calendar.
func academicYears(w *World, c *Call) List {
	year := func(i int) int { return w.districts[c.District].year - pastYears + i }
	bidOf := func(i int) Bid { return w.BidOf(academicYearEntity, c.District, year(i)) }
	return List{
		Count: listedYears,
		Keep: func(i int) bool {
			l := w.academicYearLife(c.District, year(i))
			return c.Filter.passes(&l) && c.Filter.matches("academic-year-bid", w.bidText(bidOf(i)))
		},
		Record: func(a *Arena, i int) []Member {
			l := w.academicYearLife(c.District, year(i))
			d := Rand{Hash(w.seed, int(academicYearEntity), c.District, year(i), 1)}
			var list [seasons]Member
			for s := range seasons {
				session := w.session(c.District, year(i), s)
				list[s] = Member{Value: a.object(
					Member{"enrollmentSessionBid", idOf(session.bid)},
					Member{"description", d.known(970, TextOf(session.description()))},
					Member{"beginDate", dateOf(session.begin)},
					Member{"endDate", dateOf(session.end)},
				)}
			}
			return a.list(
				Member{"academicYearBid", idOf(bidOf(i))},
				Member{"perspectiveBid", idOf(w.districts[c.District].bid)},
				Member{"schoolBid", idOf(w.schools[c.School].bid)},
				Member{"beginDate", dateOf(l.begin)},
				Member{"endDate", dateOf(l.end)},
				Member{"description", TextOf(yearName(year(i)))},
				Member{"enrollmentSessions", a.array(list[:]...)},
				Member{"modifiedDateTime", d.timestamp(l.modified)},
			)
		},
	}
}

// A student has one association per academic year and one per session, over three years, so that two associations are
// active on any past day. The association of the current year is open.
const (
	yearAssociations = pastYears + 1
	associationSlots = yearAssociations * (1 + int(seasons))
)

// studentAssociation is a record of 4.8.
type studentAssociation struct {
	validity
	student student
	index   int // index in the bid
	grade   int
}

// The indices of associations begin at 0 for sessions, at yearAssociation for years, and at movedAssociation for the
// years of movers.
const (
	yearAssociation  = 512 // above the sessions of 128 years
	movedAssociation = yearAssociation + 128
)

// studentAssociation returns the association in a slot of the student at a place in a school's roster. ok is false if
// the association is from before the student's enrollment or in the future, or if the student is not at the school.
// Movers have only one association, which is open.
func (w *World) studentAssociation(school, place, slot int) (s studentAssociation, ok bool) {
	home, seat, present := w.seatAt(school, place)
	if !present {
		return s, false
	}
	st := w.student(home, seat)
	district := w.schools[school].district
	s = studentAssociation{student: st, grade: st.grade}
	year := st.year - slot
	switch {
	case home != school && slot > 0:
		return s, false
	case home != school:
		s.index, s.begin = movedAssociation+year-firstYear, w.absence(home, seat, year).from
	case slot < yearAssociations:
		s.index, s.begin = yearAssociation+year-firstYear, w.yearBegin(district, year)
		if slot > 0 {
			s.end = w.yearBegin(district, year+1) - 1
		}
	default:
		slot -= yearAssociations
		of := season(slot) % seasons
		year = st.year - pastYears + slot/int(seasons)
		s.index, s.begin, s.end = (year-firstYear)*int(seasons)+int(of), w.sessionBegin(district, year, of), w.sessionBegin(district, year, of+1)-1
	}
	s.grade -= st.year - year
	if enrolled := st.year - st.phase; year < enrolled || s.begin > w.today {
		return s, false
	}
	s.index = s.index<<seatBits | st.seat
	d := Rand{Hash(w.seed, int(StudentAssociationEntity), school, s.index)}
	s.modified, s.removed = w.lastModified(&d, 30)
	return s, true
}

// studentAssociations returns the list of 4.8. The state's perspective contains only the associations of years, not of
// sessions, and only the student id of the state.
func studentAssociations(w *World, c *Call) List {
	f := w.withDefaultDate(c)
	state := w.districts[c.District].state
	return List{
		Count: w.rosterPlaces(c.School) * associationSlots,
		Keep: func(i int) bool {
			s, ok := w.studentAssociation(c.School, i/associationSlots, i%associationSlots)
			return ok && f.passes(&s.validity) && (i%associationSlots < yearAssociations || !state) && w.matchesStudent(&f, &s.student)
		},
		Record: func(a *Arena, i int) []Member {
			s, _ := w.studentAssociation(c.School, i/associationSlots, i%associationSlots)
			st := &s.student
			d := Rand{Hash(w.seed, int(StudentAssociationEntity), c.School, s.index, 1)}
			name := st.person()
			districtID, stateID := TextOf(st.districtID()), Value{}
			if state {
				districtID, stateID, name.middle = Value{}, TextOf(st.studentID()), ""
			}
			return a.list(
				Member{"studentSchoolAssociationBid", idOf(w.BidOf(StudentAssociationEntity, c.School, s.index))},
				Member{"studentBid", st.identity()},
				Member{"districtStudentId", districtID},
				Member{"stateStudentId", stateID},
				Member{"perspectiveBid", idOf(w.districts[c.District].bid)},
				Member{"schoolBid", idOf(w.schools[c.School].bid)},
				Member{"grade", d.known(980, TextOf(gradeNames[s.grade]))},
				Member{"firstName", TextOf(name.first)},
				Member{"middleName", textOrAbsent(name.middle)},
				Member{"lastName", TextOf(name.last)},
				Member{"dateOfBirth", d.known(980, dateOf(w.born(st)))},
				Member{"beginDate", dateOf(s.begin)},
				Member{"endDate", dateOrAbsent(s.end)},
				Member{"modifiedDateTime", d.timestamp(s.modified)},
			)
		},
	}
}

func (w *World) matchesStudent(f *Filter, st *student) bool {
	return f.equal == nil ||
		f.matches("student-bid", w.identityText(st)) &&
			f.matches("state-student-id", st.studentID()) &&
			f.matches("district-student-id", st.districtID())
}

// An educator has a current association, which is either open or lasts until the end of the year. Some educators also
// have an association that has ended.
const educatorSlots = 2

func (w *World) educatorAssociation(school, educator, slot int) (l validity, ok bool) {
	district := w.schools[school].district
	current := w.districts[district].year
	d := Rand{Hash(w.seed, int(EducatorAssociationEntity), school, educator, slot)}
	l.modified, l.removed = w.lastModified(&d, 30)
	if slot == 0 {
		l.begin = w.yearBegin(district, current-(current+d.Below(pastYears+1))%(pastYears+1))
		if d.Chance(300) {
			l.end = w.yearBegin(district, current+1) - 1
		}
		return l, true
	}
	l.begin, l.end = w.yearBegin(district, current-2*pastYears), w.yearBegin(district, current-pastYears)-1
	return l, d.Chance(330)
}

// educatorAssociations returns the list of 4.13.
func educatorAssociations(w *World, c *Call) List {
	f := w.withDefaultDate(c)
	return List{
		Count: w.schools[c.School].educators * educatorSlots,
		Keep: func(i int) bool {
			l, ok := w.educatorAssociation(c.School, i/educatorSlots, i%educatorSlots)
			return ok && f.passes(&l) && f.matches("educator-bid", w.bidText(w.BidOf(EducatorEntity, c.School, i/educatorSlots)))
		},
		Record: func(a *Arena, i int) []Member { return w.educatorAssociationRecord(a, c, i) },
	}
}

// educatorAssociationRecord returns an element of the list of 4.13, which is also the answer of 4.14.
func (w *World) educatorAssociationRecord(a *Arena, c *Call, i int) []Member {
	l, _ := w.educatorAssociation(c.School, i/educatorSlots, i%educatorSlots)
	d := Rand{Hash(w.seed, int(EducatorAssociationEntity), c.School, i, 1)}
	name := w.educator(c.School, i/educatorSlots)
	return a.list(
		Member{"educatorSchoolAssociationBid", idOf(w.BidOf(EducatorAssociationEntity, c.School, i))},
		Member{"educatorBid", idOf(w.BidOf(EducatorEntity, c.School, i/educatorSlots))},
		Member{"perspectiveBid", idOf(w.districts[c.District].bid)},
		Member{"schoolBid", idOf(w.schools[c.School].bid)},
		Member{"firstName", TextOf(name.first)},
		Member{"middleName", textOrAbsent(name.middle)},
		Member{"lastName", TextOf(name.last)},
		Member{"beginDate", dateOf(l.begin)},
		Member{"endDate", dateOrAbsent(l.end)},
		Member{"modifiedDateTime", d.timestamp(l.modified)},
	)
}

// educator returns the name of a school's educator.
func (w *World) educator(school, index int) person {
	d := Rand{Hash(w.seed, int(EducatorEntity), school, index)}
	return d.person()
}

// districtID returns the student id of the district. It has fewer digits than the student id of the state, and no
// leading zeros.
func (st *student) districtID() string {
	return strconv.FormatUint(100_000+Hash(st.bid.Low, 2)%900_000, 10)
}

// born returns a date of birth that fits the grade: the student is five years old on September 1 of the kindergarten
// year.
func (w *World) born(st *student) Day {
	kindergarten := st.year - st.grade
	return firstOf(time.September, kindergarten-5) - 1 - Day(Hash(st.bid.Low, 3)%365)
}

// educatorAssociationDetails returns the answer of 4.14.
func educatorAssociationDetails(w *World, c *Call) List {
	return List{Count: 1, Record: func(a *Arena, _ int) []Member {
		return w.educatorAssociationRecord(a, c, c.Subject)
	}}
}
