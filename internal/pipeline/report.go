package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// Ending holds facts about a run that only the command that worked on it knows, because they are not in any document.
// The zero value holds no facts.
type Ending struct {
	// Failure is the error that the command ended with.
	Failure error
	// counts holds the counts since the last checkpoint.
	counts counts
}

// Report returns the report of a run. It is made from the manifest and the ledger if the run is published, and from the
// checkpoints otherwise. The error wraps sink.ErrNotFound if there is no such run.
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

// WriteReport writes the report of a run beside its other documents, and writes it again if the run has changed in the
// meantime. It returns the runs that the run replaced. If the run is being removed, WriteReport removes the report, and
// the error wraps sink.ErrNotFound.
func WriteReport(ctx context.Context, catalog snapshot.Catalog, run string, end Ending) (replaced []string, err error) {
	for {
		page, err := pageOf(ctx, catalog, run)
		if err != nil {
			return nil, err
		}
		if end.Failure != nil {
			page.Failure = end.Failure.Error()
		}
		if !visible(page) {
			page.Manifest.Requests.Add(end.counts.requests)
			page.Manifest.Activity.Add(&end.counts.activity)
		}
		text, err := drawPage(page)
		if err != nil {
			return nil, err
		}
		written := catalog.Store().Write(ctx, snapshot.ReportPath(run), text, sink.Condition{})
		manifest, err := catalog.ReadManifest(ctx, run)
		if err != nil && !errors.Is(err, sink.ErrNotFound) {
			return nil, errors.Join(written, err)
		}
		going, err := catalog.BeingPruned(ctx, run)
		switch {
		case going:
			return nil, errors.Join(fmt.Errorf("run %s is being removed: %w", run, sink.ErrNotFound), catalog.Store().Remove(ctx, snapshot.ReportPath(run)))
		case err != nil, written != nil:
			return nil, errors.Join(written, err)
		case manifest == nil, visible(page) && sameRun(manifest, page.Manifest):
			return page.Manifest.Replaces, nil
		case !visible(page):
			end = Ending{} // another process published the run
		}
	}
}

// visible reports whether the run of a page is or was published.
func visible(page *report.Page) bool {
	return page.State == report.Published || page.State == report.Replaced
}

// sameRun reports whether a run was neither replaced nor purged between two reads of its manifest.
func sameRun(a, b *snapshot.Manifest) bool {
	return a.Status == b.Status && len(a.Purges) == len(b.Purges)
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
		err = addPublished(ctx, catalog, plan, page)
	case errors.Is(err, sink.ErrNotFound):
		err = addStaged(ctx, catalog, plan, page)
	}
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", run, err)
	}
	if page.Manifest.Kind == snapshot.Full {
		page.Nights, err = catalog.NightsBefore(ctx, page.Manifest, report.MaxNights)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the nights before run %s: %w", run, err)
	}
	return page, nil
}

// addPublished adds the ledger and the baseline of a published run to the page. If the run was replaced, it also adds
// the id of the run that replaced it. The baseline is added even if it has been replaced itself.
func addPublished(ctx context.Context, catalog snapshot.Catalog, plan *snapshot.Plan, page *report.Page) (err error) {
	m := page.Manifest
	if plan.Baseline != nil {
		if page.Baseline, err = catalog.ReadManifest(ctx, plan.Baseline.RunID); err != nil && !snapshot.Unreadable(err) {
			return fmt.Errorf("read the previous snapshot: %w", err)
		}
	}
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

// addStaged fills in the page of a run that is not published, from the run's checkpoints.
func addStaged(ctx context.Context, catalog snapshot.Catalog, plan *snapshot.Plan, page *report.Page) error {
	staged, err := catalog.Collect(ctx, plan)
	if err != nil {
		return err
	}
	if err := explain(ctx, catalog, staged, plan.Limits); err != nil {
		return err
	}
	page.Manifest, page.Baseline = staged.Preview(), staged.Baseline
	if page.Current, err = catalog.Newest(ctx, page.Manifest.Kind, page.Manifest.Like); err != nil {
		return fmt.Errorf("look for the current snapshot: %w", err)
	}
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
