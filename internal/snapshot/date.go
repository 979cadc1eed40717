package snapshot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// compare orders runs by when they were planned.
func (c *Claim) compare(run string, otherPlannedAt time.Time, other string) int {
	return cmp.Or(c.PlannedAt.Compare(otherPlannedAt), cmp.Compare(run, other))
}

// losesTo reports whether another run keeps the date. done says that another
// process has made the same change: there is nothing left to decide.
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

// mayReplace reports whether the run may take the date from another, which need
// not be the one that had it when publishing began, and records that it does.
func (a *applying) mayReplace(ctx context.Context, other string) (bool, error) {
	claim := a.change.Claim
	if slices.Contains(claim.Replaces, other) {
		return true, nil
	}
	m := a.manifest
	current, err := a.catalog.ReadManifest(ctx, other)
	switch {
	case errors.Is(err, sink.ErrNotFound), errors.Is(err, sink.ErrDamaged):
		// The pointer names a run that cannot be read.
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
			return false, nil //nolint:nilerr // That it is refused is the answer.
		}
	}
	claim.Replaces = append(claim.Replaces, other)
	path := ChangePath(a.change.RunID)
	if err := a.catalog.WriteDocument(ctx, path, a.change, sink.Condition{Version: a.version}); err != nil {
		return false, err
	}
	_, a.version, err = a.catalog.readChange(ctx, a.change.RunID)
	if errors.Is(err, sink.ErrNotFound) {
		err = sink.ErrConflict // Another process has just finished it.
	}
	return err == nil, err
}

// takeDate does what follows once the pointer names the run.
func (a *applying) takeDate(ctx context.Context) error {
	if a.change.Kind == Full {
		if err := a.catalog.updateLatest(ctx); err != nil {
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

// giveUpDate removes the run's files again, because another run keeps the date.
func (a *applying) giveUpDate(ctx context.Context) error {
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
	if err := sink.RemoveAll(ctx, a.catalog, paths); err != nil {
		return err
	}
	if err := a.catalog.RemoveStaging(ctx, a.change.RunID); err != nil {
		return err
	}
	return a.end(ctx)
}

// markReplaced marks a run as replaced in its manifest and returns that; nil if
// the run has no manifest that can be read.
func (c Catalog) markReplaced(ctx context.Context, run string) (manifest *Manifest, err error) {
	err = sink.Swap(ctx, ManifestPath(run), func() error {
		var version string
		var err error
		manifest, version, err = c.readManifest(ctx, run)
		if errors.Is(err, sink.ErrNotFound) || errors.Is(err, sink.ErrDamaged) {
			manifest = nil
			return nil
		}
		if err != nil || manifest.Status == Replaced {
			return err
		}
		manifest.Status = Replaced
		return c.WriteDocument(ctx, ManifestPath(run), manifest, sink.Condition{Version: version})
	})
	return manifest, err
}

// removeOthers removes the files of the date that the manifest does not name.
//
// Files of a run with a change of its own are left to that: changes are listed
// after the files, so one whose files were listed is found unless it is done,
// and then the pointer is no longer this run's. Such a run either takes the
// date and removes what is not its own, or gives it up and removes its own.
// Files of runs that this one replaces are always removed.
func (a *applying) removeOthers(ctx context.Context) error {
	m := a.manifest
	named := m.Paths()
	others, err := a.catalog.FilesOfDate(ctx, m.Kind, m.SnapshotDate)
	others = slices.DeleteFunc(others, func(path string) bool { return named[path] })
	if err != nil || len(others) == 0 {
		return err
	}
	entries, err := sink.ListAll(ctx, a.catalog, RunsPrefix)
	if err != nil {
		return err
	}
	busy := RunFoldersWith(entries, ChangeName)
	replaced := make(map[string]bool)
	for _, run := range a.change.Claim.Replaces {
		replaced[sink.Escape(run)] = true
	}
	pointer, _, err := ReadDocument[Pointer](ctx, a.catalog, PointerPath(m.Kind, m.SnapshotDate))
	if err != nil {
		return err
	}
	return sink.RemoveAll(ctx, a.catalog, slices.DeleteFunc(others, func(path string) bool {
		run := sink.Owner(path)
		// A purge may have written it since the manifest was read.
		mine := run == sink.Escape(m.RunID)
		return mine || (!replaced[run] && (slices.Contains(busy, run) || pointer.RunID != m.RunID))
	}))
}

// filesOfDate lists the data files of a date, of all runs.
func (c Catalog) FilesOfDate(ctx context.Context, kind Kind, date string) ([]string, error) {
	tables := schemas.Tables()
	found := make([][]string, len(tables))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sink.MaxConcurrency)
	for i, table := range tables {
		group.Go(func() error {
			entries, err := sink.ListAll(ctx, c, DatePath(kind, table.Name, date))
			for _, entry := range entries {
				found[i] = append(found[i], entry.Path)
			}
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}
