package transform

import (
	"errors"

	"example.org/growthexport/schemas"
)

// A profile withholds some columns and changes others (schemas.PrivacyMatrix). What is withheld is skipped while a page is
// read: neither _extra nor drift collects it, nor the names of undeclared members. Identifiers and dates of birth are
// held as received, so that a text that repeats is held once, and change before the rows leave the decoder: in Finish
// and WriteRun, before they are sorted.

// protectedColumn is a column whose values change.
type protectedColumn struct {
	column int
	kind   string // of its pseudonyms; empty for a date of which only the year is kept
}

// pseudonymKind returns the kind of a column's pseudonyms, empty if it has none.
func (p *Plan) pseudonymKind(c *schemas.Column) string {
	if p.key == nil || c.Under(p.profile) != schemas.Pseudonymize {
		return ""
	}
	return c.PseudonymKind()
}

// protect notes what becomes of a member's column and returns the kind of the member.
func (p *Plan) protect(tp *tablePlan, i int, k kind) (kind, error) {
	c := &tp.table.Columns[i]
	switch c.Under(p.profile) {
	case schemas.Withhold:
		return withheld, nil
	case schemas.YearOnly:
		if k != dateColumn {
			return k, errors.New("only a date has a year to keep")
		}
		tp.protected = append(tp.protected, protectedColumn{column: i})
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

// withholdsExtra reports whether _extra is null, and drift does not name undeclared members.
func (p *Plan) withholdsExtra() bool { return p.profile.NeedsKey() }

// Written returns the value that a parameter of the calls has in the rows.
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
