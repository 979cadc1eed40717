package simulator

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// NewWorld returns the world that the options describe. Equal options give equal worlds.
func NewWorld(options Options) *World {
	sizes := options.SchoolSizes
	schools := options.Schools
	switch {
	case schools == 0 && sizes == nil:
		schools = 12
	case schools == 0:
		schools = len(sizes)
	}
	if sizes == nil {
		sizes = []int{0, 1, 999, 1000, 1001}
	}
	if options.Districts <= 0 {
		options.Districts = 3
	}
	if options.Results == 0 {
		options.Results = 15000
	}
	if options.AsOf.IsZero() {
		options.AsOf = time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
	}
	w := &World{
		seed:    options.Seed,
		today:   DayOf(options.AsOf),
		yearAgo: yearBefore(DayOf(options.AsOf)),
		listed:  max(schools, 0),
		steady:  min(len(sizes), max(schools, 0)),

		quirks: options.Quirks,
		breaks: options.Break,
	}
	if w.quirks != nil {
		w.mark = w.quirks.Mark()
	}
	w.total = w.listed + (w.listed-w.steady)/12
	counts := w.sizes(sizes, options.Results)
	w.listSchools(counts)
	w.counted = sync.OnceValue(w.countSchools)
	w.addDistricts(options.Districts)
	for i := range w.districts {
		w.districts[i].shift = Day(Hash(w.seed, int(sessionEntity), i) % 7)
		w.districts[i].year = w.yearOf(i, w.today)
	}
	w.addSchools(counts, options.Districts)
	return w
}

func (w *World) addDistricts(ordinary int) {
	for i := range ordinary {
		w.districts = append(w.districts, district{
			bid:  w.BidOf(DistrictEntity, 0, i),
			name: placeName(w.seed, int(DistrictEntity), i) + districtSuffixes[Hash(w.seed, int(DistrictEntity), i, 1)%uint64(len(districtSuffixes))],
		})
	}
	if ordinary > 1 {
		w.districts = append(w.districts, district{
			bid:   w.BidOf(DistrictEntity, 0, ordinary),
			name:  "State of North Prairie",
			state: true,
		})
	}
}

// addSchools adds the schools that 4.1 lists on at least one day. For each ordinary district, it also adds a school
// without an agreement, which only 4.3 lists.
func (w *World) addSchools(counts []int, ordinary int) {
	for i := range w.total + ordinary {
		home, results := i-w.total, 0
		if i < w.total {
			home, results = w.home(i, ordinary), counts[i]
		}
		s := w.newSchool(i, home, results)
		s.denied = i < w.total && w.isDenied(i, counts)
		w.schools = append(w.schools, s)
		if i >= w.listed && i < w.total {
			continue // 4.1 lists the school on other days
		}
		w.districts[home].schools = append(w.districts[home].schools, i)
		if inState := (2*ordinary + 2) / 3; ordinary > 1 && home < inState {
			state := &w.districts[ordinary]
			state.schools = append(state.schools, i)
		}
	}
}

// home returns the district of a school. The first schools are in different districts. Most of the other schools are in
// the first districts.
func (w *World) home(school, ordinary int) int {
	if school < ordinary {
		return school
	}
	ticket := int(Hash(w.seed, int(DistrictEntity), int(SchoolEntity), school) % uint64(ordinary*(ordinary+1)/2))
	for i := range ordinary {
		if ticket < ordinary-i {
			return i
		}
		ticket -= ordinary - i
	}
	return 0
}

// sizes returns the number of results of each school. The first schools have the explicit sizes. The remaining results
// are spread over the other schools by Zipf's law, in shuffled order.
func (w *World) sizes(explicit []int, total int) []int {
	counts := make([]int, w.total)
	rest := total
	for i := range w.steady {
		counts[i] = max(explicit[i], 0)
		rest -= counts[i]
	}
	if w.steady == w.total || rest <= 0 {
		return counts
	}
	others := make([]int, 0, w.total-w.steady)
	for i := w.steady; i < w.total; i++ {
		others = append(others, i)
	}
	slices.SortFunc(others, func(a, b int) int {
		if Hash(w.seed, int(SchoolEntity), a, 1) < Hash(w.seed, int(SchoolEntity), b, 1) {
			return -1
		}
		return 1
	})
	const unit = 1_000_000
	sum := 0
	for rank := range others {
		sum += unit / (rank + 2)
	}
	for rank, i := range others {
		counts[i] = rest * (unit / (rank + 2)) / sum
	}
	return counts
}

func (w *World) newSchool(i, home, results int) school {
	d := Rand{Hash(w.seed, int(SchoolEntity), i)}
	level := schoolLevels[d.Below(len(schoolLevels))]
	s := school{
		bid:       w.BidOf(SchoolEntity, i, 0),
		name:      placeName(w.seed, int(SchoolEntity), i) + level.suffix,
		district:  home,
		lowest:    level.lowest,
		highest:   level.highest,
		results:   results,
		steady:    i < w.steady,
		educators: 1,
	}
	if s.steady {
		// In a steady school, every student, including new students, has a result in every subject. Students in the
		// lowest grades would lack some of these results.
		s.lowest = max(s.lowest, 3)
	}
	if results > 0 {
		// A student has one result in each of at most three subjects, and 2.3 results on average.
		s.tested = (results*10 + 22) / 23
		s.students = s.tested + s.tested/20 + d.Between(1, 4)
		s.educators = 1 + s.students/14
		s.stepFactor, s.stepOffset = 1+d.Below(results), d.Below(results)
		for gcd(s.stepFactor, results) != 1 {
			s.stepFactor++
		}
	}
	return s
}

// studentAndSubject returns the student and subject of the result at a position in the service's list. The pairs are
// listed in a permuted order.
func (s *school) studentAndSubject(i int) (student, subject int) {
	at := (s.stepFactor*i + s.stepOffset) % s.results
	return at % s.tested, at / s.tested
}

// placeName returns the name of the i-th place of a kind. All names of a kind are different.
func placeName(seed uint64, sort, i int) string {
	n := len(places)
	name := places[(i+int(Hash(seed, sort)%uint64(n)))%n]
	if i >= n {
		name += " " + strconv.Itoa(i/n+1)
	}
	return name
}
