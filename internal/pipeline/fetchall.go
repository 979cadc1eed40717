package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// writer is what the units of a run write with.
type writer struct {
	catalog snapshot.Catalog
	tables  *snapshot.Tables
	plan    *snapshot.Plan
	meter   *Meter
	now     func() time.Time
	client  *extract.Client

	mu sync.Mutex
	// changed tells that waiting fell, or that a unit is not being written any
	// more.
	changed *sync.Cond
	// waiting is how many bytes of finished schools wait for their turn.
	waiting int

	journalling sync.Mutex
	// counted is what earlier journals of this process have of the client's
	// requests: each journal takes what came since.
	counted snapshot.Requests
}

// writeJournal makes a staged unit part of the run for good.
func (w *writer) writeJournal(ctx context.Context, j *snapshot.Checkpoint) error {
	w.journalling.Lock()
	defer w.journalling.Unlock()
	total := requestsOf(w.client.Stats())
	j.Requests = since(total, w.counted)
	done := w.meter.activity.Take()
	j.Activity = *done
	j.StagedAt = w.now().UTC()
	if err := w.catalog.WriteCheckpoint(ctx, w.plan.RunID, j); err != nil {
		w.meter.activity.Return(done)
		return fmt.Errorf("write the journal of %s, bucket %d: %w", j.Dataset, j.Bucket, err)
	}
	w.counted = total
	return nil
}

func requestsOf(s extract.Stats) snapshot.Requests {
	return snapshot.Requests{
		Total: s.Requests, Retries: s.Retries, TokenRefreshes: s.TokenRefreshes,
		ByStatus: maps.Clone(s.ByStatus),
	}
}

func since(total, counted snapshot.Requests) snapshot.Requests {
	diff := snapshot.Requests{
		Total: total.Total - counted.Total, Retries: total.Retries - counted.Retries,
		TokenRefreshes: total.TokenRefreshes - counted.TokenRefreshes,
		ByStatus:       make(map[string]int64),
	}
	for status, n := range total.ByStatus {
		if n -= counted.ByStatus[status]; n != 0 {
			diff.ByStatus[status] = n
		}
	}
	return diff
}

// fetchAll fetches and stages every unit of this shard that is not staged.
func (r *run) fetchAll(ctx context.Context) error {
	w := &writer{
		catalog: r.Catalog, tables: snapshot.NewTables(r.Catalog, r.plan.RunID), plan: r.plan, meter: r.Meter, now: r.Now, client: r.Client,
		counted: r.counted,
	}
	defer func() { r.counted = w.counted }()
	w.changed = sync.NewCond(&w.mu)
	todo, err := r.unitsToDo(ctx)
	if err != nil {
		return err
	}
	r.fetch.filters, r.fetch.feedFilters = r.plan.Filters, unfiltered(r.plan.Filters)
	r.fetch.asOf = r.plan.Kind == snapshot.AsOf
	if r.fetch.check, err = newChecker(r.plan); err != nil {
		return err
	}
	if err := r.stageLookups(ctx, w, todo); err != nil {
		return err
	}
	r.looked = nil

	group, working := errgroup.WithContext(ctx)
	// A chain uses a request slot or a processor, so this many keep both busy;
	// it takes three schools, each with two lists at once, to distinguish a
	// failing service from two bad schools.
	group.SetLimit(max(6, r.settings.Concurrency+runtime.GOMAXPROCS(0)))
	var units []*unit
	for _, u := range todo {
		if u.Bucket == snapshot.LookupBucket {
			continue
		}
		bucket := r.plan.Buckets[u.Bucket]
		work := newUnit(r.datasets[u.Dataset], bucket, r.plan.Schools[bucket.First:bucket.End], r.settings.Scratch)
		units = append(units, work)
		r.Meter.schoolsTotal.Add(int64(len(work.schools)))
	}
	for _, u := range units {
		if len(u.schools) == 0 {
			group.Go(func() error { return r.stage(working, w, u) })
		}
	}
	inOrder(units, func(u *unit, i int) {
		if working.Err() == nil {
			group.Go(func() error { return r.step(working, w, u, i) })
		}
	})
	err = group.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // before anything had begun that could fail
	}
	if err == nil {
		return nil
	}
	for _, u := range units {
		err = errors.Join(err, u.abort())
	}
	return err
}

// step fetches one school's dataset and hands it to its unit.
func (r *run) step(ctx context.Context, w *writer, u *unit, i int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	began := time.Now()
	within, end := r.begin(ctx, Step{Name: StepSchool, Dataset: u.dataset.Name, School: u.schools[i].Bid})
	result, err := r.fetch.school(within, u.dataset, u.schools[i])
	if err == nil {
		err = r.crossCheck(within, u, i, result)
	}
	if err != nil {
		end(End{Err: err})
		return err
	}
	end(End{Ledger: &result.ledger})
	r.Meter.finished(result, time.Since(began))
	r.logResult(ctx, &u.schools[i], result)
	complete, err := u.deliver(ctx, w, i, result)
	if err != nil || !complete {
		return err
	}
	return r.stage(ctx, w, u)
}

// stage stages a unit that is complete.
func (r *run) stage(ctx context.Context, w *writer, u *unit) error {
	files := u.journal.Files // the unit lets go of its journal
	within, end := r.begin(ctx, Step{Name: StepStage, Dataset: u.dataset.Name, Bucket: u.bucket.Index})
	err := u.stage(within, w)
	end(End{Err: err, Files: files})
	if u.dataset.Name == resultsDataset {
		r.stagedStudents[u.bucket.Index].release()
	}
	return err
}

// unitsToDo lists this shard's units that are not staged, or hold a failed
// school.
func (r *run) unitsToDo(ctx context.Context) ([]snapshot.Task, error) {
	staged, damaged, err := r.Catalog.StagedTasks(ctx, r.plan)
	if err != nil {
		return nil, fmt.Errorf("read what run %s has staged: %w", r.plan.RunID, err)
	}
	for _, u := range damaged {
		r.Logger.WarnContext(ctx, "staged files are damaged or gone: their task is fetched again", "task", u.String())
	}
	var todo []snapshot.Task
	for _, u := range r.plan.Tasks() {
		// The number of shards is this command's: another number than the plan
		// was made with divides what is left in another way.
		if u.Shard(r.settings.Shards) != r.settings.Shard {
			continue
		}
		r.summary.UnitsTotal++
		if j := staged[u]; j != nil && !j.Failed() {
			r.summary.UnitsResumed++
			r.noteStaged(u, j)
			continue
		}
		todo = append(todo, u)
	}
	return todo, nil
}

// stageLookups stages the lookup datasets that are to be done, fetching them
// unless planning has just done so. A run that is resumed with one of them
// missing asks for all that feed it again; the plan's schools stand.
func (r *run) stageLookups(ctx context.Context, w *writer, todo []snapshot.Task) error {
	for _, u := range todo {
		if u.Bucket != snapshot.LookupBucket {
			continue
		}
		if r.looked == nil {
			looked, err := r.fetch.lookUp(ctx, r.settings, r.byName())
			if err != nil {
				return err
			}
			r.looked = looked
		}
		if err := r.stageLookup(ctx, w, r.datasets[u.Dataset]); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) stageLookup(ctx context.Context, w *writer, d *dataset) error {
	u := newUnit(d, snapshot.Bucket{Index: snapshot.LookupBucket}, make([]snapshot.School, 1), r.settings.Scratch)
	_, err := u.deliver(ctx, w, 0, r.looked.results[d.Name])
	u.journal.Ledger = r.looked.ledger[d.Name]
	if err == nil {
		err = r.stage(ctx, w, u)
	}
	if err != nil {
		return errors.Join(err, u.abort())
	}
	return nil
}

// finished counts a school's dataset that is done.
func (m *Meter) finished(r *result, took time.Duration) {
	m.schoolsDone.Add(1)
	m.activity.School(activity.SchoolTime{
		School: r.ledger.SchoolBid, Dataset: r.ledger.Dataset, Seconds: took.Seconds(),
		Requests: r.ledger.Requests, Retries: r.ledger.Retries,
	})
	m.currentDataset.Store(r.ledger.Dataset)
	switch r.ledger.Status {
	case snapshot.StatusFailed:
		m.failed.Add(1)
	case snapshot.StatusDenied:
		m.denied.Add(1)
	case snapshot.StatusOK:
	}
}

// logResult logs how a school's dataset ended. The first failure and the first
// denial of a school are logged at the normal level, its others at debug level:
// the ledger lists them all.
func (r *run) logResult(ctx context.Context, school *snapshot.School, result *result) {
	l := &result.ledger
	attrs := []slog.Attr{slog.String("dataset", l.Dataset), slog.String("school", l.SchoolBid)}
	if school.Name != "" {
		attrs = append(attrs, slog.String("name", wording.Cut(school.Name, wording.MaxName)))
	}
	if result.firstRepeated > 0 {
		r.Logger.LogAttrs(ctx, slog.LevelInfo, "list moved while it was read, so it was read again", append(slices.Clone(attrs),
			slog.Int64("pairs_with_several_results", result.firstRepeated),
			slog.Int64("pairs_in_second_reading", result.checks[snapshot.CheckOneResultPerSubject].Count))...)
	}
	first := func(level slog.Level) slog.Level {
		if _, again := r.logged.LoadOrStore(outcomeOfSchool{l.SchoolBid, l.Status}, true); again {
			return slog.LevelDebug
		}
		return level
	}
	switch l.Status {
	case snapshot.StatusFailed:
		r.Logger.LogAttrs(ctx, first(slog.LevelWarn), "school failed", append(attrs, slog.String("error", l.Error))...)
	case snapshot.StatusDenied:
		r.Logger.LogAttrs(ctx, first(slog.LevelInfo), "access to school denied", attrs...)
	case snapshot.StatusOK:
		r.Logger.LogAttrs(ctx, slog.LevelDebug, "school done",
			append(attrs, slog.Int64("records", l.RecordsReceived), slog.Int64("pages", l.Pages))...)
	}
}

// outcomeOfSchool is something that happens to a school, in one dataset or in
// several.
type outcomeOfSchool struct {
	bid    string
	status snapshot.Status
}
