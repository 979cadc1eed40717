package simulator

import (
	"slices"
	"time"
)

// Options select a world. The zero value is a small world for demonstrations.
type Options struct {
	// Seed changes every identifier, name and score.
	Seed uint64
	// Districts is the number of ordinary districts, default 3. If there are two or more, there is also a state: a
	// district that lists the schools of about two thirds of the other districts. These schools have two perspectives.
	Districts int
	// Schools is the number of schools of 4.1. The default is the length of SchoolSizes or, if that is nil, 12. Negative
	// means none. Long before or after the default day, 4.1 may list fewer or more schools.
	Schools int
	// Results is the approximate number of test results, default 15000. Schools beyond SchoolSizes share the rest
	// unevenly.
	Results int
	// SchoolSizes are the numbers of test results of the first schools; nil means 0, 1, 999, 1000 and 1001. They are the
	// same every day, whereas other schools' numbers rise and fall.
	SchoolSizes []int
	// AsOf is the day on which the service is read, default 2026-11-20. Results are from the year that ends on this day.
	// Worlds that differ only in this day are the same service on different days.
	AsOf time.Time
	// Quirks make the service send odd records; see package odd. With quirks there are more rows than Results, because
	// records without a key are never duplicates.
	Quirks Quirks
	// Break lists rules of the service (see [Rules]) that test results break. Each rule is broken by about one result in
	// twenty or by the first page of each list.
	Break []string
}

// World is the content of the service. It is immutable and makes records on demand.
type World struct {
	seed      uint64
	today     Day
	yearAgo   Day // the same day one year earlier
	districts []district
	schools   []school // first those of 4.1, then those that it will list, then those without an agreement
	listed    int      // number of schools that 4.1 lists
	total     int      // number of schools that 4.1 will list one day
	steady    int      // number of schools with a fixed number of results; they come first
	quirks    Quirks
	mark      string   // mark of the quirks
	breaks    []string // broken rules

	counted func() []School // calls countSchools only once
}

// district is a district or the state. Its bid serves as a perspective (specification, "What the service does", 6 and
// 7).
type district struct {
	bid     Bid
	name    string
	schools []int // listed by 4.3
	state   bool
	shift   Day // number of days from the first of August to the beginning of its academic years
	year    int // the academic year on the world's day
}

type school struct {
	bid        Bid
	name       string
	district   int
	lowest     int // lowest grade, 0 for kindergarten
	highest    int
	results    int
	tested     int // number of seats with results; these seats come first
	students   int // number of seats
	steady     bool
	denied     bool // whether its agreement has ended temporarily
	educators  int
	stepFactor int // see studentAndSubject
	stepOffset int
}

// School is a school of 4.1, for tests.
type School struct {
	Bid         string
	Name        string
	DistrictBid string
	Results     int
	Students    int
}

// District is a district of 4.2, for tests.
type District struct {
	Bid   string
	Name  string
	State bool
	// Schools are the bids of the schools that 4.3 lists. Some are not in 4.1.
	Schools []string
}

// Listed returns the number of schools of 4.1.
func (w *World) Listed() int { return w.listed }

// AsOf returns the world's day.
func (w *World) AsOf() time.Time { return w.today.Time() }

// Schools returns the schools of 4.1, in the order of its list.
func (w *World) Schools() []School { return slices.Clone(w.counted()) }

// countSchools returns the schools of 4.1. Counting their results and students is expensive.
func (w *World) countSchools() []School {
	schools := make([]School, w.listed)
	for i := range schools {
		s := &w.schools[i]
		schools[i] = School{
			Bid:         w.bidText(s.bid),
			Name:        s.name,
			DistrictBid: w.DistrictBid(s.district),
			Results:     w.results(i),
			Students:    w.enrolled(i),
		}
	}
	return schools
}

// Districts returns the districts of 4.2, in the order of its list.
func (w *World) Districts() []District {
	districts := make([]District, len(w.districts))
	for i := range districts {
		d := &w.districts[i]
		districts[i] = District{Bid: w.bidText(d.bid), Name: d.name, State: d.state}
		for _, s := range d.schools {
			districts[i].Schools = append(districts[i].Schools, w.SchoolBid(s))
		}
	}
	return districts
}

// Results returns the number of test results of all schools of 4.1.
func (w *World) Results() int {
	sum := 0
	for i := range w.listed {
		sum += w.results(i)
	}
	return sum
}

// HomeDistrict returns the position of a school's own district.
func (w *World) HomeDistrict(school int) int { return w.schools[school].district }

// Perspectives returns the districts for which 4.3 lists the school, including its own.
func (w *World) Perspectives(school int) []int {
	var found []int
	for i := range w.districts {
		if w.sees(i, school) {
			found = append(found, i)
		}
	}
	return found
}

// sees reports whether a perspective covers the school. Every list of 4.3 is in ascending order.
func (w *World) sees(district, school int) bool {
	_, found := slices.BinarySearch(w.districts[district].schools, school)
	return found
}

// SchoolBid returns the bid of a school, or "" for the position -1.
func (w *World) SchoolBid(school int) string {
	if school < 0 {
		return ""
	}
	return w.bidText(w.schools[school].bid)
}

// DistrictBid returns the bid of a district, or "" for the position -1.
func (w *World) DistrictBid(district int) string {
	if district < 0 {
		return ""
	}
	return w.bidText(w.districts[district].bid)
}
