package snapshot

import (
	"fmt"
	"slices"
)

// The checks of the service's own rules. All of them are about test results.
const (
	CheckOneResultPerSubject = "one_result_per_subject"
	CheckPageSize            = "page_size"
	CheckOlderThanAYear      = "older_than_a_year"
	CheckRITOrder            = "rit_order"
	CheckItemsOrder          = "items_order"
	CheckUnknownStudent      = "unknown_student"
	CheckUnknownTerm         = "unknown_term"
)

// The datasets that take part in the checks, and the table that they are about.
const (
	resultsDataset = "test_results"
	yearsDataset   = "academic_years"
	checkedTable   = "test_results"
)

// checkMeanings describe what each check counts, in the order in which checks
// are listed.
var checkMeanings = []struct{ name, one, many string }{
	{CheckOneResultPerSubject, "student has several results in one subject", "pairs of student and subject have several results"},
	{CheckPageSize, "page before the last does not hold 1,000 results", "pages before the last do not hold 1,000 results"},
	{CheckOlderThanAYear, "result is older than a year", "results are older than a year"},
	{CheckRITOrder, "result has a RIT score outside its own low and high", "results have a RIT score outside their own low and high"},
	{CheckItemsOrder, "result has more items correct than shown, or shown than in total", "results have more items correct than shown, or shown than in total"},
	{CheckUnknownStudent, "result is of a student who is not in the school's student list", "results are of students who are not in the school's student list"},
	{CheckUnknownTerm, "result has a term that is not an enrollment session of any academic year", "results have a term that is not an enrollment session of any academic year"},
}

// Check is how often the service broke one of its own rules in a run. Zero
// means that the check was made and passed.
type Check struct {
	Check string `json:"check"`
	Table string `json:"table"`
	Count int64  `json:"count"`
	// Schools is the number of schools for which the check was made.
	Schools int64 `json:"schools"`
}

// Meaning returns what was counted, without the count, such as "results are
// older than a year".
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

// TermCounts count test results by the school they belong to and by their term.
// Terms are hashed by the pipeline: a checkpoint holds no value of a record.
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

// checkSums adds up the counts for the checks in the checkpoints of a run.
type checkSums struct {
	counts   CheckCounts
	terms    TermCounts
	sessions map[string]bool
}

func newCheckSums() *checkSums {
	return &checkSums{counts: make(CheckCounts), terms: make(TermCounts), sessions: make(map[string]bool)}
}

func (s *checkSums) add(checkpoint *Checkpoint) {
	s.counts.Add(checkpoint.Checks)
	s.terms.Merge(checkpoint.Terms)
	for _, session := range checkpoint.Sessions {
		s.sessions[session] = true
	}
}

// list returns the checks that were made for at least one school, in the order
// of checkMeanings.
func (s *checkSums) list(ledger []LedgerRow) []Check {
	s.countUnknownTerms(ledger)
	checks := []Check{}
	for _, m := range checkMeanings {
		if n := s.counts[m.name]; n.Schools > 0 {
			checks = append(checks, Check{Check: m.name, Table: checkedTable, Count: n.Count, Schools: n.Schools})
		}
	}
	return checks
}

// countUnknownTerms compares the terms of all results with the enrollment
// sessions of all schools. It is done here and not per school because results
// follow the student: a transfer student's result may have a term of the former
// district. Results of a school whose academic years the run does not have are
// not checked.
func (s *checkSums) countUnknownTerms(ledger []LedgerRow) {
	covered := make(map[string]bool)
	for i := range ledger {
		if row := &ledger[i]; row.Dataset == yearsDataset && row.Status == StatusOK {
			covered[row.SchoolBid] = true
		}
	}
	var n CheckCount
	for i := range ledger {
		if row := &ledger[i]; row.Dataset == resultsDataset && row.Status == StatusOK && covered[row.SchoolBid] {
			n.Schools++
		}
	}
	for school, terms := range s.terms {
		for term, results := range terms {
			if covered[school] && !s.sessions[term] {
				n.Count += results
			}
		}
	}
	s.counts[CheckUnknownTerm] = n
}

// FailedChecks returns the checks whose count is not zero.
func FailedChecks(checks []Check) []Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c.Count == 0 })
}
