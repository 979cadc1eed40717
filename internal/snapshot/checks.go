package snapshot

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

// checkMeanings describes what each check counts, in the order in which checks are listed.
var checkMeanings = []struct{ name, one, many string }{
	{CheckOneResultPerSubject, "student has several results in one subject", "pairs of student and subject have several results"},
	{CheckPageSize, "page before the last does not hold 1,000 results", "pages before the last do not hold 1,000 results"},
	{CheckOlderThanAYear, "result is older than a year", "results are older than a year"},
	{CheckRITOrder, "result has a RIT score outside its own low and high", "results have a RIT score outside their own low and high"},
	{CheckItemsOrder, "result has more items correct than shown, or shown than in total", "results have more items correct than shown, or shown than in total"},
	{CheckUnknownStudent, "result is of a student who is not in the school's student list", "results are of students who are not in the school's student list"},
	{CheckUnknownTerm, "result has a term that is not an enrollment session of any academic year", "results have a term that is not an enrollment session of any academic year"},
}

// Check is how often the service broke one of its own rules in a run. A count of zero means that the check passed.
type Check struct {
	Check string `json:"check"`
	Table string `json:"table"`
	Count int64  `json:"count"`
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

// CheckCounts are the counts of one or more schools by check.
type CheckCounts map[string]CheckCount

// CheckCount is how often a rule was broken, and how many schools were checked.
type CheckCount struct {
	Count   int64 `json:"count"`
	Schools int64 `json:"schools"`
}

// Add adds other counts.
func (c CheckCounts) Add(other CheckCounts) {
	for name, n := range other {
		sum := c[name]
		sum.Count += n.Count
		sum.Schools += n.Schools
		c[name] = sum
	}
}

// TermCounts counts test results by school and term. The pipeline hashes terms: a checkpoint holds no value of a
// record.
type TermCounts map[string]map[string]int64

// Add counts n more results.
func (c TermCounts) Add(school, term string, n int64) {
	terms := c[school]
	if terms == nil {
		terms = make(map[string]int64)
		c[school] = terms
	}
	terms[term] += n
}

// Merge adds other counts.
func (c TermCounts) Merge(other TermCounts) {
	for school, terms := range other {
		for term, n := range terms {
			c.Add(school, term, n)
		}
	}
}

// FailedChecks returns the checks whose count is not zero.
func FailedChecks(checks []Check) []Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c.Count == 0 })
}
