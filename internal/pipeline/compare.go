package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// comparison compares the tasks of a process with the run's baseline. A nil comparison compares nothing. If the
// baseline cannot be read, the run does not fail: it is then published without a comparison, and its manifest says why.
// An error in a scratch file or in saving the comparison ends the run.
type comparison struct {
	run      *exportRun
	baseline *history.Baseline
	problem  atomic.Pointer[string] // why comparing has stopped; nil if it has not
}

// compares reports whether the rows of the run are compared with the rows of its baseline.
func (r *exportRun) compares() bool {
	return r.plan.Baseline != nil && r.plan.Compare && r.settings.Compare
}

// openBaseline opens the snapshot that the plan pins. It returns nil if the run is not to be compared with a snapshot.
// If the snapshot cannot be opened, it returns a comparison that has stopped.
func (r *exportRun) openBaseline(ctx context.Context) (*comparison, error) {
	pinned := r.plan.Baseline
	if !r.compares() {
		return nil, nil
	}
	c := &comparison{run: r}
	manifest, err := r.Catalog.ReadBaseline(ctx, pinned)
	if err == nil {
		c.baseline, err = history.OpenBaseline(ctx, r.Catalog, manifest, r.plan)
	}
	if err != nil {
		return c, c.fail(ctx, err)
	}
	return c, nil
}

// fail stops comparing because of an error. It returns an error only if the run itself is ending.
func (c *comparison) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	problem := unreadable(c.run.plan.Baseline, err)
	c.problem.CompareAndSwap(nil, &problem)
	return nil
}

// unreadable describes why a run is not compared with its baseline.
func unreadable(baseline *snapshot.Baseline, err error) string {
	return fmt.Sprintf("the snapshot of %s cannot be read: %v; check it with %s",
		baseline.SnapshotDate, err, wording.Command("verify", wording.Setting("run-id"), baseline.RunID))
}

// explain completes the comparison of a staged run with the reasons why test results are gone, and with the warnings.
// If the reasons cannot be determined, the run counts as not compared.
func explain(ctx context.Context, catalog snapshot.Catalog, staged *snapshot.StagedRun, limits review.Limits) error {
	if err := history.Explain(ctx, catalog, staged); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		staged.DropComparison()
		staged.NotCompared = unreadable(staged.Plan.Baseline, err)
	}
	addWarnings(staged, limits)
	return nil
}

// compareSchool compares the rows of the next school of the task with the school's rows in the baseline.
func (t *task) compareSchool(ctx context.Context, r *fetch.Result) error {
	err := t.compare(ctx, func(c *history.Comparer) error {
		school := &t.schools[len(t.checkpoint.Ledger)]
		if r.RosterLost != nil {
			return r.RosterLost
		}
		compared := history.School{
			Bid: school.Bid, District: school.District, Complete: r.Ledger.Status == snapshot.StatusOK, Rows: r.EachOf,
		}
		if r.Roster != nil {
			compared.OnRoster = t.comparison.run.fetch.Members(r.Roster)
		}
		return c.School(ctx, compared)
	})
	if err != nil {
		return err
	}
	return t.saveComparison(ctx, false)
}

// saveComparison writes the turnover of the task to a file beside its checkpoint, if the turnover is large or last is
// true.
func (t *task) saveComparison(ctx context.Context, last bool) error {
	if t.comparer == nil || t.comparison.problem.Load() != nil {
		return nil
	}
	return t.comparer.Save(ctx, last)
}

// compare calls do to compare some of the task's rows. It does nothing once comparing has stopped.
func (t *task) compare(ctx context.Context, do func(*history.Comparer) error) error {
	c := t.comparison
	if c == nil || c.problem.Load() != nil {
		return nil
	}
	var err error
	if t.comparer == nil {
		t.comparer, err = c.baseline.Comparer(t.dataset.Dataset, t.bucket.Index)
	}
	if err == nil {
		err = do(t.comparer)
	}
	if _, isScratch := errors.AsType[fetch.ScratchError](err); err == nil || isScratch {
		return err
	}
	return c.fail(ctx, err)
}

// compared ends the comparison of a task and returns the result for its checkpoint.
func (t *task) compared(ctx context.Context) (*snapshot.TaskComparison, error) {
	if t.comparison == nil {
		return nil, nil
	}
	if err := t.saveComparison(ctx, true); err != nil {
		return nil, err
	}
	found := &snapshot.TaskComparison{}
	if t.comparer != nil {
		found = t.comparer.Counts()
	}
	if problem := t.comparison.problem.Load(); problem != nil {
		found = &snapshot.TaskComparison{Problem: *problem}
	}
	return found, t.endComparison()
}

func (t *task) endComparison() error {
	if t.comparer == nil {
		return nil
	}
	defer func() { t.comparer = nil }()
	return t.comparer.Close()
}
