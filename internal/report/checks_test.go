package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
)

// TestChecks checks that the page lists every check that was made.
func TestChecks(t *testing.T) {
	t.Parallel()
	passed := review.Check{Check: review.CheckItemsOrder, Table: "test_results", Schools: 12}
	failed := review.Check{Check: review.CheckUnknownStudent, Table: "test_results", Count: 1234, Schools: 11}
	page := func(checks ...review.Check) string {
		return draw(t, &report.Page{State: report.Published, Manifest: &snapshot.Manifest{Kind: snapshot.Full, SnapshotDate: "2026-11-20", Checks: checks}})
	}
	text := page(passed, failed)
	has(t, text, "1 of 2 failed.")
	has(t, text, "<code>growth-export sql --views analysis</code> counts violations by school")
	has(t, text, "1,234")
	has(t, text, "results belong to students who are not on the school&#39;s student list")
	has(t, text, "items_order")
	text = page(passed)
	has(t, text, "The only check passed.")
	hasNot(t, text, "unknown_student")
	require.NotContains(t, page(), "service's own rules", "a run without checks has no heading for them")
}
