package pipeline

import (
	"context"
	"fmt"

	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/sink"
)

// openLog opens the log of a fan-out task, with the calls that an earlier process has made. If a file of the log cannot
// be written or read, the run does not fail: the calls are made again. It returns an error if the files cannot be
// listed or ctx ends.
func (r *exportRun) openLog(ctx context.Context, t *task) error {
	t.log = r.fetch.NewCallLog(t.dataset, func(ctx context.Context, data []byte) { r.saveCalls(ctx, t, data) })
	if t.log == nil || !r.resumes {
		return nil
	}
	paths, err := r.Catalog.CallFiles(ctx, r.plan.RunID, t.id())
	if err != nil {
		return fmt.Errorf("look for saved calls of %s: %w", t.id(), err)
	}
	calls, err := sink.Map(ctx, sink.MaxConcurrency, paths, func(loading context.Context, path string) (int, error) {
		n, err := t.log.Load(func() (fetch.LogFile, error) { return r.Catalog.Open(ctx, path) })
		if err != nil && loading.Err() == nil {
			r.Logger.WarnContext(ctx, "cannot read rows that an earlier process fetched: fetching them again", "file", path, "error", err)
		}
		return n, context.Cause(loading)
	})
	for _, n := range calls {
		r.summary.CallsResumed += n
	}
	return err
}

// saveCalls adds a file to the log of a task. It logs only the first failure of a run.
func (r *exportRun) saveCalls(ctx context.Context, t *task, data []byte) {
	err := r.Catalog.WriteCalls(ctx, r.plan.RunID, t.id(), data)
	if err == nil || ctx.Err() != nil {
		return
	}
	r.notSaved.Do(func() {
		r.Logger.WarnContext(ctx, "cannot save fetched rows: if the run is interrupted, they will be fetched again", "error", err)
	})
}
