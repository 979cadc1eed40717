package simulator

import (
	"strconv"
	"time"
)

// season is a quarter of an academic year. Each season is one enrollment session, in which tests are taken.
type season int

const (
	fall season = iota
	winter
	spring
	summer
	seasons
)

func (s season) String() string { return [...]string{"Fall", "Winter", "Spring", "Summer"}[s] }

// session is an enrollment session. Sessions apply to a whole district and fill the academic year without gaps.
type session struct {
	bid         Bid
	year        int // the calendar year in which the academic year begins
	season      season
	begin, end  Day
	description string
}

// yearBegin returns the first day of a district's academic year: early August, a few days apart between districts.
func (w *World) yearBegin(district, year int) Day {
	return firstOf(time.August, year) + Day(Hash(w.seed, int(sessionEntity), district)%7)
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
	shift := w.yearBegin(district, year) - firstOf(time.August, year)
	begins := [...]Day{
		fall:    firstOf(time.August, year) + shift,
		winter:  firstOf(time.December, year) + shift,
		spring:  firstOf(time.March, year+1) + shift,
		summer:  firstOf(time.June, year+1) + shift,
		seasons: w.yearBegin(district, year+1),
	}
	return session{
		bid:         w.BidOf(sessionEntity, district, year*int(seasons)+int(s)),
		year:        year,
		season:      s,
		begin:       begins[s],
		end:         begins[s+1] - 1,
		description: s.String() + " " + yearName(year),
	}
}

// yearName returns the name of an academic year, such as 2026-2027.
func yearName(year int) string { return strconv.Itoa(year) + "-" + strconv.Itoa(year+1) }

// term is the part of a session within the year before the world's day: the service still returns its tests
// (specification, "Limits").
type term struct {
	session
	from, to Day
}

// recentTerms returns the terms of the last year, oldest first.
func (w *World) recentTerms(district int) []term {
	var terms []term
	oldest, newest := w.today-364, w.today-2
	current := w.yearOf(district, w.today)
	for year := current - 1; year <= current; year++ {
		for s := range seasons {
			session := w.session(district, year, s)
			t := term{session: session, from: max(session.begin, oldest), to: min(session.end, newest)}
			if t.from <= t.to {
				terms = append(terms, t)
			}
		}
	}
	return terms
}
