package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Abandon gives up a run that is not published: it removes what the run has
// staged or committed and all its documents. It fails with a *RefusedError if
// there is no such run, or it is published, and with a *LockedError if a process
// works on it.
//
// A change is removed after the files that it names. So a killed Abandon leaves
// either a publishing that Recover undoes or an unfinished run, and calling it
// again removes the rest.
func (c Catalog) Abandon(ctx context.Context, run string) (err error) {
	release, err := c.HoldRunExclusive(ctx, run)
	if err != nil {
		return fmt.Errorf("another process is working on run %s: %w", run, err)
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
	if err := c.removeUnpublished(ctx, run, plan, begun); err != nil {
		return fmt.Errorf("abandon run %s: %w", run, err)
	}
	return nil
}

// abandonable reads what is known of a run that may be abandoned. The plan or
// the change is nil if there is none that can be read.
func (c Catalog) abandonable(ctx context.Context, run string) (*Plan, *Change, error) {
	refuse := func(format string, args ...any) (*Plan, *Change, error) {
		return nil, nil, &RefusedError{Reason: fmt.Sprintf(format, args...)}
	}
	documents, err := sink.ListAll(ctx, c, runPath(run))
	if err != nil {
		return nil, nil, err
	}
	if len(documents) == 0 {
		return refuse("there is no run %s at %s: see growth-export status", run, c)
	}
	plan, err := readIfSound[Plan](ctx, c, PlanPath(run))
	if err != nil {
		return nil, nil, err
	}
	begun, err := readIfSound[Change](ctx, c, ChangePath(run))
	if err != nil {
		return nil, nil, err
	}
	manifest, err := c.ReadManifest(ctx, run)
	switch {
	case errors.Is(err, sink.ErrNotFound):
		return plan, begun, nil
	case err != nil:
		return nil, nil, err
	case manifest.Status != Published:
		return refuse("run %s was published and is %s: it cannot be abandoned", run, manifest.Status)
	case begun != nil && begun.Publishes() && manifest.Kind != Delta:
		// Its publishing was cut short: it counts from when the pointer names it.
		pointer, err := readIfSound[Pointer](ctx, c, PointerPath(manifest.Kind, manifest.SnapshotDate))
		if err != nil {
			return nil, nil, err
		}
		if pointer == nil || pointer.RunID != run {
			return plan, begun, nil
		}
	}
	return refuse("run %s is published: growth-export prune removes published runs", run)
}

// readIfSound reads a document; nil if there is none that can be read.
func readIfSound[T any](ctx context.Context, store sink.Store, path string) (*T, error) {
	document, _, err := ReadDocument[T](ctx, store, path)
	if errors.Is(err, sink.ErrNotFound) || errors.Is(err, sink.ErrDamaged) {
		return nil, nil
	}
	return document, err
}

func (c Catalog) removeUnpublished(ctx context.Context, run string, plan *Plan, begun *Change) error {
	var committed []string
	var err error
	switch {
	case begun != nil:
		committed, err = c.committedFiles(ctx, run, begun.Kind, begun.SnapshotDate)
	case plan != nil:
		committed, err = c.committedFiles(ctx, run, plan.Kind, plan.SnapshotDate)
	}
	if err != nil {
		return err
	}
	// Without a manifest the publishing cannot reach its pointer any more.
	if err := c.Remove(ctx, ManifestPath(run)); err != nil {
		return err
	}
	if err := sink.RemoveAll(ctx, c, committed); err != nil {
		return err
	}
	if err := c.DropCheckpoints(ctx, run); err != nil {
		return err
	}
	if begun != nil {
		for _, file := range begun.files() { // the ledger has no checkpoint
			if err := c.Abort(ctx, run, file); err != nil {
				return err
			}
		}
	}
	if err := c.Remove(ctx, ChangePath(run)); err != nil {
		return err
	}
	return c.RemoveDocuments(ctx, run, runPath(run), PlanPath(run))
}

// committedFiles lists the data files of a run that are visible already. A link
// in place of a table's folder has none of them, and is passed over.
func (c Catalog) committedFiles(ctx context.Context, run string, kind Kind, date string) ([]string, error) {
	var found []string
	for _, table := range schemas.Tables() {
		folder := DatePath(kind, table.Name, date)
		entries, err := sink.ListAll(ctx, c, folder)
		if err != nil {
			above, _, _ := strings.Cut(folder, "/snapshot_date=")
			entries, err = sink.ListAll(ctx, c, above) // not as a folder: links are not followed
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
