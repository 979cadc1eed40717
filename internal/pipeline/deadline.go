package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// ErrDeadline says that the run's deadline has passed.
var ErrDeadline = errors.New("the deadline has passed")

// errNotFetched is the error recorded for schools that are missing when a run is published at its deadline.
var errNotFetched = errors.New("not fetched before the deadline")

const (
	// forecastInterval is how often a run with a deadline estimates its end.
	forecastInterval = time.Second
	// minForecast is the number of finished school datasets below which the end is not estimated.
	minForecast = 10
)

// untilDeadline returns a context that also ends at the deadline, if there is one.
func (s *Settings) untilDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, s.Deadline, fmt.Errorf("%w (%s): run the same command again with a later %s",
		ErrDeadline, DeadlineText(s.Deadline), wording.Setting("deadline")))
}

// logDeadline logs when the run will stop fetching.
func (r *exportRun) logDeadline(ctx context.Context) {
	if at := r.settings.Deadline; !at.IsZero() {
		r.Logger.InfoContext(ctx, "the run stops fetching at its deadline", "deadline", DeadlineText(at), "time_left", wording.Duration(at.Sub(r.now)))
	}
}

// readSchool fetches a dataset of a school. If the deadline passes first, the result records the school as failed.
func (r *exportRun) readSchool(ctx context.Context, t *task, i int) (*fetch.Result, error) {
	began := time.Now()
	reading, cancel := r.settings.untilDeadline(ctx)
	defer cancel()
	result, err := r.fetch.School(reading, t.dataset, t.schools[i], t.log)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(reading), ErrDeadline) {
		result.Fail(errNotFetched)
		r.forecast.cut.Store(true)
		err = nil
	}
	if err == nil {
		r.forecast.finished(&result.Ledger, time.Since(began))
	}
	return result, err
}

// resultsFirst moves the tasks for lookups, for test results and for the students with whom the results are compared to
// the front, because a run with a deadline needs these tasks most. The order of the other tasks does not change.
func resultsFirst(todo []snapshot.Task) {
	rank := func(t snapshot.Task) int {
		if t.Bucket == snapshot.LookupBucket || t.Dataset == schemas.TestResults || t.Dataset == schemas.Students {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(todo, func(a, b snapshot.Task) int { return rank(a) - rank(b) })
}

// forecast estimates when a run with a deadline will have fetched all schools, and stops the run at the deadline if too
// many schools are missing then.
type forecast struct {
	deadline   time.Time
	maxMissing int // the number of schools that may be missing at the deadline
	progress   *Progress
	log        *slog.Logger
	began      time.Time

	cut atomic.Bool // whether a school was not fetched because of the deadline

	mu sync.Mutex
	// By dataset, left counts the schools to fetch, done counts the schools fetched, and took is the total time for
	// fetching these.
	left, done map[string]int
	took       map[string]time.Duration
	// lacking counts, by school, the datasets that the school still lacks.
	lacking map[string]int
	known   bool // whether an estimate has been logged
	late    bool // whether an estimate after the deadline has been logged
}

// watchDeadline watches the deadline, if the run has one, until done is called. It cancels the returned context at the
// deadline if too many schools are missing then.
func (r *exportRun) watchDeadline(ctx context.Context, tasks []*task) (_ context.Context, done func()) {
	if r.settings.Deadline.IsZero() {
		return ctx, func() {}
	}
	f := &forecast{
		deadline: r.settings.Deadline, maxMissing: r.settings.MaxFailedSchools - len(r.plan.FailedSchools),
		progress: r.Progress, log: r.Logger, began: time.Now(),
		left: make(map[string]int), done: make(map[string]int), took: make(map[string]time.Duration), lacking: make(map[string]int),
	}
	for _, t := range tasks {
		for i := range t.schools {
			f.left[t.dataset.Name]++
			f.lacking[t.schools[i].Bid]++
		}
	}
	r.forecast = f
	ctx, stop := context.WithCancelCause(ctx)
	watching, end := context.WithCancel(ctx)
	var owner sync.WaitGroup
	owner.Go(func() { f.watch(watching, stop) })
	return ctx, func() {
		end()
		owner.Wait()
		stop(nil)
	}
}

// finished records that a dataset of a school was fetched or has failed.
func (f *forecast) finished(l *snapshot.LedgerRow, took time.Duration) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left[l.Dataset]--
	f.done[l.Dataset]++
	f.took[l.Dataset] += took
	if l.Status == snapshot.StatusFailed {
		return
	}
	if f.lacking[l.SchoolBid]--; f.lacking[l.SchoolBid] == 0 {
		delete(f.lacking, l.SchoolBid)
	}
}

// watch logs estimates of the end until ctx is done. At the deadline it stops the run, unless so few schools are
// missing that the run can be published without them.
func (f *forecast) watch(ctx context.Context, stop context.CancelCauseFunc) {
	deadline := time.NewTimer(time.Until(f.deadline))
	defer deadline.Stop()
	ticker := time.NewTicker(forecastInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.report(ctx, time.Now())
		case <-deadline.C:
			missing, err := f.missed()
			if err != nil {
				stop(err)
			} else if missing > 0 {
				f.log.WarnContext(ctx, "the deadline has passed: continuing without the schools that are missing",
					"deadline", DeadlineText(f.deadline), "missing", missing)
			}
			return
		}
	}
}

// missed returns the number of schools that are missing at the deadline, and an error if there are too many of them.
func (f *forecast) missed() (missing int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if missing = len(f.lacking); missing > f.maxMissing {
		err = fmt.Errorf("%w (%s): %s incomplete, more than %s allows",
			ErrDeadline, DeadlineText(f.deadline), wording.Many(missing, "school"), wording.Setting("max-failed-schools"))
	}
	return missing, err
}

// cutShort returns an error if too many schools are missing because the deadline passed before watch could stop the
// run.
func (f *forecast) cutShort() error {
	if f == nil || !f.cut.Load() {
		return nil
	}
	_, err := f.missed()
	return err
}

// report adds the estimated end to the progress. It logs the first estimate, and the first estimate that is after the
// deadline.
func (f *forecast) report(ctx context.Context, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.end(now)
	if end.IsZero() {
		return
	}
	f.progress.setEnd(end)
	switch late := end.After(f.deadline); {
	case late && !f.late:
		f.log.WarnContext(ctx, "the run will miss its deadline", "estimated_end", DeadlineText(end), "deadline", DeadlineText(f.deadline))
		f.late = true
	case !late && !f.known:
		f.log.InfoContext(ctx, "the run will meet its deadline", "estimated_end", DeadlineText(end), "deadline", DeadlineText(f.deadline))
	}
	f.known = true
}

// end estimates when all schools will be fetched, assuming that the remaining schools of a dataset take as long as its
// finished schools on average. For a dataset without finished schools, it uses the average over all datasets. It
// returns the zero time if too few schools are finished.
func (f *forecast) end(now time.Time) time.Time {
	schools, took := 0, time.Duration(0)
	for dataset, done := range f.done {
		schools += done
		took += f.took[dataset]
	}
	if schools < minForecast || took <= 0 {
		return time.Time{}
	}
	left := 0.0
	for dataset, schoolsLeft := range f.left {
		each := float64(took) / float64(schools)
		if done := f.done[dataset]; done > 0 {
			each = float64(f.took[dataset]) / float64(done)
		}
		left += float64(schoolsLeft) * each
	}
	// Schools are fetched concurrently, so less time passes than the sum of their times.
	return now.Add(time.Duration(float64(now.Sub(f.began)) * left / float64(took))).In(f.deadline.Location())
}

// DeadlineText formats a time like the value of --deadline, but with the date, because the same setting refers to the
// next day once the time has passed.
func DeadlineText(t time.Time) string {
	text := t.Format("2006-01-02 15:04")
	if t.Location() == time.UTC {
		text += "Z"
	}
	return text
}
