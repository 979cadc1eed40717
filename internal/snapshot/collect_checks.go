package snapshot

import (
	"example.org/growthexport/internal/review"
	"example.org/growthexport/schemas"
)

// checkSums adds up the check counts in a run's checkpoints.
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

// list returns the checks that were made for at least one school, in the order of review.CheckNames.
func (s *checkSums) list(ledger []LedgerRow) []review.Check {
	s.countUnknownTerms(ledger)
	checks := []review.Check{}
	for _, name := range review.CheckNames() {
		if n := s.counts[name]; n.Schools > 0 {
			checks = append(checks, review.Check{Check: name, Table: schemas.TestResults, Count: n.Count, Schools: n.Schools})
		}
	}
	return checks
}

// countUnknownTerms compares the terms of all results with the enrollment sessions of all schools. Comparing school by
// school would not work, because results follow the student: a transfer student's result may have a term of the former
// district. Results of schools whose academic years the run has not read are not checked.
func (s *checkSums) countUnknownTerms(ledger []LedgerRow) {
	covered := make(map[string]bool)
	for i := range ledger {
		if row := &ledger[i]; row.Dataset == schemas.AcademicYears && row.Status == StatusOK {
			covered[row.SchoolBid] = true
		}
	}
	var n CheckCount
	for i := range ledger {
		if row := &ledger[i]; row.Dataset == schemas.TestResults && row.Status == StatusOK && covered[row.SchoolBid] {
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
	s.counts[review.CheckUnknownTerm] = n
}
