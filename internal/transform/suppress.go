package transform

import (
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/schemas"
)

// Suppress makes the plan's decoders drop all records and child rows of suppressed students while reading. The rules
// are the same as in package erase: a row belongs to a student if one of its columns for student bids holds the
// student's bid. If it has such columns and all of them are empty, it belongs to a student whose bid or number is the
// whole value of another text column, other than a grade, or of a member in _extra. Any other row that mentions a
// suppressed student in _extra loses its _extra. Decoders that already exist are not affected.
func (p *Plan) Suppress(s *privacy.Suppressed) {
	p.suppressed = s
	p.dropRows()
	for _, tp := range p.tables {
		tp.searched = nil
		for _, i := range tp.texts {
			if tp.table.Columns[i].Class != schemas.Grade { // grades look like numbers
				tp.searched = append(tp.searched, i)
			}
		}
	}
}

// suppressedIn returns the position in the suppression list of the student to whom the row just read belongs, or -1 if
// the row does not belong to a suppressed student. Such a row loses an _extra that mentions a suppressed student.
func (d *Decoder) suppressedIn(t *tableRows) int {
	if d.finder == nil {
		return -1
	}
	named := false
	for _, column := range t.plan.students {
		bid := d.bidIn(t, column)
		if len(bid) == 0 {
			continue
		}
		named = true
		if position := d.finder.Bid(bid); position >= 0 {
			return position
		}
	}
	anonymous := len(t.plan.students) > 0 && !named
	if anonymous {
		for _, column := range t.plan.searched {
			v := &t.cols[column]
			if v.Null(t.n) {
				continue
			}
			if position := d.finder.Value(v.Text(t.n)); position >= 0 {
				return position
			}
		}
	}
	extra := &t.cols[t.plan.extra]
	if len(extra.End) <= t.n || extra.Null(t.n) {
		return -1
	}
	position := d.finder.JSON(extra.Text(t.n))
	if position >= 0 && anonymous {
		return position
	}
	if position >= 0 {
		extra.Truncate(t.n)
	}
	return -1
}

// Suppressed returns the positions in the suppression list of the students whose rows were dropped while reading,
// including rows of pages that failed later. A position may occur several times. The result is valid until Reset.
func (d *Decoder) Suppressed() []int { return d.suppressed }
