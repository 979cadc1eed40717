package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// task is one dataset of one bucket. It is fetched, written as one file per table, staged and checkpointed as a whole.
type task struct {
	dataset *fetch.Dataset
	bucket  snapshot.Bucket
	schools []snapshot.School
	// rosters connect the tasks of students and of test results of a bucket. They are nil unless this process fetches
	// both.
	rosters rosters

	log   *fetch.CallLog // nil unless the dataset is a fan-out
	order *reorderBuffer
	// missing counts the schools whose results have not been delivered yet.
	missing atomic.Int64
	staged  chan struct{} // closed when the task is staged
	// turn is closed when the files of the dataset's previous task, if any, are closed. Files that are being written
	// take a lot of memory, so the task opens its own files only after that. Closing closed gives the next task its
	// turn.
	turn   <-chan struct{}
	closed chan struct{}

	// The fields below belong to the goroutine that writes the task.
	scratch    *fetch.Scratch
	files      []*snapshot.TableFile
	checkpoint snapshot.Checkpoint
	drift      snapshot.DriftSums
	// sessions are the enrollment sessions of all schools so far.
	sessions   map[string]bool
	comparison *comparison
	comparer   *history.Comparer // nil until something is compared
	loaded     fetch.Loaded      // buffers that the results use in turn
}

func newTask(d *fetch.Dataset, bucket snapshot.Bucket, schools []snapshot.School, scratch *fetch.Scratch) *task {
	t := &task{
		dataset: d, bucket: bucket, schools: schools, scratch: scratch, staged: make(chan struct{}), closed: make(chan struct{}),
		checkpoint: snapshot.Checkpoint{
			Dataset: d.Name, Bucket: bucket.Index, Files: make(map[string]sink.File),
			Checks: make(snapshot.CheckCounts), Terms: make(snapshot.TermCounts),
		},
		sessions: make(map[string]bool),
	}
	t.missing.Store(int64(len(schools)))
	return t
}

func (t *task) id() snapshot.Task {
	return snapshot.Task{Bucket: t.bucket.Index, Dataset: t.dataset.Name}
}

// write writes the results of the schools in order, as they are delivered.
func (t *task) write(ctx context.Context, w *writer) error {
	return t.order.writeInOrder(ctx, t.turn,
		func(r *fetch.Result) error { return t.append(ctx, w, r) },
		func(r *fetch.Result) error { return r.Spill(t.scratch) })
}

// append writes the rows of a school, and adds its counts to the checkpoint.
func (t *task) append(ctx context.Context, w *writer, r *fetch.Result) error {
	if err := t.open(ctx, w); err != nil {
		return err
	}
	t.loaded.Lend(r)
	err := r.Each(func(tables []*rows.Batch) error {
		for i, b := range tables {
			if err := t.files[i].Append(b); err != nil {
				return fmt.Errorf("write table %s: %w", t.dataset.Tables[i].Name, err)
			}
			w.progress.rows.Add(int64(b.Len()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !t.dataset.IsLookup() {
		if err := t.compareSchool(ctx, r); err != nil {
			return err
		}
	}
	t.checkpoint.Ledger = append(t.checkpoint.Ledger, r.Ledger)
	for _, d := range r.Drift.List() {
		t.drift.Add(d)
	}
	t.addChecks(r)
	for _, student := range r.Students {
		t.checkpoint.Students = setBit(t.checkpoint.Students, student)
	}
	for _, student := range r.Suppressed {
		t.checkpoint.Suppressed = setBit(t.checkpoint.Suppressed, student)
	}
	r.Release()
	return nil
}

// addChecks adds the check counts, the terms and the enrollment sessions of a school.
func (t *task) addChecks(r *fetch.Result) {
	t.checkpoint.Checks.Add(r.Checks)
	t.checkpoint.Terms.Merge(r.Terms)
	for _, session := range r.Sessions {
		t.sessions[session] = true
	}
}

// open creates the task's files, unless it already has. It is called when the first school is written, so that a task
// that has not begun needs no memory for files.
func (t *task) open(ctx context.Context, w *writer) error {
	for len(t.files) < len(t.dataset.Tables) {
		table := t.dataset.Tables[len(t.files)]
		path := w.plan.DataPath(table.Name, t.bucket.Index)
		file, err := w.tables.Create(ctx, path, table)
		if err != nil {
			return fmt.Errorf("start %s: %w", path, err)
		}
		t.files = append(t.files, file)
	}
	return nil
}

// stage completes the task's files, makes them durable and writes the checkpoint.
func (t *task) stage(ctx context.Context, w *writer) error {
	if err := t.open(ctx, w); err != nil {
		return err
	}
	for _, file := range t.files {
		if err := file.Close(); err != nil {
			return err
		}
	}
	close(t.closed)
	var err error
	if t.checkpoint.Comparison, err = t.compared(ctx); err != nil {
		return err
	}
	for i, file := range t.files {
		staged, err := file.Stage(ctx)
		if err != nil {
			return fmt.Errorf("stage table %s: %w", t.dataset.Tables[i].Name, err)
		}
		t.checkpoint.Files[t.dataset.Tables[i].Name] = staged
	}
	t.checkpoint.Drift = t.drift.List()
	t.checkpoint.Sessions = slices.Sorted(maps.Keys(t.sessions))
	err = w.writeCheckpoint(ctx, &t.checkpoint)
	if err == nil && t.log != nil && !t.checkpoint.Failed() {
		err = w.catalog.RemoveCalls(ctx, w.plan.RunID, t.id())
	}
	// The run keeps its tasks until it ends, so release their memory.
	t.order, t.files, t.log, t.loaded = nil, nil, nil, fetch.Loaded{}
	t.checkpoint, t.drift, t.sessions = snapshot.Checkpoint{}, snapshot.DriftSums{}, nil
	return err
}

// abort discards the files of a task that will not be staged.
func (t *task) abort() error {
	errs := []error{t.endComparison()}
	for _, file := range t.files {
		errs = append(errs, file.Abort())
	}
	return errors.Join(errs...)
}

// writer holds the state that the tasks of a run share.
type writer struct {
	catalog  snapshot.Catalog
	tables   *snapshot.Tables
	plan     *snapshot.Plan
	progress *Progress
	now      func() time.Time

	// memory is the budget that the reorder buffers share.
	memory *semaphore.Weighted
}

// writeCheckpoint writes the checkpoint that makes a staged task part of the run.
func (w *writer) writeCheckpoint(ctx context.Context, checkpoint *snapshot.Checkpoint) error {
	counts := w.progress.takeCounts()
	checkpoint.Requests, checkpoint.Activity = counts.requests, counts.activity
	checkpoint.StagedAt = w.now().UTC()
	if err := w.catalog.WriteCheckpoint(ctx, w.plan.RunID, checkpoint); err != nil {
		w.progress.returnCounts(counts)
		return fmt.Errorf("write the checkpoint of %s, bucket %d: %w", checkpoint.Dataset, checkpoint.Bucket, err)
	}
	return nil
}
