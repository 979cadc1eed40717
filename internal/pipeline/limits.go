package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// reasonsToHold returns the reasons why a complete run should not be published before an operator has looked at it.
func reasonsToHold(g *snapshot.StagedRun, l review.Limits) []review.Reason {
	reasons := []review.Reason{}
	if denied := append(deniedDatasets(g), withoutAnswer(g)...); len(denied) > 0 {
		reasons = append(reasons, review.New(review.DatasetDenied, "", denied))
	}
	if g.Plan.Kind == snapshot.AsOf && !hasRows(g) {
		reasons = append(reasons, review.New(review.NoRows, "", nil))
	}
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
	return NameFindings(append(reasons, hold...), g.Plan)
}

// NameFindings adds the names of districts and schools in the plan of a run to the findings of reasons, and returns
// reasons. If plan is nil because it could not be read, it adds no names.
func NameFindings(reasons []review.Reason, plan *snapshot.Plan) []review.Reason {
	if plan == nil {
		return reasons
	}
	schools := plan.SchoolNames()
	var gone map[string]string
	if plan.Baseline != nil {
		gone = plan.Baseline.Names
	}
	for i := range reasons {
		for j := range reasons[i].Found {
			f := &reasons[i].Found[j]
			f.Name = cmp.Or(schools[f.School], plan.DistrictNames[f.District], gone[f.School], gone[f.District])
		}
	}
	return reasons
}

func hasRows(g *snapshot.StagedRun) bool {
	for _, table := range g.Tables {
		if table.Rows > 0 {
			return true
		}
	}
	return false
}

// deniedDatasets returns the datasets, except lookups, that were denied in some schools and read in none.
func deniedDatasets(g *snapshot.StagedRun) []review.Finding {
	var found []review.Finding
	for dataset, counts := range g.Datasets {
		if d, _ := schemas.Find(dataset); !d.IsLookup() && counts.Denied > 0 && counts.OK == 0 {
			found = append(found, review.Finding{Table: dataset, N: counts.Denied, Of: counts.Denied + counts.Failed, Counted: review.Schools})
		}
	}
	return found
}

// withoutAnswer returns the fan-out datasets of which no record was read, and at least minCalls records were denied,
// were not found or had no identifier.
func withoutAnswer(g *snapshot.StagedRun) []review.Finding {
	const minCalls = 3
	type counts struct{ pages, unavailable int64 }
	all := make(map[string]counts)
	for i := range g.Ledger {
		row := &g.Ledger[i]
		c := all[row.Dataset]
		all[row.Dataset] = counts{c.pages + row.Pages, c.unavailable + row.RecordsUnavailable}
	}
	var found []review.Finding
	for dataset, c := range all {
		if c.pages == 0 && c.unavailable >= minCalls {
			found = append(found, review.Finding{Table: dataset, N: c.unavailable, Of: c.unavailable, Counted: review.Calls})
		}
	}
	return found
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

// allDenied reports whether the service denied every dataset of every school that the run requested, which means that
// the service denies access to the app as a whole.
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
