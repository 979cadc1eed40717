package erase

import (
	"slices"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
)

// Target defines whose rows are erased. The rows of a school or district are those that
//
//   - have one of the schools as requested_school_bid or school_bid,
//   - have one of the districts as district_bid or requested_district_bid: the districts themselves, their schools,
//     the lists that were requested for them, and details of their students,
//   - have one of the districts as requested_perspective_bid or perspective_bid: the district's view of other
//     districts' schools,
//   - were made from an element of such a record: a norm, an instructional area, an enrollment session, a student or an
//     educator of a class.
//
// See [Students] for the rows of a student.
type Target struct {
	Schools, Districts Set
	Students           *Students // nil if no student is erased
}

// Students are the students of an erasure. A row belongs to them if a column for the bid of a student holds one of
// their bids. If a table has such columns, and all of them are empty in a row, the row belongs to them if it mentions
// one of their bids or numbers as a whole value of a text column, or within JSON, as in _extra. Elements of their
// records belong to them too. Every other row that mentions them in _extra loses _extra. Their numbers are the listed
// numbers, and the numbers in rows that have their bid or one of their numbers.
type Students struct {
	// ByNumber is true if the students were listed by their numbers, because the service does not give them a bid.
	ByNumber bool
	// Least is the lowest level of rows that are erased. A row that holds a listed bid or number has level 0, and a row
	// that was found by a number in a row of level n has level n+1. If rows of higher levels are erased first, a purge
	// that is killed can still find the remaining rows.
	Least int

	key    *privacy.Key // may be nil
	listed []string     // the original values, sorted
	// asked is the list in the forms that rows hold: the original values, and their pseudonyms under the key. Rows can be
	// searched for both at once, because a pseudonym never equals an original value.
	asked Set
	bids  Set // asked, or nil if ByNumber is set
	// others are the names of members whose values are not ids of students.
	others Set
	// numbers maps the listed numbers, and the numbers found in rows, to the level of the rows that are found by them.
	numbers map[string]int
	// owners maps a number to the listed bids and numbers, in the form that rows hold, of the students who have it.
	owners map[string]Set
}

const (
	studentKind = "student"
	numberKind  = "student_number"
)

// NewStudents returns the students of a list of bids or numbers. If key is not nil, rows that hold pseudonyms of the
// list under the key belong to the students too.
func NewStudents(listed []string, byNumber bool, key *privacy.Key) *Students {
	s := &Students{
		ByNumber: byNumber, key: key, listed: slices.Compact(slices.Sorted(slices.Values(listed))), asked: make(Set), numbers: make(map[string]int),
		owners: make(map[string]Set), others: otherMembers(),
	}
	for _, text := range s.listed {
		for _, written := range s.Written(text) {
			s.asked[written] = true
			if byNumber {
				s.numbers[written] = 0
				s.owners[written] = SetOf(written)
			}
		}
	}
	if !byNumber {
		s.bids = s.asked
	}
	return s
}

// Listed returns the list, sorted and without duplicates.
func (s *Students) Listed() []string { return s.listed }

// Written returns the forms in which rows may hold a listed bid or number.
func (s *Students) Written(text string) []string {
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

// Among returns the listed bids or numbers that are in seen, which holds texts from rows.
func (s *Students) Among(seen Set) []string {
	var found []string
	for _, text := range s.listed {
		if slices.ContainsFunc(s.Written(text), func(form string) bool { return seen[form] }) {
			found = append(found, text)
		}
	}
	return found
}

// Learn adds numbers found in rows of the students, in the form that the rows hold. It reports whether more rows may be
// found now. It must not be called while rows are being matched.
func (s *Students) Learn(numbers map[string]Given) (learned bool) {
	for number, given := range numbers {
		for of := range given.Of {
			Put(s.owners, number, of)
		}
		if known, ok := s.numbers[number]; ok && known <= given.Level+1 {
			continue
		}
		learned = true
		s.numbers[number] = given.Level + 1
		if s.key != nil { // other runs may hold pseudonyms
			pseudonym := s.key.Pseudonym(numberKind, number)
			s.numbers[pseudonym], s.owners[pseudonym] = given.Level+1, s.owners[number]
		}
	}
	return learned
}

// NumbersOf returns the numbers found in rows of the students, in the form that the rows hold, by the listed bid or
// number.
func (s *Students) NumbersOf() map[string]Set {
	listed := make(map[string]string) // by the forms in which rows may hold it
	for _, text := range s.listed {
		for _, written := range s.Written(text) {
			listed[written] = text
		}
	}
	found := make(map[string]Set)
	for number, owners := range s.owners {
		for owner := range owners {
			Put(found, listed[owner], number)
		}
	}
	return found
}

// Identifies reports whether a number can identify a student. If a number is unknown, schools enter a string of one
// repeated character, such as 000.
func Identifies(number []byte) bool {
	for i := range number {
		if number[i] != number[0] {
			return true
		}
	}
	return false
}

// named reports whether a text is one of the target's bids or numbers.
func (t *Target) named(text []byte) bool {
	if s := t.Students; s != nil {
		_, isNumber := s.numbers[string(text)]
		return isNumber || s.bids[string(text)]
	}
	return t.Schools[string(text)] || t.Districts[string(text)]
}

// NamesPlan reports whether the plan of a run contains one of the schools or districts.
func (t *Target) NamesPlan(plan *snapshot.Plan) bool {
	for _, school := range plan.Schools {
		if t.Schools[school.Bid] || t.Districts[school.District] ||
			slices.ContainsFunc(school.Perspectives, func(p string) bool { return t.Districts[p] }) {
			return true
		}
	}
	return slices.ContainsFunc(plan.Districts, func(d string) bool { return t.Districts[d] })
}
