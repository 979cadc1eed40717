package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// unit is one dataset of one bucket: the step that is fetched, written as one
// file per table, staged and journalled as one.
//
// Schools finish in any order; whoever brings the one whose turn it is writes
// it and those behind it that are there already. The others leave theirs to
// wait.
type unit struct {
	dataset *dataset
	bucket  snapshot.Bucket
	schools []snapshot.School
	// rosters join the units of students and of test results of a bucket; nil
	// where only one of them is to be done.
	rosters rosters

	// Guarded by the writer's lock.
	waiting map[int]*result
	next    int
	writing bool
	// broken is why the files could not be written on: the unit is never
	// complete then.
	broken error

	// scratch is where results wait that do not fit in memory.
	scratch scratch

	// The fields below belong to the goroutine that set writing.
	files   []*snapshot.TableFile
	journal snapshot.Checkpoint
	drift   snapshot.DriftSums
	// sessions are the enrollment sessions of all schools so far.
	sessions map[string]bool
}

func newUnit(d *dataset, bucket snapshot.Bucket, schools []snapshot.School, scratchFolder string) *unit {
	return &unit{
		dataset: d, bucket: bucket, schools: schools, scratch: scratch{folder: scratchFolder},
		waiting: make(map[int]*result),
		journal: snapshot.Checkpoint{
			Dataset: d.Name, Bucket: bucket.Index, Files: make(map[string]sink.File),
			Checks: make(snapshot.CheckCounts), Terms: make(snapshot.TermCounts),
		},
		sessions: make(map[string]bool),
	}
}

// deliver hands in the result of the i-th school. It tells whether this was
// what completed the unit: then the caller stages it.
//
// When more waits than may: if the files are being written, writing is what
// holds us up, so the caller is held too; if they wait for a school that is
// not there yet, holding would idle the requests, so the result goes to
// scratch.
func (u *unit) deliver(ctx context.Context, w *writer, i int, r *result) (complete bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u.waiting[i] = r
	w.waiting += r.bytes()
	for {
		for u.writing && u.waiting[i] == r && w.waiting > waitingBytes {
			w.changed.Wait()
		}
		if u.broken != nil || u.writing || u.waiting[i] != r {
			return false, u.broken
		}
		if complete, err = u.drain(ctx, w); complete || err != nil {
			return complete, err
		}
		if u.waiting[i] != r || r.spilled != nil || w.waiting <= waitingBytes {
			return false, nil
		}
		if err := u.spill(w, i, r); err != nil {
			return false, err
		}
	}
}

// drain writes the schools whose turn it is, unlocking w while it does.
func (u *unit) drain(ctx context.Context, w *writer) (complete bool, err error) {
	u.writing = true
	for r := u.waiting[u.next]; r != nil && u.broken == nil; r = u.waiting[u.next] {
		delete(u.waiting, u.next)
		size := r.bytes()
		w.mu.Unlock()
		err = u.append(ctx, w, r)
		w.mu.Lock()
		u.next++
		u.broken = err
		w.waiting -= size
		w.changed.Broadcast()
	}
	u.writing = false
	w.changed.Broadcast()
	return u.broken == nil && u.next == len(u.schools), u.broken
}

// spill moves a waiting result to scratch, unlocking w while it does.
func (u *unit) spill(w *writer, i int, r *result) error {
	delete(u.waiting, i)
	size := r.bytes()
	w.mu.Unlock()
	err := u.scratch.put(u.dataset, r)
	w.mu.Lock()
	u.waiting[i] = r
	w.waiting -= size
	w.changed.Broadcast()
	return err
}

// append writes a result's rows behind those of the schools before it.
func (u *unit) append(ctx context.Context, w *writer, r *result) error {
	if r.spilled != nil {
		if err := u.scratch.take(u.dataset, r); err != nil {
			return err
		}
	}
	if err := u.open(ctx, w); err != nil {
		return err
	}
	for i, batches := range r.tables {
		for _, b := range batches {
			if err := u.files[i].Append(b); err != nil {
				return fmt.Errorf("write table %s: %w", u.dataset.Tables[i].Name, err)
			}
			w.meter.rows.Add(int64(b.Len()))
		}
	}
	u.journal.Ledger = append(u.journal.Ledger, r.ledger)
	for _, d := range r.drift.List() {
		u.drift.Add(d)
	}
	u.addChecks(r)
	for _, c := range r.chains {
		u.dataset.release(c)
	}
	return nil
}

// addChecks adds what a school's result has for the checks of the run.
func (u *unit) addChecks(r *result) {
	u.journal.Checks.Add(r.checks)
	u.journal.Terms.Merge(r.terms)
	for _, session := range r.sessions {
		u.sessions[session] = true
	}
}

// open starts the unit's files with its first school: a unit whose turn has
// not come costs nothing.
func (u *unit) open(ctx context.Context, w *writer) error {
	for len(u.files) < len(u.dataset.Tables) {
		table := u.dataset.Tables[len(u.files)]
		path := w.plan.DataPath(table.Name, u.bucket.Index)
		file, err := w.tables.Create(ctx, path, table)
		if err != nil {
			return fmt.Errorf("start %s: %w", path, err)
		}
		u.files = append(u.files, file)
	}
	return nil
}

// stage ends the unit's files, makes them durable and journals them.
func (u *unit) stage(ctx context.Context, w *writer) error {
	if err := u.open(ctx, w); err != nil {
		return err
	}
	for i, file := range u.files {
		staged, err := file.Stage(ctx)
		if err != nil {
			return fmt.Errorf("stage table %s: %w", u.dataset.Tables[i].Name, err)
		}
		u.journal.Files[u.dataset.Tables[i].Name] = staged
	}
	u.journal.Drift = u.drift.List()
	u.journal.Sessions = slices.Sorted(maps.Keys(u.sessions))
	err := w.writeJournal(ctx, &u.journal)
	// The run holds its units to the end: what they held is let go.
	u.files, u.journal, u.drift, u.sessions = nil, snapshot.Checkpoint{}, snapshot.DriftSums{}, nil
	w.mu.Lock()
	u.waiting = nil
	w.mu.Unlock()
	return errors.Join(err, u.scratch.close())
}

// abort drops the files of a unit that will not be staged.
func (u *unit) abort() error {
	var errs []error
	for _, file := range u.files {
		errs = append(errs, file.Abort())
	}
	return errors.Join(append(errs, u.scratch.close())...)
}
