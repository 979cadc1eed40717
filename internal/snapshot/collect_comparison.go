package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// addComparison adds up the comparisons of the tasks with the plan's baseline. If that snapshot has changed since, they
// are void: some tasks may have read it before the change, some after.
func (g *StagedRun) addComparison(ctx context.Context, c Catalog, checkpoints map[Task]*Checkpoint) error {
	baseline := g.Plan.Baseline
	if baseline == nil || len(g.Missing) > 0 {
		return nil
	}
	if g.NotCompared = notCompared(checkpoints); g.NotCompared != "" {
		return nil
	}
	manifest, err := c.ReadBaseline(ctx, baseline)
	if errors.Is(err, errBaselineChanged) {
		g.NotCompared = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	g.Comparison = &Comparison{
		With: baseline.RunID, SnapshotDate: baseline.SnapshotDate, Tables: make(map[string]*TableComparison), Warnings: []string{},
	}
	g.Districts = make(DistrictComparisons)
	for name := range g.Tables {
		if _, both := manifest.Tables[name]; both {
			g.Comparison.Tables[name] = NewTableComparison()
		}
	}
	notCovered := make(map[string]bool)
	for _, checkpoint := range checkpoints {
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
	g.Comparison.SchoolsCompared = int64(len(g.Plan.Schools) - len(notCovered))
	g.Comparison.SchoolsNotCompared = int64(len(notCovered)) + baseline.SchoolsGone
	return nil
}

// notCompared returns why some of the tasks were not compared; empty if all were.
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

// DropComparison makes the run one that was not compared.
func (g *StagedRun) DropComparison() { g.Comparison, g.NotCompared, g.Districts = nil, "", nil }
