package transform

import (
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/schemas"
)

// Cohort is the set of students whose rows are kept. It does not change and may be shared.
type Cohort struct {
	positions map[string]int
}

// NewCohort returns the cohort of the listed student bids, which are identified by their positions in the list. A bid
// with surrounding whitespace also stands for the bid without it. Bids that differ only in surrounding whitespace all
// get the position of the first of them.
func NewCohort(bids []string) *Cohort {
	c := &Cohort{positions: make(map[string]int, len(bids))}
	for i, bid := range bids {
		bare, _ := privacy.WithoutBlanks(bid)
		if _, known := c.positions[bare]; !known {
			c.positions[bare] = i
		}
		c.positions[bid] = c.positions[bare]
	}
	return c
}

// Restrict makes the plan's decoders drop rows while reading. They drop records and child rows with a column for a
// student's bid, unless the row holds at least one bid and all of its bids belong to the cohort. They also drop records
// whose child rows are students, such as classes, if none of these students belongs to the cohort. An _extra that would
// hold an array or an object is null, because the service may list other students there. If a dataset's records list
// students without rows of their own, the _extra of its records is always null. Decoders that already exist are not
// restricted.
func (p *Plan) Restrict(c *Cohort) {
	p.cohort, p.roster = c, 0
	p.dropRows()
	for i, tp := range p.tables {
		if i > 0 && len(tp.students) > 0 && len(p.tables[0].students) == 0 {
			p.roster = i
		}
	}
	p.tables[0].dropsExtra = p.dataset.ExtraListsStudents()
}

// dropRows prepares the plan for decoders that drop the rows of some students.
func (p *Plan) dropRows() {
	for _, tp := range p.tables {
		tp.plain, tp.students = true, nil
		for _, name := range schemas.StudentColumns() {
			if i := tp.table.Column(name); i >= 0 {
				tp.students = append(tp.students, i)
			}
		}
	}
}

// drops reports whether decoders drop the rows of some students.
func (p *Plan) drops() bool { return p.cohort != nil || p.suppressed != nil }

// keepsRow reports whether the row just read, which is the table's next row, is kept. The row must belong to the cohort
// and must not belong to a suppressed student. A record must also pass keepsRecord. keepsRow notes the student for whom
// the row is kept or suppressed. A kept row loses an _extra that mentions a suppressed student.
func (d *Decoder) keepsRow(t *tableRows) bool {
	if !d.plan.drops() {
		return true
	}
	if t == d.tables[0] && !d.keepsRecord(t) {
		return false
	}
	position, kept := d.ofCohort(t)
	if !kept {
		return false
	}
	if suppressed := d.suppressedIn(t); suppressed >= 0 {
		d.suppressed = note(d.suppressed, suppressed)
		return false
	}
	if position >= 0 {
		d.matched = note(d.matched, position)
	}
	return true
}

// keepsRecord reports whether the record just read may be kept. If its dataset has a roster, a student of the cohort
// must be on it. Otherwise, after KeepOnly, the record must have one of the values in d.only.
func (d *Decoder) keepsRecord(t *tableRows) bool {
	if d.plan.roster > 0 {
		roster := d.tables[d.plan.roster]
		return roster.n > int(roster.starts[t.n])
	}
	if d.only.Values == nil {
		return true
	}
	v := &t.cols[d.plan.tables[0].table.Column(d.only.Column)]
	return !v.Null(t.n) && d.only.Values[string(v.Text(t.n))]
}

// Only selects the records to keep, by values of a column of the first table.
type Only struct {
	Column string
	Values map[string]bool
}

// KeepOnly makes the decoder of a plan that is restricted to a cohort drop records that have none of the values, until
// Reset.
func (d *Decoder) KeepOnly(only Only) { d.only = only }

// note appends a position unless it equals the last position.
func note(positions []int, position int) []int {
	if n := len(positions); n > 0 && positions[n-1] == position {
		return positions
	}
	return append(positions, position)
}

// ofCohort reports whether the cohort allows the row just read, and returns the position of its student in the cohort,
// or -1 if the row is not allowed or its table is not restricted.
func (d *Decoder) ofCohort(t *tableRows) (position int, kept bool) {
	if d.plan.cohort == nil || len(t.plan.students) == 0 {
		return -1, true
	}
	position = -1
	for _, column := range t.plan.students {
		bid := d.bidIn(t, column)
		if len(bid) == 0 {
			continue
		}
		if position, kept = d.plan.cohort.positions[string(bid)]; !kept {
			return -1, false
		}
	}
	return position, kept
}

// bidIn returns the bid in a column of the row just read, as received. The result is empty if there is no bid.
func (d *Decoder) bidIn(t *tableRows, column int) []byte {
	if source := t.plan.table.Columns[column].Source; source[0] == schemas.SourceParam {
		return []byte(d.params[source[1:]]) // its column may hold a pseudonym
	}
	if v := &t.cols[column]; !v.Null(t.n) {
		return v.Text(t.n)
	}
	return nil
}

// Matched returns the positions in the cohort of the students whose rows were kept while reading, including rows of
// pages that failed later. A position may occur several times. The result is valid until Reset.
func (d *Decoder) Matched() []int { return d.matched }
