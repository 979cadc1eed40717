package pipeline

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// The datasets that take part in the checks of the service's own rules.
const (
	resultsDataset  = "test_results"
	studentsDataset = "students"
	yearsDataset    = "academic_years"
)

// checker checks the service's own rules for each school while its rows are in
// memory. The counts go to the checkpoint of test_results, and from there to the
// manifest.
type checker struct {
	// oldest is the time before which a result is older than a year.
	oldest int64
	// students and terms report whether the run has the datasets that results
	// are compared with.
	students, terms bool
	// schools are the run's.
	schools map[string]bool
	seed    maphash.Seed
}

func newChecker(plan *snapshot.Plan) (*checker, error) {
	oldest, err := yearBefore(plan.SnapshotDate)
	if err != nil {
		return nil, err
	}
	c := &checker{oldest: oldest, seed: maphash.MakeSeed(), schools: make(map[string]bool)}
	if slices.Contains(plan.Scope.Datasets, resultsDataset) {
		c.students = slices.Contains(plan.Scope.Datasets, studentsDataset)
		c.terms = slices.Contains(plan.Scope.Datasets, yearsDataset)
	}
	for _, school := range plan.Schools {
		c.schools[school.Bid] = true
	}
	return c, nil
}

// note sets the count of a check that was made for one school.
func (r *result) note(check string, count int64) {
	if r.checks == nil {
		r.checks = make(snapshot.CheckCounts)
	}
	r.checks[check] = snapshot.CheckCount{Count: count, Schools: 1}
}

// results reads the test results of a school. The service returns at most one
// result per student and subject: several mean that the list moved while its
// pages were read, so that results may be missing too. The list is then read
// once more, and only the second reading counts: if it fails, so does the
// school, because the first is known to be unreliable.
func (f *fetcher) results(ctx context.Context, d *dataset, r *result, calls []transform.Params) error {
	repeated, err := f.readResults(ctx, d, r, calls)
	if err != nil || repeated == 0 {
		return err
	}
	r.drop(d)
	r.firstRepeated = repeated
	_, err = f.readResults(ctx, d, r, calls)
	return err
}

// readResults reads the list once and makes the checks that need no other list.
// It returns the count of one_result_per_subject.
func (f *fetcher) readResults(ctx context.Context, d *dataset, r *result, calls []transform.Params) (repeated int64, err error) {
	if err := f.fetchCalls(ctx, d, r, calls, f.filters); err != nil || r.ledger.Status != snapshot.StatusOK {
		return 0, err
	}
	results := r.tables[0]
	repeated = countRepeatedSubjects(results, f.check.seed)
	r.note(snapshot.CheckOneResultPerSubject, repeated)
	r.note(snapshot.CheckPageSize, r.oddPages)
	r.note(snapshot.CheckOlderThanAYear, countOlder(results, f.check.oldest))
	r.note(snapshot.CheckRITOrder, countDisordered(results, "rit_score_low", "rit", "rit_score_high"))
	r.note(snapshot.CheckItemsOrder, countDisordered(results, "items_correct", "items_shown", "items_total"))
	if f.check.terms {
		r.terms = countTerms(results, r.ledger.SchoolBid, f.check.schools)
	}
	return repeated, nil
}

// rosters hand the students of each school of a bucket from the goroutine that
// reads them to the one that reads the school's results, which waits for them.
// A nil roster means that the students could not be read. There is room for one
// roster per school, so that sending never blocks.
type rosters []chan roster

func newRosters(schools int) rosters {
	all := make(rosters, schools)
	for i := range all {
		all[i] = make(chan roster, 1)
	}
	return all
}

// crossCheck compares the results of the i-th school of a task with the school's
// students, and records the enrollment sessions of its academic years. The
// result must still hold its rows.
func (r *run) crossCheck(ctx context.Context, t *task, i int, read *result) error {
	ok := read.ledger.Status == snapshot.StatusOK
	check := r.fetch.check
	switch t.dataset.Name {
	case studentsDataset:
		if t.rosters == nil {
			return nil
		}
		var students roster
		if ok {
			students = newRoster(read.tables[0], check.seed)
		}
		t.rosters[i] <- students
	case resultsDataset:
		if !ok || !check.students {
			return nil
		}
		students, err := r.rosterOf(ctx, t, i)
		if err == nil && students != nil {
			read.note(snapshot.CheckUnknownStudent, students.countUnknown(read.tables[0], check.seed))
		}
		return err
	case yearsDataset:
		if ok && check.terms {
			read.sessions = sessionsOf(read.tables[1])
		}
	}
	return nil
}

// rosterOf returns the students of a school whose results were read, or nil if
// the run does not have them.
func (r *run) rosterOf(ctx context.Context, t *task, i int) (roster, error) {
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
		// A staged upload on S3 cannot be read back. The check is then not made for
		// these schools: what is staged is not requested again for it.
		return nil, ctx.Err()
	}
	return append(roster{}, students[t.schools[i].Bid]...), nil
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

// noteStaged records the students that an earlier process has staged.
func (r *run) noteStaged(u snapshot.Task, journal *snapshot.Checkpoint) {
	if u.Dataset != studentsDataset {
		return
	}
	s := &stagedStudents{file: journal.Files[studentsDataset], ok: make(map[string]bool)}
	for i := range journal.Ledger {
		if row := &journal.Ledger[i]; row.Status == snapshot.StatusOK {
			s.ok[row.SchoolBid] = true
		}
	}
	if r.stagedStudents == nil {
		r.stagedStudents = make(map[int]*stagedStudents)
	}
	r.stagedStudents[u.Bucket] = s
}

// inOrder calls do for every school of every task in the order in which they are to be fetched: task by task, except that the
// students of a school come with its results, so that there are no more rosters than schools being read.
func inOrder(tasks []*task, do func(t *task, i int)) {
	partners := make(map[int]*task)
	for _, t := range tasks {
		if t.dataset.Name == resultsDataset {
			partners[t.bucket.Index] = t
		}
	}
	for _, t := range tasks {
		partner := partners[t.bucket.Index]
		switch {
		case t.dataset.Name == studentsDataset && partner != nil:
			t.rosters = newRosters(len(t.schools))
			partner.rosters = t.rosters
			for i := range t.schools {
				do(t, i)
				do(partner, i)
			}
		case t == partner && t.rosters != nil: // done with the students
		default:
			for i := range t.schools {
				do(t, i)
			}
		}
	}
}
