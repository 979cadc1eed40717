package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/sink"
)

// Report draws the page of a run that has a plan at the store, as it stands
// there: from manifest and ledger of one that is published, from the journals
// of one that is not. Failure is the error with which the command ended that
// worked on it, nil if with none or if that is not known. An error wraps
// sink.ErrNotFound where there is no such run.
func Report(ctx context.Context, store sink.Store, run string, failure error) ([]byte, error) {
	page, err := pageOf(ctx, store, run)
	if err != nil {
		return nil, err
	}
	return drawPage(page, failure)
}

func drawPage(page *report.Page, failure error) ([]byte, error) {
	if failure != nil {
		page.Failure = failure.Error()
	}
	var b bytes.Buffer
	if err := report.Write(&b, page); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteReport draws the page of a run and writes it beside the run's other
// documents. It returns its path below the destination.
func WriteReport(ctx context.Context, store sink.Store, run string, failure error) (string, error) {
	_, err := writeReport(ctx, store, run, failure)
	return sink.ReportPath(run), err
}

func writeReport(ctx context.Context, store sink.Store, run string, failure error) (*report.Page, error) {
	for {
		page, err := pageOf(ctx, store, run)
		if err != nil {
			return nil, err
		}
		text, err := drawPage(page, failure)
		if err == nil {
			err = store.Write(ctx, sink.ReportPath(run), text, sink.Condition{})
		}
		if err != nil || page.State == report.Published || page.State == report.Replaced {
			return page, err
		}
		// Another process may have published the run, and written its page,
		// before ours came to stand there.
		_, err = sink.ReadManifest(ctx, store, run)
		if errors.Is(err, sink.ErrNotFound) {
			return page, nil
		}
		if err != nil {
			return nil, err
		}
		failure = nil // that was of a process which did not publish it
	}
}

// tell writes the page of a run that a command has worked on and that ended
// with err, and those of the runs that it replaced. That they cannot be written
// changes nothing.
func (d *Deps) tell(ctx context.Context, run string, err error) (path string) {
	if ctx.Err() != nil || errors.Is(err, ErrUsage) {
		return ""
	}
	page, failed := writeReport(ctx, d.Store, run, err)
	if failed == nil {
		path = sink.ReportPath(run)
		for _, replaced := range page.Manifest.Replaces {
			_, err := WriteReport(ctx, d.Store, replaced, nil)
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil && !errors.Is(failed, sink.ErrNotFound) && ctx.Err() == nil {
		d.Logger.WarnContext(ctx, "the report of the run cannot be written", "run", run, "error", failed)
	}
	return path
}

func pageOf(ctx context.Context, store sink.Store, run string) (*report.Page, error) {
	plan, err := sink.ReadPlan(ctx, store, run)
	if err != nil {
		return nil, fmt.Errorf("read the plan of run %s: %w", run, err)
	}
	page := &report.Page{Destination: store.String(), Filters: plan.Filters, Units: len(plan.Units())}
	page.Manifest, err = sink.ReadManifest(ctx, store, run)
	switch {
	case err == nil:
		err = published(ctx, store, page)
	case errors.Is(err, sink.ErrNotFound):
		err = unpublished(ctx, store, plan, page)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", run, err)
	}
	page.Before, err = sink.Before(ctx, store, page.Manifest)
	if err != nil {
		return nil, fmt.Errorf("look for the run before %s: %w", run, err)
	}
	return page, nil
}

// published reads the ledger of a published run, and what has its date.
func published(ctx context.Context, store sink.Store, page *report.Page) error {
	m := page.Manifest
	page.State = report.Published
	if m.Status == sink.Replaced {
		page.State = report.Replaced
		standing, err := sink.Standing(ctx, store, m.Kind, m.SnapshotDate)
		if err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged) {
			return err
		}
		if standing != nil {
			page.Standing = standing.RunID
		}
	}
	return sink.ReadLedger(ctx, store, m.RunID, page.Ledger.Add)
}

// unpublished adds up the journals of a run.
func unpublished(ctx context.Context, store sink.Store, plan *sink.Plan, page *report.Page) error {
	gathered, err := sink.Gather(ctx, store, plan)
	if err != nil {
		return err
	}
	page.Manifest = gathered.Preview()
	for i := range gathered.Ledger {
		page.Ledger.Add(&gathered.Ledger[i])
	}
	for _, unit := range gathered.Missing {
		page.Missing = append(page.Missing, unit.String())
	}
	page.State = report.Staged
	if len(page.Missing) > 0 {
		page.State = report.Incomplete
		return nil
	}
	if page.Held, err = sink.HeldReasons(ctx, store, plan.RunID); len(page.Held) > 0 {
		page.State = report.Held
	}
	return err
}
