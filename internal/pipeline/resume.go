package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// resumable checks that a run that has begun belongs to this command, and that
// nothing published since prevents it from continuing.
func (r *run) resumable(ctx context.Context, found foundRun) (foundRun, error) {
	plan := found.plan
	if err := checkPlan(plan, r.settings, r.mark); err != nil || found.manifest != nil {
		return found, err
	}
	if r.settings.IfMissing {
		current, err := r.findEqual(ctx, plan.SnapshotDate)
		if err != nil {
			return found, err
		}
		if current != nil {
			return foundRun{id: current.RunID, manifest: current}, nil
		}
	}
	today := plan.SnapshotDate == plan.PlannedAt.UTC().Format(time.DateOnly)
	return found, r.checkReplace(ctx, found.id, plan.SnapshotDate, today, r.settings.Replace || plan.Replace)
}

// usageIfRefused turns a refusal because of what is at the destination into a
// usage error; any other error in reading it stays a failure.
func usageIfRefused(err error) error {
	if _, refused := errors.AsType[*snapshot.RefusedError](err); refused {
		return Usagef("%w", err)
	}
	return err
}

// fresh checks that a run that has not begun may begin, and pins its parameters.
// It returns the published run of that date instead if a new one would add
// nothing to it.
func (r *run) fresh(ctx context.Context, found foundRun, today bool) (foundRun, error) {
	s := r.settings
	if s.IfMissing || s.kind() == snapshot.AsOf && !s.Replace {
		current, err := r.findEqual(ctx, r.date)
		if err != nil {
			return found, err
		}
		if current != nil {
			return foundRun{id: current.RunID, manifest: current}, nil
		}
	}
	yesterday := r.now.AddDate(0, 0, -1).Format(time.DateOnly)
	if s.kind() != snapshot.AsOf && r.date < yesterday && !s.Backdate {
		return found, Usagef("--snapshot-date %s is before yesterday, and the service only reports the state of today:"+
			" use --effective-date %s for the enrollment as of that date, or --backdate to store today's data under it",
			r.date, r.date)
	}
	if err := r.checkReplace(ctx, found.id, r.date, today, s.Replace); err != nil {
		return found, err
	}
	var err error
	r.pinned, err = r.filters(ctx)
	return found, err
}

// checkReplace notes which published run this one replaces, and checks that it
// may.
func (r *run) checkReplace(ctx context.Context, id, date string, today, replace bool) error {
	var err error
	r.replaces, err = r.Catalog.CheckReplace(ctx, snapshot.Candidate{
		Run: id, Kind: r.settings.kind(), Date: date, BaseURL: r.settings.BaseURL, Scope: r.scope, Today: today, Replace: replace,
	})
	if r.replaces != nil && r.replaces.PublishedAt.IsZero() {
		r.replaces = nil // its manifest is damaged, so nothing is known of it
	}
	return usageIfRefused(err)
}

// findEqual returns the published run of the date that this one would repeat;
// nil if there is none.
func (r *run) findEqual(ctx context.Context, date string) (*snapshot.Manifest, error) {
	kind := r.settings.kind()
	current, err := r.Catalog.FindEqual(ctx, kind, date, r.settings.BaseURL, r.scope)
	if errors.Is(err, sink.ErrDamaged) || errors.Is(err, sink.ErrNotFound) {
		return nil, nil // CheckReplace reports it.
	}
	if err != nil {
		return nil, fmt.Errorf("look for a published %s run of %s: %w", kind, date, err)
	}
	return current, nil
}

// logReplaced says that a run repeats what is published already.
func (r *run) logReplaced(ctx context.Context, id string) {
	if r.replaces == nil {
		return
	}
	r.Logger.InfoContext(ctx, "this run replaces a published one; --if-missing skips it", "run", id,
		"replaces", r.replaces.RunID, "published", Ago(r.now, r.replaces.PublishedAt))
}

// Ago returns how long before now something was, in the largest unit that fits:
// "6 hours ago".
func Ago(now, then time.Time) string {
	d := max(0, now.Sub(then))
	switch {
	case d < time.Minute:
		return "less than a minute ago"
	case d < time.Hour:
		return wording.Many(int64(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return wording.Many(int64(d/time.Hour), "hour") + " ago"
	default:
		return wording.Many(int64(d/(24*time.Hour)), "day") + " ago"
	}
}
