package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
)

// Change is _runs/<run>/change.json: a change of what readers see, written
// before its first step. It holds all that the steps need, so that any process
// that finds it can finish it (Recover).
//
//	publish a run   Before is empty, After is its manifest
//	purge a run     After is a manifest that takes the place of the current one
//	prune a run     After is nil
type Change struct {
	FormatVersion int    `json:"format_version"`
	RunID         string `json:"run_id"`
	Kind          Kind   `json:"kind"`
	SnapshotDate  string `json:"snapshot_date"`
	// Before is the SHA-256 of the manifest that After replaces; empty if there must not be one.
	Before string    `json:"before,omitempty"`
	After  *Manifest `json:"after,omitempty"`
	// Staged is what the store needs to commit the file at a path.
	Staged map[string]json.RawMessage `json:"staged,omitempty"`
	// Remove lists data files that no manifest names once the change is made.
	Remove []string `json:"remove,omitempty"`
	// Claim decides which of two runs gets the date. Only publishing has one.
	Claim *Claim `json:"claim,omitempty"`
}

// Claim is a published run's claim to be the snapshot of its date.
type Claim struct {
	// PlannedAt orders the runs of a date.
	PlannedAt time.Time `json:"planned_at"`
	// Today and Replace are as in the run's Candidate.
	Today   bool `json:"today"`
	Replace bool `json:"replace"`
	// Replaces are the runs that lose the date to this one.
	Replaces []string `json:"replaces"`
}

// publishes reports whether the change publishes its run.
func (c *Change) Publishes() bool { return c.After != nil && c.Before == "" }

// prunes reports whether the change removes its run.
func (c *Change) Prunes() bool { return c.After == nil }

// verb names what the change does to its run.
func (c *Change) verb() string {
	switch {
	case c.Prunes():
		return "prune"
	case c.Publishes():
		return "publish"
	}
	return "purge"
}

// files returns the files that the change commits, as Commit needs them, the ledger last.
func (c *Change) files() []sink.File {
	if c.After == nil {
		return nil
	}
	var files []sink.File
	for _, file := range append(c.After.Files(), c.After.Ledger) {
		if staged, ok := c.Staged[file.Path]; ok || c.Publishes() {
			file.Staged = staged
			files = append(files, file)
		}
	}
	return files
}

// applying is a change that is being made. Every step may have been done
// before, by this process or one that was killed, and two processes may do it
// at once on a store without locks.
type applying struct {
	catalog Catalog
	change  *Change
	version string // of the change's document
	// manifest is the run's, with the SHA-256 of its bytes; nil once the run is pruned.
	manifest *Manifest
	hash     string
}

// beginChange writes the change, on top of a damaged one of that version if
// there is one. ErrConflict says that another change of the run has begun.
func (c Catalog) beginChange(ctx context.Context, change *Change, damaged string) error {
	return c.WriteDocument(ctx, ChangePath(change.RunID), change, sink.Condition{Absent: damaged == "", Version: damaged})
}

// Apply writes a change and makes it. ErrConflict and ErrStagedLost say
// that the run is as it was.
func (c Catalog) Apply(ctx context.Context, change *Change) error {
	err := c.beginChange(ctx, change, "")
	if errors.Is(err, sink.ErrConflict) {
		err = errors.Join(err, c.AbortAll(ctx, change.RunID, change.files()))
	}
	if err != nil {
		return fmt.Errorf("%s run %s: %w", change.verb(), change.RunID, err)
	}
	_, err = c.applyChange(ctx, change, "")
	return err
}

// readChange reads the change of a run: ErrNotFound, ErrDamaged.
func (c Catalog) readChange(ctx context.Context, run string) (*Change, string, error) {
	return ReadDocument[Change](ctx, c, ChangePath(run))
}

// applyChange does what is left of a change and returns the manifest of its run.
//
// ErrConflict says that the change was given up, because another run has taken
// the date or another process has changed the run; ErrStagedLost, that it was
// undone, because the store has lost staged files. An *UnfinishedError says
// that the change is visible and a step after that failed.
func (c Catalog) applyChange(ctx context.Context, change *Change, version string) (*Manifest, error) {
	a := &applying{catalog: c, change: change, version: version}
	err := a.run(ctx)
	undo := errors.Is(err, sink.ErrStagedLost)
	if !change.Publishes() {
		undo = undo || errors.Is(err, sink.ErrConflict) || errors.Is(err, sink.ErrVersionRefused)
	}
	if undo {
		err = a.undo(ctx, err)
	}
	if err != nil {
		return a.manifest, fmt.Errorf("%s run %s: %w", change.verb(), change.RunID, err)
	}
	return a.manifest, nil
}

// run does the steps: files, manifest, pointer, and then everything that
// readers no longer find, the change last.
func (a *applying) run(ctx context.Context) error {
	if !a.change.Prunes() {
		if err := a.writeManifest(ctx); err != nil {
			return err
		}
	}
	lost, err := a.movePointer(ctx)
	if err != nil {
		return err
	}
	if lost {
		if err := a.giveUpDate(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: a run planned later was published as the snapshot of %s", sink.ErrConflict, a.change.SnapshotDate)
	}
	err = a.finish(ctx)
	if a.change.Publishes() {
		err = unfinished(err) // The run is published now, whatever fails from here on.
	}
	return err
}

// writeManifest commits the files and writes the manifest. A published
// manifest is written once, so that its hash in the pointer stays true.
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
		if err := sink.CommitAll(ctx, a.catalog, a.change.RunID, a.change.files()); err != nil {
			// Files that are gone may have been published, and replaced since.
			if _, readErr := a.readManifest(ctx); errors.Is(err, sink.ErrStagedLost) && a.change.Publishes() && readErr == nil {
				return nil
			}
			return err
		}
		err = a.catalog.WriteDocument(ctx, path, a.change.After, sink.Condition{Absent: version == "", Version: version})
		if err == nil {
			a.manifest, a.hash = a.change.After, sink.Hash(after)
		}
		return err
	})
	return cmp.Or(err, overtaken)
}

// readManifest reads the manifest of the run and returns its version.
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

// movePointer makes the pointer of the date agree with the change. lost says
// that the date belongs to another run. Delta runs have no pointer.
func (a *applying) movePointer(ctx context.Context) (lost bool, err error) {
	c := a.change
	path := PointerPath(c.Kind, c.SnapshotDate)
	if c.Publishes() && a.manifest.Status != Published {
		return true, nil
	}
	if path == "" {
		return false, nil
	}
	mine := Pointer{RunID: c.RunID, Manifest: ManifestPath(c.RunID), ManifestSHA256: a.hash}
	err = sink.Swap(ctx, path, func() error {
		lost = false
		current, version, err := ReadDocument[Pointer](ctx, a.catalog, path)
		unreadable := errors.Is(err, sink.ErrNotFound) || errors.Is(err, sink.ErrDamaged)
		switch {
		case err != nil && !unreadable:
			return err
		case c.Publishes() && !unreadable && current.RunID != c.RunID:
			var over bool
			if lost, over, err = a.losesTo(ctx, current.RunID); lost || over || err != nil {
				return err
			}
		case c.Publishes() && !unreadable:
			return nil
		case !c.Publishes() && (unreadable || current.RunID != c.RunID):
			return nil // Verify reports an unreadable pointer.
		case c.Prunes():
			return a.catalog.Remove(ctx, path)
		case !c.Publishes() && *current == mine:
			return nil
		}
		return a.catalog.WriteDocument(ctx, path, mine, sink.Condition{Absent: version == "", Version: version})
	})
	return lost, err
}

// finish removes what readers no longer find, and the change last.
func (a *applying) finish(ctx context.Context) error {
	c := a.change
	if c.Publishes() && c.Kind != Delta {
		if err := a.takeDate(ctx); err != nil {
			return err
		}
	}
	if err := sink.RemoveAll(ctx, a.catalog, c.Remove); err != nil {
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
		if err := a.catalog.Sweep(ctx, c.RunID); err != nil {
			return err
		}
	}
	return a.end(ctx)
}

// end removes the change, unless another process has done so and a later change
// of the run has begun.
func (a *applying) end(ctx context.Context) error {
	current, _, err := a.catalog.readChange(ctx, a.change.RunID)
	if err == nil && (current.verb() != a.change.verb() || current.Before != a.change.Before) {
		return nil
	}
	return a.catalog.Remove(ctx, ChangePath(a.change.RunID))
}

// undo makes the change unmade: what it has made visible is removed, and the
// change last. Where another process has replaced or removed the run, files
// that the run had before are left to this change too.
func (a *applying) undo(ctx context.Context, cause error) error {
	c := a.change
	named := make(map[string]bool)
	manifest, err := a.catalog.ReadManifest(ctx, c.RunID)
	switch {
	case errors.Is(err, sink.ErrNotFound):
	case err != nil:
		return errors.Join(cause, err)
	case manifest.Status == Published:
		named = manifest.Paths()
		named[manifest.Ledger.Path] = true
	}
	paths := slices.Clone(c.Remove)
	for _, file := range c.files() {
		paths = append(paths, file.Path)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return named[path] })
	if err := sink.RemoveAll(ctx, a.catalog, paths); err != nil {
		return errors.Join(cause, err)
	}
	if c.Publishes() {
		err = a.catalog.dropLostTasks(ctx, c.RunID)
		cause = &undoneError{cause}
	} else {
		err = errors.Join(a.catalog.AbortAll(ctx, c.RunID, c.files()), a.catalog.Sweep(ctx, c.RunID))
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	return errors.Join(cause, a.end(ctx))
}

// dropLostTasks removes the checkpoints whose files the store has lost, so that
// the next run fetches their tasks again.
func (c Catalog) dropLostTasks(ctx context.Context, run string) error {
	checkpoints, err := c.ReadCheckpoints(ctx, run)
	if err != nil {
		return err
	}
	held, err := lookAtAll(ctx, run, checkpoints, c.Intact)
	if err != nil {
		return err
	}
	for i, checkpoint := range checkpoints {
		if held[i] {
			continue
		}
		if err := c.Remove(ctx, CheckpointPath(run, checkpoint.Bucket, checkpoint.Dataset)); err != nil {
			return err
		}
	}
	return nil
}

// undoneError says that a publishing was undone.
type undoneError struct{ cause error }

func (e *undoneError) Error() string {
	return e.cause.Error() + "; nothing of it is visible, run it again"
}

func (e *undoneError) Unwrap() error { return e.cause }

// UnfinishedError says that a run is published and that a step after that
// failed. The next command that calls Recover does it.
type UnfinishedError struct{ Err error }

func (e *UnfinishedError) Error() string {
	return "the run is published, but a step after that failed: " + e.Err.Error()
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// unfinished marks an error of a step after the change became visible.
func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return &UnfinishedError{err}
}

// removeDocuments removes what a run has staged and everything in its folder
// except its change, the document at the path last at the end.
func (c Catalog) RemoveDocuments(ctx context.Context, run, folder, last string) error {
	documents, err := sink.ListAll(ctx, c, folder)
	if err != nil {
		return err
	}
	var paths []string
	for _, entry := range documents {
		if entry.Path != last && entry.Path != folder+ChangeName {
			paths = append(paths, entry.Path)
		}
	}
	if err := sink.RemoveAll(ctx, c, paths); err != nil {
		return err
	}
	if err := c.Sweep(ctx, run); err != nil {
		return err
	}
	return c.Remove(ctx, last)
}
