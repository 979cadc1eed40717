package transform

import (
	"errors"
	"math"
	"slices"
	"time"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// A profile withholds some columns and changes others (schemas.PrivacyMatrix). A withheld value is skipped while a page
// is read, so it reaches neither _extra nor drift. The names of undeclared members do not reach _extra or drift either.
// Identifiers and times are first held as received, so that a repeated text is held once. They are changed in Finish
// and WriteRun, before the rows are sorted and leave the decoder. Only the choice among duplicates needs
// modified_date_time as received. For this, the times as received are kept in memory, in tableRows.modified and, for
// the rows in runs, in Decoder.modifiedInRuns.

// protectedColumn is a column whose values change.
type protectedColumn struct {
	column int
	kind   string // the kind of its pseudonyms; empty for a time of which only a part is kept
	keeps  schemas.Treatment
}

// pseudonymKind returns the kind of a column's pseudonyms, or "" if it has none.
func (p *Plan) pseudonymKind(c *schemas.Column) string {
	if p.key == nil || c.Under(p.profile) != schemas.Pseudonymize {
		return ""
	}
	return c.PseudonymKind()
}

// protect records the protection of a member's column and returns the kind of the member.
func (p *Plan) protect(tp *tablePlan, i int, k kind) (kind, error) {
	c := &tp.table.Columns[i]
	switch c.Under(p.profile) {
	case schemas.Withhold:
		return withheld, nil
	case schemas.YearOnly, schemas.MonthOnly, schemas.DayOnly:
		if k != dateColumn && k != timestampColumn {
			return k, errors.New("only a date or a timestamp has a part to keep")
		}
		tp.protected = append(tp.protected, protectedColumn{column: i, keeps: c.Under(p.profile)})
	case schemas.Pseudonymize:
		if k != textColumn {
			return k, errors.New("only text has a pseudonym")
		}
		if kind := p.pseudonymKind(c); kind != "" {
			tp.protected = append(tp.protected, protectedColumn{column: i, kind: kind})
		}
	case schemas.Keep:
	}
	return k, nil
}

// coarsensModified reports whether modified_date_time is written less precisely than it was received.
func (p *Plan) coarsensModified() bool {
	return p.modified >= 0 && slices.ContainsFunc(p.tables[0].protected, func(c protectedColumn) bool { return c.column == p.modified })
}

// unreadTime represents a modified_date_time that is null. It is less than every other value.
const unreadTime = math.MinInt64

// keepModified saves the modified_date_time of all rows before the profile changes it.
func (t *tableRows) keepModified(column int) {
	v := &t.cols[column]
	t.modified = append(t.modified[:0], v.I64[:t.n]...)
	for row := range t.modified {
		if v.Present[row] == 0 {
			t.modified[row] = unreadTime
		}
	}
}

// coarsen replaces each value of a column of dates or timestamps with the beginning of its day, month or year.
func coarsen(v *rows.Vector, keeps schemas.Treatment) {
	for row, present := range v.Present {
		switch {
		case present == 0:
		case v.Type == schemas.Date:
			v.I32[row] = int32(startOf(int64(v.I32[row]), keeps))
		default:
			day := v.I64[row] / microsPerDay
			if v.I64[row]%microsPerDay < 0 {
				day--
			}
			v.I64[row] = startOf(day, keeps) * microsPerDay
		}
	}
}

// startOf returns the first day of a day's month or year, or the day itself.
func startOf(day int64, keeps schemas.Treatment) int64 {
	switch t := time.Unix(day*(microsPerDay/1_000_000), 0).UTC(); keeps {
	case schemas.YearOnly:
		return day - int64(t.YearDay()) + 1
	case schemas.MonthOnly:
		return day - int64(t.Day()) + 1
	default:
		return day
	}
}

// withholdsExtra reports whether the profile makes _extra null and masks the names of undeclared members in drift.
func (p *Plan) withholdsExtra() bool { return p.profile.NeedsKey() }

// Written returns the value of a call's parameter as it is written to rows: its pseudonym, if the column has one.
func (p *Plan) Written(param, value string) string {
	for _, c := range p.tables[0].params {
		if c.name == param && c.kind != "" {
			return p.key.Pseudonym(c.kind, value)
		}
	}
	return value
}

// nameForDrift returns the name under which drift counts a member.
func (p *Plan) nameForDrift(obj *objectPlan, name []byte) []byte {
	if p.withholdsExtra() && obj.lookup(name).number == 0 {
		return []byte(maskedName)
	}
	return name
}
