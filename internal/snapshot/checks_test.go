package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/review"
)

// TestUnknownTerms compares the terms of results with the sessions of all schools, because results follow the student,
// but only if the academic years of the result's own school are known.
func TestUnknownTerms(t *testing.T) {
	t.Parallel()
	ledger := func(dataset, school string, status Status) LedgerRow {
		return LedgerRow{Dataset: dataset, SchoolBid: school, Status: status}
	}
	rows := []LedgerRow{
		ledger("test_results", "a", StatusOK), ledger("academic_years", "a", StatusOK),
		ledger("test_results", "b", StatusOK), ledger("academic_years", "b", StatusDenied),
		ledger("test_results", "c", StatusFailed), ledger("academic_years", "c", StatusOK),
		ledger("students", "d", StatusOK),
	}
	sums := newCheckSums()
	sums.add(&Checkpoint{Sessions: []string{"fall", "spring"}})
	sums.add(&Checkpoint{Sessions: []string{"winter"}})
	sums.add(&Checkpoint{
		Checks: CheckCounts{review.CheckRITOrder: {Count: 2, Schools: 1}, review.CheckUnknownStudent: {}},
		Terms:  TermCounts{"a": {"fall": 5, "winter": 1, "gone": 3}, "b": {"gone": 7}},
	})
	sums.add(&Checkpoint{
		Checks: CheckCounts{review.CheckRITOrder: {Schools: 1}},
		Terms:  TermCounts{"a": {"gone": 1}, "c": {"lost": 2}},
	})
	require.Equal(t, []review.Check{
		{Check: review.CheckRITOrder, Table: "test_results", Count: 2, Schools: 2},
		{Check: review.CheckUnknownTerm, Table: "test_results", Count: 6, Schools: 1},
	}, sums.list(rows))
	require.Empty(t, newCheckSums().list(nil))
}
