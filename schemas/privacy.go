package schemas

import (
	"slices"
	"strings"
)

// Profile determines how an export treats the columns of each class.
type Profile string

// The profiles.
const (
	Full         Profile = "full"
	Pseudonymous Profile = "pseudonymous"
	Minimal      Profile = "minimal"
)

// Profiles returns all profiles. The profile that withholds least comes first.
func Profiles() []Profile { return []Profile{Full, Pseudonymous, Minimal} }

// NeedsKey reports whether the profile replaces identifiers with keyed pseudonyms.
func (p Profile) NeedsKey() bool { return p == Pseudonymous || p == Minimal }

// Treatment is the effect of a profile on a column.
type Treatment uint8

// The treatments. Withhold comes first, so that a class that is not in the matrix is withheld.
const (
	Withhold     Treatment = iota // null in every row
	Keep                          // as the service sends it
	Pseudonymize                  // a keyed pseudonym of PseudonymKind
	YearOnly                      // 1 January of the year
	MonthOnly                     // the first day of the month, at 00:00 UTC
	DayOnly                       // the day, at 00:00 UTC
)

var treatmentNames = [...]string{
	Withhold: "null", Keep: "as sent", Pseudonymize: "keyed pseudonym", YearOnly: "1 January of the year",
	MonthOnly: "first day of the month", DayOnly: "the day, at 00:00 UTC",
}

// String returns the treatment's name in the data dictionary.
func (t Treatment) String() string { return treatmentNames[t] }

// InWords describes the treatment for people who do not know the tables.
func (t Treatment) InWords() string {
	switch t {
	case Keep:
		return "as the service sends it"
	case Pseudonymize:
		return "a pseudonym, made with the key"
	case YearOnly:
		return "the year, as 1 January"
	case MonthOnly:
		return "the month, as its first day"
	case DayOnly:
		return "the day, without the time"
	case Withhold:
	}
	return "nothing; the column is empty"
}

// ClassPrivacy is a row of the privacy matrix.
type ClassPrivacy struct {
	Class Class
	// Holds describes the columns of the class.
	Holds                 string
	pseudonymous, minimal Treatment
}

// PrivacyMatrix returns, for every class, a description of its columns and its treatments.
func PrivacyMatrix() []ClassPrivacy {
	return []ClassPrivacy{
		{None, "data that is not about a person", Keep, Keep},
		{ID, "identifiers of students and educators", Pseudonymize, Pseudonymize},
		{Record, "identifiers of records about one person (test results, associations)", Pseudonymize, Pseudonymize},
		{Direct, "names", Withhold, Withhold},
		{Birth, "dates of birth", YearOnly, Withhold},
		{Grade, "grade", Keep, Keep},
		{Text, "class names, which often contain a teacher's name", Withhold, Withhold},
		{Trait, "gender, ethnicity", Keep, Withhold},
		{Score, "scores and their standard errors", Keep, Keep},
		{Moment, "start, end and last change of records about one person", DayOnly, MonthOnly},
		{Measure, "duration of a test and its numbers of items", Keep, Withhold},
		{Extra, "`_extra`, which may hold anything", Withhold, Withhold},
	}
}

// Under returns the treatment of the class under a profile.
func (c ClassPrivacy) Under(p Profile) Treatment {
	switch p {
	case Pseudonymous:
		return c.pseudonymous
	case Minimal:
		return c.minimal
	}
	return Keep
}

// Under returns the treatment of the column under a profile.
func (c *Column) Under(p Profile) Treatment {
	if !p.NeedsKey() {
		return Keep
	}
	for _, row := range PrivacyMatrix() {
		if row.Class == c.Class {
			return row.Under(p)
		}
	}
	return Withhold
}

// PseudonymKind returns the kind of the column's pseudonyms: equal values of one kind have the same pseudonym, so that
// columns of one kind can be joined. It is empty for columns without pseudonyms.
//
// The numbers that a state or district gives a student are one kind, because the same number may be in any of these
// columns (specification, What the service does, 7).
func (c *Column) PseudonymKind() string {
	switch {
	case c.Class != ID && c.Class != Record:
		return ""
	case slices.Contains([]string{"student_id", "state_student_id", "district_student_id"}, c.Name):
		return "student_number"
	}
	kind, _ := strings.CutSuffix(strings.TrimPrefix(c.Name, "requested_"), "_bid")
	return kind
}
