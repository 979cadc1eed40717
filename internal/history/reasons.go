package history

import (
	"context"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// unexplained collects removed test results until the later rows can tell why they are gone.
type unexplained struct {
	resultColumns

	list []*candidate
}

// maxUnexplained is how many removed results are explained at once: about 25 MB.
const maxUnexplained = 50_000

// newUnexplained returns a collection of results that are gone on a date.
func newUnexplained(date string) (*unexplained, error) {
	aged, err := snapshot.YearBefore(date)
	if err != nil {
		return nil, err
	}
	u := &unexplained{resultColumns: resultColumns{aged: aged}}
	u.setTable(tableOf(resultsTable))
	return u, nil
}

// resultColumns are the columns of test_results on which a reason depends.
type resultColumns struct {
	bid, student, subject, start, end int // -1 if the table lacks the column
	// aged is the time, in microseconds, before which a result is older than a year.
	aged int64
}

// setTable finds the columns in a table of results, which may lack some.
func (u *resultColumns) setTable(results *schemas.Table) {
	u.bid, u.student, u.subject = results.Column("test_result_bid"), results.Column("student_bid"), results.Column("subject_area")
	u.start, u.end = results.Column("administration_start_date_time"), results.Column("administration_end_date_time")
}

// add collects a removed result.
func (u *unexplained) add(c *candidate, b *rows.Batch, row int) {
	u.describe(&c.removedResult, b, row)
	u.list = append(u.list, c)
}

// describe fills in what the reason of a removed result depends on.
func (u *resultColumns) describe(c *removedResult, b *rows.Batch, row int) {
	c.bid, c.hasBid = value(b, u.bid, row)
	var student, subject bool
	c.student, student = value(b, u.student, row)
	c.subject, subject = value(b, u.subject, row)
	c.hasPair = student && subject
	for _, column := range []int{u.end, u.start} {
		if column >= 0 && !b.Cols[column].Null(row) {
			c.agedOut = b.Cols[column].I64[row] < u.aged
			break
		}
	}
}

// pair is a student and a subject, or a school and a student.
type pair [2]string

// scan passes some columns of all rows of a table to use.
type scan func(ctx context.Context, table *schemas.Table, use func(b *rows.Batch, row int), columns ...string) error

// explain adds the reason of every collected result to its counts.
func (u *unexplained) explain(ctx context.Context, later *side) error {
	return u.resolve(ctx, later, later.scan, func(c *candidate, reason string) { c.count(reason) })
}

// resolve passes every collected result and its reason to use. The scan of the results finds all of that day, under any
// school.
func (u *unexplained) resolve(ctx context.Context, later *side, results scan, use func(c *candidate, reason string)) error {
	if len(u.list) == 0 {
		return nil
	}
	elsewhere, pairs, roster := make(map[string]bool), make(map[pair]bool), make(map[pair]bool)
	for _, c := range u.list {
		if c.hasBid {
			elsewhere[c.bid] = false
		}
		if c.hasPair {
			pairs[pair{c.student, c.subject}] = false
		}
		roster[pair{c.unit, c.student}] = false
	}
	err := results(ctx, tableOf(resultsTable), func(b *rows.Batch, row int) {
		if bid := textOf(b, 0, row); len(bid) > 0 {
			if _, wanted := elsewhere[string(bid)]; wanted {
				elsewhere[string(bid)] = true
			}
		}
		mark(pairs, textOf(b, 1, row), textOf(b, 2, row))
	}, "test_result_bid", "student_bid", "subject_area")
	if err != nil {
		return err
	}
	err = later.scan(ctx, tableOf("students"), func(b *rows.Batch, row int) {
		mark(roster, textOf(b, 0, row), textOf(b, 1, row))
	}, "requested_school_bid", "student_bid")
	if err != nil {
		return err
	}
	for _, c := range u.list {
		left := c.student != "" && later.covers("students", c.unit) && !roster[pair{c.unit, c.student}]
		use(c, c.reason(c.hasBid && elsewhere[c.bid], c.hasPair && pairs[pair{c.student, c.subject}], left))
	}
	u.list = nil
	return nil
}

// reason returns why a result is gone.
func (c *removedResult) reason(moved, superseded, left bool) string {
	switch {
	case moved:
		return snapshot.Moved
	case superseded:
		return snapshot.Superseded
	case c.agedOut:
		return snapshot.AgedOut
	case left:
		return snapshot.LeftRoster
	}
	return snapshot.Unexplained
}

// count adds the reason to the counts of a removed result and its children.
func (c *candidate) count(reason string) {
	for counts, n := range c.rows {
		counts.Because[reason] += n
	}
}

// mark sets a pair that is in the set of those looked for.
func mark(found map[pair]bool, a, b []byte) {
	if _, wanted := found[pair{string(a), string(b)}]; wanted { // this allocates nothing
		found[pair{string(a), string(b)}] = true
	}
}
