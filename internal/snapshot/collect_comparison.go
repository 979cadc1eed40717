package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/schemas"
)

// addBaseline reads the plan's baseline and, if everything is staged, counts the schools that have lost all rows since.
// If that snapshot has changed since the run was planned, the run has no baseline, because some tasks may have read the
// snapshot before the change and others after it. The run also has no baseline if the baseline's ledger cannot be read.
func (g *StagedRun) addBaseline(ctx context.Context, c Catalog) (err error) {
	g.NotCompared = g.Plan.NoBaseline
	if g.Plan.Baseline == nil {
		return nil
	}
	if g.Baseline, err = c.ReadBaseline(ctx, g.Plan.Baseline); errors.Is(err, errBaselineChanged) {
		g.NotCompared = err.Error()
		return nil
	}
	if err != nil || len(g.Missing) > 0 {
		return err
	}
	if err := g.countLost(ctx, c); Unreadable(err) {
		g.NotCompared, g.Baseline = err.Error(), nil
	} else if err != nil {
		return err
	}
	return nil
}

// addComparison adds up the comparisons of the tasks with the plan's baseline.
func (g *StagedRun) addComparison(checkpoints map[Task]*Checkpoint) {
	baseline := g.Plan.Baseline
	switch {
	case g.Baseline == nil || len(g.Missing) > 0:
		return
	case !g.Plan.Compare:
		g.NotCompared = NotToCompare
		return
	}
	if g.NotCompared = notCompared(checkpoints); g.NotCompared != "" {
		return
	}
	g.Comparison = &Comparison{
		With: baseline.RunID, SnapshotDate: baseline.SnapshotDate, Tables: make(map[string]*TableComparison), Warnings: []review.Reason{},
	}
	g.Districts = make(DistrictComparisons)
	for name := range g.Tables {
		if _, both := g.Baseline.Tables[name]; both {
			g.Comparison.Tables[name] = NewTableComparison()
		}
	}
	notCovered := make(map[string]bool)
	for _, checkpoint := range checkpoints {
		g.Turnover = append(g.Turnover, checkpoint.Comparison.Turnover...)
		for district, tables := range checkpoint.Comparison.Districts {
			for name, counts := range tables {
				g.Districts.Of(district, name).add(counts)
				if sum := g.Comparison.Tables[name]; sum != nil {
					sum.Add(&counts.TableComparison)
				}
			}
		}
		for _, school := range checkpoint.Comparison.NotCovered {
			notCovered[school] = true
		}
	}
	compared := len(g.Plan.Schools) - len(notCovered)
	if len(schemas.SharedBySchool(g.Plan.Scope.Datasets, g.Baseline.Parameters.Datasets)) == 0 {
		compared = 0
	}
	g.Comparison.SchoolsCompared = int64(compared)
	g.Comparison.SchoolsNotCompared = int64(len(g.Plan.Schools)-compared) + int64(len(baseline.SchoolsGone))
}

// notCompared returns the reason why some tasks were not compared, or "" if all tasks were.
func notCompared(checkpoints map[Task]*Checkpoint) string {
	var missing int
	var problems []string
	for _, checkpoint := range checkpoints {
		switch {
		case checkpoint.Comparison == nil:
			missing++
		case checkpoint.Comparison.Problem != "":
			problems = append(problems, checkpoint.Comparison.Problem)
		}
	}
	switch {
	case len(problems) > 0:
		return slices.Min(problems)
	case missing > 0:
		return fmt.Sprintf("%d of %d tasks were staged without comparing them", missing, len(checkpoints))
	}
	return ""
}

// DropComparison removes the comparison, as if the run had not been compared.
func (g *StagedRun) DropComparison() {
	if g.Plan.Baseline != nil {
		g.Comparison, g.NotCompared, g.Districts, g.Turnover = nil, NotToCompare, nil, nil
	}
}
