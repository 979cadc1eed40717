package pipeline

import (
	"context"
	"maps"
	"math"
	"slices"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// minLimitedRows is the number of rows below which differences are ignored or only cause a warning, because a few
// students are a large share of a small district.
const minLimitedRows = 50

// limit is a limit on differences from the baseline, with the findings that exceed it. The findings in hold are reasons
// to hold the run back, and the findings in warn only cause warnings.
type limit struct {
	check      string
	share      review.Share
	hold, warn []review.Finding
}

func (l *limit) add(warns bool, f review.Finding) {
	switch {
	case !l.share.Exceeded(f.N, f.Of):
	case warns:
		l.warn = append(l.warn, f)
	default:
		l.hold = append(l.hold, f)
	}
}

// isCalendar reports whether a table is about school years. Changes in such a table only cause warnings, because school
// years begin and end.
func isCalendar(table string) bool {
	return table == "academic_years" || table == "enrollment_sessions"
}

// compareWithLimits returns the differences from the baseline that are reasons to hold the run back, and the
// differences that only cause warnings. If a table with few rows shrinks, that only causes a warning. If a district has
// few rows in a table, other changes of these rows are ignored, because a few of them are a large share.
func compareWithLimits(g *snapshot.StagedRun, l review.Limits) (hold, warn []review.Reason) {
	if g.Baseline == nil {
		return nil, nil
	}
	removed := limit{check: review.MaxRemoved, share: l.MaxRemoved}
	changed := limit{check: review.MaxChanged, share: l.MaxChanged}
	emptied := limit{check: review.MaxEmptied, share: l.MaxEmptied}
	shrink := limit{check: review.MaxShrink, share: l.MaxShrink}
	for district, tables := range g.Districts {
		for table, counts := range tables {
			add := func(l *limit, f review.Finding) {
				if f.Table, f.District = table, district; f.Of >= minLimitedRows {
					l.add(isCalendar(table), f)
				}
			}
			moved := int64(0) // results that moved to another school, which changes their key
			if table == schemas.TestResults {
				add(&removed, review.Finding{N: counts.Because[snapshot.Unexplained], Of: counts.Before()})
				moved = counts.Because[snapshot.Moved]
			}
			add(&changed, review.Finding{N: counts.Altered + moved, Of: counts.Same + counts.Changed + counts.Paired + moved})
			add(&emptied, review.Finding{N: counts.Childless, Of: counts.Parents, Counted: review.Parents})
			for _, column := range tableOf(table).Columns {
				n, of := missingValues(counts, column.Name)
				add(&emptied, review.Finding{Column: column.Name, N: n, Of: of})
			}
		}
		if n := lostAll(tables); n >= minLimitedRows {
			emptied.add(false, review.Finding{Table: schemas.Students, District: district, N: n, Of: n, Counted: review.Districts})
		}
	}
	for name, before := range g.Baseline.Tables {
		warns := before.Rows < minLimitedRows || isCalendar(name)
		if now, both := g.Tables[name]; both {
			shrink.add(warns, review.Finding{Table: name, N: before.Rows - now.Rows, Of: before.Rows})
		}
		if schools, is := g.Lost[name]; is { // name is also the name of a dataset
			shrink.add(warns, review.Finding{Table: name, N: schools.Lost, Of: schools.Had, Counted: review.Schools})
		}
	}
	for _, l := range []limit{removed, changed, emptied, shrink} {
		add := func(to *[]review.Reason, found []review.Finding) {
			if len(found) == 0 {
				return
			}
			reason := review.New(l.check, l.share.String(), found)
			reason.With, reason.SnapshotDate = g.Baseline.RunID, g.Baseline.SnapshotDate
			*to = append(*to, reason)
		}
		add(&hold, l.hold)
		add(&warn, l.warn)
	}
	return hold, warn
}

// missingValues returns how many values of a column are gone, and how many values there should be. It considers the
// rows that are in both snapshots. If nearly all rows had a value before, it also considers all current rows, and uses
// their counts if a larger share of their values is missing or few rows are in both snapshots.
func missingValues(counts *snapshot.DistrictComparison, column string) (n, of int64) {
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

// lostAll returns the number of rows of a district that had students, test results and academic years and now has none
// of these. For any other district it returns 0.
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

// maxQuietLoss is the share of rows that may be gone without a warning.
var maxQuietLoss = review.Share{Part: 0.1}

// Warnings returns the warnings of a comparison: large removals that do not hold a run back. Unexplained removals of
// test results are covered by --max-removed, and cause no warning unless all test results of a district are gone. Child
// rows that were replaced with other child rows of the same parent do not count as removals.
func Warnings(districts snapshot.DistrictComparisons) []review.Reason {
	lost, shrunk := make(map[string][]review.Finding), make(map[string][]review.Finding)
	for district, tables := range districts {
		for table, counts := range tables {
			rows, gone := counts.Before(), counts.Removed-min(counts.Because[snapshot.ElementsChanged], counts.Added)
			if table == schemas.TestResults {
				gone -= counts.Because[snapshot.Unexplained]
			}
			found := review.Finding{Table: table, District: district, N: gone, Of: rows}
			switch {
			case rows > 0 && counts.Removed == rows && counts.Added == 0:
				found.N = rows
				lost[table] = append(lost[table], found)
			case rows >= minLimitedRows && maxQuietLoss.Exceeded(gone, rows):
				shrunk[table] = append(shrunk[table], found)
			}
		}
	}
	warnings := []review.Reason{}
	for _, table := range schemas.TablesInOrder(lost) {
		warnings = append(warnings, review.New(review.AllRowsGone, "", lost[table]))
	}
	for _, table := range schemas.TablesInOrder(shrunk) {
		warnings = append(warnings, review.New(review.ManyRowsGone, maxQuietLoss.String(), shrunk[table]))
	}
	return warnings
}

// addWarnings adds the warnings to a run and its comparison.
func addWarnings(g *snapshot.StagedRun, l review.Limits) {
	g.Warnings = []review.Reason{}
	if denied := newlyDenied(g); denied != nil {
		g.Warnings = append(g.Warnings, *denied)
	}
	if less := lessThanReplaced(g); less != nil {
		g.Warnings = append(g.Warnings, *less)
	}
	if g.Comparison != nil {
		g.Warnings = append(g.Warnings, warningsOfComparison(g, l)...)
	}
	g.Warnings = NameFindings(g.Warnings, g.Plan)
	if g.Comparison != nil {
		g.Comparison.Warnings = g.Warnings
	}
}

func warningsOfComparison(g *snapshot.StagedRun, l review.Limits) []review.Reason {
	c, warnings := g.Comparison, Warnings(g.Districts)
	var found []review.Finding
	for _, bid := range g.Plan.Baseline.DistrictsGone {
		found = append(found, review.Finding{District: bid})
	}
	if len(found) > 0 {
		warnings = append(warnings, review.New(review.DistrictsUnlisted, "", found))
	}
	found = nil
	for _, bid := range g.Plan.Baseline.SchoolsGone {
		found = append(found, review.Finding{School: bid})
	}
	if len(found) > 0 {
		warnings = append(warnings, review.New(review.SchoolsUnlisted, "", found))
	}
	datasets := schemas.SharedBySchool(g.Plan.Scope.Datasets, g.Plan.Scope.Datasets)
	if all := int64(len(g.Plan.Schools)); 2*c.SchoolsCompared < all && len(datasets) > 0 {
		reason := review.New(review.FewCompared, "", []review.Finding{{N: c.SchoolsCompared, Of: all}})
		if len(schemas.SharedBySchool(datasets, g.Baseline.Parameters.Datasets)) == 0 {
			for _, dataset := range datasets {
				reason.Found = append(reason.Found, review.Finding{Table: dataset})
			}
		}
		warnings = append(warnings, reason)
	}
	_, warn := compareWithLimits(g, l)
	return append(warnings, warn...)
}

// newlyDenied returns the warning about schools that were read in the baseline and are denied now, or nil if there are
// no such schools. The warning matters because denied schools do not hold a run back, are easily missed, and explain
// why rows are missing.
func newlyDenied(g *snapshot.StagedRun) *review.Reason {
	rows, listed := make(map[string]int64), make(map[string]bool)
	var tables, schools []review.Finding
	for i := range g.NewlyDenied {
		row := &g.NewlyDenied[i]
		rows[row.Dataset] += row.RowsWritten
		if !listed[row.SchoolBid] {
			listed[row.SchoolBid] = true
			schools = append(schools, review.Finding{School: row.SchoolBid})
		}
	}
	if len(schools) == 0 {
		return nil
	}
	for _, dataset := range slices.Sorted(maps.Keys(rows)) {
		d, _ := schemas.Find(dataset)
		table := d.Tables[0].Name
		tables = append(tables, review.Finding{Table: table, N: rows[dataset], Of: g.Baseline.Tables[table].Rows})
	}
	reason := review.New(review.NewlyDenied, "", schools)
	reason.Found = append(tables, reason.Found...)
	reason.With, reason.SnapshotDate = g.Baseline.RunID, g.Baseline.SnapshotDate
	return &reason
}

// lessThanReplaced returns a warning if the run would replace a run with more schools or many more rows, and nil
// otherwise. The limits do not cover this case: they compare the run only with a snapshot of an earlier date, which may
// not exist.
func lessThanReplaced(g *snapshot.StagedRun) *review.Reason {
	if g.Replaced == nil {
		return nil
	}
	var schools, tables []review.Finding
	if before, now := g.Replaced.Schools.OK, g.Schools.OK; now < before {
		schools = append(schools, review.Finding{N: before - now, Of: before, Counted: review.Schools})
	}
	for name, before := range g.Replaced.Tables {
		if lost := before.Rows - g.Tables[name].Rows; before.Rows >= minLimitedRows && maxQuietLoss.Exceeded(lost, before.Rows) {
			tables = append(tables, review.Finding{Table: name, N: lost, Of: before.Rows})
		}
	}
	if len(schools)+len(tables) == 0 {
		return nil
	}
	reason := review.New(review.LessThanReplaced, "", tables)
	reason.Found = append(schools, reason.Found...)
	reason.With, reason.SnapshotDate = g.Replaced.RunID, g.Replaced.SnapshotDate
	return &reason
}

func tableOf(name string) *schemas.Table {
	table, _, _ := schemas.FindTable(name)
	return table
}

// logComparison logs the warnings of a run's comparison, or why there was no comparison.
func (d *Deps) logComparison(ctx context.Context, g *snapshot.StagedRun) {
	switch g.NotCompared {
	case "":
	case snapshot.NoEarlierSnapshot, snapshot.NotToCompare:
		d.Logger.InfoContext(ctx, "the run is not compared with a previous snapshot", "reason", g.NotCompared)
	default:
		d.Logger.WarnContext(ctx, "the run is not compared with the previous snapshot", "reason", g.NotCompared)
	}
	isLess := func(r review.Reason) bool { return r.Check == review.LessThanReplaced }
	for _, warning := range review.Lines(slices.DeleteFunc(slices.Clone(g.Warnings), isLess)) {
		d.Logger.WarnContext(ctx, "much has changed", "since", g.Baseline.SnapshotDate, "warning", warning)
	}
	if i := slices.IndexFunc(g.Warnings, isLess); i >= 0 {
		d.Logger.WarnContext(ctx, "the published run of this date is more complete", "warning", g.Warnings[i].String())
	}
}
