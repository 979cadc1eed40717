package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// minLimitedRows is the number of rows below which no limit on changes applies: a few students are a large share of a
// small district.
const minLimitedRows = 50

// excess is a share of a table's rows in one district that is beyond a limit.
type excess struct {
	table, column, district string
	n, of                   int64
}

func (e excess) String() string {
	where := "table " + e.table
	if e.column != "" {
		where += ", column " + e.column
	}
	switch _, dataset, _ := schemas.FindTable(e.table); {
	case e.district != "":
		where += ", district " + wording.Bid(e.district)
	case dataset != nil && !dataset.IsLookup():
		where += ", without a district"
	}
	return fmt.Sprintf("%s: %s of %s", where, wording.Count(e.n), wording.Count(e.of))
}

// listExcesses names the largest shares.
func listExcesses(list []excess, most int) string {
	slices.SortFunc(list, func(a, b excess) int {
		return cmp.Or(cmp.Compare(float64(b.n)/float64(b.of), float64(a.n)/float64(a.of)), cmp.Compare(a.String(), b.String()))
	})
	var parts []string
	for _, e := range list[:min(len(list), most)] {
		parts = append(parts, e.String())
	}
	if more := len(list) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// exceeded returns the reasons why the changes since the baseline are more than the limits allow.
func (l ChangeLimits) exceeded(g *snapshot.StagedRun) []string {
	var removed, changed, emptied []excess
	add := func(list *[]excess, limit Share, e excess) {
		if e.of >= minLimitedRows && limit.exceeded(e.n, e.of) {
			*list = append(*list, e)
		}
	}
	for district, tables := range g.Districts {
		for table, counts := range tables {
			if table == resultsDataset {
				add(&removed, l.MaxRemoved, excess{table, "", district, counts.Because[snapshot.Unexplained], counts.Before()})
			}
			add(&changed, l.MaxChanged, excess{table, "", district, counts.Altered, counts.Same + counts.Changed})
			for column, n := range counts.Emptied {
				add(&emptied, l.MaxEmptied, excess{table, column, district, n, counts.Values[column]})
			}
		}
	}
	var reasons []string
	for _, r := range []struct {
		list  []excess
		what  string
		flag  string
		limit Share
	}{
		{removed, "test results are gone for no known reason", "--max-removed", l.MaxRemoved},
		{changed, "rows have changed", "--max-changed", l.MaxChanged},
		{emptied, "values are gone", "--max-emptied", l.MaxEmptied},
	} {
		if len(r.list) > 0 {
			const most = 4
			reasons = append(reasons, fmt.Sprintf("more %s since the snapshot of %s (run %s) than %s %s allows: %s",
				r.what, g.Comparison.SnapshotDate, g.Comparison.With, r.flag, r.limit, listExcesses(r.list, most)))
		}
	}
	return reasons
}

// Warnings returns the warnings of a comparison: large removals that do not hold a run back. Unexplained removals of test
// results are left to --max-removed. Child rows that were replaced by others of the same parent are not removals.
func Warnings(districts snapshot.DistrictComparisons) []string {
	quiet := Share{Part: 0.1}
	lost, shrunk := make(map[string][]excess), make(map[string][]excess)
	for district, tables := range districts {
		for table, counts := range tables {
			rows, gone := counts.Before(), counts.Removed-min(counts.Because[snapshot.ElementsChanged], counts.Added)
			if table == resultsDataset {
				gone -= counts.Because[snapshot.Unexplained]
			}
			switch {
			case rows > 0 && counts.Removed == rows && counts.Added == 0:
				lost[table] = append(lost[table], excess{table, "", district, rows, rows})
			case rows >= minLimitedRows && quiet.exceeded(gone, rows):
				shrunk[table] = append(shrunk[table], excess{table, "", district, gone, rows})
			}
		}
	}
	const most = 3
	warnings := []string{}
	for _, table := range schemas.TablesInOrder(lost) {
		warnings = append(warnings, "all rows are gone: "+listExcesses(lost[table], most))
	}
	for _, table := range schemas.TablesInOrder(shrunk) {
		warnings = append(warnings, "more than 10% of the rows are gone: "+listExcesses(shrunk[table], most))
	}
	return warnings
}

// addWarnings adds the warnings to a run's comparison.
func addWarnings(g *snapshot.StagedRun) {
	if g.Comparison != nil {
		g.Comparison.Warnings = Warnings(g.Districts)
	}
}

// logComparison logs the warnings of a run's comparison, or why there is none.
func (d *Deps) logComparison(ctx context.Context, g *snapshot.StagedRun) {
	if g.NotCompared != "" {
		d.Logger.WarnContext(ctx, "the run is not compared with the previous snapshot", "reason", g.NotCompared)
	}
	if g.Comparison != nil {
		for _, warning := range g.Comparison.Warnings {
			d.Logger.WarnContext(ctx, "much has changed since the previous snapshot", "with", g.Comparison.SnapshotDate, "warning", warning)
		}
	}
}
