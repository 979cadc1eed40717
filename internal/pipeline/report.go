package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// ending is what a command knows of a run that it has worked on, and that is written nowhere else. The zero value is to
// know nothing.
type ending struct {
	// failure is the error that it ended with.
	failure error
	// counts are those since the last checkpoint.
	counts counts
}

// Report returns the report of a run: from manifest and ledger if it is published, otherwise from its checkpoints. The
// error wraps sink.ErrNotFound if there is no such run.
func Report(ctx context.Context, catalog snapshot.Catalog, run string) ([]byte, error) {
	page, err := pageOf(ctx, catalog, run)
	if err != nil {
		return nil, err
	}
	return drawPage(page)
}

func drawPage(page *report.Page) ([]byte, error) {
	var b bytes.Buffer
	if err := report.Write(&b, page); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteReport draws the page of a run as Report does and writes it beside the run's other documents. It returns its
// path below the destination.
func WriteReport(ctx context.Context, catalog snapshot.Catalog, run string) (string, error) {
	_, err := writeReport(ctx, catalog, run, ending{})
	return snapshot.ReportPath(run), err
}

// writeReport writes the report of a run, and again if the run changed while it was drawn. If the run is removed, so is
// the report, and the error wraps sink.ErrNotFound.
func writeReport(ctx context.Context, catalog snapshot.Catalog, run string, end ending) (*report.Page, error) {
	for {
		page, err := pageOf(ctx, catalog, run)
		if err != nil {
			return nil, err
		}
		if end.failure != nil {
			page.Failure = end.failure.Error()
		}
		if !visible(page) {
			page.Manifest.Requests.Add(end.counts.requests)
			page.Manifest.Activity.Add(&end.counts.activity)
		}
		text, err := drawPage(page)
		if err != nil {
			return page, err
		}
		written := catalog.Write(ctx, snapshot.ReportPath(run), text, sink.Condition{})
		manifest, err := catalog.ReadManifest(ctx, run)
		if err != nil && !errors.Is(err, sink.ErrNotFound) {
			return page, errors.Join(written, err)
		}
		going, err := catalog.BeingPruned(ctx, run)
		switch {
		case going:
			return page, errors.Join(fmt.Errorf("run %s is being removed: %w", run, sink.ErrNotFound), catalog.Remove(ctx, snapshot.ReportPath(run)))
		case err != nil, written != nil:
			return page, errors.Join(written, err)
		case manifest == nil, visible(page) && sameRun(manifest, page.Manifest):
			return page, nil
		case !visible(page):
			end = ending{} // another process published the run
		}
	}
}

// visible reports whether the run of a page is or was published.
func visible(page *report.Page) bool {
	return page.State == report.Published || page.State == report.Replaced
}

// sameRun reports whether a run was neither replaced nor purged between two readings of its manifest.
func sameRun(a, b *snapshot.Manifest) bool {
	return a.Status == b.Status && len(a.Purges) == len(b.Purges)
}

// reportTimeout is how long the end of a command waits for its pages: a destination that is gone has made it wait
// before.
const reportTimeout = 2 * time.Minute

// writeReports writes the reports of a run and of the runs that it replaced, and the page of all runs. A failure is only
// logged.
func (d *Deps) writeReports(ctx context.Context, run string, end ending) (path string) {
	if ctx.Err() != nil || errors.Is(end.failure, ErrUsage) {
		return ""
	}
	within, cancel := withReportTimeout(ctx)
	defer cancel()
	page, err := writeReport(within, d.Catalog, run, end)
	if err == nil {
		path = snapshot.ReportPath(run)
		for _, replaced := range page.Manifest.Replaces {
			_, failed := WriteReport(within, d.Catalog, replaced)
			err = errors.Join(err, failed)
		}
	}
	d.warnOfPage(ctx, within, snapshot.ReportPath(run), err)
	d.warnOfPage(ctx, within, snapshot.IndexPath, WriteIndex(within, d.Catalog))
	return path
}

// writeIndex writes the page of all runs. A failure is only logged.
func (d *Deps) writeIndex(ctx context.Context) {
	within, cancel := withReportTimeout(ctx)
	defer cancel()
	d.warnOfPage(ctx, within, snapshot.IndexPath, WriteIndex(within, d.Catalog))
}

func withReportTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, reportTimeout, fmt.Errorf("it took more than %s", reportTimeout))
}

// warnOfPage logs that a page cannot be written, unless the command is being stopped or the run was removed.
func (d *Deps) warnOfPage(ctx, within context.Context, path string, err error) {
	if err != nil && within.Err() != nil {
		err = context.Cause(within) // the error is a consequence of the cancellation
	}
	if err != nil && !errors.Is(err, sink.ErrNotFound) && ctx.Err() == nil {
		d.Logger.WarnContext(ctx, "a report cannot be written", "path", path, "error", err)
	}
}

func pageOf(ctx context.Context, catalog snapshot.Catalog, run string) (*report.Page, error) {
	plan, err := catalog.ReadPlan(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("read the plan of run %s: %w", run, err)
	}
	page := &report.Page{Destination: catalog.String(), Filters: plan.Filters, Tasks: len(plan.Tasks()), Names: plan.SchoolNames()}
	page.Manifest, err = catalog.ReadManifest(ctx, run)
	switch {
	case err == nil:
		err = addPublished(ctx, catalog, page)
	case errors.Is(err, sink.ErrNotFound):
		err = addStaged(ctx, catalog, plan, page)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", run, err)
	}
	page.Baseline, err = catalog.Baseline(ctx, page.Manifest)
	if err != nil {
		return nil, fmt.Errorf("look for the run before %s: %w", run, err)
	}
	if page.Manifest.Kind == snapshot.Full {
		page.Nights, err = catalog.NightsBefore(ctx, page.Manifest, report.MaxNights)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the nights before run %s: %w", run, err)
	}
	return page, nil
}

// addPublished adds the ledger of a published run, and the run that replaced it.
func addPublished(ctx context.Context, catalog snapshot.Catalog, page *report.Page) error {
	m := page.Manifest
	page.State = report.Published
	if m.Status == snapshot.Replaced {
		page.State = report.Replaced
		current, err := catalog.Current(ctx, m.Kind, m.SnapshotDate)
		if err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged) {
			return err
		}
		if current != nil {
			page.ReplacedBy = current.RunID
		}
	}
	return catalog.ReadLedger(ctx, m.RunID, page.Ledger.Add)
}

// addStaged adds up the checkpoints of a run that is not published.
func addStaged(ctx context.Context, catalog snapshot.Catalog, plan *snapshot.Plan, page *report.Page) error {
	staged, err := catalog.Collect(ctx, plan)
	if err != nil {
		return err
	}
	addWarnings(staged)
	page.Manifest = staged.Preview()
	for i := range staged.Ledger {
		page.Ledger.Add(&staged.Ledger[i])
	}
	for _, task := range staged.Missing {
		page.Missing = append(page.Missing, task.String())
	}
	page.State = report.Staged
	if len(page.Missing) > 0 {
		page.State = report.Incomplete
		return nil
	}
	if page.Held, err = catalog.ReadHeld(ctx, plan.RunID); len(page.Held.Reasons) > 0 {
		page.State = report.Held
	}
	return err
}
