package review

import (
	"fmt"
	"slices"
)

// The checks of the service's own rules. All of them concern test results.
const (
	CheckOneResultPerSubject = "one_result_per_subject"
	CheckPageSize            = "page_size"
	CheckOlderThanAYear      = "older_than_a_year"
	CheckRITOrder            = "rit_order"
	CheckItemsOrder          = "items_order"
	CheckUnknownStudent      = "unknown_student"
	CheckUnknownTerm         = "unknown_term"
)

// checkMeanings describes what each check counts, in the order of CheckNames.
var checkMeanings = []struct{ name, one, many string }{
	{CheckOneResultPerSubject, "student has several results in one subject", "pairs of student and subject have several results"},
	{CheckPageSize, "page before the last does not hold 1,000 results", "pages before the last do not hold 1,000 results"},
	{CheckOlderThanAYear, "result is older than a year", "results are older than a year"},
	{CheckRITOrder, "result has a RIT score outside its own low and high", "results have a RIT score outside their own low and high"},
	{CheckItemsOrder, "result has more correct items than shown ones, or more shown items than in total", "results have more correct items than shown ones, or more shown items than in total"},
	{CheckUnknownStudent, "result belongs to a student who is not on the school's student list", "results belong to students who are not on the school's student list"},
	{CheckUnknownTerm, "result has a term that is not an enrollment session of any academic year", "results have a term that is not an enrollment session of any academic year"},
}

// CheckNames returns the names of the checks in the order in which they are listed.
func CheckNames() []string {
	var names []string
	for _, m := range checkMeanings {
		names = append(names, m.name)
	}
	return names
}

// Check counts how often the service broke one of its own rules in a run. A count of zero means that the check passed.
type Check struct {
	Check string `json:"check"` // the name of the rule
	Table string `json:"table"`
	Count int64  `json:"count"` // how often it was broken
	// Schools is the number of schools for which the check was made.
	Schools int64 `json:"schools"`
}

// Meaning describes the counted records, without the count, such as "results are older than a year".
func (c Check) Meaning() string {
	for _, m := range checkMeanings {
		switch {
		case m.name == c.Check && c.Count == 1:
			return m.one
		case m.name == c.Check:
			return m.many
		}
	}
	return "violations"
}

// String describes the check for logs and reasons.
func (c Check) String() string {
	return fmt.Sprintf("check %s, table %s: %d %s", c.Check, c.Table, c.Count, c.Meaning())
}

// FailedChecks returns the checks whose count is not zero.
func FailedChecks(checks []Check) []Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c.Count == 0 })
}
