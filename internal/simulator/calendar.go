package simulator

import (
	"strconv"
	"time"
)

// season is one of the four parts of an academic year. Each season is one enrollment session. Tests are taken in every
// season except summer.
type season int

const (
	fall season = iota
	winter
	spring
	summer
	seasons
)

func (s season) String() string { return [...]string{"Fall", "Winter", "Spring", "Summer"}[s] }

// firstYear is the first academic year that a bid can encode.
const firstYear = 2000

// session is an enrollment session. Sessions apply to a whole district and fill the academic year without gaps.
type session struct {
	bid        Bid
	year       int // the calendar year in which the academic year begins
	season     season
	begin, end Day
}

func (s *session) description() string { return s.season.String() + " " + yearName(s.year) }

// yearBegin returns the first day of a district's academic year: one of the first seven days of August, depending on
// the district.
func (w *World) yearBegin(district, year int) Day {
	return firstOf(time.August, year) + w.districts[district].shift
}

// yearOf returns the academic year of a district that contains d.
func (w *World) yearOf(district int, d Day) int {
	year := d.year()
	if d < w.yearBegin(district, year) {
		year--
	}
	return year
}

func (w *World) session(district, year int, s season) session {
	return session{
		bid:    w.BidOf(sessionEntity, district, year*int(seasons)+int(s)),
		year:   year,
		season: s,
		begin:  w.sessionBegin(district, year, s),
		end:    w.sessionBegin(district, year, s+1) - 1,
	}
}

// sessionBegin returns the first day of a session. For the season after summer, it returns the first day of the next
// academic year.
func (w *World) sessionBegin(district, year int, s season) Day {
	begin := w.yearBegin(district, year)
	august := firstOf(time.August, year)
	switch s {
	case fall:
		return begin
	case winter:
		return begin + firstOf(time.December, year) - august
	case spring:
		return begin + firstOf(time.March, year+1) - august
	case summer:
		return begin + firstOf(time.June, year+1) - august
	default:
		return begin + firstOf(time.August, year+1) - august
	}
}

// yearName returns the name of an academic year, such as 2026-2027.
func yearName(year int) string { return strconv.Itoa(year) + "-" + strconv.Itoa(year+1) }
