package destination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// pagesTimeout is the maximum time for writing the pages of a command. It is short, because a command has already
// waited long enough if the destination is unreachable.
const pagesTimeout = 2 * time.Minute

// WriteReport writes the report of a run and the page of all runs, and returns the path of the report.
func (s *Session) WriteReport(ctx context.Context, run string) (string, error) {
	if _, err := pipeline.WriteReport(ctx, s.Catalog, run, pipeline.Ending{}); err != nil {
		return "", err
	}
	s.warnOfPage(ctx, ctx, snapshot.IndexPath, pipeline.WriteIndex(ctx, s.Catalog))
	return snapshot.ReportPath(run), nil
}

// RewriteReports writes the reports of runs, the reports of any other runs that were changed, and the page of all runs.
// It returns an error if one of the given reports cannot be written. Runs that were removed are ignored.
func (s *Session) RewriteReports(ctx context.Context, runs []string) error {
	_, err := sink.Map(ctx, reportConcurrency, runs, func(ctx context.Context, run string) (struct{}, error) {
		_, err := pipeline.WriteReport(ctx, s.Catalog, run, pipeline.Ending{})
		if err != nil && !errors.Is(err, sink.ErrNotFound) {
			return struct{}{}, fmt.Errorf("report of run %s: %w", run, err)
		}
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	others := make(map[string]pipeline.Ending)
	for _, run := range s.Catalog.TakeChanged() {
		if !slices.Contains(runs, run) {
			others[run] = pipeline.Ending{}
		}
	}
	if len(others) == 0 { // writeReports would not write the page of all runs
		s.warnOfPage(ctx, ctx, snapshot.IndexPath, pipeline.WriteIndex(ctx, s.Catalog))
	}
	s.writeReports(ctx, others)
	return nil
}

// reportConcurrency is the maximum number of reports that RewriteReports writes at once.
const reportConcurrency = 8

// writePages writes the reports of the runs that were changed since the last call, and the page of all runs. If no run
// was changed, it writes nothing. A failure is only logged.
func (s *Session) writePages(ctx context.Context) {
	ends := make(map[string]pipeline.Ending)
	for _, run := range s.Catalog.TakeChanged() {
		ends[run] = pipeline.Ending{}
	}
	s.writeReports(ctx, ends)
}

// writePagesOf works like writePages, but also writes a report of the run that the summary describes, whatever its
// outcome, and sets the path of the report in the summary.
func (s *Session) writePagesOf(ctx context.Context, summary *pipeline.Summary) {
	if summary == nil || summary.Ending == nil || errors.Is(summary.Ending.Failure, pipeline.ErrUsage) {
		s.writePages(ctx)
		return
	}
	ends := map[string]pipeline.Ending{summary.RunID: *summary.Ending}
	for _, run := range s.Catalog.TakeChanged() {
		if run != summary.RunID {
			ends[run] = pipeline.Ending{}
		}
	}
	if s.writeReports(ctx, ends)[summary.RunID] {
		summary.Report = snapshot.ReportPath(summary.RunID)
	}
}

// writeReports writes the reports of runs and of the runs that they replaced, then the page of all runs. It returns,
// for each run in ends, whether its report was written.
func (s *Session) writeReports(ctx context.Context, ends map[string]pipeline.Ending) map[string]bool {
	written := make(map[string]bool)
	if len(ends) == 0 || ctx.Err() != nil {
		return written
	}
	within, cancel := context.WithTimeoutCause(ctx, pagesTimeout, fmt.Errorf("it took more than %s", pagesTimeout))
	defer cancel()
	for run, end := range ends {
		replaced, err := pipeline.WriteReport(within, s.Catalog, run, end)
		written[run] = err == nil
		for _, other := range replaced {
			if _, known := ends[other]; !known {
				_, failed := pipeline.WriteReport(within, s.Catalog, other, pipeline.Ending{})
				err = errors.Join(err, failed)
			}
		}
		s.warnOfPage(ctx, within, snapshot.ReportPath(run), err)
	}
	s.warnOfPage(ctx, within, snapshot.IndexPath, pipeline.WriteIndex(within, s.Catalog))
	return written
}

// warnOfPage logs a warning that a page cannot be written, unless the command is being stopped or the run was removed.
func (s *Session) warnOfPage(ctx, within context.Context, path string, err error) {
	if err != nil && within.Err() != nil {
		err = context.Cause(within) // the error is a consequence of the cancellation
	}
	if err != nil && !errors.Is(err, sink.ErrNotFound) && ctx.Err() == nil {
		s.opts.Log.WarnContext(ctx, "a report cannot be written", "path", path, "error", err)
	}
}
