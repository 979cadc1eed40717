package transform

import (
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/schemas"
)

// Suppress makes the plan's decoders drop, as they read them, all records and child rows of suppressed students. The
// rules are those of package erase: a row is a student's if one of its columns for student bids holds the student's bid.
// If it has such columns and all of them are empty, it is the student's if it mentions the bid or a number of the
// student as a whole value in another column or in _extra. A row of others that mentions one of them in _extra loses
// _extra. Decoders made before drop nothing.
func (p *Plan) Suppress(s *privacy.Suppressed) {
	p.suppressed = s
	p.dropRows()
	for _, tp := range p.tables {
		tp.searched = nil
		for _, i := range tp.texts {
			if tp.table.Columns[i].Class != schemas.Grade { // which looks like a number
				tp.searched = append(tp.searched, i)
			}
		}
	}
}

// suppressedIn returns the position, in the suppression list, of the student whose row the one just read is, or -1. The
// row loses an _extra that mentions another one.
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

// Suppressed returns the positions in the suppression list of the students whose rows were dropped, some of them several
// times. They are valid until Reset.
func (d *Decoder) Suppressed() []int { return d.suppressed }
