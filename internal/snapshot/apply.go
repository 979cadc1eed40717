package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"example.org/growthexport/internal/sink"
)

// Apply records a change and carries it out. If it returns ErrConflict or ErrStagedLost, the change has had no effect
// on the run or history. If it fails, staged files remain only if a recorded change may still need them or if they
// could not be removed.
func (c Catalog) Apply(ctx context.Context, change *Change) error {
	err := c.beginChange(ctx, change, "", change.files())
	if change.Prunes() && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		// The disk is full, and recording the change needs space. Removing the report, which the prune would remove anyway,
		// frees some space. The change need not list the files, because finish finds them by the run's id in their names.
		change.Remove = nil
		if err = c.store.Remove(ctx, ReportPath(change.RunID)); err == nil {
			err = c.beginChange(ctx, change, "", nil)
		}
	}
	if errors.Is(err, sink.ErrConflict) {
		err = errors.Join(err, c.AbortAll(ctx, change.RunID, change.files()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", change, err)
	}
	_, err = c.applyChange(ctx, change, "")
	return err
}

// beginChange checks that the change can be made visible and writes it. damaged is the version of the damaged change
// that it replaces, or "" if it replaces none. The error is ErrConflict if another change of the run, or of the
// history, has begun. After any other error it aborts the staged files, unless the change was, or may have been,
// written after all.
func (c Catalog) beginChange(ctx context.Context, change *Change, damaged string, staged []sink.File) error {
	path := changePath(change.folder())
	var err error
	if change.History == nil {
		paths := []string{PointerPath(change.Kind, change.SnapshotDate)}
		for _, file := range change.files() {
			paths = append(paths, file.Path)
		}
		err = c.store.CheckCommit(ctx, change.RunID, paths)
	}
	if err == nil {
		err = WriteDocument(ctx, c.store, path, change, sink.Condition{Absent: damaged == "", Version: damaged})
	}
	if err == nil || errors.Is(err, sink.ErrConflict) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	// The change may have been written despite the error. In that case, the change needs the files.
	if _, _, readErr := c.Read(ctx, path); errors.Is(readErr, sink.ErrNotFound) {
		err = errors.Join(err, c.AbortAll(ctx, change.RunID, staged))
	}
	return err
}

// applyChange carries out the remaining steps of a change and returns the manifest of its run. The manifest is nil if
// it could not be read or written, and for a change that prunes a run or changes the history.
//
// ErrConflict means that the change was given up because another run keeps the date or another process has changed the
// run or the history. ErrStagedLost means that the store has lost staged files, and ErrVersionRefused that the pointer
// cannot be replaced. In both cases the change was undone, unless the error also reports that undoing it failed. An
// *UnfinishedError means that the run is published, but a later step failed.
func (c Catalog) applyChange(ctx context.Context, change *Change, version string) (*Manifest, error) {
	if change.History == nil {
		c.changed.add(change.RunID)
	}
	a := &applying{catalog: c, change: change, version: version}
	err := a.run(ctx)
	_, visible := errors.AsType[*UnfinishedError](err)
	refused := errors.Is(err, sink.ErrVersionRefused) && !visible
	if refused || errors.Is(err, sink.ErrStagedLost) || !change.Publishes() && errors.Is(err, sink.ErrConflict) {
		failed := a.undo(ctx, refused)
		switch {
		case failed != nil && change.Publishes():
			err = errors.Join(err, failed)
		case failed != nil:
			// The change is neither made nor given up, so the error must not wrap the cause, from which callers would
			// conclude that it was given up.
			err = fmt.Errorf("undo the change, because %s: %w", err.Error(), failed)
		case change.Publishes():
			err = &undoneError{err}
		}
	}
	if err != nil {
		return a.manifest, fmt.Errorf("%s: %w", change, err)
	}
	return a.manifest, nil
}

// applying is a change being applied. Any step may already have been done, by this process or by a killed process, and
// on a store without locks, two processes may do the same step at the same time.
type applying struct {
	catalog Catalog
	change  *Change
	version string // the version of the change's document
	// manifest is the run's manifest, and hash is its SHA-256. They stay empty if the change prunes the run or changes the
	// history.
	manifest *Manifest
	hash     string
}

// readManifest reads the run's manifest and its hash into a, and returns the version of the document.
func (a *applying) readManifest(ctx context.Context) (version string, err error) {
	path := ManifestPath(a.change.RunID)
	data, version, err := a.catalog.Read(ctx, path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	manifest := new(Manifest)
	if err := DecodeDocument(path, data, manifest); err != nil {
		return "", err
	}
	a.manifest, a.hash = manifest, sink.Hash(data)
	return version, nil
}

// run carries out the steps in order. It commits the files, writes the manifest, replaces the ledger if a purge changes
// it, moves the pointer, removes the objects that readers no longer find, and finally removes the change. If a run that
// is being published loses its date to another run, it is withdrawn, and the error is ErrConflict.
func (a *applying) run(ctx context.Context) error {
	if a.change.History != nil {
		if err := a.moveHistory(ctx); err != nil {
			return err
		}
		return a.finish(ctx)
	}
	if !a.change.Prunes() {
		if err := a.writeManifest(ctx); err != nil {
			return err
		}
	}
	if err := a.replaceLedger(ctx); err != nil {
		return err
	}
	lost, err := a.movePointer(ctx)
	if err != nil {
		return err
	}
	if lost {
		if err := a.withdraw(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: a run planned later was published as the snapshot of %s, so this one is not needed", sink.ErrConflict, a.change.SnapshotDate)
	}
	err = a.finish(ctx)
	if a.change.Publishes() {
		err = unfinished(err) // The run is published now, even if a later step fails.
	}
	return err
}

// writeManifest commits the files and writes the manifest. While a run is being published, its manifest is written only
// once, so that the hash in the pointer stays valid. For a purge, the error is ErrConflict if the run was removed or
// its manifest has changed.
func (a *applying) writeManifest(ctx context.Context) error {
	path := ManifestPath(a.change.RunID)
	after, err := EncodeDocument(a.change.After)
	if err != nil {
		return err
	}
	var overtaken error
	err = sink.Swap(ctx, path, func() error {
		version, err := a.readManifest(ctx)
		switch {
		case errors.Is(err, sink.ErrNotFound) && a.change.Publishes():
		case errors.Is(err, sink.ErrNotFound):
			overtaken = fmt.Errorf("%w: the run was removed", sink.ErrConflict)
			return nil
		case err != nil:
			return err
		case a.change.Publishes(), a.hash == sink.Hash(after):
			return nil
		case a.hash != a.change.Before:
			overtaken = fmt.Errorf("%w: its manifest has changed", sink.ErrConflict)
			return nil
		}
		if err := a.catalog.commitAll(ctx, a.change.RunID, a.change.files()); err != nil {
			// The staged files may be missing because another process has published them and a later run has replaced
			// them.
			if _, readErr := a.readManifest(ctx); errors.Is(err, sink.ErrStagedLost) && a.change.Publishes() && readErr == nil {
				return nil
			}
			return err
		}
		err = WriteDocument(ctx, a.catalog.store, path, a.change.After, sink.Condition{Absent: version == "", Version: version})
		if err == nil {
			a.manifest, a.hash = a.change.After, sink.Hash(after)
		}
		return err
	})
	return cmp.Or(err, overtaken)
}

// replaceLedger writes the ledger of a purge, unless a later purge has already written another ledger.
func (a *applying) replaceLedger(ctx context.Context) error {
	if len(a.change.Ledger) == 0 || a.manifest.Ledger.SHA256 != sink.Hash(a.change.Ledger) {
		return nil
	}
	path := LedgerPath(a.change.RunID)
	if err := a.catalog.store.Write(ctx, path, a.change.Ledger, sink.Condition{}); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// movePointer updates the pointer of the date. lost is true if another run keeps the date. Delta runs have no pointer.
func (a *applying) movePointer(ctx context.Context) (lost bool, err error) {
	c := a.change
	path := PointerPath(c.Kind, c.SnapshotDate)
	if c.Publishes() && a.manifest.Status != Published {
		return true, nil
	}
	if path == "" {
		return false, nil
	}
	mine := func() Pointer {
		return Pointer{RunID: c.RunID, Manifest: ManifestPath(c.RunID), ManifestSHA256: a.hash}
	}
	err = sink.Swap(ctx, path, func() error {
		lost = false
		current, version, err := ReadDocument[Pointer](ctx, a.catalog, path)
		unreadable := Unreadable(err)
		switch {
		case err != nil && !unreadable:
			return err
		case c.Publishes() && !unreadable && current.RunID != c.RunID:
			var over bool
			if lost, over, err = a.losesTo(ctx, current.RunID); lost || over || err != nil {
				return err
			}
		case !c.Publishes() && (unreadable || current.RunID != c.RunID):
			return nil // Verify reports an unreadable pointer.
		case c.Prunes():
			return a.catalog.store.Remove(ctx, path)
		case !unreadable && *current == mine():
			return nil
		}
		// Since the manifest was read, another process may have completed this change and a later change, so the
		// manifest is read again. If it changes after this read, so does the pointer: the write below then fails, or a
		// correct write follows.
		if _, err := a.readManifest(ctx); err != nil {
			return err
		}
		if lost = c.Publishes() && a.manifest.Status != Published; lost {
			return nil
		}
		return WriteDocument(ctx, a.catalog.store, path, mine(), sink.Condition{Absent: version == "", Version: version})
	})
	return lost, err
}

// finish carries out the steps after the pointer was moved: for a publish, it updates _latest.json and marks the
// replaced runs. It then removes the objects that readers no longer find, and finally the change.
func (a *applying) finish(ctx context.Context) error {
	c := a.change
	if c.Publishes() && c.Kind != Delta {
		if err := a.replaceOthers(ctx); err != nil {
			return err
		}
	}
	remove := slices.Clone(c.Remove)
	if c.Prunes() {
		// A purge may have written more files before this change was recorded.
		files, err := a.catalog.filesOfDate(ctx, c.Kind, c.SnapshotDate)
		if err != nil {
			return err
		}
		for _, path := range files {
			if sink.Owner(path) == sink.Escape(c.RunID) && !slices.Contains(remove, path) {
				remove = append(remove, path)
			}
		}
	}
	if err := sink.RemoveAll(ctx, a.catalog.store, remove); err != nil {
		return err
	}
	switch {
	case c.Publishes():
		if err := a.catalog.RemoveStaging(ctx, c.RunID); err != nil {
			return err
		}
	case c.Prunes():
		if err := a.catalog.RemoveDocuments(ctx, c.RunID, runPath(c.RunID), ManifestPath(c.RunID)); err != nil {
			return err
		}
	default:
		for owner := range c.byOwner() {
			if err := a.catalog.Sweep(ctx, owner); err != nil {
				return err
			}
		}
	}
	return a.end(ctx)
}

// undo removes the objects that the change has made visible, then the change. If another process has replaced or
// removed the run, files that the run had before are removed too. If the store refused the pointer of a run being
// published, the run's manifest is removed first, unless the pointer refers to the run: once the manifest is gone, no
// process can move the pointer to the run.
func (a *applying) undo(ctx context.Context, refused bool) error {
	c := a.change
	if refused && c.Publishes() {
		pointer, err := ReadIfSound[Pointer](ctx, a.catalog, PointerPath(c.Kind, c.SnapshotDate))
		if err == nil && (pointer == nil || pointer.RunID != c.RunID) {
			err = a.catalog.store.Remove(ctx, ManifestPath(c.RunID))
		}
		if err != nil {
			return err
		}
	}
	named, err := a.named(ctx)
	if errors.Is(err, sink.ErrDamaged) && c.History != nil {
		return a.end(ctx) // it is unknown which files belong to the history; a rebuild removes the rest
	}
	if err != nil {
		return err
	}
	paths := slices.Clone(c.Remove)
	if c.History != nil {
		paths = append(paths, HistoryManifestPath(c.History.HistoryID))
	}
	for _, file := range c.files() {
		paths = append(paths, file.Path)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return named[path] })
	if err := sink.RemoveAll(ctx, a.catalog.store, paths); err != nil {
		return err
	}
	if c.Publishes() {
		err = a.catalog.dropLostTasks(ctx, c.RunID)
	} else {
		err = a.catalog.AbortAll(ctx, c.RunID, c.files())
		for owner := range c.byOwner() {
			err = errors.Join(err, a.catalog.Sweep(ctx, owner))
		}
	}
	if err != nil {
		return err
	}
	return a.end(ctx)
}

// named returns the paths of the data files and the ledger that the run's current manifest lists or, for a change to
// the history, the paths of the current history's files and manifest. It returns nil if the run is not published or
// there is no history.
func (a *applying) named(ctx context.Context) (map[string]bool, error) {
	if a.change.History != nil {
		current, err := a.catalog.ReadHistory(ctx)
		if current == nil || err != nil {
			return nil, err
		}
		return current.Manifest.paths(), nil
	}
	manifest, err := a.catalog.ReadManifest(ctx, a.change.RunID)
	if errors.Is(err, sink.ErrNotFound) || err == nil && manifest.Status != Published {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	named := manifest.Paths()
	named[manifest.Ledger.Path] = true
	return named, nil
}

// end removes the change, unless another process has done so and a later change of the run has begun.
func (a *applying) end(ctx context.Context) error {
	current, _, err := a.catalog.readChangeIn(ctx, a.change.folder())
	switch {
	case Unreadable(err):
	case err != nil:
		return err
	default:
		if same, err := current.equal(a.change); err != nil || !same {
			return err
		}
	}
	return a.catalog.store.Remove(ctx, changePath(a.change.folder()))
}
