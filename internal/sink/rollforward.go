package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/schemas"
)

// publishing is a publishing that has begun. Each step may have been done
// before, by this process or one that was killed, and may be done by two at
// once on a store without locks.
type publishing struct {
	store   Store
	run     string
	begun   *intent
	version string // of the intent
	// manifest is the one that stands, with the hash of its bytes.
	manifest *Manifest
	hash     string
}

// rollForward does what is left to do of a publishing.
func rollForward(ctx context.Context, store Store, begun *intent, version string) (*Manifest, error) {
	p := &publishing{store: store, run: begun.Manifest.RunID, begun: begun, version: version}
	if err := p.roll(ctx); err != nil {
		return p.manifest, fmt.Errorf("publish run %s: %w", p.run, err)
	}
	return p.manifest, nil
}

func (p *publishing) roll(ctx context.Context) error {
	if err := p.publishFiles(ctx); err != nil {
		return err
	}
	won := p.manifest.Status == Published
	if won && p.manifest.Kind != Delta {
		var err error
		if won, err = p.setPointer(ctx); err != nil {
			return err
		}
	}
	if !won {
		if err := p.yield(ctx); err != nil {
			return err
		}
		if err := p.cleanUp(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: a run planned later was published as the snapshot of %s meanwhile",
			ErrConflict, p.manifest.SnapshotDate)
	}
	// The run is published now, whatever fails from here on.
	if p.manifest.Kind != Delta {
		if err := p.takeOver(ctx); err != nil {
			return unfinished(err)
		}
	}
	return unfinished(p.cleanUp(ctx))
}

// unfinished marks an error of a step after the pointer has moved.
func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return &UnfinishedError{err}
}

// publishFiles commits the files and writes the manifest, unless it stands: it
// is written once, so that the hash in the pointer stays true.
func (p *publishing) publishFiles(ctx context.Context) error {
	err := p.readManifest(ctx)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	err = CommitAll(ctx, p.store, p.run, p.begun.files())
	if errors.Is(err, ErrStagedLost) {
		// Files that are gone may have been published, and replaced since.
		if standing := p.readManifest(ctx); !errors.Is(standing, ErrNotFound) {
			return standing
		}
		return p.takeBack(ctx, err)
	}
	if err != nil {
		return err
	}
	err = writeDocument(ctx, p.store, ManifestPath(p.run), &p.begun.Manifest, Condition{Absent: true})
	if err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	return p.readManifest(ctx)
}

func (p *publishing) readManifest(ctx context.Context) error {
	path := ManifestPath(p.run)
	data, _, err := p.store.Read(ctx, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	manifest := new(Manifest)
	if err := decodeDocument(path, data, manifest); err != nil {
		return err
	}
	p.manifest, p.hash = manifest, Hash(data)
	return nil
}

// takeBack makes the run unpublished again, because the store has lost staged
// files: what became visible is removed, and every unit without all its files
// loses its journal, so that the next run does it again.
func (p *publishing) takeBack(ctx context.Context, cause error) error {
	var paths []string
	for _, file := range p.begun.files() {
		paths = append(paths, file.Path)
	}
	if err := RemoveAll(ctx, p.store, paths); err != nil {
		return errors.Join(cause, err)
	}
	journals, err := ReadJournals(ctx, p.store, p.run)
	if err != nil {
		return errors.Join(cause, err)
	}
	held, err := lookAtAll(ctx, p.run, journals, p.store.Intact)
	if err != nil {
		return errors.Join(cause, err)
	}
	for i, journal := range journals {
		if held[i] {
			continue
		}
		if err := p.store.Remove(ctx, JournalPath(p.run, journal.Bucket, journal.Dataset)); err != nil {
			return errors.Join(cause, err)
		}
	}
	if err := p.store.Remove(ctx, IntentPath(p.run)); err != nil {
		return errors.Join(cause, err)
	}
	return &takenBackError{cause}
}

// takenBackError says that a publishing was taken back.
type takenBackError struct{ cause error }

func (e *takenBackError) Error() string {
	return e.cause.Error() + "; nothing of it is visible, run it again"
}

func (e *takenBackError) Unwrap() error { return e.cause }

// setPointer makes the run that of its date, and tells whether it is.
func (p *publishing) setPointer(ctx context.Context) (bool, error) {
	m := p.manifest
	path := PointerPath(m.Kind, m.SnapshotDate)
	mine := Pointer{RunID: p.run, Manifest: ManifestPath(p.run), ManifestSHA256: p.hash}
	won := false
	err := Swap(ctx, path, func() error {
		won = false
		standing, version, err := readDocument[Pointer](ctx, p.store, path)
		when := Condition{Version: version}
		switch {
		case errors.Is(err, ErrNotFound):
			when = Condition{Absent: true}
		case errors.Is(err, ErrDamaged):
			// It names nobody.
		case err != nil:
			return err
		case standing.RunID == p.run:
			won = true
			return nil
		default:
			may, err := p.mayTake(ctx, standing.RunID)
			if errors.Is(err, ErrConflict) {
				// Another process finishes the same run: follow it.
				if done, rereadErr := p.reread(ctx); done || rereadErr != nil {
					won = rereadErr == nil && p.manifest.Status == Published
					return rereadErr
				}
				return err
			}
			if !may || err != nil {
				return err
			}
		}
		err = writeDocument(ctx, p.store, path, mine, when)
		won = err == nil
		return err
	})
	return won, err
}

// mayTake tells whether the run may take the date from another, which need not
// be the one that stood when publishing began, and notes that it does.
func (p *publishing) mayTake(ctx context.Context, other string) (bool, error) {
	if slices.Contains(p.begun.Replaces, other) {
		return true, nil
	}
	m := p.manifest
	standing, err := ReadManifest(ctx, p.store, other)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDamaged):
		// The pointer names a run that nobody can read.
	case err != nil:
		return false, err
	case p.begun.compare(standing.StartedAt, other) < 0:
		return false, nil
	default:
		c := Candidate{
			Run: p.run, Kind: m.Kind, Date: m.SnapshotDate, BaseURL: m.BaseURL, Scope: m.Parameters.Scope,
			Today: p.begun.AllowedDate, Replace: p.begun.Replace,
		}
		if refused := c.check(standing); refused != nil {
			return false, nil //nolint:nilerr // That it is refused is the answer.
		}
	}
	p.begun.Replaces = append(p.begun.Replaces, other)
	path := IntentPath(p.run)
	if err := writeDocument(ctx, p.store, path, p.begun, Condition{Version: p.version}); err != nil {
		return false, err
	}
	_, p.version, err = readDocument[intent](ctx, p.store, path)
	if errors.Is(err, ErrNotFound) {
		err = ErrConflict // somebody else was through with it at once
	}
	return err == nil, err
}

// reread reads the intent again, and the manifest if there is none any more:
// then another process has finished the run.
func (p *publishing) reread(ctx context.Context) (done bool, err error) {
	begun, version, err := readDocument[intent](ctx, p.store, IntentPath(p.run))
	if errors.Is(err, ErrNotFound) {
		return true, p.readManifest(ctx)
	}
	if err != nil {
		return false, err
	}
	p.begun, p.version = begun, version
	return false, nil
}

// takeOver does what follows from the run's being that of its date.
func (p *publishing) takeOver(ctx context.Context) error {
	if p.manifest.Kind == Full {
		if err := updateLatest(ctx, p.store); err != nil {
			return err
		}
	}
	for _, run := range p.begun.Replaces {
		if _, err := markReplaced(ctx, p.store, run); err != nil {
			return err
		}
	}
	return p.removeOthers(ctx)
}

// yield takes the run's files away again, because the date is another's.
func (p *publishing) yield(ctx context.Context) error {
	manifest, err := markReplaced(ctx, p.store, p.run)
	if err != nil {
		return err
	}
	if manifest != nil {
		p.manifest = manifest
	}
	var paths []string
	for _, file := range p.manifest.files() {
		paths = append(paths, file.Path)
	}
	return RemoveAll(ctx, p.store, paths)
}

// markReplaced marks a run's manifest so, and returns it; nil if there is none
// that can be read.
func markReplaced(ctx context.Context, store Store, run string) (manifest *Manifest, err error) {
	err = Swap(ctx, ManifestPath(run), func() error {
		var version string
		var err error
		manifest, version, err = readManifest(ctx, store, run)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
			manifest = nil
			return nil
		}
		if err != nil || manifest.Status == Replaced {
			return err
		}
		manifest.Status = Replaced
		return writeDocument(ctx, store, ManifestPath(run), manifest, Condition{Version: version})
	})
	return manifest, err
}

// removeOthers removes the files of the date that the manifest does not name.
//
// Files of a run that is being published itself are left to it: its intent
// stood before its first file did, so it is found after the files were listed,
// unless that run is done, and then the pointer is no longer this one's. Such a
// run will take the date and remove what is not its own, or yield and remove
// its own. Files of a run that this one took the date from are nobody's any
// more, whatever that run is doing.
func (p *publishing) removeOthers(ctx context.Context) error {
	m := p.manifest
	others, err := p.unnamed(ctx)
	if err != nil || len(others) == 0 {
		return err
	}
	busy, err := publishingRuns(ctx, p.store)
	if err != nil {
		return err
	}
	replaced := make(set)
	for _, run := range p.begun.Replaces {
		replaced[Escape(run)] = true
	}
	pointer, _, err := readDocument[Pointer](ctx, p.store, PointerPath(m.Kind, m.SnapshotDate))
	if err != nil {
		return err
	}
	return RemoveAll(ctx, p.store, slices.DeleteFunc(others, func(path string) bool {
		run := Owner(path)
		// A purge may have written it since the manifest was read.
		mine := run == Escape(p.run)
		return mine || (!replaced[run] && (slices.Contains(busy, run) || pointer.RunID != p.run))
	}))
}

// unnamed lists the files of the date that the manifest does not name.
func (p *publishing) unnamed(ctx context.Context) ([]string, error) {
	named := make(set)
	p.manifest.addTo(named)
	paths, err := filesOfDate(ctx, p.store, p.manifest.Kind, p.manifest.SnapshotDate)
	return slices.DeleteFunc(paths, func(path string) bool { return named[path] }), err
}

// filesOfDate lists the data files of a date, whatever run they are of.
func filesOfDate(ctx context.Context, store Store, kind Kind, date string) ([]string, error) {
	tables := schemas.Tables()
	found := make([][]string, len(tables))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrency)
	for i, table := range tables {
		group.Go(func() error {
			entries, err := ListAll(ctx, store, DatePath(kind, table.Name, date))
			for _, entry := range entries {
				found[i] = append(found[i], entry.Path)
			}
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// cleanUp removes what only an unpublished run needs, the intent last.
func (p *publishing) cleanUp(ctx context.Context) error {
	if err := Tidy(ctx, p.store, p.run); err != nil {
		return err
	}
	return p.store.Remove(ctx, IntentPath(p.run))
}
