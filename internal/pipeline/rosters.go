package pipeline

import (
	"context"
	"hash/maphash"
	"sync"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// roster is the students of a school, as hashes of their identifiers.
type roster []uint64

// add adds the student of a row, if it names one.
func (r *roster) add(bid *rows.Vector, row int, seed maphash.Seed) {
	if text := identifier(bid, row); len(text) > 0 {
		*r = append(*r, maphash.Bytes(seed, text))
	}
}

// addAll adds the students of a batch.
func (r *roster) addAll(students *rows.Batch, seed maphash.Seed) {
	bid := columns(students, "student_bid")[0]
	for i := range students.Len() {
		r.add(bid, students.Row(i), seed)
	}
}

func (r roster) set() hashSet {
	known := newHashSet(len(r))
	for _, student := range r {
		known.add(student)
	}
	return known
}

// countUnknown counts the results of students who are not known.
func countUnknown(results *rows.Batch, known hashSet, seed maphash.Seed) int64 {
	var n int64
	bid := columns(results, "student_bid")[0]
	for i := range results.Len() {
		text := identifier(bid, results.Row(i))
		if len(text) > 0 && !known.has(maphash.Bytes(seed, text)) {
			n++
		}
	}
	return n
}

// rosters hand the students of each school of a bucket from the goroutine that reads them to the one that reads the
// school's results, which waits for them. A nil roster means that the students could not be read. There is room for one
// roster per school, so that sending never blocks.
type rosters []chan roster

func newRosters(schools int) rosters {
	all := make(rosters, schools)
	for i := range all {
		all[i] = make(chan roster, 1)
	}
	return all
}

// stagedStudents are the students of a bucket that an earlier process has staged.
type stagedStudents struct {
	file sink.File
	ok   map[string]bool // the schools whose list could be read

	once sync.Once
	all  map[string]roster
	err  error
}

// rosters reads the staged file, once, and returns the students by school.
func (s *stagedStudents) rosters(ctx context.Context, catalog snapshot.Catalog, run string, seed maphash.Seed) (map[string]roster, error) {
	s.once.Do(func() {
		table, _, _ := schemas.FindTable(studentsDataset)
		some := &schemas.Table{Name: table.Name}
		for _, name := range []string{"requested_school_bid", "student_bid"} {
			some.Columns = append(some.Columns, table.Columns[table.Column(name)])
		}
		all := make(map[string]roster)
		s.err = catalog.ReadStaged(ctx, run, s.file, some, func(b *rows.Batch) error {
			for i := range b.Len() {
				school := string(b.Cols[0].Text(b.Row(i)))
				students := all[school]
				students.add(&b.Cols[1], b.Row(i), seed)
				all[school] = students
			}
			return nil
		})
		s.all = all
	})
	return s.all, s.err
}

// release frees the students once every school of the bucket is checked.
func (s *stagedStudents) release() {
	if s != nil {
		s.all = nil
	}
}
