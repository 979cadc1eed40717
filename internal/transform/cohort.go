package transform

import "example.org/growthexport/schemas"

// Cohort is the students whose rows are kept. It does not change and may be shared.
type Cohort struct {
	positions map[string]int
}

// NewCohort returns the cohort of these student bids, each of which is known by its position.
func NewCohort(bids []string) *Cohort {
	c := &Cohort{positions: make(map[string]int, len(bids))}
	for i, bid := range bids {
		c.positions[bid] = i
	}
	return c
}

// Restrict makes the plan's decoders drop, as they read them, all records and child rows that hold a student's bid or
// have room for one, unless every bid that they hold is of the cohort. An _extra that would hold an array or an object
// is null, because the service may list other students there; so is every _extra of a dataset whose records list
// students who have no rows. Decoders made before are not restricted.
func (p *Plan) Restrict(c *Cohort) {
	p.cohort = c
	for _, tp := range p.tables {
		tp.plain, tp.students = true, nil
		for _, name := range schemas.StudentColumns() {
			if i := tp.table.Column(name); i >= 0 {
				tp.students = append(tp.students, i)
			}
		}
	}
	p.tables[0].dropsExtra = p.dataset.ExtraListsStudents()
}

// keepsRow reports whether the row just read, the next one of the table, is of the cohort, and if so notes its student.
func (d *Decoder) keepsRow(t *tableRows) bool {
	if d.plan.cohort == nil || len(t.plan.students) == 0 {
		return true
	}
	found := -1
	for _, column := range t.plan.students {
		var bid []byte
		if source := t.plan.table.Columns[column].Source; source[0] == schemas.SourceParam {
			bid = []byte(d.params[source[1:]]) // its column may hold a pseudonym
		} else if v := &t.cols[column]; !v.Null(t.n) {
			bid = v.Text(t.n)
		}
		if len(bid) == 0 {
			continue
		}
		position, ok := d.plan.cohort.positions[string(bid)]
		if !ok {
			return false
		}
		found = position
	}
	if n := len(d.matched); found >= 0 && (n == 0 || d.matched[n-1] != found) {
		d.matched = append(d.matched, found)
	}
	return found >= 0
}

// Matched returns the positions in the cohort of the students who have a row, some of them several times. They are
// valid until Reset.
func (d *Decoder) Matched() []int { return d.matched }
