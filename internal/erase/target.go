package erase

import (
	"maps"
	"slices"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
)

// Target says whose rows are erased. The rows of a school or district are those that
//
//   - have one of the schools as requested_school_bid or school_bid,
//   - have one of the districts as district_bid or requested_district_bid: the districts themselves, their schools,
//     the lists that they were asked for, and details of their students,
//   - have one of the districts as requested_perspective_bid or perspective_bid: its view of other districts' schools,
//   - were made from an element of such a record: a norm, an instructional area, an enrollment session, a student or an
//     educator of a class.
//
// See [Students] for the rows of a student.
type Target struct {
	Schools, Districts Set
	Students           *Students // nil if no student is erased
}

// Students are the students of an erasure. A row is theirs if a column with the bid of a student holds one of their bids. If
// a table has such columns, and all of them are null in a row, it is theirs if it mentions one of their bids or numbers as
// a whole value of a column or in _extra. Elements of their records are theirs too. Every other row that mentions them
// in _extra loses _extra.
type Students struct {
	// ByNumber means that the students were listed by their numbers, because the service gives them no bid.
	ByNumber bool

	key    *privacy.Key // may be nil
	listed []string     // in clear, sorted
	// bids and numbers are these as rows hold them: in clear, and as pseudonyms under the key. Rows are searched for
	// both, because no pseudonym is also a value in clear.
	bids, numbers Set
}

const (
	studentKind = "student"
	numberKind  = "student_number"
)

// NewStudents returns the students of a list of bids or numbers in clear. The key is needed where rows hold pseudonyms.
func NewStudents(listed []string, byNumber bool, key *privacy.Key) *Students {
	s := &Students{
		ByNumber: byNumber, key: key, listed: slices.Compact(slices.Sorted(slices.Values(listed))), bids: make(Set), numbers: make(Set),
	}
	into := s.bids
	if byNumber {
		into = s.numbers
	}
	for _, text := range s.listed {
		for _, written := range s.written(text) {
			into[written] = true
		}
	}
	return s
}

// Listed returns the list, sorted and without duplicates.
func (s *Students) Listed() []string { return s.listed }

// written returns how rows may hold a listed bid or number.
func (s *Students) written(text string) []string {
	forms := []string{text}
	if s.key != nil {
		kind := studentKind
		if s.ByNumber {
			kind = numberKind
		}
		forms = append(forms, s.key.Pseudonym(kind, text))
	}
	return forms
}

// Matched counts the listed students that occur among the texts seen.
func (s *Students) Matched(seen Set) int {
	n := 0
	for _, text := range s.listed {
		if slices.ContainsFunc(s.written(text), func(form string) bool { return seen[form] }) {
			n++
		}
	}
	return n
}

// Learn adds numbers that rows of the students give, as the rows hold them. Must not be called while rows are matched.
func (s *Students) Learn(numbers Set) {
	for number := range numbers {
		s.numbers[number] = true
		if s.key != nil { // other runs may hold pseudonyms
			s.numbers[s.key.Pseudonym(numberKind, number)] = true
		}
	}
}

// identifies reports whether a number can identify a student. A text of one repeated character, such as 0, is what schools
// enter for an unknown number.
func identifies(number []byte) bool {
	for i := range number {
		if number[i] != number[0] {
			return true
		}
	}
	return false
}

// named reports whether a text is one of the bids or numbers.
func (t *Target) named(text []byte) bool {
	if s := t.Students; s != nil {
		return s.bids[string(text)] || s.numbers[string(text)]
	}
	return t.Schools[string(text)] || t.Districts[string(text)]
}

// NamesPlan reports whether the plan of a run names one of the schools or districts.
func (t *Target) NamesPlan(plan *snapshot.Plan) bool {
	for _, school := range plan.Schools {
		if t.Schools[school.Bid] || t.Districts[school.District] ||
			slices.ContainsFunc(school.Perspectives, func(p string) bool { return t.Districts[p] }) {
			return true
		}
	}
	return slices.ContainsFunc(plan.Districts, func(d string) bool { return t.Districts[d] })
}

// WithSchools returns the target of other schools.
func (t *Target) WithSchools(schools Set) *Target {
	return &Target{Schools: maps.Clone(schools), Districts: t.Districts, Students: t.Students}
}
