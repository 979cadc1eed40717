package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// rebuild folds all snapshots in a workspace, and then replaces the history. It returns a *NeedsRebuildError if
// snapshots that the history holds are pruned.
func (u *updater) rebuild(ctx context.Context, before *snapshot.HistoryManifest, all []*published) error {
	if gone := pruned(before, all); len(gone) > 0 {
		return &NeedsRebuildError{Pruned: gone}
	}
	chosen := u.choose(&snapshot.HistoryManifest{}, before, all)
	if len(chosen) == 0 && len(before.Snapshots) > 0 { // all were replaced by snapshots of another scope, so the history gets that scope
		chosen = u.choose(&snapshot.HistoryManifest{}, &snapshot.HistoryManifest{}, all)
	}
	switch {
	case len(chosen) > 0:
	case len(before.Snapshots) > 0:
		return &wording.AdvisedError{
			Err:    errors.New("the snapshots of the history were replaced by others that cannot be in a history"),
			Advice: "publish one of all schools and students for " + before.Through() + ", or move " + snapshot.HistoryPointerPath + " away",
		}
	default:
		return nil
	}
	return u.makeAnew(ctx, before, chosen, func(*snapshot.HistoryManifest) {})
}

// rebuildLast rebuilds a history whose pointer or manifest cannot be used. It returns an error if snapshots that the
// history holds are pruned, because their rows would be lost. If the manifest can be read, its records of purges and
// dropped versions are kept.
func (u *updater) rebuildLast(ctx context.Context, all []*published) error {
	last, err := u.catalog.LastHistory(ctx)
	if err != nil {
		return err
	}
	before := &snapshot.HistoryManifest{}
	if last == nil {
		if err := u.checkEnded(ctx, all); err != nil {
			return err
		}
	} else {
		if gone := pruned(last, all); len(gone) > 0 {
			return &wording.AdvisedError{
				Err:    &NeedsRebuildError{Pruned: gone},
				Advice: "to keep it, " + wording.Restore,
			}
		}
		before.DroppedBefore, before.Purges = last.DroppedBefore, last.Purges
	}
	return u.rebuild(ctx, before, all)
}

// checkEnded returns an error if the history has versions that ended on a date for which no snapshot, or no earlier
// snapshot, exists any more. It is used if no manifest says which snapshots the history holds.
func (u *updater) checkEnded(ctx context.Context, all []*published) error {
	for entry, err := range u.catalog.List(ctx, snapshot.HistoryFilesPrefix) {
		if err != nil {
			return err
		}
		_, date, _ := strings.Cut(entry.Path, "/valid_to=")
		date, _, _ = strings.Cut(date, "/")
		if date == "" || date == snapshot.Open {
			continue
		}
		at := slices.IndexFunc(all, func(p *published) bool { return p.manifest.SnapshotDate == date })
		if at <= 0 { // all is sorted by date
			return &wording.AdvisedError{
				Err: fmt.Errorf("no manifest of the history can be read, and the history holds rows that ended on %s, from snapshots that are pruned; nothing was changed. %s",
					date, startAnew),
				Advice: "to keep it, " + wording.Restore,
			}
		}
	}
	return nil
}

// makeAnew folds the chosen snapshots in a workspace, lets edit change the new manifest, and then replaces the history.
func (u *updater) makeAnew(
	ctx context.Context, before *snapshot.HistoryManifest, chosen []*published, edit func(*snapshot.HistoryManifest),
) (err error) {
	w, remove, err := u.workspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	after := &snapshot.HistoryManifest{}
	var folds []*fold
	for _, p := range chosen {
		f, err := u.fold(ctx, snapshot.At(w), after, p)
		if err != nil {
			return err
		}
		if err := w.commit(ctx, f.files.staged); err != nil {
			return err
		}
		if err := sink.RemoveAll(ctx, w.Store, after.ReplacedBy(f.after)); err != nil {
			return err
		}
		after = f.after
		f.files, f.side = nil, nil // no longer needed
		folds = append(folds, f)
	}
	if before.DroppedBefore != "" { // dropped versions do not come back
		after, _ = after.DroppingEnded(before.DroppedBefore)
		after.DroppedBefore = before.DroppedBefore // even if a purge has left no versions to drop
	}
	after.Purges = before.Purges
	edit(after)
	unnamed, err := u.catalog.UnnamedHistory(ctx, after)
	if err != nil {
		return err
	}
	if err := u.replace(ctx, w, before, after, unnamed, chosen...); err != nil {
		return err
	}
	u.report.Rebuilt, u.report.Folded = true, []*Folded{}
	for _, f := range folds {
		u.folded(f)
	}
	u.report.HistoryID = after.HistoryID
	return nil
}

// dropLast removes the last date from the history, because its snapshot was replaced by one that cannot be in the
// history. If a rebuild is not possible because earlier snapshots are pruned, it undoes the last fold.
func (u *updater) dropLast(ctx context.Context, before *snapshot.HistoryManifest, all []*published) error {
	if len(pruned(before, all)) == 0 {
		if err := u.rebuild(ctx, before, all); err != nil {
			return fmt.Errorf("remove the snapshot of %s, which was replaced, from the history: %w", before.Through(), err)
		}
		return nil
	}
	err := u.undoLast(ctx, before, func(w *workspace, earlier *snapshot.HistoryManifest) error {
		return u.replace(ctx, w, before, earlier, before.ReplacedBy(earlier))
	})
	if err != nil {
		return err
	}
	return u.update(ctx)
}

// undoLast calls use with the history before the last fold, and with a workspace in which the files of that history can
// be read.
func (u *updater) undoLast(
	ctx context.Context, before *snapshot.HistoryManifest, use func(w *workspace, earlier *snapshot.HistoryManifest) error,
) (err error) {
	w, remove, err := u.workspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	w.destination = u.catalog
	earlier, err := undo(ctx, w, before)
	if err != nil {
		err = cmp.Or(u.catalog.HistoryUnchanged(ctx, before.HistoryID), err)
		return fmt.Errorf("remove the snapshot of %s from the history: %w", before.Through(), err)
	}
	return use(w, earlier)
}

// refold undoes the last fold, and folds the snapshot that has replaced the folded one.
func (u *updater) refold(ctx context.Context, before *snapshot.HistoryManifest, p *published) error {
	return u.undoLast(ctx, before, func(w *workspace, earlier *snapshot.HistoryManifest) error {
		f, err := u.fold(ctx, snapshot.At(w), earlier, p)
		if err != nil {
			return cmp.Or(u.catalog.HistoryUnchanged(ctx, before.HistoryID), err)
		}
		if err := w.commit(ctx, f.files.staged); err != nil {
			return err
		}
		if err := u.replace(ctx, w, before, f.after, before.ReplacedBy(f.after), p); err != nil {
			return err
		}
		u.folded(f)
		return nil
	})
}

func (u *updater) workspace() (*workspace, func() error, error) {
	store, remove, err := u.opts.Workspace()
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the history's files: %w", err)
	}
	return &workspace{Store: store, destination: store}, remove, nil
}

// replace stages the files of a workspace that the destination does not hold, and replaces the history before with the
// history after.
func (u *updater) replace(
	ctx context.Context, w *workspace, before, after *snapshot.HistoryManifest, remove []string, folded ...*published,
) error {
	var staged []sink.File
	for _, file := range after.Files() {
		token, err := u.transfer(ctx, w, file)
		if err != nil {
			err = fmt.Errorf("copy %s to the destination: %w", file.Path, err)
			return errors.Join(err, u.catalog.AbortAll(context.WithoutCancel(ctx), "", staged))
		}
		if token != nil {
			file.Staged = token
			staged = append(staged, file)
		}
	}
	return u.publish(ctx, before, after, staged, remove, folded...)
}

// transfer stages a file of the workspace at the destination. It returns nil if the workspace does not hold the file,
// or if the destination already does.
func (u *updater) transfer(ctx context.Context, w *workspace, file sink.File) (_ []byte, err error) {
	object, err := w.Store.Open(ctx, file.Path)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil // an unchanged file of the history
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if equal, err := u.holds(ctx, file); equal || err != nil {
		return nil, err
	}
	draft, err := u.catalog.Draft(ctx, sink.Owner(file.Path), file.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, draft.Abort()) }()
	if _, err := io.Copy(draft, io.NewSectionReader(object, 0, object.Size())); err != nil {
		return nil, err
	}
	size, err := draft.Finish()
	if err != nil {
		return nil, err
	}
	hash, err := sink.HashFile(ctx, draft, size)
	if err == nil && hash != file.SHA256 {
		err = fmt.Errorf("%w: its bytes have changed", sink.ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	return draft.Stage(ctx)
}

// holds reports whether the destination has a file with the size and the hash in the manifest.
func (u *updater) holds(ctx context.Context, file sink.File) (_ bool, err error) {
	object, err := u.catalog.Open(ctx, file.Path)
	if errors.Is(err, sink.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if object.Size() != file.Bytes {
		return false, nil
	}
	hash, err := sink.HashFile(ctx, object, file.Bytes)
	return hash == file.SHA256, err
}

// undo returns the history before the last fold. In the workspace, it restores the files that the fold replaced.
func undo(ctx context.Context, w *workspace, m *snapshot.HistoryManifest) (*snapshot.HistoryManifest, error) {
	switch {
	case m.Previous.HistoryID != "":
	case len(m.Snapshots) == 1:
		return &snapshot.HistoryManifest{}, nil
	default:
		return nil, errors.New("the fold before it was undone too, so its files are not known: run " + wording.Command("history", wording.Setting("rebuild")))
	}
	earlier := &snapshot.HistoryManifest{
		FormatVersion: m.FormatVersion, HistoryID: m.Previous.HistoryID, BaseURL: m.BaseURL, Scope: m.Scope,
		Snapshots: m.Snapshots[:len(m.Snapshots)-1], Tables: make(map[string]snapshot.ManifestTable), DroppedBefore: m.DroppedBefore, Purges: m.Purges,
	}
	for name, table := range m.Tables {
		open := m.OpenFiles(name)
		previous, replaced := m.Previous.Tables[name]
		ended := slices.Clone(table.Files[:len(table.Files)-len(open)])
		if replaced && previous == nil { // a new table
			continue
		}
		last := slices.IndexFunc(ended, func(f sink.File) bool { return strings.HasPrefix(f.Path, snapshot.HistoryFolder(name, m.Through())) })
		var since []sink.File
		if last >= 0 {
			since, ended = ended[last:], ended[:last]
		}
		if replaced {
			id := ""
			if slices.Contains(m.Previous.Purged, name) {
				sum := sha256.Sum256([]byte(m.HistoryID + " before " + m.Through()))
				id = hex.EncodeToString(sum[:8])
			}
			var err error
			if open, err = restore(ctx, w, name, m.Through(), open, since, previous, id); err != nil {
				return nil, err
			}
		}
		earlier.Tables[name] = snapshot.NewManifestTable(slices.Concat(ended, open)...)
	}
	return earlier, nil
}
