package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
)

// comparison compares the tasks of a process with the run's baseline. A nil comparison compares nothing. What goes wrong
// in it never fails a run: the run is then published without a comparison, and says why.
type comparison struct {
	run      *exportRun
	baseline *history.Baseline
	problem  atomic.Pointer[string] // why nothing is compared from now on
}

// openBaseline opens the snapshot that the plan pins, if the run is to be compared with one.
func (r *exportRun) openBaseline(ctx context.Context) (*comparison, error) {
	pinned := r.plan.Baseline
	if pinned == nil || !r.settings.Compare {
		return nil, nil
	}
	c := &comparison{run: r}
	manifest, err := r.Catalog.ReadBaseline(ctx, pinned)
	if err == nil {
		c.baseline, err = history.OpenBaseline(ctx, r.Catalog, manifest, r.plan.SnapshotDate)
	}
	if err != nil {
		return c, c.fail(ctx, err)
	}
	return c, nil
}

// fail gives up comparing because of an error, unless the run itself is ending.
func (c *comparison) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pinned := c.run.plan.Baseline
	problem := fmt.Sprintf("the snapshot of %s cannot be read: %v; check it with growth-export verify --run-id %s",
		pinned.SnapshotDate, err, pinned.RunID)
	if c.problem.CompareAndSwap(nil, &problem) {
		c.run.Logger.WarnContext(ctx, "the run is not compared with the previous snapshot", "reason", problem)
	}
	return nil
}

// compareSchool compares the rows of the next school of the task with the baseline's.
func (t *task) compareSchool(ctx context.Context, r *result) error {
	return t.compare(ctx, func(c *history.Comparer) error {
		school := &t.schools[len(t.checkpoint.Ledger)]
		if r.rosterLost != nil {
			return r.rosterLost
		}
		compared := history.School{
			Bid: school.Bid, District: school.District, Complete: r.ledger.Status == snapshot.StatusOK, Rows: r.eachOf,
		}
		if r.roster != nil {
			known := sync.OnceValue(r.roster.set)
			compared.OnRoster = func(student []byte) bool {
				return known().has(maphash.Bytes(t.comparison.run.fetch.check.seed, student))
			}
		}
		return c.School(ctx, compared)
	})
}

// compare lets do compare some of the task's rows.
func (t *task) compare(ctx context.Context, do func(*history.Comparer) error) error {
	c := t.comparison
	if c == nil || c.problem.Load() != nil {
		return nil
	}
	var err error
	if t.comparer == nil {
		t.comparer, err = c.baseline.Comparer(t.dataset.Dataset)
	}
	if err == nil {
		err = do(t.comparer)
	}
	if _, isScratch := errors.AsType[scratchError](err); err == nil || isScratch {
		return err
	}
	return c.fail(ctx, err)
}

// compared ends the comparison of a task and returns what its checkpoint holds.
func (t *task) compared() (*snapshot.TaskComparison, error) {
	if t.comparison == nil {
		return nil, nil
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
