package snapshot

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// LatestOfChain returns the plan of the last run up to which the destination holds every change of the scope's
// datasets, under its privacy profile, without a gap, or nil if there is none. The chain starts with a full run; a
// delta run continues it if the delta starts at least margin before the previous run was planned.
//
// Only published, unfiltered runs of the service at baseURL without failed or denied schools count, and delta runs only
// if they hold all changes that the scope asks for. Runs planned in the future, by a wrong clock, are ignored, as are
// unreadable manifests and plans: starting from an earlier run only reaches further back.
func (c Catalog) LatestOfChain(
	ctx context.Context, baseURL string, scope Scope, now time.Time, margin time.Duration,
) (*Plan, error) {
	runs, _, err := c.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	var whole []string
	for _, m := range runs {
		missing := func(name string) bool { return !slices.Contains(m.Parameters.Datasets, name) }
		if m.Kind != AsOf && !m.Parameters.Filtered() && m.Schools.Failed == 0 && m.Schools.Denied == 0 &&
			SameService(m.BaseURL, baseURL) && m.Parameters.SamePrivacy(scope) && !lacksChanges(m, scope) && !slices.ContainsFunc(scope.Datasets, missing) {
			whole = append(whole, m.RunID)
		}
	}
	plans, err := sink.Map(ctx, sink.MaxConcurrency, whole, func(ctx context.Context, run string) (*Plan, error) {
		plan, err := c.ReadPlan(ctx, run)
		if Unreadable(err) {
			return nil, nil
		}
		return plan, err
	})
	if err != nil {
		return nil, err
	}
	plans = slices.DeleteFunc(plans, func(p *Plan) bool { return p == nil })
	slices.SortFunc(plans, func(a, b *Plan) int {
		return cmp.Or(a.PlannedAt.Compare(b.PlannedAt), cmp.Compare(a.RunID, b.RunID))
	})
	var last *Plan
	for _, plan := range plans {
		switch {
		case plan.PlannedAt.Add(-margin).After(now):
		case plan.Kind == Full, last != nil && plan.startsBefore(last.PlannedAt.Add(-margin)):
			last = plan
		}
	}
	return last, nil
}

// lacksChanges reports whether m is a delta run that left out changes that the scope asks for.
func lacksChanges(m *Manifest, scope Scope) bool {
	p := &m.Parameters
	return m.Kind == Delta && (scope.IncludeRemoved && !p.IncludeRemoved ||
		p.Perspectives == OwnPerspective && scope.Perspectives != OwnPerspective)
}

// startsBefore reports whether the delta run holds all changes made since t.
func (p *Plan) startsBefore(t time.Time) bool {
	since, ok := ParseTime(p.Filters[schemas.ModifiedSince])
	return ok && !since.After(t)
}

// ParseTime parses a date or timestamp in the formats the service accepts; the default zone is UTC.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
