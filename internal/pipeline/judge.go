package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/sink"
)

// checkLimits returns the reasons why a complete run should not be published
// before somebody has looked at it; none if it may be.
func checkLimits(ctx context.Context, store sink.Store, g *sink.Gathered, l limits) (sink.Held, error) {
	var held sink.Held
	if failed := g.Schools.Failed; failed > int64(l.maxFailed) {
		held.FailedSchools = true
		held.Reasons = append(held.Reasons, fmt.Sprintf("%d of %d schools failed, more than --max-failed-schools %d",
			failed, g.Schools.Total, l.maxFailed))
	}
	if l.strict {
		for _, check := range sink.FailedChecks(g.Checks) {
			held.Reasons = append(held.Reasons, check.String()+" (--strict-checks)")
		}
	}
	if l.maxShrink.Off || g.Plan.Kind != sink.Full {
		return held, nil
	}
	before, err := sink.PreviousFull(ctx, store, g.Plan)
	if err != nil {
		return held, fmt.Errorf("look for the previous snapshot: %w", err)
	}
	if before != nil {
		held.Reasons = append(held.Reasons, shrunk(before, g, l.maxShrink)...)
	}
	return held, nil
}

// shrunk compares a run with the snapshot before it.
func shrunk(before *sink.Manifest, g *sink.Gathered, most Shrink) []string {
	var reasons []string
	compare := func(what string, was, is int64) {
		if lost := was - is; was > 0 && float64(lost) > most.Part*float64(was) {
			reasons = append(reasons, fmt.Sprintf("%s fell from %d to %d since the snapshot of %s (run %s), by more than --max-shrink %s",
				what, was, is, before.SnapshotDate, before.RunID, most))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Tables)) {
		compare("rows of table "+name, before.Tables[name].Rows, g.Tables[name].Rows)
	}
	for _, name := range slices.Sorted(maps.Keys(before.Datasets)) {
		compare("schools with rows in dataset "+name, before.Datasets[name].SchoolsWithRow, g.Datasets[name].SchoolsWithRow)
	}
	return reasons
}
