package sink

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// purgeIntent is purge.json: the purge of a run has begun. What it says is all
// that is needed to finish it.
type purgeIntent struct {
	FormatVersion int `json:"format_version"`
	// ManifestSHA256 is that of the manifest that Manifest takes the place of.
	ManifestSHA256 string `json:"manifest_sha256"`
	// Staged is what the store needs to commit the file at a path.
	Staged   map[string]json.RawMessage `json:"staged"`
	Manifest Manifest                   `json:"manifest"`
}

// files are the rewritten files, as Commit needs them.
func (i *purgeIntent) files() []File {
	var files []File
	for _, file := range i.Manifest.files() {
		if staged, ok := i.Staged[file.Path]; ok {
			file.Staged = staged
			files = append(files, file)
		}
	}
	return files
}

// purge is the purge that the intent is of.
func (i *purgeIntent) purge() *ManifestPurge {
	if len(i.Manifest.Purges) == 0 {
		return &ManifestPurge{}
	}
	return &i.Manifest.Purges[len(i.Manifest.Purges)-1]
}

// finishPurges finishes the purges of runs that were killed, or takes back
// what can be done anew.
func finishPurges(ctx context.Context, store Store) error {
	entries, err := ListAll(ctx, store, runsPrefix)
	if err != nil {
		return err
	}
	for _, run := range runsWith(entries, purgeName) {
		intent, _, err := readDocument[purgeIntent](ctx, store, inRun(run, purgeName))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		err = rollPurge(ctx, store, intent)
		if err != nil && !errors.Is(err, ErrStagedLost) && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return nil
}

// rollPurge does what is left to do of the purge of a run: commit the rewritten
// files, write the manifest that names them, have the pointer say its hash,
// remove the files that nobody names any more, and the intent. Each step may
// have been done before. Between the manifest and the pointer Verify knows
// either hash to be right.
//
// After ErrStagedLost (the store has lost staged files), ErrConflict (another
// process has changed the manifest) and ErrVersionRefused the purge of the run is
// undone.
func rollPurge(ctx context.Context, store Store, intent *purgeIntent) error {
	run := intent.Manifest.RunID
	err := rollPurgeSteps(ctx, store, intent)
	if errors.Is(err, ErrStagedLost) || errors.Is(err, ErrConflict) || errors.Is(err, ErrVersionRefused) {
		err = errors.Join(err, takeBackPurge(ctx, store, intent))
	}
	if err != nil {
		return fmt.Errorf("purge run %s: %w", run, err)
	}
	return nil
}

func rollPurgeSteps(ctx context.Context, store Store, intent *purgeIntent) error {
	run := intent.Manifest.RunID
	after, err := encodeDocument(&intent.Manifest)
	if err != nil {
		return err
	}
	var overtaken error
	err = Swap(ctx, ManifestPath(run), func() error {
		data, version, err := store.Read(ctx, ManifestPath(run))
		switch {
		case errors.Is(err, ErrNotFound):
			overtaken = fmt.Errorf("%w: the run was removed", ErrConflict)
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", ManifestPath(run), err)
		}
		if Hash(data) == Hash(after) {
			return nil
		}
		if Hash(data) != intent.ManifestSHA256 {
			overtaken = fmt.Errorf("%w: its manifest has changed", ErrConflict)
			return nil
		}
		if err := CommitAll(ctx, store, run, intent.files()); err != nil {
			return err
		}
		return writeDocument(ctx, store, ManifestPath(run), &intent.Manifest, Condition{Version: version})
	})
	if err = cmp.Or(err, overtaken); err != nil {
		return err
	}
	if err := repoint(ctx, store, &intent.Manifest, Hash(after)); err != nil {
		return err
	}
	var was []string
	for _, file := range intent.purge().Files {
		was = append(was, file.Was)
	}
	if err := RemoveAll(ctx, store, was); err != nil {
		return err
	}
	return endPurge(ctx, store, run)
}

// repoint makes the pointer of the run's date, where it names the run, say the
// hash of its manifest.
func repoint(ctx context.Context, store Store, m *Manifest, hash string) error {
	path := PointerPath(m.Kind, m.SnapshotDate)
	if path == "" {
		return nil
	}
	return Swap(ctx, path, func() error {
		pointer, version, err := readDocument[Pointer](ctx, store, path)
		switch {
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrDamaged):
			return nil // verify reports it
		case err != nil:
			return err
		case pointer.RunID != m.RunID, pointer.ManifestSHA256 == hash:
			return nil
		}
		pointer.ManifestSHA256 = hash
		return writeDocument(ctx, store, path, pointer, Condition{Version: version})
	})
}

// takeBackPurge removes what a purge has made visible, and its intent. The
// files of a run that was replaced or removed meanwhile are nobody's any more,
// those it had before included; they were left to the purge.
func takeBackPurge(ctx context.Context, store Store, intent *purgeIntent) error {
	run := intent.Manifest.RunID
	named := make(set)
	manifest, err := ReadManifest(ctx, store, run)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case manifest.Status == Published:
		manifest.addTo(named)
	}
	var paths []string
	for _, file := range intent.purge().Files {
		for _, path := range []string{file.Path, file.Was} {
			if !named[path] {
				paths = append(paths, path)
			}
		}
	}
	if err := errors.Join(RemoveAll(ctx, store, paths), abortAll(ctx, store, run, intent.files())); err != nil {
		return err
	}
	return endPurge(ctx, store, run)
}

// endPurge removes what was staged and not committed, and the intent.
func endPurge(ctx context.Context, store Store, run string) error {
	if err := store.Sweep(ctx, run); err != nil {
		return err
	}
	return store.Remove(ctx, runPath(run)+purgeName)
}

// underPurge tells whether the manifest has just been rewritten by a purge that
// has not come to its pointer yet.
func underPurge(ctx context.Context, store Store, run, hash, pointed string) bool {
	intent, _, err := readDocument[purgeIntent](ctx, store, runPath(run)+purgeName)
	if err != nil || intent.ManifestSHA256 != pointed {
		return false
	}
	after, err := encodeDocument(&intent.Manifest)
	return err == nil && Hash(after) == hash
}
