package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
)

// Recovered is what Recover has done.
type Recovered struct {
	// Published are the runs whose publishing was finished.
	Published []string
	// Pruned are the changes of the runs whose removal was finished.
	Pruned []*Change
	// Stuck are the changes that cannot be finished. They do not block the others.
	Stuck []*StuckError
}

// Err joins the errors of the changes that cannot be finished, for callers that
// need all of them finished.
func (r *Recovered) Err() error {
	var errs []error
	for _, stuck := range r.Stuck {
		errs = append(errs, stuck)
	}
	return errors.Join(errs...)
}

// StuckError says that a change that was cut short could not be finished.
type StuckError struct {
	Run string
	// Change is publish, purge or prune; empty if the change cannot be read.
	Change string
	// Kind and Date identify the run's snapshot; empty if its change cannot be read.
	Kind Kind
	Date string
	// Published: the run is published, and a step after that failed.
	Published bool
	// Undone: the store has lost staged files, or they are damaged. Nothing of
	// the run is visible any more, and it has to be run again.
	Undone bool
	Err    error
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the interrupted %s of run %s cannot be finished: %v", cmp.Or(e.Change, "change"), e.Run, e.Err)
}

// Cause returns why it could not be finished, without naming the run.
func (e *StuckError) Cause() error {
	if u, published := errors.AsType[*UnfinishedError](e.Err); published {
		return u.Err
	}
	return e.Err
}

func (e *StuckError) Unwrap() error { return e.Err }

// Blocks reports whether another run of that kind and date would meet files of
// the stuck one that are visible already. Delta runs do not replace one another.
func (e *StuckError) Blocks(kind Kind, date string) bool {
	return !e.Published && !e.Undone && kind != Delta && e.Kind == kind && e.Date == date
}

// Recover finishes every change that was interrupted: purges and prunes first,
// then publishings in the order in which their runs were planned. Every command
// that changes the destination calls it first.
func (c Catalog) Recover(ctx context.Context) (_ *Recovered, err error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil || len(RunFoldersWith(entries, ChangeName)) == 0 {
		return &Recovered{}, err
	}
	unlock, err := c.lockPublishing(ctx)
	if err != nil {
		return &Recovered{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return c.recoverAll(ctx)
}

// RecoverAndLock finishes every interrupted change, and keeps other changes of the
// destination out until unlock is called.
func (c Catalog) RecoverAndLock(ctx context.Context) (_ *Recovered, unlock func() error, err error) {
	if unlock, err = c.lockPublishing(ctx); err != nil {
		return nil, nil, err
	}
	recovered, err := c.recoverAll(ctx)
	if err := errors.Join(err, recovered.Err()); err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return recovered, unlock, nil
}

// recoverAll does the work of Recover. The caller holds the publish lock.
func (c Catalog) recoverAll(ctx context.Context) (*Recovered, error) {
	r := &Recovered{}
	begun, err := c.changes(ctx, r)
	if err != nil {
		return r, err
	}
	for _, a := range begun {
		change := a.change
		_, err := c.applyChange(ctx, change, a.version)
		if ctx.Err() != nil {
			return r, errors.Join(err, context.Cause(ctx))
		}
		switch givenUp := errors.Is(err, sink.ErrConflict) || !change.Publishes() && errors.Is(err, sink.ErrStagedLost); {
		case err != nil && !givenUp:
			_, visible := errors.AsType[*UnfinishedError](err)
			_, undone := errors.AsType[*undoneError](err)
			r.Stuck = append(r.Stuck, &StuckError{
				Run: change.RunID, Change: change.verb(), Kind: change.Kind, Date: change.SnapshotDate,
				Published: visible || !change.Publishes(), Undone: undone, Err: err,
			})
		case change.Publishes():
			r.Published = append(r.Published, change.RunID)
		case change.Prunes() && err == nil:
			r.Pruned = append(r.Pruned, change)
		}
	}
	return r, nil
}

// changes reads the changes that have begun, in the order in which they are
// finished. A damaged change of a run without a manifest is left to that run's
// next publishing: its checkpoints say the same.
func (c Catalog) changes(ctx context.Context, r *Recovered) ([]*applying, error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return nil, err
	}
	published := RunFoldersWith(entries, ManifestName)
	var begun []*applying
	for _, folder := range RunFoldersWith(entries, ChangeName) {
		change, version, err := ReadDocument[Change](ctx, c, DocumentPath(folder, ChangeName))
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, sink.ErrNotFound), errors.Is(err, sink.ErrDamaged) && !slices.Contains(published, folder):
		case err != nil:
			r.Stuck = append(r.Stuck, &StuckError{Run: folder, Published: slices.Contains(published, folder), Err: err})
		default:
			begun = append(begun, &applying{change: change, version: version})
		}
	}
	planned := func(c *Change) time.Time {
		if c.Claim == nil {
			return time.Time{}
		}
		return c.Claim.PlannedAt
	}
	slices.SortFunc(begun, func(a, b *applying) int {
		return cmp.Or(planned(a.change).Compare(planned(b.change)), cmp.Compare(a.change.RunID, b.change.RunID))
	})
	return begun, nil
}

// Changes reads the changes that have begun and are meant, by the folders of
// their runs. A change that is damaged is one that publishes: of a run that
// has a manifest Recover reports it.
func (c Catalog) Changes(ctx context.Context, meant func(*Change) bool) ([]*Change, error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return nil, err
	}
	folders := RunFoldersWith(entries, ChangeName)
	found := make([]*Change, len(folders))
	err = each(ctx, folders, func(ctx context.Context, i int, folder string) error {
		change, _, err := ReadDocument[Change](ctx, c, DocumentPath(folder, ChangeName))
		switch {
		case errors.Is(err, sink.ErrNotFound):
			return nil
		case errors.Is(err, sink.ErrDamaged):
			change = &Change{RunID: folder, After: &Manifest{}}
		case err != nil:
			return err
		}
		if meant(change) {
			found[i] = change
		}
		return nil
	})
	return slices.DeleteFunc(found, func(c *Change) bool { return c == nil }), err
}

// ChangingRuns returns the folders of the runs whose change is meant.
func (c Catalog) ChangingRuns(ctx context.Context, meant func(*Change) bool) ([]string, error) {
	found, err := c.Changes(ctx, meant)
	var folders []string
	for _, change := range found {
		folders = append(folders, sink.Escape(change.RunID))
	}
	return folders, err
}

// PublishingStarted reports whether publishing of a run has started or is done.
// From then on its checkpoints are ignored.
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

// BeingPruned reports whether a run is gone or is being removed: what is written
// into its folder then may stay behind.
func (c Catalog) BeingPruned(ctx context.Context, run string) (bool, error) {
	// In this order: a removal that begins later finds what was written, and one
	// that has ended has left no plan.
	change, _, err := c.readChange(ctx, run)
	if err == nil && change.Prunes() {
		return true, nil
	}
	if err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged) {
		return false, err
	}
	plan, err := sink.ListAll(ctx, c, PlanPath(run))
	return err == nil && len(plan) == 0, err
}

// BeingPurged reports whether a purge has rewritten the manifest with this hash
// and has not yet moved the pointer, which names the hash pointed.
func (c Catalog) BeingPurged(ctx context.Context, run, hash, pointed string) bool {
	change, _, err := c.readChange(ctx, run)
	if err != nil || change.Prunes() || change.Before != pointed {
		return false
	}
	after, err := EncodeDocument(change.After)
	return err == nil && sink.Hash(after) == hash
}
