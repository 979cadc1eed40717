package pipeline

import (
	"context"
)

// Abandon gives up a run that is not published, and removes what it has staged
// or committed. It fails with ErrUsage if there is no such run, or it is
// published.
func Abandon(ctx context.Context, deps Deps, run string) (*Summary, error) {
	started := deps.Now()
	deps.Progress.start(started, nil)
	summary := &Summary{RunID: run, Destination: deps.Catalog.String()}
	// A run without a readable plan can be abandoned too.
	plan, _ := deps.Catalog.ReadPlan(ctx, run)
	if err := deps.Catalog.Abandon(ctx, run); err != nil {
		return summary, usageIfRefused(err)
	}
	if plan != nil {
		summary.Kind, summary.SnapshotDate = plan.Kind, plan.SnapshotDate
	}
	summary.Outcome = Abandoned
	summary.Duration = deps.Now().Sub(started)
	return summary, nil
}
