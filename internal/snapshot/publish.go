package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// PublishOptions are the options of Publish.
type PublishOptions struct {
	// Now returns the current time.
	Now func() time.Time
	// Replace and AcceptBaseURL have the effect of --replace and --accept-base-url, even if the plan does not set them.
	Replace, AcceptBaseURL bool
	// Accepted are the reasons for holding the run that the operator overruled.
	Accepted []review.Reason
}

// Publish makes a staged run visible, or finishes an interrupted Publish of that run. If it returns a manifest without
// an error, the run was published, although the status in the manifest may be replaced.
//
// A *RefusedError means that the run must not be published at this destination or may not replace the current run, and
// that nothing is visible. An *UnfinishedError comes with the manifest: the run is the snapshot of its date, but a
// later step failed. ErrConflict means that another run keeps the date. The status in the manifest is then replaced. A
// *MissingError or ErrStagedLost means that nothing is visible and the command has to be run again.
func (c Catalog) Publish(ctx context.Context, g *StagedRun, opts PublishOptions) (_ *Manifest, err error) {
	unlock, err := c.lockPublishing(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		unlocked := unlock()
		if err == nil {
			unlocked = unfinished(unlocked)
		}
		err = errors.Join(err, unlocked)
	}()

	run := g.Plan.RunID
	change, version, err := c.readChange(ctx, run)
	switch {
	case err == nil:
		return c.resumePublishing(ctx, change, version)
	case errors.Is(err, sink.ErrDamaged):
		// The change is made again from the checkpoints. Steps that were finished need not be repeated.
	case !errors.Is(err, sink.ErrNotFound):
		return nil, err
	default:
		manifest, err := c.ReadManifest(ctx, run)
		if err == nil {
			// Another process may have continued to stage files of the run.
			err = unfinished(c.RemoveStaging(ctx, run))
		}
		if !errors.Is(err, sink.ErrNotFound) {
			return manifest, err
		}
	}
	if len(g.Missing) > 0 {
		return nil, &MissingError{Run: run, Missing: g.Missing}
	}
	change, version, err = c.beginPublishing(ctx, g, opts, version)
	if err != nil {
		return nil, fmt.Errorf("publish run %s: %w", run, err)
	}
	if change == nil {
		return c.ReadManifest(ctx, run)
	}
	return c.resumePublishing(ctx, change, version)
}

// resumePublishing applies the existing change of a run that is to be published. If the change is a purge or prune, the
// run was published before. resumePublishing then finishes that change and returns the resulting manifest.
func (c Catalog) resumePublishing(ctx context.Context, change *Change, version string) (*Manifest, error) {
	manifest, err := c.applyChange(ctx, change, version)
	if change.Publishes() {
		return manifest, err
	}
	manifest, readErr := c.ReadManifest(ctx, change.RunID)
	switch {
	case errors.Is(readErr, sink.ErrNotFound):
		return nil, errors.Join(err, &RefusedError{Reason: fmt.Sprintf("run %s was published, and pruned since", change.RunID)})
	case readErr != nil:
		return nil, errors.Join(err, readErr)
	case change.givenUp(err):
		err = nil
	}
	return manifest, unfinished(err)
}

// beginPublishing checks that the run may replace the current run, stages the ledger and writes the change. damaged is
// the version of the damaged change that it replaces, or "" if there is none. If another process came first,
// beginPublishing returns that process's change, or nil if the change is already complete.
func (c Catalog) beginPublishing(
	ctx context.Context, g *StagedRun, opts PublishOptions, damaged string,
) (*Change, string, error) {
	plan := g.Plan
	run := plan.RunID
	// On a store without locks, a purge or Abandon may have removed the run while it was being staged.
	if _, err := c.ReadPlan(ctx, run); errors.Is(err, sink.ErrNotFound) {
		return nil, "", fmt.Errorf("growth-export purge, publish %s or status %s has removed the run: run it again", wording.Setting("abandon"), wording.Setting("clean"))
	} else if err != nil {
		return nil, "", err
	}
	claim, err := c.claimDate(ctx, plan, opts)
	if err != nil {
		return nil, "", err
	}
	err = c.claimDestination(ctx, plan.BaseURL, plan.Scope.PartitionBy, plan.AcceptBaseURL || opts.AcceptBaseURL)
	if err != nil {
		return nil, "", err
	}
	ledger, err := c.stageLedger(ctx, run, g.Ledger)
	if errors.Is(err, sink.ErrStagedLost) {
		if swept, readErr := c.PublishingStarted(ctx, run); swept && readErr == nil {
			return c.CurrentChange(ctx, run)
		}
	}
	if err != nil {
		return nil, "", err
	}
	change := g.change(claim, ledger, opts)
	err = c.beginChange(ctx, change, damaged, []sink.File{ledger})
	if err != nil && !errors.Is(err, sink.ErrConflict) {
		return nil, "", err
	}
	current, version, err := c.CurrentChange(ctx, run)
	if err != nil {
		return nil, "", err
	}
	if current == nil || !sameStaged(sink.File{Staged: current.Staged[ledger.Path]}, sink.File{Staged: ledger.Staged}) {
		if err := c.store.Abort(ctx, run, ledger); err != nil {
			return nil, "", err
		}
	}
	return current, version, nil
}

// change returns the change that publishes the run with its staged ledger.
func (g *StagedRun) change(claim *Claim, ledger sink.File, opts PublishOptions) *Change {
	manifest, files := g.manifest()
	files[ledger.Path] = ledger
	manifest.Ledger = ledger
	manifest.Ledger.Staged = nil
	if len(claim.Replaces) > 0 {
		manifest.Replaces = claim.Replaces
	}
	manifest.Accepted = opts.Accepted
	manifest.PublishedAt = opts.Now().UTC().Truncate(time.Second)
	change := &Change{
		FormatVersion: FormatVersion, RunID: g.Plan.RunID, Kind: g.Plan.Kind, SnapshotDate: g.Plan.SnapshotDate,
		After: manifest, Staged: make(map[string]json.RawMessage), Claim: claim,
	}
	for path, file := range files {
		if file.Staged != nil {
			change.Staged[path] = file.Staged
		}
	}
	return change
}
