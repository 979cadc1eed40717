package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// historyChangePath is the path of the document of a change of the history that has begun.
const historyChangePath = HistoryPrefix + ChangeName

// HistoryChange is _history/change.json: a change of the history, written before its first step. Like a [Change] it
// holds everything that the steps need.
type HistoryChange struct {
	FormatVersion int `json:"format_version"`
	// Before is the SHA-256 of the pointer that is replaced; empty if there must be none.
	Before string           `json:"before,omitempty"`
	After  *HistoryManifest `json:"after"`
	// Staged holds, by path, what the store needs to commit a file. Its owner is the one that the path names.
	Staged map[string]json.RawMessage `json:"staged,omitempty"`
	// Remove lists the objects that the history no longer names.
	Remove []string `json:"remove,omitempty"`
}

// files returns the files that the change commits.
func (h *HistoryChange) files() []sink.File {
	var files []sink.File
	for _, file := range h.After.Files() {
		if staged, ok := h.Staged[file.Path]; ok {
			file.Staged = staged
			files = append(files, file)
		}
	}
	return files
}

// LockHistory locks out other processes that change the history, and finishes an interrupted change.
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

// recoverHistory finishes an interrupted change of the history, unless another process is working on it.
func (c Catalog) recoverHistory(ctx context.Context) (err error) {
	change, _, err := ReadDocument[HistoryChange](ctx, c, historyChangePath, sink.ErrNotFound)
	if change == nil && err == nil {
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

// finishHistoryChange finishes or undoes a change that has begun. A damaged one is dropped: the next fold repeats it.
func (c Catalog) finishHistoryChange(ctx context.Context) error {
	change, _, err := ReadDocument[HistoryChange](ctx, c, historyChangePath, sink.ErrNotFound)
	switch {
	case errors.Is(err, sink.ErrDamaged), err == nil && change != nil && change.After == nil:
		return c.store.Remove(ctx, historyChangePath)
	case change == nil || err != nil:
		return err
	}
	err = c.applyHistory(ctx, change)
	if errors.Is(err, sink.ErrConflict) || errors.Is(err, sink.ErrStagedLost) {
		return nil // it is undone, and the next fold repeats it
	}
	return err
}

// ApplyHistory writes a change of the history and applies it. After ErrConflict, another process has changed the
// history first; after that and any error before the pointer has moved, readers find what they found before.
func (c Catalog) ApplyHistory(ctx context.Context, change *HistoryChange) error {
	change.FormatVersion = FormatVersion
	if err := WriteDocument(ctx, c.store, historyChangePath, change, sink.Condition{Absent: true}); err != nil {
		return err
	}
	return c.applyHistory(ctx, change)
}

// HistoryChanging reports whether a change has begun that makes the history of that id.
func (c Catalog) HistoryChanging(ctx context.Context, id string) (bool, error) {
	change, _, err := ReadDocument[HistoryChange](ctx, c, historyChangePath, sink.ErrNotFound)
	if errors.Is(err, sink.ErrDamaged) {
		return false, nil
	}
	return change != nil && change.After != nil && change.After.HistoryID == id, err
}

// applyHistory does the remaining steps of a change. Every step may have been done before.
func (c Catalog) applyHistory(ctx context.Context, change *HistoryChange) error {
	err := c.moveHistory(ctx, change)
	if errors.Is(err, sink.ErrConflict) || errors.Is(err, sink.ErrStagedLost) || errors.Is(err, sink.ErrVersionRefused) {
		if failed := c.undoHistory(ctx, change); failed != nil {
			return fmt.Errorf("undo the change of the history, because %s: %w", err.Error(), failed)
		}
	}
	if err != nil {
		return fmt.Errorf("update the history: %w", err)
	}
	if err := sink.RemoveAll(ctx, c.store, change.Remove); err != nil {
		return err
	}
	owners := make(map[string]bool)
	for path := range change.Staged {
		owners[sink.Owner(path)] = true
	}
	err = sink.ForEach(ctx, slices.Collect(maps.Keys(owners)), func(ctx context.Context, owner string) error { return c.Sweep(ctx, owner) })
	if err != nil {
		return err
	}
	return c.endHistory(ctx, change)
}

// moveHistory commits the files, writes the manifest and moves the pointer.
func (c Catalog) moveHistory(ctx context.Context, change *HistoryChange) error {
	after, err := EncodeDocument(change.After)
	if err != nil {
		return err
	}
	manifest := HistoryManifestPath(change.After.HistoryID)
	pointer, err := EncodeDocument(HistoryPointer{
		HistoryID: change.After.HistoryID, Through: change.After.Through(), Manifest: manifest, ManifestSHA256: sink.Hash(after),
	})
	if err != nil {
		return err
	}
	var overtaken error
	err = sink.Swap(ctx, HistoryPointerPath, func() error {
		data, version, err := c.Read(ctx, HistoryPointerPath)
		missing := errors.Is(err, sink.ErrNotFound)
		moved := bytes.Equal(data, pointer) // a rebuild may end there too, with other files
		switch {
		case err != nil && !missing:
			return fmt.Errorf("read %s: %w", HistoryPointerPath, err)
		case moved:
		case missing != (change.Before == "") || !missing && sink.Hash(data) != change.Before:
			overtaken = fmt.Errorf("%w: %s has changed", sink.ErrConflict, HistoryPointerPath)
			return nil
		}
		byOwner := make(map[string][]sink.File)
		for _, file := range change.files() {
			owner := sink.Owner(file.Path)
			byOwner[owner] = append(byOwner[owner], file)
		}
		for owner, files := range byOwner {
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
	if err == nil {
		err = overtaken
	}
	return err
}

// undoHistory removes the objects that the change has made visible and the current history does not name, then the
// change.
func (c Catalog) undoHistory(ctx context.Context, change *HistoryChange) error {
	named := make(map[string]bool)
	current, err := c.ReadHistory(ctx)
	switch {
	case errors.Is(err, sink.ErrDamaged):
		return c.endHistory(ctx, change) // what it names is unknown; a rebuild removes the rest
	case err != nil:
		return err
	case current != nil:
		named[current.Pointer.Manifest] = true
		for _, file := range current.Manifest.Files() {
			named[file.Path] = true
		}
	}
	paths := []string{HistoryManifestPath(change.After.HistoryID)}
	for _, file := range change.files() {
		paths = append(paths, file.Path)
		if err := c.AbortAll(ctx, sink.Owner(file.Path), []sink.File{file}); err != nil {
			return err
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return named[path] })
	if err := sink.RemoveAll(ctx, c.store, paths); err != nil {
		return err
	}
	return c.endHistory(ctx, change)
}

// endHistory removes the change, unless another process has done so and a later change has begun.
func (c Catalog) endHistory(ctx context.Context, change *HistoryChange) error {
	mine, err := EncodeDocument(change)
	if err != nil {
		return err
	}
	data, _, err := c.Read(ctx, historyChangePath)
	if errors.Is(err, sink.ErrNotFound) || err == nil && !bytes.Equal(data, mine) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.store.Remove(ctx, historyChangePath)
}

// UnnamedHistory lists the objects of histories that a manifest does not name: the files of others, and their
// manifests.
func (c Catalog) UnnamedHistory(ctx context.Context, manifest *HistoryManifest) ([]string, error) {
	named := map[string]bool{historyChangePath: true, HistoryManifestPath(manifest.HistoryID): true}
	for _, file := range manifest.Files() {
		named[file.Path] = true
	}
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
