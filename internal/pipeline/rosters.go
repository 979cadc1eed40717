package pipeline

import (
	"context"
	"sync"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// rosters passes the students of each school of a bucket between two goroutines: the goroutine that reads the students
// and the goroutine that reads the school's results, which waits for the students. A nil roster means that the students
// could not be read. Each channel has room for its school's roster, so that sending never blocks.
type rosters []chan fetch.Roster

func newRosters(schools int) rosters {
	all := make(rosters, schools)
	for i := range all {
		all[i] = make(chan fetch.Roster, 1)
	}
	return all
}

// stagedStudents holds the students of a bucket that an earlier process has staged.
type stagedStudents struct {
	file sink.File
	ok   map[string]bool // the schools whose list of students could be read

	once sync.Once
	all  map[string]fetch.Roster
	err  error
}

// rosters reads the staged file when it is first called, and returns the students by school.
func (s *stagedStudents) rosters(ctx context.Context, catalog snapshot.Catalog, run string, f *fetch.Fetcher) (map[string]fetch.Roster, error) {
	s.once.Do(func() {
		table, _, _ := schemas.FindTable(schemas.Students)
		some := &schemas.Table{Name: table.Name}
		for _, name := range []string{"requested_school_bid", "student_bid"} {
			some.Columns = append(some.Columns, table.Columns[table.Column(name)])
		}
		all := make(map[string]fetch.Roster)
		s.err = catalog.ReadStaged(ctx, run, s.file, some, func(b *rows.Batch) error {
			for i := range b.Len() {
				school := string(b.Cols[0].Text(b.Row(i)))
				students := all[school]
				f.AddStudent(&students, &b.Cols[1], b.Row(i))
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

// crossCheck compares the results of the i-th school of a task with the school's students. If the task reads students
// instead, crossCheck passes them on to the task that reads the results. read must still hold its rows.
func (r *exportRun) crossCheck(ctx context.Context, t *task, i int, read *fetch.Result) (err error) {
	ok := read.Ledger.Status == snapshot.StatusOK
	switch {
	case t.dataset.Name == schemas.Students && t.rosters != nil:
		var students fetch.Roster
		if ok {
			if students, err = r.fetch.Students(read); err != nil {
				return err
			}
		}
		t.rosters[i] <- students
	case t.dataset.Name == schemas.TestResults && ok:
		students, err := r.rosterOf(ctx, t, i)
		if err != nil && ctx.Err() == nil {
			// The school is not checked, because staged data is not requested again only for a check.
			read.RosterLost = err
			return nil
		}
		if err != nil || students == nil {
			return err
		}
		return r.fetch.CheckStudents(read, students)
	}
	return nil
}

// rosterOf returns the students of a school whose results were read, or nil if the run does not have them. The error is
// the cause of the cancellation of ctx, or says that staged students cannot be read back, as is the case in S3.
func (r *exportRun) rosterOf(ctx context.Context, t *task, i int) (fetch.Roster, error) {
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
	students, err := earlier.rosters(ctx, r.Catalog, r.plan.RunID, r.fetch)
	if err != nil {
		return nil, err
	}
	return append(fetch.Roster{}, students[t.schools[i].Bid]...), nil
}
