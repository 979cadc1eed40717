package pipeline

import (
	"maps"
	"slices"
	"strconv"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
)

// reasonsToHold returns the reasons why a complete run should not be published before an operator has looked at it; none
// if it may be.
func reasonsToHold(g *snapshot.StagedRun, l review.Limits) []review.Reason {
	reasons := []review.Reason{}
	if failed := g.Schools.Failed; failed > int64(l.MaxFailedSchools) {
		reason := review.New(review.MaxFailedSchools, strconv.Itoa(l.MaxFailedSchools), []review.Finding{{N: failed, Of: g.Schools.Total}})
		reason.Found = append(reason.Found, unanswered(g)...)
		reasons = append(reasons, reason)
	}
	if l.StrictChecks {
		for _, check := range review.FailedChecks(g.Checks) {
			reasons = append(reasons, review.New(check.Check, "", []review.Finding{{Table: check.Table, N: check.Count}}))
		}
	}
	hold, _ := compareWithLimits(g, l)
	return append(reasons, hold...)
}

// unanswered returns the datasets that failed in some schools and were read in none.
func unanswered(g *snapshot.StagedRun) []review.Finding {
	failed, read := make(map[string]int64), make(map[string]bool)
	for i := range g.Ledger {
		switch row := &g.Ledger[i]; row.Status {
		case snapshot.StatusFailed:
			failed[row.Dataset]++
		case snapshot.StatusOK:
			read[row.Dataset] = true
		}
	}
	var found []review.Finding
	for _, dataset := range slices.Sorted(maps.Keys(failed)) {
		if n := failed[dataset]; !read[dataset] {
			found = append(found, review.Finding{Table: dataset, N: n, Of: n, Counted: review.Schools})
		}
	}
	return found
}

// allDenied reports whether the service denied every per-school dataset of every school, and so the app as a whole.
func allDenied(g *snapshot.StagedRun) bool {
	denied := false
	for i := range g.Ledger {
		row := &g.Ledger[i]
		if row.SchoolBid == "" {
			continue
		}
		if row.Status != snapshot.StatusDenied {
			return false
		}
		denied = true
	}
	return denied
}
