package history

import (
	"context"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// resultsTable is the name of the table whose removed rows are explained.
const resultsTable = "test_results"

// lostResult is a test result that is gone from its school, with all values on which the reason depends.
type lostResult struct {
	school, district      string
	bid, student, subject string // empty if the row has none
	agedOut               bool
	// left is true if the student is known to have left the roster (see day.students).
	left bool
	// rows counts the rows of each of the dataset's tables that are gone with the result, including its own row. It is
	// empty in a fold, which counts versions instead.
	rows []int64
}

// lostResults collects removed test results until the reasons are known.
type lostResults struct {
	resultColumns

	tables int           // length of lostResult.rows
	first  int           // number of the first result in list; earlier results have been explained
	list   []*lostResult // in the order in which they were found
}

// maxLost is the number of collected results at which they are explained. That many results take about 25 MB. A
// comparison may collect more, because it explains results only between schools or files.
const maxLost = 50_000

// newLostResults returns an empty collection for a snapshot with this date.
func newLostResults(date string, tables int) (*lostResults, error) {
	aged, err := snapshot.YearBefore(date)
	if err != nil {
		return nil, err
	}
	l := &lostResults{resultColumns: resultColumns{aged: aged}, tables: tables}
	l.setTable(tableOf(resultsTable))
	return l, nil
}

// add collects a removed row and returns its number.
func (l *lostResults) add(school, district string, b *rows.Batch, row int) int {
	r := &lostResult{school: school, district: district, rows: make([]int64, l.tables)}
	r.bid, r.student, r.subject = l.texts(b, row)
	for _, column := range []int{l.end, l.start} {
		if column >= 0 && !b.Cols[column].Null(row) {
			r.agedOut = b.Cols[column].I64[row] < l.aged
			break
		}
	}
	l.list = append(l.list, r)
	return l.first + len(l.list) - 1
}

// at returns the result with the given number.
func (l *lostResults) at(number int) *lostResult { return l.list[number-l.first] }

// drain returns the list and empties it.
func (l *lostResults) drain() []*lostResult {
	list := l.list
	l.first, l.list = l.first+len(list), nil
	return list
}

// resultColumns are the columns of test_results on which a reason depends.
type resultColumns struct {
	bid, student, subject, start, end int // -1 if the table lacks the column
	// aged is a time in microseconds. Results from before that time are older than a year.
	aged int64
}

// setTable finds the columns in a table of results, which may lack some of them.
func (c *resultColumns) setTable(results *schemas.Table) {
	c.bid, c.student, c.subject = results.Column("test_result_bid"), results.Column("student_bid"), results.Column("subject_area")
	c.start, c.end = results.Column("administration_start_date_time"), results.Column("administration_end_date_time")
}

// texts returns the texts by which other results of a day are looked up.
func (c *resultColumns) texts(b *rows.Batch, row int) (bid, student, subject string) {
	return string(textOf(b, c.bid, row)), string(textOf(b, c.student, row)), string(textOf(b, c.subject, row))
}

// pair is a student and a subject, or a school and a student.
type pair [2]string

// pair returns the student and the subject of a result, and whether it has both.
func (r *lostResult) pair() (pair, bool) {
	return pair{r.student, r.subject}, r.student != "" && r.subject != ""
}

// useResult is called with the bid, the student and the subject of n results. A negative n cancels results that other
// calls pass, earlier or later.
type useResult func(bid, student, subject []byte, n int)

// day provides the test results and the students of the later day, on which the removed results are gone.
type day struct {
	// results passes all results of all schools on that day to use.
	results func(ctx context.Context, use useResult) error
	// students is the snapshot that has the rosters. If it is nil, lostResult.left says which students have left.
	students *side
}

// explain passes each of the removed results to use, in order, with the reason why it is gone.
func (d *day) explain(ctx context.Context, list []*lostResult, use func(lost *lostResult, reason string)) error {
	if len(list) == 0 {
		return nil
	}
	byBid, byPair := make(map[string]int), make(map[pair]int) // the number of results on that day
	for _, r := range list {
		if r.bid != "" {
			byBid[r.bid] = 0
		}
		if p, ok := r.pair(); ok {
			byPair[p] = 0
		}
	}
	err := d.results(ctx, func(bid, student, subject []byte, n int) {
		if found, wanted := byBid[string(bid)]; wanted { // this lookup does not allocate
			byBid[string(bid)] = found + n
		}
		if found, wanted := byPair[pair{string(student), string(subject)}]; wanted {
			byPair[pair{string(student), string(subject)}] = found + n
		}
	})
	if err == nil {
		err = d.findLeavers(ctx, list)
	}
	if err != nil {
		return err
	}
	for _, r := range list {
		p, whole := r.pair()
		use(r, r.reason(r.bid != "" && byBid[r.bid] > 0, whole && byPair[p] > 0))
	}
	return nil
}

// findLeavers marks the results of students who are no longer on the roster of their school.
func (d *day) findLeavers(ctx context.Context, list []*lostResult) error {
	if d.students == nil {
		return nil
	}
	there := make(map[pair]bool)
	for _, r := range list {
		there[pair{r.school, r.student}] = false
	}
	err := d.students.scan(ctx, tableOf("students"), func(b *rows.Batch, row int) {
		school, student := textOf(b, 0, row), textOf(b, 1, row)
		if _, wanted := there[pair{string(school), string(student)}]; wanted {
			there[pair{string(school), string(student)}] = true
		}
	}, "requested_school_bid", "student_bid")
	for _, r := range list {
		r.left = r.student != "" && d.students.covers("students", r.school) && !there[pair{r.school, r.student}]
	}
	return err
}

// reason returns why a result is gone.
func (r *lostResult) reason(moved, superseded bool) string {
	switch {
	case moved:
		return snapshot.Moved
	case superseded:
		return snapshot.Superseded
	case r.agedOut:
		return snapshot.AgedOut
	case r.left:
		return snapshot.LeftRoster
	}
	return snapshot.Unexplained
}

// results passes the results of a snapshot to use. If only is not nil, it selects the schools.
func (s *side) results(ctx context.Context, only func(school string) bool, use useResult) error {
	return s.scan(ctx, tableOf(resultsTable), func(b *rows.Batch, row int) {
		if only == nil || only(string(textOf(b, 3, row))) {
			use(textOf(b, 0, row), textOf(b, 1, row), textOf(b, 2, row), 1)
		}
	}, lookUpColumns...)
}

// lookUpColumns are the columns of test_results that useResult needs, and the column of the school.
var lookUpColumns = []string{"test_result_bid", "student_bid", "subject_area", "requested_school_bid"}
