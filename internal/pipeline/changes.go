package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
	things                  string // of which things, if not of rows
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
	return strings.TrimRight(fmt.Sprintf("%s: %s of %s %s", where, wording.Count(e.n), wording.Count(e.of), e.things), " ")
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

// excesses are the shares beyond the limits on changes.
type excesses struct{ removed, changed, emptied []excess }

// isCalendar reports whether a table is about school years, which begin and end: its changes only warn.
func isCalendar(table string) bool {
	return table == "academic_years" || table == "enrollment_sessions"
}

// excesses returns what is beyond the limits, in the calendar's tables or in the others.
func (l ChangeLimits) excesses(g *snapshot.StagedRun, calendar bool) (found excesses) {
	add := func(list *[]excess, limit Share, e excess) {
		if e.of >= minLimitedRows && limit.exceeded(e.n, e.of) {
			*list = append(*list, e)
		}
	}
	for district, tables := range g.Districts {
		for table, counts := range tables {
			if isCalendar(table) != calendar {
				continue
			}
			if table == schemas.TestResults {
				add(&found.removed, l.MaxRemoved, excess{table, "", district, counts.Because[snapshot.Unexplained], counts.Before(), ""})
			}
			add(&found.changed, l.MaxChanged, excess{table, "", district, counts.Altered, counts.Same + counts.Changed + counts.Paired, ""})
			add(&found.emptied, l.MaxEmptied, excess{table, "", district, counts.Childless, counts.Parents, "records have lost all their rows"})
			for _, column := range tableOf(table).Columns {
				n, of := emptied(counts, column.Name)
				add(&found.emptied, l.MaxEmptied, excess{table, column.Name, district, n, of, ""})
			}
		}
		if n := lostAll(tables); n > 0 && !calendar {
			add(&found.emptied, l.MaxEmptied, excess{schemas.Students, "", district, n, n, "rows, and all test results and academic years"})
		}
	}
	return found
}

// emptied returns how many values of a column are gone, and of how many: of rows in both snapshots or, where nearly all rows
// had a value, of as many rows as there are now.
func emptied(counts *snapshot.DistrictComparison, column string) (n, of int64) {
	n, of = counts.Emptied[column], counts.Values[column]
	before, after, had := counts.Before(), counts.After(), counts.Had[column]
	if had < minLimitedRows || had*10 < before*9 || after == 0 {
		return n, of
	}
	expected := int64(math.Round(float64(after) * (float64(had) / float64(before))))
	if missing := expected - counts.Has[column]; missing*of > n*expected || of < minLimitedRows {
		return max(missing, 0), expected
	}
	return n, of
}

// lostAll returns the number of rows of a district if it had students, test results and academic years, and has none of
// them now.
func lostAll(tables map[string]*snapshot.DistrictComparison) (rows int64) {
	for _, name := range []string{schemas.Students, schemas.TestResults, "academic_years"} {
		counts := tables[name]
		if counts == nil || counts.Before() == 0 || counts.After() > 0 {
			return 0
		}
		rows += counts.Before()
	}
	return rows
}

// exceeded returns the reasons why the changes since the baseline are more than the limits allow.
func (l ChangeLimits) exceeded(g *snapshot.StagedRun) []string {
	return l.excesses(g, false).reasons(l, g)
}

func (e excesses) reasons(l ChangeLimits, g *snapshot.StagedRun) (reasons []string) {
	for _, r := range []struct {
		list  []excess
		what  string
		flag  string
		limit Share
	}{
		{e.removed, "test results are gone for no known reason", "--max-removed", l.MaxRemoved},
		{e.changed, "rows have changed", "--max-changed", l.MaxChanged},
		{e.emptied, "values are gone", "--max-emptied", l.MaxEmptied},
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
			if table == schemas.TestResults {
				gone -= counts.Because[snapshot.Unexplained]
			}
			switch {
			case rows > 0 && counts.Removed == rows && counts.Added == 0:
				lost[table] = append(lost[table], excess{table, "", district, rows, rows, ""})
			case rows >= minLimitedRows && quiet.exceeded(gone, rows):
				shrunk[table] = append(shrunk[table], excess{table, "", district, gone, rows, ""})
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
func addWarnings(g *snapshot.StagedRun, l *publishLimits) {
	c := g.Comparison
	if c == nil {
		return
	}
	c.Warnings = Warnings(g.Districts)
	gone := g.Plan.Baseline
	if n := len(gone.DistrictsGone); n > 0 {
		c.Warnings = append(c.Warnings, wording.Many(n, "district")+" no longer listed: "+listBids(gone.DistrictsGone))
	}
	if n := len(gone.SchoolsGone); n > 0 {
		c.Warnings = append(c.Warnings, wording.Many(n, "school")+" no longer listed: "+listBids(gone.SchoolsGone))
	}
	if all := int64(len(g.Plan.Schools)); 2*c.SchoolsCompared < all {
		c.Warnings = append(c.Warnings, fmt.Sprintf("only %s of %s schools are compared, so the limits on changes see less than half of the data: "+
			"the others are new, or were not read completely in one of the two runs", wording.Count(c.SchoolsCompared), wording.Count(all)))
	}
	if l == nil {
		return
	}
	c.Warnings = append(c.Warnings, l.changes.excesses(g, true).reasons(l.changes, g)...)
	if _, small := falls(g, l.maxShrink); len(small) > 0 {
		c.Warnings = append(c.Warnings, shrunk(g, l.maxShrink, small))
	}
}

// listBids lists the first bids.
func listBids(bids []string) string {
	const most = 10
	var list []string
	for _, bid := range bids[:min(len(bids), most)] {
		list = append(list, wording.Bid(bid))
	}
	if more := len(bids) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

func tableOf(name string) *schemas.Table {
	table, _, _ := schemas.FindTable(name)
	return table
}

// logComparison logs the warnings of a run's comparison, or why there is none.
func (d *Deps) logComparison(ctx context.Context, g *snapshot.StagedRun) {
	switch g.NotCompared {
	case "":
	case snapshot.NoEarlierSnapshot, snapshot.NotToCompare:
		d.Logger.InfoContext(ctx, "the run is not compared with a previous snapshot", "reason", g.NotCompared)
	default:
		d.Logger.WarnContext(ctx, "the run is not compared with the previous snapshot", "reason", g.NotCompared)
	}
	if g.Comparison != nil {
		for _, warning := range g.Comparison.Warnings {
			d.Logger.WarnContext(ctx, "much has changed since the previous snapshot", "with", g.Comparison.SnapshotDate, "warning", warning)
		}
	}
}
