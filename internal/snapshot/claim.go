package snapshot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
)

// Claim is a run's claim to be the snapshot of its date. It is recorded when publishing begins.
type Claim struct {
	// PlannedAt orders the runs of a date.
	PlannedAt time.Time `json:"planned_at"`
	// Today is true if the run was planned on its date. Replace is true if --replace was given.
	Today   bool `json:"today"`
	Replace bool `json:"replace"`
	// Replaces are the runs that lose the date to this run.
	Replaces []string `json:"replaces"`
}

// compare orders the claiming run and another run by the time at which they were planned, then by id.
func (c *Claim) compare(run string, otherPlannedAt time.Time, other string) int {
	return cmp.Or(c.PlannedAt.Compare(otherPlannedAt), cmp.Compare(run, other))
}

// claimDate checks that the run may replace the current one of its date, and returns its claim to the date.
func (c Catalog) claimDate(ctx context.Context, plan *Plan, opts PublishOptions) (*Claim, error) {
	claim := &Claim{
		PlannedAt: plan.PlannedAt.UTC(),
		Today:     plan.PlannedAt.UTC().Format(time.DateOnly) == plan.SnapshotDate,
		Replace:   plan.Replace || opts.Replace,
		Replaces:  []string{},
	}
	replaced, err := c.CheckReplace(ctx, Candidate{
		Run: plan.RunID, Kind: plan.Kind, Date: plan.SnapshotDate, BaseURL: plan.BaseURL, Scope: plan.Scope,
		Today: claim.Today, Replace: claim.Replace,
	})
	if replaced != nil {
		claim.Replaces = append(claim.Replaces, replaced.RunID)
	}
	return claim, err
}

// losesTo reports whether the other run keeps the date, so that this run loses it. done is true if another process has
// already made the same change.
func (a *applying) losesTo(ctx context.Context, other string) (loses, done bool, err error) {
	replaces, err := a.mayReplace(ctx, other)
	if !errors.Is(err, sink.ErrConflict) {
		return !replaces, false, err
	}
	change, version, readErr := a.catalog.readChange(ctx, a.change.RunID)
	switch {
	case errors.Is(readErr, sink.ErrNotFound), readErr == nil && !change.Publishes():
		_, err := a.readManifest(ctx)
		return err == nil && a.manifest.Status != Published, true, err
	case readErr != nil:
		return false, false, readErr
	}
	a.change, a.version = change, version
	return false, false, err
}

// mayReplace reports whether the run may take the date from the other run, and if so, records that in the claim.
// Publishing has checked this before, but the date may have gone to another run since.
func (a *applying) mayReplace(ctx context.Context, other string) (bool, error) {
	claim := a.change.Claim
	if slices.Contains(claim.Replaces, other) {
		return true, nil
	}
	m := a.manifest
	current, err := a.catalog.ReadManifest(ctx, other)
	switch {
	case Unreadable(err):
		// A run whose manifest cannot be read does not keep the date.
	case err != nil:
		return false, err
	case claim.compare(a.change.RunID, current.StartedAt, other) < 0:
		return false, nil
	default:
		c := Candidate{
			Run: m.RunID, Kind: m.Kind, Date: m.SnapshotDate, BaseURL: m.BaseURL, Scope: m.Parameters.Scope,
			Today: claim.Today, Replace: claim.Replace,
		}
		if refused := c.check(current); refused != nil {
			return false, nil //nolint:nilerr // The refusal is the answer.
		}
	}
	// The new claim counts only once it is written: another process may have finished this change, and the other run may
	// have taken the date since.
	change, grown := *a.change, *claim
	grown.Replaces = append(slices.Clone(claim.Replaces), other)
	change.Claim = &grown
	path := ChangePath(a.change.RunID)
	if err := WriteDocument(ctx, a.catalog.store, path, &change, sink.Condition{Version: a.version}); err != nil {
		return false, err
	}
	_, version, err := a.catalog.readChange(ctx, a.change.RunID)
	if errors.Is(err, sink.ErrNotFound) {
		err = sink.ErrConflict // Another process has just finished the change.
	}
	if err != nil {
		return false, err
	}
	a.change, a.version = &change, version
	return true, nil
}

// replaceOthers updates _latest.json, marks the runs that this run replaces, and removes the other files of the date.
// It is called once the pointer refers to the run.
func (a *applying) replaceOthers(ctx context.Context) error {
	if a.change.Kind == Full {
		if _, err := a.catalog.UpdateLatest(ctx); err != nil {
			return err
		}
	}
	for _, run := range a.change.Claim.Replaces {
		if _, err := a.catalog.markReplaced(ctx, run); err != nil {
			return err
		}
	}
	return a.removeOthers(ctx)
}

// withdraw marks the run as replaced, because another run keeps the date, and removes its files and then its change.
func (a *applying) withdraw(ctx context.Context) error {
	manifest, err := a.catalog.markReplaced(ctx, a.change.RunID)
	if err != nil {
		return err
	}
	if manifest != nil {
		a.manifest = manifest
	}
	var paths []string
	for _, file := range a.manifest.Files() {
		paths = append(paths, file.Path)
	}
	if err := sink.RemoveAll(ctx, a.catalog.store, paths); err != nil {
		return err
	}
	if err := a.catalog.RemoveStaging(ctx, a.change.RunID); err != nil {
		return err
	}
	return a.end(ctx)
}

// removeOthers removes the files of the date that belong to other runs.
//
// Files of runs that this run replaces are always removed. Files of another run are kept if that run has a change,
// because that run either takes the date and removes the files of others, or gives up the date and removes its own
// files. Changes are listed after the files. A change that had begun when the files were listed is therefore found,
// unless it is already complete. In that case, the pointer refers to the other run, and only files of replaced runs are
// removed.
func (a *applying) removeOthers(ctx context.Context) error {
	m := a.manifest
	named := m.Paths()
	others, err := a.catalog.filesOfDate(ctx, m.Kind, m.SnapshotDate)
	others = slices.DeleteFunc(others, func(path string) bool { return named[path] })
	if err != nil || len(others) == 0 {
		return err
	}
	index, err := a.catalog.Index(ctx)
	if err != nil {
		return err
	}
	busy := index.With(ChangeName)
	replaced := make(map[string]bool)
	for _, run := range a.change.Claim.Replaces {
		replaced[sink.Escape(run)] = true
	}
	pointer, _, err := ReadDocument[Pointer](ctx, a.catalog, PointerPath(m.Kind, m.SnapshotDate))
	if err != nil {
		return err
	}
	return sink.RemoveAll(ctx, a.catalog.store, slices.DeleteFunc(others, func(path string) bool {
		run := sink.Owner(path)
		// A purge may have written the file since the manifest was read.
		mine := run == sink.Escape(m.RunID)
		return mine || (!replaced[run] && (slices.Contains(busy, run) || pointer.RunID != m.RunID))
	}))
}
