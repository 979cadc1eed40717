package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// WriteCheckpoint says that a task is staged. What an earlier checkpoint of the task
// had staged is dropped if a school of it failed, which is why the task was done
// again. Else another process does the same run at the same time: it may be
// publishing what it staged, and what is not published is swept.
func (c Catalog) WriteCheckpoint(ctx context.Context, run string, checkpoint *Checkpoint) error {
	path := CheckpointPath(run, checkpoint.Bucket, checkpoint.Dataset)
	earlier, _, err := ReadDocument[Checkpoint](ctx, c, path)
	if err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged) {
		return err
	}
	if earlier != nil {
		checkpoint.Requests.Add(earlier.Requests) // they were sent for this task, too
		var both activity.Log
		both.Add(&earlier.Activity)
		both.Add(&checkpoint.Activity)
		checkpoint.Activity = both // as a new one: the caller may take back what it has handed in
	}
	if err := c.WriteDocument(ctx, path, checkpoint, sink.Condition{}); err != nil {
		return err
	}
	if earlier == nil || !earlier.Failed() {
		return nil
	}
	for table, file := range earlier.Files {
		if sameStaged(file, checkpoint.Files[table]) {
			continue
		}
		if err := c.Abort(ctx, run, file); err != nil {
			return err
		}
	}
	return nil
}

// sameStaged reports whether both are the same staged file.
func sameStaged(a, b sink.File) bool {
	return a.Path == b.Path && bytes.Equal(compactJSON(a.Staged), compactJSON(b.Staged))
}

func compactJSON(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// ReadCheckpoints reads the checkpoints of a run in the order of Tasks. One that
// cannot be read, or is not of the task in its name, proves nothing staged: it
// is left out, and its task is done again.
func (c Catalog) ReadCheckpoints(ctx context.Context, run string) ([]*Checkpoint, error) {
	paths, err := sink.ListAll(ctx, c, runPath(run)+checkpointFolder)
	if err != nil {
		return nil, err
	}
	checkpoints := make([]*Checkpoint, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sink.MaxConcurrency)
	for i, entry := range paths {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			checkpoint, _, err := ReadDocument[Checkpoint](ctx, c, entry.Path)
			switch {
			case errors.Is(err, sink.ErrDamaged), errors.Is(err, sink.ErrNotFound):
				return nil
			case err != nil:
				return err
			}
			if CheckpointPath(run, checkpoint.Bucket, checkpoint.Dataset) == entry.Path {
				checkpoints[i] = checkpoint
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	checkpoints = slices.DeleteFunc(checkpoints, func(j *Checkpoint) bool { return j == nil })
	order, _ := schemas.Positions()
	slices.SortFunc(checkpoints, func(a, b *Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(order[a.Dataset], order[b.Dataset]))
	})
	return checkpoints, nil
}

// covers reports whether the checkpoint has exactly one file per table of its dataset and one ledger row per school of its
// bucket.
func (j *Checkpoint) covers(plan *Plan, dataset *schemas.Dataset) bool {
	if len(j.Files) != len(dataset.Tables) {
		return false
	}
	for _, table := range dataset.Tables {
		if _, ok := j.Files[table.Name]; !ok {
			return false
		}
	}
	if dataset.IsLookup() {
		return true
	}
	var listed, wanted []string
	for i := range j.Ledger {
		listed = append(listed, j.Ledger[i].SchoolBid)
	}
	for _, school := range plan.schoolsOf(j.Bucket) {
		wanted = append(wanted, school.Bid)
	}
	slices.Sort(listed)
	slices.Sort(wanted)
	return slices.Equal(listed, wanted)
}

// Held is held.json: why a staged run is not published.
type Held struct {
	Reasons []string `json:"reasons"`
	// FailedSchools reports whether the first reason is that schools failed,
	// which running again may fix.
	FailedSchools bool `json:"failed_schools"`
}

// OtherReasons reports whether a reason is other than failed schools.
func (h *Held) OtherReasons() bool {
	return len(h.Reasons) > 1 || len(h.Reasons) == 1 && !h.FailedSchools
}

// Hold says why a staged run is not published.
func (c Catalog) Hold(ctx context.Context, run string, held Held) error {
	held.Reasons = orEmpty(held.Reasons)
	return c.WriteDocument(ctx, HeldPath(run), held, sink.Condition{})
}

// ReadHeld returns what Hold wrote; without reasons if the run is not held.
func (c Catalog) ReadHeld(ctx context.Context, run string) (Held, error) {
	held, _, err := ReadDocument[Held](ctx, c, HeldPath(run))
	if errors.Is(err, sink.ErrNotFound) {
		return Held{}, nil
	}
	if err != nil {
		return Held{}, err
	}
	return *held, nil
}

// Release takes back what Hold said: the run is being done again or published.
func (c Catalog) Release(ctx context.Context, run string) error {
	return c.Remove(ctx, HeldPath(run))
}

// orEmpty makes an absent list an empty one, as documents write it.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
