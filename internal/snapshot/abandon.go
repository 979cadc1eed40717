package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Abandon removes everything that an unpublished run has staged or committed, and its documents. It returns a
// *RefusedError if the run does not exist, is or was published, or may be the run that a damaged pointer refers to, and
// a *LockedError if a process is working on the run. If neither the run's plan nor its change can be read, its data
// files are found by their names.
//
// Abandon removes the run's change only after the files that the change lists. If Abandon is killed, it therefore
// leaves either an interrupted publish, which Recover finishes or undoes, or an unfinished run. Calling Abandon again
// removes the rest.
func (c Catalog) Abandon(ctx context.Context, run string) (err error) {
	release, err := c.HoldRunExclusive(ctx, run)
	if err != nil {
		return fmt.Errorf("abandon run %s: %w", run, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	unlock, err := c.lockPublishing(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	plan, begun, err := c.abandonable(ctx, run)
	if err != nil {
		return err
	}
	c.changed.add(run)
	if err := c.removeUnpublished(ctx, run, plan, begun); err != nil {
		return fmt.Errorf("abandon run %s: %w", run, err)
	}
	return nil
}

// DropUnpublished removes the staged files and the documents of a run that has no change. The plan is removed last.
func (c Catalog) DropUnpublished(ctx context.Context, run string) error {
	c.changed.add(run)
	if err := c.DropCheckpoints(ctx, run); err != nil {
		return err
	}
	return c.RemoveDocuments(ctx, run, runPath(run), PlanPath(run))
}

// abandonable reads the plan and change of a run that may be abandoned. Each of the two is nil if it is missing or
// damaged. If the run must not be abandoned, the error is a *RefusedError.
func (c Catalog) abandonable(ctx context.Context, run string) (*Plan, *Change, error) {
	refuse := func(format string, args ...any) (*Plan, *Change, error) {
		return nil, nil, &RefusedError{Reason: fmt.Sprintf(format, args...)}
	}
	documents, err := sink.ListAll(ctx, c, runPath(run))
	if err != nil {
		return nil, nil, err
	}
	if len(documents) == 0 {
		files, err := c.lostFiles(ctx, run)
		if err == nil && len(files) == 0 {
			return refuse("there is no run %s at %s: see growth-export status", run, c)
		}
		return nil, nil, err
	}
	plan, err := ReadIfSound[Plan](ctx, c, PlanPath(run))
	if err != nil {
		return nil, nil, err
	}
	begun, _, err := c.readChange(ctx, run)
	damaged := errors.Is(err, sink.ErrDamaged)
	if err != nil && !damaged && !errors.Is(err, sink.ErrNotFound) {
		return nil, nil, err
	}
	manifest, err := c.ReadManifest(ctx, run)
	switch {
	case errors.Is(err, sink.ErrNotFound):
		if begun != nil {
			return plan, begun, nil
		}
		if plan == nil {
			_, err := c.lostFiles(ctx, run)
			return nil, nil, err
		}
		return plan, begun, c.checkNotNamed(ctx, run, PointerPath(plan.Kind, plan.SnapshotDate), plan.SnapshotDate)
	case err != nil:
		return nil, nil, err
	case manifest.Status != Published:
		return refuse("run %s was published and is %s: it cannot be abandoned", run, manifest.Status)
	case (damaged || begun != nil && begun.Publishes()) && manifest.Kind != Delta:
		// Publishing was interrupted: the run is published only if the pointer refers to it.
		pointer, err := ReadIfSound[Pointer](ctx, c, PointerPath(manifest.Kind, manifest.SnapshotDate))
		if err != nil {
			return nil, nil, err
		}
		if pointer == nil || pointer.RunID != run {
			return plan, begun, nil
		}
	}
	return refuse("run %s is published: growth-export prune removes published runs", run)
}

func (c Catalog) removeUnpublished(ctx context.Context, run string, plan *Plan, begun *Change) error {
	var committed []string
	var err error
	switch {
	case begun != nil:
		committed, err = c.committedFiles(ctx, run, begun.Kind, begun.SnapshotDate)
	case plan != nil:
		committed, err = c.committedFiles(ctx, run, plan.Kind, plan.SnapshotDate)
	default:
		committed, err = c.lostFiles(ctx, run)
	}
	if err != nil {
		return err
	}
	// Once the manifest is gone, no process can move the pointer to this run.
	if err := c.store.Remove(ctx, ManifestPath(run)); err != nil {
		return err
	}
	if err := sink.RemoveAll(ctx, c.store, committed); err != nil {
		return err
	}
	if err := c.DropCheckpoints(ctx, run); err != nil {
		return err
	}
	if begun != nil {
		for _, file := range begun.files() { // DropCheckpoints does not abort the ledger
			if err := c.store.Abort(ctx, run, file); err != nil {
				return err
			}
		}
	}
	if err := c.store.Remove(ctx, ChangePath(run)); err != nil {
		return err
	}
	return c.RemoveDocuments(ctx, run, runPath(run), PlanPath(run))
}

// committedFiles lists the data files of a run that are already visible. A symbolic link in place of a table's folder
// is skipped, because runs do not write through links.
func (c Catalog) committedFiles(ctx context.Context, run string, kind Kind, date string) ([]string, error) {
	var found []string
	for _, table := range schemas.Tables() {
		folder := DatePath(kind, table.Name, date)
		entries, err := sink.ListAll(ctx, c, folder)
		if err != nil {
			above, _, _ := strings.Cut(folder, "/snapshot_date=")
			entries, err = sink.ListAll(ctx, c, above) // leaves out the folder, because links are not followed
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if sink.Owner(entry.Path) == sink.Escape(run) {
				found = append(found, entry.Path)
			}
		}
	}
	return found, nil
}

// lostFiles finds, by name, the data files of a run that has neither a plan nor a change. It returns a *RefusedError if
// the pointer of one of their dates refers to the run, or is damaged and may refer to it.
func (c Catalog) lostFiles(ctx context.Context, run string) ([]string, error) {
	entries, err := sink.ListAll(ctx, c, "")
	if err != nil {
		return nil, err
	}
	var found []string
	dates := make(map[string]string) // by the path of the pointer
	for _, entry := range entries {
		kind, date, data := FileOfRun(entry.Path)
		if !data || sink.Owner(entry.Path) != sink.Escape(run) {
			continue
		}
		found = append(found, entry.Path)
		if pointer := PointerPath(kind, date); pointer != "" {
			dates[pointer] = date
		}
	}
	for _, path := range slices.Sorted(maps.Keys(dates)) {
		if err := c.checkNotNamed(ctx, run, path, dates[path]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// checkNotNamed returns a *RefusedError if the pointer at path refers to the run, whose manifest is missing, or is
// damaged and may refer to the run. The path is empty if the date has no pointer.
func (c Catalog) checkNotNamed(ctx context.Context, run, path, date string) error {
	if path == "" {
		return nil
	}
	pointer, _, err := ReadDocument[Pointer](ctx, c, path, sink.ErrNotFound)
	switch {
	case errors.Is(err, sink.ErrDamaged):
		return &RefusedError{Reason: fmt.Sprintf("%v, so it may refer to run %s: %s", err, run, wording.Restore)}
	case err == nil && pointer != nil && pointer.RunID == run:
		return &RefusedError{Reason: fmt.Sprintf("run %s is the snapshot of %s, but its manifest is missing: %s", run, date, wording.Restore)}
	}
	return err
}

// FileOfRun returns the kind and date of the folder that a path is in. ok is false if that folder is not for data files
// of runs. It does not check the name of the file.
func FileOfRun(path string) (kind Kind, date string, ok bool) {
	above, below, found := strings.Cut(path, "/snapshot_date=")
	table := above[strings.LastIndexByte(above, '/')+1:]
	if _, _, declared := schemas.FindTable(table); !found || !declared {
		return "", "", false
	}
	date, _, _ = strings.Cut(below, "/")
	for _, kind := range []Kind{Full, AsOf, Delta} {
		if strings.HasPrefix(path, DatePath(kind, table, date)) {
			return kind, date, true
		}
	}
	return "", "", false
}
