package snapshot

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Chain is a full run and the delta runs that continue it without a gap.
type Chain struct {
	// Last is the plan of the last run.
	Last *Plan
	// Denied holds the schools that were denied in at least one of the runs. The destination does not hold all their
	// changes.
	Denied map[string]bool
}

// LatestChain returns the newest chain of runs that holds every change to the scope's datasets, under the scope's
// privacy profile, or nil if there is none. The chain starts with a full run. A delta run continues the chain if the
// delta starts at least margin before the previous run was planned.
//
// A run counts only if it is published, unfiltered and from the service at baseURL, holds all changes that the scope
// covers, and has no failed school in these datasets. Runs planned in the future by more than margin, because of a
// wrong clock, are ignored, and so are runs with unreadable manifests, plans or ledgers. This is safe, because a delta
// that starts from an earlier run only reaches further back.
func (c Catalog) LatestChain(
	ctx context.Context, baseURL string, scope Scope, now time.Time, margin time.Duration,
) (*Chain, error) {
	runs, _, err := c.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	var whole []string
	for _, m := range runs {
		missing := func(name string) bool { return !slices.Contains(m.Parameters.Datasets, name) }
		failed := func(name string) bool {
			counts, counted := m.Datasets[name]
			return counts.Failed > 0 || !counted && m.Schools.Failed > 0
		}
		if m.Kind != AsOf && !m.Parameters.Filtered() && !slices.ContainsFunc(scope.Datasets, failed) &&
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
	var chain *Chain
	for _, plan := range plans {
		continues := chain != nil && plan.startsBefore(chain.Last.PlannedAt.Add(-margin))
		if plan.PlannedAt.Add(-margin).After(now) || plan.Kind != Full && !continues {
			continue
		}
		denied, err := c.deniedSchools(ctx, runs[plan.RunID], scope.Datasets)
		switch {
		case Unreadable(err):
			continue
		case err != nil:
			return nil, err
		case plan.Kind != Full:
			maps.Copy(denied, chain.Denied)
		}
		chain = &Chain{Last: plan, Denied: denied}
	}
	return chain, nil
}

// deniedSchools returns the schools of a run that were denied in at least one of the datasets.
func (c Catalog) deniedSchools(ctx context.Context, m *Manifest, datasets []string) (map[string]bool, error) {
	denied := make(map[string]bool)
	if !slices.ContainsFunc(datasets, func(name string) bool { return m.Datasets[name].Denied > 0 }) {
		return denied, nil
	}
	err := c.ReadLedger(ctx, m.RunID, func(row *LedgerRow) {
		if row.Status == StatusDenied && row.SchoolBid != "" && slices.Contains(datasets, row.Dataset) {
			denied[row.SchoolBid] = true
		}
	})
	return denied, err
}

// lacksChanges reports whether a run left out changes that the scope covers: changes seen through other perspectives,
// or records removed since the previous run.
func lacksChanges(m *Manifest, scope Scope) bool {
	p := &m.Parameters
	return p.Perspectives == OwnPerspective && scope.Perspectives != OwnPerspective ||
		m.Kind == Delta && scope.IncludeRemoved && !p.IncludeRemoved
}

// startsBefore reports whether the delta run holds all changes made since t.
func (p *Plan) startsBefore(t time.Time) bool {
	since, ok := ParseTime(p.Filters[schemas.ModifiedSince])
	return ok && !since.After(t)
}

// ParseTime parses a date or timestamp in the formats that the service accepts. The default zone is UTC.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
