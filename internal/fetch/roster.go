package fetch

import (
	"hash/maphash"
	"sync"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/rows"
)

// Roster lists the students of a school by the hashes of their identifiers.
type Roster []uint64

// add adds the student of a row, if the row has an identifier of a student.
func (r *Roster) add(bid *rows.Vector, row int, seed maphash.Seed) {
	if text := identifier(bid, row); len(text) > 0 {
		*r = append(*r, maphash.Bytes(seed, text))
	}
}

// addAll adds the students of a batch.
func (r *Roster) addAll(students *rows.Batch, seed maphash.Seed) {
	bid := students.Columns("student_bid")[0]
	for i := range students.Len() {
		r.add(bid, students.Row(i), seed)
	}
}

func (r Roster) set() hashSet {
	known := newHashSet(len(r))
	for _, student := range r {
		known.add(student)
	}
	return known
}

// countUnknown counts the results of students who are not in known.
func countUnknown(results *rows.Batch, known hashSet, seed maphash.Seed) int64 {
	var n int64
	bid := results.Columns("student_bid")[0]
	for i := range results.Len() {
		text := identifier(bid, results.Row(i))
		if len(text) > 0 && !known.has(maphash.Bytes(seed, text)) {
			n++
		}
	}
	return n
}

// Students returns the students in a result of the students dataset. The result must still hold its rows.
func (f *Fetcher) Students(r *Result) (Roster, error) {
	students := Roster{} // not nil, even for a school without students
	err := r.Each(func(tables []*rows.Batch) error {
		students.addAll(tables[0], f.check.seed)
		return nil
	})
	return students, err
}

// AddStudent adds the student of a row to a roster.
func (f *Fetcher) AddStudent(to *Roster, bid *rows.Vector, row int) { to.add(bid, row, f.check.seed) }

// CheckStudents sets the roster of a result of test_results, which must still hold its rows, and counts the results of
// students who are not on that roster.
func (f *Fetcher) CheckStudents(r *Result, students Roster) error {
	r.Roster = students
	var unknown int64
	known := students.set()
	err := r.Each(func(tables []*rows.Batch) error {
		unknown += countUnknown(tables[0], known, f.check.seed)
		return nil
	})
	r.note(review.CheckUnknownStudent, unknown)
	return err
}

// Members returns a function that reports whether a student is on the roster.
func (f *Fetcher) Members(students Roster) func(student []byte) bool {
	known := sync.OnceValue(students.set)
	return func(student []byte) bool { return known().has(maphash.Bytes(f.check.seed, student)) }
}
