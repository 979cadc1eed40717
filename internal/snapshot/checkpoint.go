package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// Checkpoint is _runs/<run>/journal/<task>.json. It records that one dataset of one bucket is completely staged. A run
// is resumed and published from its checkpoints.
type Checkpoint struct {
	Dataset string `json:"dataset"`
	// Bucket is the index of the bucket. The bucket of the lookups has the index -1.
	Bucket int                  `json:"bucket"`
	Files  map[string]sink.File `json:"files"` // by table
	Ledger []LedgerRow          `json:"ledger"`
	Drift  []Drift              `json:"drift,omitempty"`
	// Checks holds the counts of the checks that need only this dataset, including zero counts.
	Checks CheckCounts `json:"checks,omitempty"`
	// Terms counts the test results by school and term. Sessions lists the enrollment sessions of academic years, sorted.
	// Collect compares the two across the whole run.
	Terms    TermCounts `json:"terms,omitempty"`
	Sessions []string   `json:"sessions,omitempty"`
	// Students is a bit set of the students of a cohort who have a row, by their positions in the list.
	Students []byte `json:"students,omitempty"`
	// Suppressed is a bit set of the suppressed students whom the service still lists, by their positions in the list.
	Suppressed []byte `json:"suppressed,omitempty"`
	// Comparison describes how the task differs from the baseline. It is nil if the task was not compared.
	Comparison *TaskComparison `json:"comparison,omitempty"`
	Requests   Requests        `json:"requests"`
	// Activity is the activity since the previous checkpoint of the process, plus the activity in an earlier checkpoint of
	// the task.
	Activity activity.Log `json:"activity"`
	StagedAt time.Time    `json:"staged_at"`
}

// Failed reports whether a school of the checkpoint failed. If so, the next process that works on the run repeats the
// task.
func (c *Checkpoint) Failed() bool {
	for i := range c.Ledger {
		if c.Ledger[i].Status == StatusFailed {
			return true
		}
	}
	return false
}

// covers reports whether the checkpoint has a file for every table of its dataset and a ledger row for every school of
// its bucket, and no other files or rows. It does not check the ledger of a lookup.
func (c *Checkpoint) covers(plan *Plan, dataset *schemas.Dataset) bool {
	if len(c.Files) != len(dataset.Tables) {
		return false
	}
	for _, table := range dataset.Tables {
		if _, ok := c.Files[table.Name]; !ok {
			return false
		}
	}
	if dataset.IsLookup() {
		return true
	}
	var listed, wanted []string
	for i := range c.Ledger {
		listed = append(listed, c.Ledger[i].SchoolBid)
	}
	for _, school := range plan.schoolsOf(c.Bucket) {
		wanted = append(wanted, school.Bid)
	}
	slices.Sort(listed)
	slices.Sort(wanted)
	return slices.Equal(listed, wanted)
}

// WriteCheckpoint records that a task is staged, and adds the requests and the activity of the task's earlier
// checkpoint to the new one. If the earlier checkpoint has a failed school, this is a retry, and the earlier staged
// files are aborted. Otherwise, an earlier checkpoint comes from another process, which may already be publishing its
// files, so they are left to Sweep.
func (c Catalog) WriteCheckpoint(ctx context.Context, run string, checkpoint *Checkpoint) error {
	path := CheckpointPath(run, checkpoint.Bucket, checkpoint.Dataset)
	earlier, err := ReadIfSound[Checkpoint](ctx, c, path)
	if err != nil {
		return err
	}
	if earlier != nil {
		checkpoint.Requests.Add(earlier.Requests) // they were sent for this task too
		var both activity.Log
		both.Add(&earlier.Activity)
		both.Add(&checkpoint.Activity)
		checkpoint.Activity = both // a new log, because the caller may reuse its own
	}
	if err := WriteDocument(ctx, c.store, path, checkpoint, sink.Condition{}); err != nil {
		return err
	}
	if earlier == nil || !earlier.Failed() {
		return nil
	}
	for table, file := range earlier.Files {
		if sameStaged(file, checkpoint.Files[table]) {
			continue
		}
		if err := c.store.Abort(ctx, run, file); err != nil {
			return err
		}
	}
	return nil
}

// WriteTurnover writes a file with the turnover of a task. The task's checkpoint must list the file.
func (c Catalog) WriteTurnover(ctx context.Context, run string, task Task, data []byte) (sink.File, error) {
	return c.writeBeside(ctx, run, task, turnoverSuffix, data)
}

// WriteCalls writes a file with finished calls of a task that is not staged yet.
func (c Catalog) WriteCalls(ctx context.Context, run string, task Task, data []byte) error {
	_, err := c.writeBeside(ctx, run, task, callsSuffix, data)
	return err
}

// writeBeside writes a file of a task beside its checkpoint.
func (c Catalog) writeBeside(ctx context.Context, run string, task Task, suffix string, data []byte) (sink.File, error) {
	hash := sink.Hash(data)
	file := sink.File{Path: taskPath(run, task, hash, suffix), Bytes: int64(len(data)), SHA256: hash}
	if err := c.store.Write(ctx, file.Path, data, sink.Condition{}); err != nil {
		return file, fmt.Errorf("write %s: %w", file.Path, err)
	}
	return file, nil
}

// CallFiles returns the paths of the files with finished calls of a task.
func (c Catalog) CallFiles(ctx context.Context, run string, task Task) ([]string, error) {
	entries, err := sink.ListAll(ctx, c, taskPrefix(run, task))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Path, callsSuffix) {
			paths = append(paths, entry.Path)
		}
	}
	return paths, nil
}

// RemoveCalls removes the files with finished calls of a task.
func (c Catalog) RemoveCalls(ctx context.Context, run string, task Task) error {
	paths, err := c.CallFiles(ctx, run, task)
	if err != nil {
		return err
	}
	return sink.RemoveAll(ctx, c.store, paths)
}

// sameStaged reports whether two files are the same staged file.
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

// ReadCheckpoints reads the checkpoints of a run in the order of Tasks. A checkpoint that is unreadable, or that
// belongs to a different task than its name says, is skipped, so that its task is repeated.
func (c Catalog) ReadCheckpoints(ctx context.Context, run string) ([]*Checkpoint, error) {
	paths, err := sink.ListAll(ctx, c, runPath(run)+CheckpointFolder)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(entry sink.Entry) bool { return !strings.HasSuffix(entry.Path, ".json") })
	checkpoints, err := sink.Map(ctx, sink.MaxConcurrency, paths, func(ctx context.Context, entry sink.Entry) (*Checkpoint, error) {
		checkpoint, err := ReadIfSound[Checkpoint](ctx, c, entry.Path)
		if checkpoint != nil && CheckpointPath(run, checkpoint.Bucket, checkpoint.Dataset) != entry.Path {
			return nil, nil
		}
		return checkpoint, err
	})
	if err != nil {
		return nil, err
	}
	checkpoints = slices.DeleteFunc(checkpoints, func(c *Checkpoint) bool { return c == nil })
	order, _ := schemas.Positions()
	slices.SortFunc(checkpoints, func(a, b *Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(order[a.Dataset], order[b.Dataset]))
	})
	return checkpoints, nil
}
