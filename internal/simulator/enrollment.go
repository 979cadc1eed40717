package simulator

import (
	"strconv"
	"time"
)

// life is what the filters of an enrollment list look at.
type life struct {
	begin, end day // both included; open if end is zero
	modified   int64
	removed    bool
}

// keeps applies the parameters of an enrollment list (specification, "Rules common to all endpoints").
func (f *filter) keeps(l *life) bool {
	if f.dated && (l.begin > f.on || l.end != 0 && l.end < f.on) {
		return false
	}
	return l.modified >= f.since && (f.removed || !l.removed)
}

// matches says whether a record whose field has this value passes the parameter of that name.
func (f *filter) matches(parameter, value string) bool {
	wanted, asked := f.equal[parameter]
	return !asked || wanted == value
}

// onDefault is the filter of an operation whose effective date is the current one unless given.
func (w *World) onDefault(c *call) filter {
	f := c.filter
	if !f.dated {
		f.on, f.dated = w.today, true
	}
	return f
}

// aged draws when a record was last modified, within the year before the world's day, and whether it was removed then.
func (w *World) aged(d *draw, removedPerMille int) (modified int64, removed bool) {
	return w.today.millis() - 1000*int64(d.between(1, 365*secondsPerDay)), d.chance(removedPerMille)
}

// The academic years that 4.7 lists: two past ones, the current and the next.
const (
	pastYears   = 2
	listedYears = pastYears + 2
)

func (w *World) academicYearLife(perspective, year int) life {
	d := draw{hash(w.seed, int(anAcademicYear), perspective, year)}
	l := life{begin: w.yearBegin(perspective, year), end: w.yearBegin(perspective, year+1) - 1}
	l.modified, _ = w.aged(&d, 0)
	// Only what is over is removed, and seldom: the terms of results stay known.
	l.removed = year == w.yearOf(perspective, w.today)-pastYears && d.chance(300)
	return l
}

// academicYears is 4.7. The sessions of a district are those of its results' terms; the state has a calendar of its own.
func academicYears(w *World, c *call) source {
	year := func(i int) int { return w.yearOf(c.district, w.today) - pastYears + i }
	bidOf := func(i int) bid { return w.bidOf(anAcademicYear, c.district, year(i)) }
	return source{
		count: listedYears,
		keep: func(i int) bool {
			l := w.academicYearLife(c.district, year(i))
			return c.filter.keeps(&l) && c.filter.matches("academic-year-bid", w.bidText(bidOf(i)))
		},
		record: func(a *arena, i int) []member {
			l := w.academicYearLife(c.district, year(i))
			d := draw{hash(w.seed, int(anAcademicYear), c.district, year(i), 1)}
			var list [seasons]member
			for s := range seasons {
				session := w.session(c.district, year(i), s)
				list[s] = member{value: a.object(
					member{"enrollmentSessionBid", identOf(session.bid)},
					member{"description", d.known(970, textOf(session.description))},
					member{"beginDate", dateOf(session.begin)},
					member{"endDate", dateOf(session.end)},
				)}
			}
			return a.list(
				member{"academicYearBid", identOf(bidOf(i))},
				member{"perspectiveBid", identOf(w.districts[c.district].bid)},
				member{"schoolBid", identOf(w.schools[c.school].bid)},
				member{"beginDate", dateOf(l.begin)},
				member{"endDate", dateOf(l.end)},
				member{"description", textOf(yearName(year(i)))},
				member{"enrollmentSessions", a.array(list[:]...)},
				member{"modifiedDateTime", d.moment(l.modified)},
			)
		},
	}
}

// The associations of a student: an open one since enrollment, and one for each session of three years, so that two at least
// are active on any day of the past.
const associationSlots = 1 + (pastYears+1)*int(seasons)

// studentAssociation is the slot-th association of a student; it is not ok for a session before enrollment or in the future.
func (w *World) studentAssociation(st *student, slot int) (l life, grade int, ok bool) {
	district := w.schools[st.school].district
	current := w.yearOf(district, w.today)
	d := draw{hash(w.seed, int(aStudentAssociation), st.school, st.index, slot)}
	l.modified, l.removed = w.aged(&d, 30)
	if slot == 0 {
		l.begin = w.yearBegin(district, st.since)
		return l, st.grade, true
	}
	year := current - pastYears + (slot-1)/int(seasons)
	session := w.session(district, year, season(slot-1)%seasons)
	l.begin, l.end = session.begin, session.end
	grade = st.grade - (current - year)
	return l, max(grade, 0), year >= st.since && l.begin <= w.today
}

// studentAssociations is 4.8. The state sees the open association alone, and names the student by the state's id.
func studentAssociations(w *World, c *call) source {
	f := w.onDefault(c)
	state := w.districts[c.district].state
	return source{
		count: w.schools[c.school].students * associationSlots,
		keep: func(i int) bool {
			st, slot := w.student(c.school, i/associationSlots), i%associationSlots
			l, _, ok := w.studentAssociation(&st, slot)
			return ok && f.keeps(&l) && (slot == 0 || !state) && w.matchesStudent(&f, &st)
		},
		record: func(a *arena, i int) []member {
			st := w.student(c.school, i/associationSlots)
			l, grade, _ := w.studentAssociation(&st, i%associationSlots)
			d := draw{hash(w.seed, int(aStudentAssociation), c.school, i, 1)}
			name := st.person()
			districtID, stateID := textOf(st.districtID()), value{}
			if state {
				districtID, stateID, name.middle = value{}, textOf(st.studentID()), ""
			}
			return a.list(
				member{"studentSchoolAssociationBid", identOf(w.bidOf(aStudentAssociation, c.school, i))},
				member{"studentBid", st.identity()},
				member{"districtStudentId", districtID},
				member{"stateStudentId", stateID},
				member{"perspectiveBid", identOf(w.districts[c.district].bid)},
				member{"schoolBid", identOf(w.schools[c.school].bid)},
				member{"grade", d.known(980, textOf(gradeNames[grade]))},
				member{"firstName", textOf(name.first)},
				member{"middleName", textOrAbsent(name.middle)},
				member{"lastName", textOf(name.last)},
				member{"dateOfBirth", d.known(980, dateOf(w.born(&st)))},
				member{"beginDate", dateOf(l.begin)},
				member{"endDate", dateOrAbsent(l.end)},
				member{"modifiedDateTime", d.moment(l.modified)},
			)
		},
	}
}

func (w *World) matchesStudent(f *filter, st *student) bool {
	return f.equal == nil ||
		f.matches("student-bid", w.identityText(st)) &&
			f.matches("state-student-id", st.studentID()) &&
			f.matches("district-student-id", st.districtID())
}

// The associations of an educator: one of today, open or until the end of the year, and for some one that has ended.
const educatorSlots = 2

func (w *World) educatorAssociation(school, educator, slot int) (l life, ok bool) {
	district := w.schools[school].district
	current := w.yearOf(district, w.today)
	d := draw{hash(w.seed, int(anEducatorAssociation), school, educator, slot)}
	l.modified, l.removed = w.aged(&d, 30)
	if slot == 0 {
		l.begin = w.yearBegin(district, current-d.below(pastYears+1))
		if d.chance(300) {
			l.end = w.yearBegin(district, current+1) - 1
		}
		return l, true
	}
	l.begin, l.end = w.yearBegin(district, current-2*pastYears), w.yearBegin(district, current-pastYears)-1
	return l, d.chance(330)
}

// educatorAssociations is 4.13.
func educatorAssociations(w *World, c *call) source {
	f := w.onDefault(c)
	return source{
		count: w.schools[c.school].educators * educatorSlots,
		keep: func(i int) bool {
			l, ok := w.educatorAssociation(c.school, i/educatorSlots, i%educatorSlots)
			return ok && f.keeps(&l) && f.matches("educator-bid", w.bidText(w.bidOf(anEducator, c.school, i/educatorSlots)))
		},
		record: func(a *arena, i int) []member { return w.educatorAssociationRecord(a, c, i) },
	}
}

// educatorAssociationRecord is an element of 4.13 and the answer of 4.14.
func (w *World) educatorAssociationRecord(a *arena, c *call, i int) []member {
	l, _ := w.educatorAssociation(c.school, i/educatorSlots, i%educatorSlots)
	d := draw{hash(w.seed, int(anEducatorAssociation), c.school, i, 1)}
	name := w.educator(c.school, i/educatorSlots)
	return a.list(
		member{"educatorSchoolAssociationBid", identOf(w.bidOf(anEducatorAssociation, c.school, i))},
		member{"educatorBid", identOf(w.bidOf(anEducator, c.school, i/educatorSlots))},
		member{"perspectiveBid", identOf(w.districts[c.district].bid)},
		member{"schoolBid", identOf(w.schools[c.school].bid)},
		member{"firstName", textOf(name.first)},
		member{"middleName", textOrAbsent(name.middle)},
		member{"lastName", textOf(name.last)},
		member{"beginDate", dateOf(l.begin)},
		member{"endDate", dateOrAbsent(l.end)},
		member{"modifiedDateTime", d.moment(l.modified)},
	)
}

// educator is the name of a school's educator.
func (w *World) educator(school, index int) person {
	d := draw{hash(w.seed, int(anEducator), school, index)}
	return d.person()
}

// districtID is the district's student id: fewer digits than the state's, without leading zeros.
func (st *student) districtID() string {
	return strconv.FormatUint(100_000+hash(st.bid.low, 2)%900_000, 10)
}

// born is a date of birth that fits the grade: five years old on the first of September of kindergarten.
func (w *World) born(st *student) day {
	kindergarten := w.yearOf(w.schools[st.school].district, w.today) - st.grade
	return firstOf(time.September, kindergarten-5) - 1 - day(hash(st.bid.low, 3)%365)
}
