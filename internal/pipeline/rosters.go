package pipeline

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
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

// crossCheck compares the results of the i-th school of a task with the school's students, and records the enrollment
// sessions of its academic years. The result must still hold its rows.
func (r *exportRun) crossCheck(ctx context.Context, t *task, i int, read *result) error {
	ok := read.ledger.Status == snapshot.StatusOK
	check := r.fetch.check
	switch t.dataset.Name {
	case studentsDataset:
		if t.rosters == nil {
			return nil
		}
		var students roster
		if ok {
			students = roster{} // not nil
			err := read.each(func(tables []*rows.Batch) error {
				students.addAll(tables[0], check.seed)
				return nil
			})
			if err != nil {
				return err
			}
		}
		t.rosters[i] <- students
	case resultsDataset:
		if !ok || !check.students {
			return nil
		}
		students, err := r.rosterOf(ctx, t, i)
		if err != nil && ctx.Err() == nil {
			// The check is then not made for these schools: what is staged is not requested again for it.
			read.rosterLost = err
			return nil
		}
		if err != nil || students == nil {
			return err
		}
		read.roster = students
		var unknown int64
		known := students.set()
		err = read.each(func(tables []*rows.Batch) error {
			unknown += countUnknown(tables[0], known, check.seed)
			return nil
		})
		read.note(snapshot.CheckUnknownStudent, unknown)
		return err
	case yearsDataset:
		if ok && check.terms {
			sessions := make(map[string]bool)
			err := read.each(func(tables []*rows.Batch) error {
				addSessions(sessions, tables[1])
				return nil
			})
			read.sessions = slices.Sorted(maps.Keys(sessions))
			return err
		}
	}
	return nil
}

// rosterOf returns the students of a school whose results were read, or nil if the run does not have them. The error is
// ctx's, or says that staged students cannot be read back, which a store such as S3 does not do.
func (r *exportRun) rosterOf(ctx context.Context, t *task, i int) (roster, error) {
	if t.rosters != nil {
		select {
		case students := <-t.rosters[i]:
			return students, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	earlier := r.stagedStudents[t.bucket.Index]
	if earlier == nil || !earlier.ok[t.schools[i].Bid] {
		return nil, nil
	}
	students, err := earlier.rosters(ctx, r.Catalog, r.plan.RunID, r.fetch.check.seed)
	if err != nil {
		return nil, err
	}
	return append(roster{}, students[t.schools[i].Bid]...), nil
}
