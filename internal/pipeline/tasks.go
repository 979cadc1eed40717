package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// fetchAll fetches and stages every task of this shard that is not completely staged.
func (r *exportRun) fetchAll(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.fetch.Close()) }()
	w := &writer{
		catalog: r.Catalog, tables: snapshot.NewTables(r.Catalog, r.plan.RunID), plan: r.plan, progress: r.Progress, now: r.Now,
		memory: semaphore.NewWeighted(fetch.MaxWaitingBytes),
	}
	todo, err := r.tasksToDo(ctx)
	if err != nil {
		return err
	}
	err = r.fetch.SetParameters(fetch.Parameters{
		Filters: r.plan.Filters, AsOf: r.plan.Kind == snapshot.AsOf, Date: r.plan.SnapshotDate, Datasets: r.plan.Scope.Datasets,
		Schools: r.plan.Schools,
	})
	if err != nil {
		return err
	}
	comparison, err := r.openBaseline(ctx)
	if err != nil {
		return err
	}
	if err := r.stageLookups(ctx, w, todo, comparison); err != nil {
		return err
	}
	r.looked = nil
	if !r.settings.Deadline.IsZero() {
		resultsFirst(todo)
	}
	tasks, err := r.newTasks(ctx, todo, comparison)
	if err != nil {
		return err
	}
	ctx, watched := r.watchDeadline(ctx, tasks)
	defer watched()
	err = r.fetchTasks(ctx, w, tasks)
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(cause, ErrDeadline)) {
		err = cause // if no school was being fetched, err does not contain the cause
	}
	if err == nil {
		err = r.forecast.cutShort()
	}
	if err == nil {
		return nil
	}
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxSavingAtEnd)
	defer cancel()
	for _, t := range tasks {
		t.log.Flush(saving)
		err = errors.Join(err, t.abort())
	}
	return err
}

// maxSavingAtEnd is the maximum time that a run that ends early spends on saving the calls that it has made.
const maxSavingAtEnd = 10 * time.Second

// newTasks returns the tasks of todo that are fetched school by school. Tasks of the same dataset open their files in
// turn.
func (r *exportRun) newTasks(ctx context.Context, todo []snapshot.Task, c *comparison) ([]*task, error) {
	var tasks []*task
	last := make(map[*fetch.Dataset]*task)
	for _, id := range todo {
		if id.Bucket == snapshot.LookupBucket {
			continue
		}
		bucket := r.plan.Buckets[id.Bucket]
		t := newTask(r.fetch.Dataset(id.Dataset), bucket, r.plan.Schools[bucket.First:bucket.End], r.fetch.NewScratch())
		t.comparison = c
		if err := r.openLog(ctx, t); err != nil {
			return nil, err
		}
		if before := last[t.dataset]; before != nil {
			t.turn = before.closed
		}
		last[t.dataset] = t
		tasks = append(tasks, t)
		r.Progress.schoolsTotal.Add(int64(len(t.schools)))
	}
	return tasks, nil
}

// fetchTasks fetches the schools of all tasks in order, several at a time, and writes each task in a goroutine of its
// own.
func (r *exportRun) fetchTasks(ctx context.Context, w *writer, tasks []*task) error {
	group, working := errgroup.WithContext(ctx)
	type school struct {
		task  *task
		index int
	}
	schools := make(chan school)
	// A school that is being fetched uses a request slot or a processor, so this many schools keep both busy. At least
	// six are needed, for three schools with two lists each, because two bad schools must not look like a failing
	// service.
	for range max(6, r.settings.Concurrency+runtime.GOMAXPROCS(0)) {
		group.Go(func() error {
			for s := range schools {
				if err := r.fetchSchool(working, s.task, s.index); err != nil {
					return err
				}
			}
			return nil
		})
	}
	start := func(t *task) {
		t.order = newReorderBuffer(len(t.schools), w.memory)
		group.Go(func() error { return r.writeTask(working, w, t) })
	}
	for _, t := range tasks {
		if len(t.schools) == 0 {
			start(t)
		}
	}
	inOrder(tasks, func(t *task, i int) {
		if i == 0 && working.Err() == nil {
			start(t)
		}
		select {
		case schools <- school{t, i}:
		case <-working.Done(): // the group returns the error
		}
	})
	close(schools)
	return group.Wait()
}

// fetchSchool fetches one school's dataset and delivers it to its task.
func (r *exportRun) fetchSchool(ctx context.Context, t *task, i int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	began := time.Now()
	within, end := r.startSpan(ctx, Span{Name: SpanSchool, Dataset: t.dataset.Name, School: t.schools[i].Bid})
	result, err := r.readSchool(within, t, i)
	if err == nil {
		err = r.crossCheck(within, t, i, result)
	}
	if err != nil {
		end(SpanEnd{Err: err})
		return err
	}
	end(SpanEnd{Ledger: &result.Ledger})
	r.Progress.addSchool(&result.Ledger, time.Since(began))
	r.logResult(ctx, &t.schools[i], result)
	err = r.fetch.WithProcessor(result, func() error { return t.order.deliver(ctx, i, result) })
	if err != nil {
		return err
	}
	if t.missing.Add(-1) > 0 {
		return nil
	}
	// The last school waits until the task is staged, so that a slow destination slows down fetching.
	return await(ctx, t.staged)
}

// writeTask writes and stages a task.
func (r *exportRun) writeTask(ctx context.Context, w *writer, t *task) error {
	if err := t.write(ctx, w); err != nil {
		return err
	}
	return r.stage(ctx, w, t)
}

// stage stages a task whose rows have been written.
func (r *exportRun) stage(ctx context.Context, w *writer, t *task) error {
	files := t.checkpoint.Files // t.stage clears the checkpoint
	within, end := r.startSpan(ctx, Span{Name: SpanStage, Dataset: t.dataset.Name, Bucket: t.bucket.Index})
	err := t.stage(within, w)
	end(SpanEnd{Err: err, Files: files})
	if t.dataset.Name == schemas.TestResults {
		r.stagedStudents[t.bucket.Index].release()
	}
	if err == nil {
		close(t.staged)
	}
	return err
}

// tasksToDo lists this shard's tasks that are not staged, have a failed school, or are needed again by other tasks. It
// counts all other tasks as resumed.
func (r *exportRun) tasksToDo(ctx context.Context) ([]snapshot.Task, error) {
	staged, damaged, err := r.Catalog.StagedTasks(ctx, r.plan)
	if err != nil {
		return nil, fmt.Errorf("read the checkpoints of run %s: %w", r.plan.RunID, err)
	}
	for _, task := range damaged {
		r.Logger.WarnContext(ctx, "staged files are damaged or gone: fetching their task again", "task", task.String())
	}
	var todo []snapshot.Task
	for _, id := range r.plan.Tasks() {
		// The number of shards is a setting of this command. It may differ from the number in the plan, in which case
		// the remaining tasks are divided differently.
		if id.Shard(r.settings.Shards) != r.settings.Shard {
			continue
		}
		r.summary.TasksTotal++
		if done := staged[id]; done != nil && !done.Failed() && !r.needsStudentsAgain(id, staged) {
			r.summary.TasksResumed++
			r.noteStaged(id, done)
			continue
		}
		todo = append(todo, id)
	}
	return todo, nil
}

// needsStudentsAgain reports whether a staged task has to be done again because the test results of its bucket are not
// staged and are to be compared with the baseline. The comparison needs the students, and not every store can read
// staged files back.
func (r *exportRun) needsStudentsAgain(id snapshot.Task, staged map[snapshot.Task]*snapshot.Checkpoint) bool {
	if id.Dataset != schemas.Students || !r.compares() || !slices.Contains(r.plan.Scope.Datasets, schemas.TestResults) {
		return false
	}
	if _, readable := r.Catalog.Store().(sink.StagedReader); readable {
		return false
	}
	results := staged[snapshot.Task{Bucket: id.Bucket, Dataset: schemas.TestResults}]
	return results == nil || results.Failed()
}

// stageLookups stages the lookup datasets of todo, and fetches them unless planning has just done so. If one of them is
// missing in a resumed run, all lookups that the run needs are fetched again; the plan's schools do not change.
func (r *exportRun) stageLookups(ctx context.Context, w *writer, todo []snapshot.Task, c *comparison) error {
	for _, id := range todo {
		if id.Bucket != snapshot.LookupBucket {
			continue
		}
		if r.looked == nil {
			looked, err := r.fetch.LookUp(ctx, neededLookups(r.settings))
			if err != nil {
				return err
			}
			r.looked = looked
		}
		if err := r.stageLookup(ctx, w, r.fetch.Dataset(id.Dataset), c); err != nil {
			return err
		}
	}
	return nil
}

func (r *exportRun) stageLookup(ctx context.Context, w *writer, d *fetch.Dataset, c *comparison) error {
	t := newTask(d, snapshot.Bucket{Index: snapshot.LookupBucket}, nil, r.fetch.NewScratch())
	t.comparison = c
	result, ledger := r.looked.Results[d.Name], r.looked.Ledger[d.Name]
	err := t.compare(ctx, func(c *history.Comparer) error { return c.Lookup(ctx, ledger, result.EachOf) })
	if err == nil {
		err = t.append(ctx, w, result)
	}
	t.checkpoint.Ledger = ledger
	if err == nil {
		err = r.stage(ctx, w, t)
	}
	if err != nil {
		return errors.Join(err, t.abort())
	}
	return nil
}

// noteStaged records the students that an earlier process has staged.
func (r *exportRun) noteStaged(id snapshot.Task, checkpoint *snapshot.Checkpoint) {
	if id.Dataset != schemas.Students {
		return
	}
	s := &stagedStudents{file: checkpoint.Files[schemas.Students], ok: make(map[string]bool)}
	for i := range checkpoint.Ledger {
		if row := &checkpoint.Ledger[i]; row.Status == snapshot.StatusOK {
			s.ok[row.SchoolBid] = true
		}
	}
	if r.stagedStudents == nil {
		r.stagedStudents = make(map[int]*stagedStudents)
	}
	r.stagedStudents[id.Bucket] = s
}

// inOrder calls do for every school of every task in the order in which they are to be fetched: task by task, except
// that the students of a school come directly before its results, so that there are no more rosters than schools being
// read.
func inOrder(tasks []*task, do func(t *task, i int)) {
	partners := make(map[int]*task)
	for _, t := range tasks {
		if t.dataset.Name == schemas.TestResults {
			partners[t.bucket.Index] = t
		}
	}
	for _, t := range tasks {
		partner := partners[t.bucket.Index]
		switch {
		case t.dataset.Name == schemas.Students && partner != nil:
			t.rosters = newRosters(len(t.schools))
			partner.rosters = t.rosters
			for i := range t.schools {
				do(t, i)
				do(partner, i)
			}
		case t == partner && t.rosters != nil: // its schools were passed to do after their students
		default:
			for i := range t.schools {
				do(t, i)
			}
		}
	}
}
