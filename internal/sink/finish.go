package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// StuckError says that a publishing that was cut short could not be finished.
type StuckError struct {
	Run string
	// Kind and Date are of the run's snapshot; empty if its intent cannot be read.
	Kind Kind
	Date string
	// Published: the pointer names the run, and a step after that failed.
	Published bool
	// TakenBack: the store has lost staged files, or they are damaged. Nothing
	// of the run is visible any more, and it has to be run again.
	TakenBack bool
	Err       error
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the publishing of run %s cannot be finished: %v", e.Run, e.Err)
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
	return !e.Published && !e.TakenBack && kind != Delta && e.Kind == kind && e.Date == date
}

// FinishPublishing rolls interrupted publishings forward, the earliest planned
// first, and returns their runs. A publishing that cannot be finished does not
// block the others: it is returned as stuck.
func FinishPublishing(ctx context.Context, store Store) (finished []string, stuck []*StuckError, err error) {
	runs, err := publishingRuns(ctx, store)
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	unlock, err := lockPublishing(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	type found struct {
		begun   *intent
		version string
	}
	var all []found
	for _, run := range runs {
		begun, version, err := readDocument[intent](ctx, store, inRun(run, intentName))
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case errors.Is(err, ErrNotFound):
			// Finished while this process waited for the lock.
		case errors.Is(err, ErrDamaged):
			// Its run is published from its journals, which say the same.
		case err != nil:
			stuck = append(stuck, &StuckError{Run: run, Err: err})
		default:
			all = append(all, found{begun: begun, version: version})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return a.begun.compare(b.begun.PlannedAt, b.begun.Manifest.RunID) })
	for _, f := range all {
		m := &f.begun.Manifest
		_, err := rollForward(ctx, store, f.begun, f.version)
		if ctx.Err() != nil {
			return finished, stuck, errors.Join(err, context.Cause(ctx))
		}
		if err != nil && !errors.Is(err, ErrConflict) {
			_, published := errors.AsType[*UnfinishedError](err)
			_, takenBack := errors.AsType[*takenBackError](err)
			stuck = append(stuck, &StuckError{
				Run: m.RunID, Kind: m.Kind, Date: m.SnapshotDate,
				Published: published, TakenBack: takenBack, Err: err,
			})
			continue
		}
		finished = append(finished, m.RunID)
	}
	return finished, stuck, nil
}

// stuckErrors joins what FinishPublishing could not finish, for callers that
// need all of it finished.
func stuckErrors(stuck []*StuckError) error {
	var errs []error
	for _, s := range stuck {
		errs = append(errs, s)
	}
	return errors.Join(errs...)
}
