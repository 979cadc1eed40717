package simulator

import "time"

// Students have seats. A seat belongs to a school and always has an occupant, who enters in the lowest grade, moves up
// a grade each August, and makes room for the next occupant after the highest grade. The occupants of a block of seats
// enter together, so that a block contains one or two grades. The events in an occupant's life are derived from a hash
// of seat and year, so that the state on any day can be computed, and the past is the same on all later days.

// seatBits is the number of bits of a seat's number in the index of a bid.
const seatBits = 20

// occupant is the student in a seat in an academic year.
type occupant struct {
	school int // the school of the seat
	seat   int // the number of the seat in the school
	index  int // index in the student's bid: the number in the sequence of occupants, and the number of the seat
	year   int // the academic year on the world's day
	phase  int // number of years at the school before this year
	grade  int // grade in that year, 0 for kindergarten
}

// occupant returns the occupant of a seat on the world's day. seat must be below school.students.
func (w *World) occupant(school, seat int) occupant {
	s := &w.schools[school]
	span := s.highest - s.lowest + 1
	block := seat / cohortSize
	shift := int(Hash(w.seed, int(StudentEntity), school, block, 7) % uint64(span))
	if seat%cohortSize >= cohortSize/2 && Hash(w.seed, int(StudentEntity), school, block, 8)%4 == 0 {
		shift++ // two grades in a block
	}
	o := occupant{school: school, seat: seat, year: w.yearOfSchool(school)}
	o.phase = (o.year + shift) % span
	o.index = (o.year+shift)/span<<seatBits | seat
	o.grade = s.lowest + o.phase
	return o
}

// absence is a period in which a student is not on the roster of the school of the seat. It includes the day from, but
// not the day to.
type absence struct {
	from, to Day
	// moved is true if the student is at the partner school instead.
	moved bool
}

// covers reports whether a day is part of the absence.
func (a absence) covers(d Day) bool { return a.from <= d && d < a.to }

// absence returns the absence of an occupant in an academic year. For most occupants, it is empty.
func (w *World) absence(school, seat, year int) absence {
	s := &w.schools[school]
	if s.steady {
		return absence{}
	}
	d := Rand{Hash(w.seed, int(StudentEntity), school, seat, year, 9)}
	luck := d.Below(1000)
	if luck >= 45 {
		return absence{}
	}
	a := absence{from: w.yearBegin(s.district, year) + Day(d.Between(20, 300)), moved: luck < 25 && w.partner(school, year) >= 0}
	end := w.yearBegin(s.district, year+1)
	if a.moved {
		end = firstOf(time.August, year+1) // No move spans the academic years of two districts.
	}
	if a.to = end; d.Chance(500) {
		a.to = min(end, a.from+Day(d.Between(10, 120)))
	}
	return a
}

// partner returns the school to which students of a school move in a year, or -1 if there is none.
func (w *World) partner(school, year int) int { return w.shifted(school, w.partnerShift(year)) }

// source returns the school from which students move to a school in a year, or -1 if there is none.
func (w *World) source(school, year int) int { return w.shifted(school, -w.partnerShift(year)) }

func (w *World) partnerShift(year int) int {
	if n := w.total - w.steady; n > 1 {
		return 1 + year%(n-1)
	}
	return 0
}

// shifted returns the school at the distance by after a school, in the circle of schools that are not steady. It
// returns -1 if the school is not in the circle or if by is 0.
func (w *World) shifted(school, by int) int {
	n := w.total - w.steady
	if by == 0 || school < w.steady || school >= w.total {
		return -1
	}
	return w.steady + ((school-w.steady+by)%n+n)%n
}

// rosterPlaces returns the number of places in the roster of a school: its seats, then the seats of the school whose
// students move to it.
func (w *World) rosterPlaces(school int) int {
	places := w.schools[school].students
	if from := w.source(school, w.yearOfSchool(school)); from >= 0 {
		places += w.schools[from].students
	}
	return places
}

// seatAt returns the seat at a place of a school's roster, and whether its occupant is at the school on the world's
// day.
func (w *World) seatAt(school, place int) (home, seat int, ok bool) {
	home, seat = school, place
	if own := w.schools[school].students; place >= own {
		home, seat = w.source(school, w.yearOfSchool(school)), place-own
	}
	return home, seat, w.attendsSchool(home, seat, school)
}

// attendsSchool reports whether the occupant of a seat is at a school on the world's day. The school must be home, the
// school of the seat, or the partner of home.
func (w *World) attendsSchool(home, seat, school int) bool {
	away := w.absence(home, seat, w.yearOfSchool(home))
	if home != school {
		return away.moved && away.covers(w.today)
	}
	return !away.covers(w.today)
}

// schoolOf returns the school that the occupant of a seat attends on the world's day, or attended before leaving.
func (w *World) schoolOf(home, seat int) int {
	year := w.yearOfSchool(home)
	if away := w.absence(home, seat, year); away.moved && away.covers(w.today) {
		return w.partner(home, year)
	}
	return home
}

// yearOfSchool returns the academic year of a school on the world's day.
func (w *World) yearOfSchool(school int) int { return w.districts[w.schools[school].district].year }

// window returns the days on which students are tested in a session, not including the day to. There are no tests in
// summer.
func (w *World) window(district, year int, s season) (from, to Day) {
	begin := w.sessionBegin(district, year, s)
	switch s {
	case fall:
		return begin + 14, begin + 56
	case winter:
		return begin + 35, begin + 75
	default:
		return begin + 30, begin + 80
	}
}

// event is one test of a student in a subject.
type event struct {
	year      int
	season    season
	day       Day
	corrected Day // when the score was corrected, 0 if it has not been
	draw      Rand
}

// position returns the number of the window in which the test was taken. Later windows have higher numbers.
func (e *event) position() int { return e.year*int(seasons) + int(e.season) }

// lastEvent returns the test that the service shows for a student and a subject on the world's day: the newest one. ok
// is false if there is no test, or if the newest one is older than a year or has vanished.
func (w *World) lastEvent(o *occupant, subject int) (e event, ok bool) {
	for year := o.year; year >= o.year-1; year-- {
		for s := spring; s >= fall; s-- {
			if e = (event{year: year, season: s}); !w.takes(o, subject, &e) {
				continue
			}
			return e, e.day >= w.yearAgo && !w.vanished(o, subject, &e)
		}
	}
	return e, false
}

// takes reports whether a student took a test in a window before the world's day, and completes the event.
func (w *World) takes(o *occupant, subject int, e *event) bool {
	s := &w.schools[o.school]
	grade := o.grade - (o.year - e.year)
	from, to := w.window(s.district, e.year, e.season)
	if from >= w.today || grade < 0 || subject == languageUsage && grade < 2 {
		return false
	}
	e.draw = Rand{Hash(w.seed, int(ResultEntity), o.school, o.index, subject, e.position())}
	takes := e.draw.Chance(930) || s.steady
	e.day = (from + Day(e.draw.Below(int(to-from)))).weekday()
	corrected := e.day + Day(e.draw.Between(2, 60))
	if !e.draw.Chance(30) || corrected >= w.today {
		corrected = 0
	}
	e.corrected = corrected
	if !takes || e.day >= w.today {
		return false
	}
	away := w.absence(o.school, o.seat, e.year)
	return !o.hadSeat(e) || away.moved || !away.covers(e.day)
}

// hadSeat reports whether the occupant already had the seat in the year of an event, instead of being at another
// school.
func (o *occupant) hadSeat(e *event) bool { return e.year >= o.year-o.phase }

// vanished reports whether a result has disappeared from the service without a reason.
func (w *World) vanished(o *occupant, subject int, e *event) bool {
	d := Rand{Hash(w.seed, int(ResultEntity), o.school, o.index, subject, e.position(), 1)}
	return d.Chance(2) && !w.schools[o.school].steady && e.day+Day(d.Between(3, 150)) < w.today
}

// yearBefore returns the same day one year earlier. For 29 February, it returns 28 February.
func yearBefore(d Day) Day {
	year, month, day := d.Time().Date()
	if month == time.February && day == 29 {
		day = 28
	}
	return DayOf(time.Date(year-1, month, day, 0, 0, 0, 0, time.UTC))
}
