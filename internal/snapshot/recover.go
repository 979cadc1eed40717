package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// Recovered lists publishes and prunes that Recover has finished, and changes that it could not finish.
type Recovered struct {
	// Published are the runs whose interrupted publish was finished, including runs that lost their date to another run.
	Published []string
	// Pruned are the changes of the runs whose interrupted removal was finished.
	Pruned []*Change
	// Stuck are the changes that cannot be finished. They do not prevent the other changes from being finished.
	Stuck []*StuckError
	// History says why an interrupted change to the history cannot be finished. It does not prevent the other changes
	// from being finished.
	History error
}

// Err joins the errors of the changes that could not be finished, for callers that need all of them finished.
func (r *Recovered) Err() error {
	errs := []error{r.History}
	for _, stuck := range r.Stuck {
		errs = append(errs, stuck)
	}
	return errors.Join(errs...)
}

// StuckError reports that an interrupted change could not be finished.
type StuckError struct {
	Run string
	// Change is publish, purge or prune. It is empty if the change cannot be read.
	Change string
	// Kind and Date identify the run's snapshot. They are empty if neither the run's change nor its manifest can be read.
	Kind Kind
	Date string
	// Published is true if the run is published, because only a later step of the publish failed, or because the change is
	// a purge or a prune.
	Published bool
	// Undone is true if the change was undone, because staged files are lost or the pointer cannot be replaced. No files
	// of the run are visible, and its command has to be run again.
	Undone bool
	Err    error
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the interrupted %s of run %s cannot be finished: %v", cmp.Or(e.Change, "change"), e.Run, e.Err)
}

// Cause returns the reason why the change could not be finished, without the name of the run.
func (e *StuckError) Cause() error {
	if u, published := errors.AsType[*UnfinishedError](e.Err); published {
		return u.Err
	}
	return e.Err
}

func (e *StuckError) Unwrap() error { return e.Err }

// Blocks reports whether another run of that kind and date might find that files of the stuck run are already visible.
// Delta runs do not replace one another.
func (e *StuckError) Blocks(kind Kind, date string) bool {
	return !e.Published && !e.Undone && kind != Delta && e.Kind == kind && e.Date == date
}

// Recover finishes or undoes the interrupted changes: first a change to the history, then purges and prunes, then runs
// being published, in the order of their plans. If no publish was interrupted and another process holds the publish
// lock, that process finishes the changes to runs instead.
func (c Catalog) Recover(ctx context.Context) (_ *Recovered, err error) {
	publishing := 0
	begun, err := c.Changes(ctx, func(change *Change) bool {
		if change.Publishes() {
			publishing++
		}
		return true
	})
	if err == nil && len(begun) == 0 {
		return &Recovered{History: c.recoverHistory(ctx)}, nil
	}
	patience := publishPatience
	if err == nil && publishing == 0 {
		patience = 0 // A running purge may hold the lock for hours, and a nightly run must not wait for it.
	}
	unlock, err := c.store.Lock(ctx, publishLock, sink.Exclusive, patience)
	switch {
	case errors.Is(err, sink.ErrLocked) && patience == 0:
		return &Recovered{History: c.recoverHistory(ctx)}, nil // The process that holds the lock finishes the other changes.
	case err != nil:
		return &Recovered{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return c.recoverAll(ctx)
}

// RecoverAndLock works like Recover, but keeps the publish lock until unlock is called, and returns an error if a
// change cannot be finished. Even then, it may return the changes that were finished.
func (c Catalog) RecoverAndLock(ctx context.Context) (_ *Recovered, unlock func() error, err error) {
	if unlock, err = c.lockPublishing(ctx); err != nil {
		return nil, nil, err
	}
	recovered, err := c.recoverAll(ctx)
	if err := errors.Join(err, recovered.Err()); err != nil {
		return recovered, nil, errors.Join(err, unlock())
	}
	return recovered, unlock, nil
}

// recoverAll does the work of Recover for a process that holds the publish lock.
func (c Catalog) recoverAll(ctx context.Context) (*Recovered, error) {
	r := &Recovered{History: c.recoverHistory(ctx)}
	begun, err := c.pendingChanges(ctx, r)
	if err != nil {
		return r, err
	}
	for _, a := range begun {
		change := a.change
		_, err := c.applyChange(ctx, change, a.version)
		if ctx.Err() != nil {
			return r, errors.Join(err, context.Cause(ctx))
		}
		switch {
		case err != nil && !change.givenUp(err):
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

// pendingChanges returns the changes in progress, in the order in which they are to be finished, and adds the changes
// that cannot be read to r.Stuck. A damaged change of a run without a manifest is ignored, because publishing that run
// makes the change again from the checkpoints.
func (c Catalog) pendingChanges(ctx context.Context, r *Recovered) ([]*applying, error) {
	index, err := c.Index(ctx)
	if err != nil {
		return nil, err
	}
	published := index.With(ManifestName)
	var begun []*applying
	for _, folder := range index.With(ChangeName) {
		change, version, err := c.readChangeIn(ctx, folder)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, sink.ErrNotFound), errors.Is(err, sink.ErrDamaged) && !slices.Contains(published, folder):
		case err != nil:
			stuck := &StuckError{Run: folder, Err: err}
			if slices.Contains(published, folder) {
				c.identify(ctx, stuck)
			}
			if stuck.Published && errors.Is(err, sink.ErrDamaged) {
				stuck.Err = &wording.AdvisedError{Err: err, Advice: "restore it from a backup, or remove it if " +
					wording.Command("verify", wording.Setting("run-id"), stuck.Run) + " finds no problems, then run the command again"}
			}
			r.Stuck = append(r.Stuck, stuck)
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

// identify fills in the fields of the error for a run whose change cannot be read. It takes the values from the run's
// manifest. If the pointer does not refer to the run, the change may have been interrupted before it moved the pointer.
func (c Catalog) identify(ctx context.Context, stuck *StuckError) {
	manifest, _, err := ReadDocument[Manifest](ctx, c, DocumentPath(stuck.Run, ManifestName))
	if err != nil {
		return
	}
	stuck.Run, stuck.Kind, stuck.Date = manifest.RunID, manifest.Kind, manifest.SnapshotDate
	if stuck.Published = manifest.Kind == Delta || manifest.Status != Published; !stuck.Published {
		pointer, _, err := ReadDocument[Pointer](ctx, c, PointerPath(manifest.Kind, manifest.SnapshotDate))
		stuck.Published = err == nil && pointer.RunID == manifest.RunID
	}
}
