package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// LockHistory locks out other processes that change the history, and finishes or undoes an interrupted change.
func (c Catalog) LockHistory(ctx context.Context) (unlock func() error, err error) {
	unlock, err = c.store.Lock(ctx, historyLock, sink.Exclusive, publishPatience)
	if err != nil {
		return nil, fmt.Errorf("lock the history: %w", err)
	}
	if err := c.finishHistoryChange(ctx); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// recoverHistory finishes or undoes an interrupted change to the history, unless another process holds the lock of the
// history.
func (c Catalog) recoverHistory(ctx context.Context) (err error) {
	if _, _, err := c.readChangeIn(ctx, ""); errors.Is(err, sink.ErrNotFound) {
		return nil
	}
	unlock, err := c.HoldHistory(ctx)
	if errors.Is(err, sink.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return c.finishHistoryChange(ctx)
}

// finishHistoryChange finishes or undoes a change that has begun. A damaged change is dropped. The next fold or purge
// repeats the change.
func (c Catalog) finishHistoryChange(ctx context.Context) error {
	change, version, err := c.readChangeIn(ctx, "")
	switch {
	case errors.Is(err, sink.ErrNotFound):
		return nil
	case errors.Is(err, sink.ErrDamaged):
		return c.store.Remove(ctx, changePath(""))
	case err != nil:
		return err
	}
	if _, err = c.applyChange(ctx, change, version); change.givenUp(err) {
		return nil // the change was undone, and the next fold repeats it
	}
	return err
}

// ChangeHistory replaces the history whose id is before with the history after. before is empty if there is no history
// or if it cannot be read. The staged files are committed first, and the files to remove are removed last. ErrConflict
// means that another process has changed the history. If ChangeHistory fails, staged files remain only if a recorded
// change may still need them or if they could not be removed.
func (c Catalog) ChangeHistory(ctx context.Context, before string, after *HistoryManifest, staged []sink.File, remove []string) error {
	change := &Change{FormatVersion: FormatVersion, History: after, Staged: make(map[string]json.RawMessage), Remove: remove}
	for _, file := range staged {
		change.Staged[file.Path] = file.Staged
	}
	data, _, err := c.Read(ctx, HistoryPointerPath)
	switch {
	case err == nil:
		change.Before = sink.Hash(data)
		pointer := new(HistoryPointer)
		if err = json.Unmarshal(data, pointer); before == "" || err == nil && pointer.HistoryID == before {
			return c.Apply(ctx, change)
		}
		err = fmt.Errorf("%w: %s has changed", sink.ErrConflict, HistoryPointerPath)
	case errors.Is(err, sink.ErrNotFound):
		return c.Apply(ctx, change)
	}
	return errors.Join(err, c.AbortAll(context.WithoutCancel(ctx), "", staged))
}

// moveHistory commits the files, writes the manifest and moves the pointer. It returns ErrConflict if another process
// has moved the pointer since the change was recorded.
func (a *applying) moveHistory(ctx context.Context) error {
	c, change := a.catalog, a.change
	after, err := EncodeDocument(change.History)
	if err != nil {
		return err
	}
	manifest := HistoryManifestPath(change.History.HistoryID)
	pointer, err := EncodeDocument(HistoryPointer{
		HistoryID: change.History.HistoryID, Through: change.History.Through(), Manifest: manifest, ManifestSHA256: sink.Hash(after),
	})
	if err != nil {
		return err
	}
	var overtaken error
	err = sink.Swap(ctx, HistoryPointerPath, func() error {
		data, version, err := c.Read(ctx, HistoryPointerPath)
		missing := errors.Is(err, sink.ErrNotFound)
		moved := bytes.Equal(data, pointer) // after a rebuild, the pointer may be the same although the files differ
		switch {
		case err != nil && !missing:
			return fmt.Errorf("read %s: %w", HistoryPointerPath, err)
		case moved:
		case missing != (change.Before == "") || !missing && sink.Hash(data) != change.Before:
			overtaken = fmt.Errorf("%w: %s has changed", sink.ErrConflict, HistoryPointerPath)
			return nil
		}
		for owner, files := range change.byOwner() {
			if err := c.commitAll(ctx, owner, files); err != nil {
				return err
			}
		}
		if err := c.store.Write(ctx, manifest, after, sink.Condition{}); err != nil {
			return fmt.Errorf("write %s: %w", manifest, err)
		}
		if moved {
			return nil
		}
		return c.store.Write(ctx, HistoryPointerPath, pointer, sink.Condition{Absent: missing, Version: version})
	})
	return cmp.Or(err, overtaken)
}

// paths returns the paths of the data files and, if the manifest has an id, of the manifest itself.
func (m *HistoryManifest) paths() map[string]bool {
	named := make(map[string]bool)
	if m.HistoryID != "" {
		named[HistoryManifestPath(m.HistoryID)] = true
	}
	for _, file := range m.Files() {
		named[file.Path] = true
	}
	return named
}

// ReplacedBy returns the objects of the history that a later history no longer lists.
func (m *HistoryManifest) ReplacedBy(after *HistoryManifest) []string {
	named := after.paths()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.paths())), func(path string) bool { return named[path] })
}

// UnnamedHistory returns the objects of histories that a manifest does not list: files and manifests of other
// histories.
func (c Catalog) UnnamedHistory(ctx context.Context, manifest *HistoryManifest) ([]string, error) {
	named := manifest.paths()
	var paths []string
	for _, prefix := range []string{HistoryFilesPrefix, HistoryPrefix} {
		entries, err := sink.ListAll(ctx, c, prefix)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			ours := strings.HasSuffix(entry.Path, ".parquet") || strings.HasSuffix(entry.Path, "/"+ManifestName)
			if ours && !named[entry.Path] {
				paths = append(paths, entry.Path)
			}
		}
	}
	return paths, nil
}
