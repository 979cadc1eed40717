package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
)

// Change is _runs/<run>/change.json or _history/change.json: a change to the data that readers see, recorded before its
// first step. It holds everything that the steps need, so any process that finds the document can finish the change
// (Recover).
//
//	publish a run       Before is empty, After is its manifest
//	purge a run         After is a manifest that replaces the current one
//	prune a run         After is nil
//	change the history  History is its new manifest
type Change struct {
	FormatVersion int `json:"format_version"`
	// RunID, Kind and SnapshotDate are empty in a change to the history.
	RunID        string `json:"run_id,omitempty"`
	Kind         Kind   `json:"kind,omitempty"`
	SnapshotDate string `json:"snapshot_date,omitempty"`
	// Before is the SHA-256 of the manifest that After replaces, or of the pointer to the history that History replaces.
	// It is empty if the change publishes or prunes a run, or if there is no history yet.
	Before  string           `json:"before,omitempty"`
	After   *Manifest        `json:"after,omitempty"`
	History *HistoryManifest `json:"history,omitempty"`
	// Staged holds, by path, the data that the store needs to commit a file.
	Staged map[string]json.RawMessage `json:"staged,omitempty"`
	// Ledger is the ledger after a purge, if the purge changes it. It replaces the old ledger under the same name.
	Ledger []byte `json:"ledger,omitempty"`
	// Remove lists the objects that are not in any manifest after the change.
	Remove []string `json:"remove,omitempty"`
	// Bytes is the size of the files that a prune removes, for its report.
	Bytes int64 `json:"bytes,omitempty"`
	// Claim decides which of two runs gets the date. It is nil unless the change publishes a run.
	Claim *Claim `json:"claim,omitempty"`
}

// Publishes reports whether the change publishes its run.
func (c *Change) Publishes() bool { return c.After != nil && c.Before == "" }

// Prunes reports whether the change removes its run.
func (c *Change) Prunes() bool { return c.After == nil && c.History == nil }

// verb returns the verb that describes the change: publish, purge, prune or update.
func (c *Change) verb() string {
	switch {
	case c.History != nil:
		return "update"
	case c.Prunes():
		return "prune"
	case c.Publishes():
		return "publish"
	}
	return "purge"
}

// String describes the change for errors.
func (c *Change) String() string {
	if c.History != nil {
		return c.verb() + " the history"
	}
	return c.verb() + " run " + c.RunID
}

// folder returns the folder of the run, below _runs/, or an empty string for the history.
func (c *Change) folder() string {
	if c.History != nil {
		return ""
	}
	return sink.Escape(c.RunID)
}

// changePath returns the path of the change of the run with the given folder, or of the history if the folder is empty.
func changePath(folder string) string {
	if folder == "" {
		return HistoryPrefix + ChangeName
	}
	return DocumentPath(folder, ChangeName)
}

// givenUp reports whether an error from applying the change means that the change was given up, so that nothing is left
// to do. Either another run or process was first, or the purge or the fold has to be repeated.
func (c *Change) givenUp(err error) bool {
	return errors.Is(err, sink.ErrConflict) || !c.Publishes() && errors.Is(err, sink.ErrStagedLost)
}

// equal reports whether two changes are equal. It ignores their claims, because a claim may have grown since the change
// was recorded.
func (c *Change) equal(other *Change) (bool, error) {
	one, two := *c, *other
	one.Claim, two.Claim = nil, nil
	a, err := EncodeDocument(&one)
	if err != nil {
		return false, err
	}
	b, err := EncodeDocument(&two)
	return bytes.Equal(a, b), err
}

// check returns ErrDamaged if this program cannot have written the change for the run with the given folder or, if the
// folder is empty, for the history. The check matters because a change that has lost its After would prune the run.
func (c *Change) check(folder string) error {
	sound := sink.Escape(c.RunID) == folder && c.SnapshotDate != "" && slices.Contains([]Kind{Full, AsOf, Delta}, c.Kind)
	switch {
	case folder == "":
		sound = c.RunID == "" && c.After == nil && c.History != nil && len(c.History.Snapshots) > 0
	case c.Prunes():
		sound = sound && c.Claim == nil && c.Before == "" && len(c.Staged) == 0 && len(c.Ledger) == 0
	case c.Publishes():
		sound = sound && c.Claim != nil && c.After.RunID == c.RunID && len(c.Ledger) == 0
	default:
		sound = sound && c.After.RunID == c.RunID
	}
	if !sound {
		return fmt.Errorf("read %s: %w: its content is not a valid change", changePath(folder), sink.ErrDamaged)
	}
	return nil
}

// files returns the files that the change commits, in the form that Store.Commit needs, with the ledger last.
func (c *Change) files() []sink.File {
	var named, files []sink.File
	switch {
	case c.History != nil:
		named = c.History.Files()
	case c.After != nil:
		named = append(c.After.Files(), c.After.Ledger)
	}
	for _, file := range named {
		if staged, ok := c.Staged[file.Path]; ok || c.Publishes() {
			file.Staged = staged
			files = append(files, file)
		}
	}
	return files
}

// byOwner returns, by owner, the files that the change commits. If the change is to a run, the run is the only owner,
// even without files. The owner of a history's file is the id of the history that it was written for.
func (c *Change) byOwner() map[string][]sink.File {
	if c.History == nil {
		return map[string][]sink.File{c.RunID: c.files()}
	}
	owners := make(map[string][]sink.File)
	for _, file := range c.files() {
		owner := sink.Owner(file.Path)
		owners[owner] = append(owners[owner], file)
	}
	return owners
}

// CurrentChange returns the change of a run and the version of its document, or nil if the run has none.
func (c Catalog) CurrentChange(ctx context.Context, run string) (*Change, string, error) {
	change, version, err := c.readChange(ctx, run)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, "", nil
	}
	return change, version, err
}

// readChange reads the change of a run. It may return ErrNotFound or ErrDamaged.
func (c Catalog) readChange(ctx context.Context, run string) (*Change, string, error) {
	return c.readChangeIn(ctx, sink.Escape(run))
}

// readChangeIn reads the change in the folder of a run, or of the history if the folder is empty, and the version of
// its document.
func (c Catalog) readChangeIn(ctx context.Context, folder string) (*Change, string, error) {
	change, version, err := ReadDocument[Change](ctx, c, changePath(folder))
	if err == nil {
		err = change.check(folder)
	}
	if err != nil {
		return nil, version, err
	}
	return change, version, nil
}

// Changes returns the changes in progress for which match returns true, by the folders of their runs. A damaged change
// counts as a change that publishes. If its run has a manifest, Recover reports it.
func (c Catalog) Changes(ctx context.Context, match func(*Change) bool) (map[string]*Change, error) {
	index, err := c.Index(ctx)
	if err != nil {
		return nil, err
	}
	folders := index.With(ChangeName)
	found, err := sink.Map(ctx, sink.MaxConcurrency, folders, func(ctx context.Context, folder string) (*Change, error) {
		change, _, err := c.readChangeIn(ctx, folder)
		switch {
		case errors.Is(err, sink.ErrNotFound):
			return nil, nil
		case errors.Is(err, sink.ErrDamaged):
			return &Change{RunID: folder, After: &Manifest{}}, nil
		}
		return change, err
	})
	changes := make(map[string]*Change)
	for i, change := range found {
		if change != nil && match(change) {
			changes[folders[i]] = change
		}
	}
	return changes, err
}

// PublishingStarted reports whether publishing the run has started or finished. From the start on, the run's
// checkpoints are ignored.
func (c Catalog) PublishingStarted(ctx context.Context, run string) (bool, error) {
	// The manifest is written before the change is removed.
	for _, path := range []string{ChangePath(run), ManifestPath(run)} {
		_, _, err := c.Read(ctx, path)
		if !errors.Is(err, sink.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// WasPublished reports whether a run without a manifest was published before: either the pointer of its date refers to
// it, or it has a ledger and is not being published.
func (c Catalog) WasPublished(ctx context.Context, plan *Plan) (bool, error) {
	ledger, err := sink.ListAll(ctx, c, LedgerPath(plan.RunID))
	if err != nil {
		return false, err
	}
	named, err := c.IsNamed(ctx, plan.Kind, plan.SnapshotDate, plan.RunID)
	if err != nil {
		return false, err
	}
	change, err := sink.ListAll(ctx, c, ChangePath(plan.RunID))
	return len(ledger) > 0 && len(change) == 0 || named, err
}

// BeingPruned reports whether a run has been removed or is being removed. A run without a plan counts as removed. Files
// written into its folder in that state may be left behind.
func (c Catalog) BeingPruned(ctx context.Context, run string) (bool, error) {
	// The order matters: a removal that begins later finds the written files, and after a completed removal there is no
	// plan.
	change, _, err := c.readChange(ctx, run)
	if err == nil && change.Prunes() {
		return true, nil
	}
	if err != nil && !Unreadable(err) {
		return false, err
	}
	plan, err := sink.ListAll(ctx, c, PlanPath(run))
	return err == nil && len(plan) == 0, err
}

// BeingPurged reports whether a purge has written the manifest with the given hash but has not yet moved the pointer.
// pointed is the hash that the pointer still contains.
func (c Catalog) BeingPurged(ctx context.Context, run, hash, pointed string) bool {
	change, _, err := c.readChange(ctx, run)
	if err != nil || change.Prunes() || change.Before != pointed {
		return false
	}
	after, err := EncodeDocument(change.After)
	return err == nil && sink.Hash(after) == hash
}

// LedgerBeingPurged reports whether a purge that replaces the run's ledger has begun. Until that purge ends, the ledger
// may not match the manifest, because the two do not change in one step.
func (c Catalog) LedgerBeingPurged(ctx context.Context, run string) bool {
	change, _, err := c.readChange(ctx, run)
	return err == nil && len(change.Ledger) > 0
}

// UnfinishedError reports that a run is published, but that a later step failed. The next Recover repeats that step.
type UnfinishedError struct{ Err error }

func (e *UnfinishedError) Error() string {
	return "the run is published, but a later step failed: " + e.Err.Error()
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// unfinished wraps the error of a step that failed after the change became visible.
func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return &UnfinishedError{err}
}

// undoneError reports that the change that publishes a run was undone.
type undoneError struct{ cause error }

func (e *undoneError) Error() string {
	return e.cause.Error() + "; no files of the run are visible: run the same command again"
}

func (e *undoneError) Unwrap() error { return e.cause }
