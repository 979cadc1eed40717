package pipeline

import (
	"context"
	"slices"
	"strings"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// PublishSettings holds the settings of the publish command.
type PublishSettings struct {
	RunID      string // empty for the only run that is staged
	AcceptHeld bool   // publish even if checks would hold the run back
	// Override changes the plan's limits. It is nil if they do not change.
	Override func(*review.Limits)
	// Replace allows replacing a snapshot of another scope or of a past date, even if the plan does not.
	Replace bool
	// AcceptBaseURL allows publishing a run of a service other than the destination's, which moves the destination to
	// that service.
	AcceptBaseURL bool
}

// Publish checks a staged run and publishes it. The error matches ErrUsage if there is no such run or more than one,
// and ErrIncomplete if some tasks are not staged.
func Publish(ctx context.Context, deps Deps, s PublishSettings) (*Summary, error) {
	started := deps.Now()
	deps.Progress.start(started, nil)
	finished, stuck := deps.Recovered.Published, stuckRuns(deps.Recovered.Stuck)
	id := s.RunID
	if id == "" {
		var err error
		if id, err = onlyStaged(ctx, deps.Catalog, finished, stuck); err != nil {
			return nil, err
		}
	}
	found, err := lookUpRun(ctx, deps.Catalog, id)
	if err != nil {
		return nil, err
	}
	if found.plan == nil && found.manifest == nil {
		return nil, Usagef("there is no run %s at %s: see growth-export status", id, deps.Catalog)
	}
	deps.Progress.runID.Store(id)
	kind, date := found.snapshot()
	summary := &Summary{RunID: id, Kind: kind, SnapshotDate: date, Destination: deps.Catalog.String()}
	defer func() { summary.Duration = deps.Now().Sub(started) }()
	if err := stuck.checkNotBlocked(&deps, id, kind, date); err != nil {
		return summary, err
	}
	if found.manifest != nil {
		summary.describePublished(ctx, &deps, found.manifest, stuck)
		if slices.Contains(finished, id) {
			summary.AlreadyPublished, summary.Report = false, snapshot.ReportPath(id)
		}
		return summary, nil
	}
	summary.Planned = true
	limits := found.plan.Limits
	if s.Override != nil {
		s.Override(&limits)
	}
	err = (&publisher{
		Deps: deps, plan: found.plan, limits: limits, compare: true,
		acceptHeld: s.AcceptHeld, replace: s.Replace, acceptBaseURL: s.AcceptBaseURL, summary: summary,
	}).run(ctx)
	summary.Ending = &Ending{Failure: err}
	return summary, err
}

// onlyStaged finds the run to publish if the command does not specify one: the only run that is staged or held or, if
// there is none, the run whose interrupted publication was just finished or could not be finished.
func onlyStaged(ctx context.Context, catalog snapshot.Catalog, finished []string, stuck stuckRuns) (string, error) {
	runs, err := catalog.Runs(ctx)
	if err != nil {
		return "", err
	}
	var ready []string
	for i := range runs {
		if runs[i].State == snapshot.StateStaged || runs[i].State == snapshot.StateHeld {
			ready = append(ready, runs[i].RunID)
		}
	}
	publishing := slices.DeleteFunc(slices.Clone(stuck), func(s *snapshot.StuckError) bool { return s.Change == "purge" || s.Change == "prune" })
	switch {
	case len(ready) == 1:
		return ready[0], nil
	case len(ready) == 0 && len(finished) == 1:
		return finished[0], nil
	case len(ready) == 0 && len(finished) == 0 && len(publishing) == 1:
		return publishing[0].Run, nil
	case len(ready) == 0:
		return "", Usagef("no run at %s is staged: see growth-export status", catalog)
	default:
		return "", Usagef("several runs at %s are staged: choose one with %s: %s",
			catalog, wording.Setting("run-id"), strings.Join(ready, ", "))
	}
}

// Abandon gives up an unpublished run, and removes its staged and committed files. The error matches ErrUsage if there
// is no such run, or if the run is published.
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
