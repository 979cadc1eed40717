package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/sink"
)

// publishLock is the lock that publishers of a destination hold.
const PublishLock = "publish"

// PublishOptions are the options of Publish.
type PublishOptions struct {
	// Now tells the time.
	Now func() time.Time
	// Replace and AcceptBaseURL allow what --replace and --accept-base-url allow,
	// besides what the plan allows.
	Replace, AcceptBaseURL bool
	// Accepted are the reasons to hold the run back that were overruled by hand.
	Accepted []string
}

// Publish makes a staged run visible, and is done once it returns a manifest:
// called again, after it was killed or not, it goes on where it stopped. A
// *RefusedError says that the run may not replace the current one; nothing is
// visible then. An *UnfinishedError comes with the manifest: the run is the snapshot of
// its date, and a step after that failed. ErrConflict says that another run, planned later, took the date
// while this one published; the manifest tells that this one is replaced.
// ErrStagedLost says that nothing is visible and the run has to be run again.
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
		return c.applyChange(ctx, change, version)
	case errors.Is(err, sink.ErrDamaged):
		// The checkpoints have the same information, and finished steps stay finished.
	case !errors.Is(err, sink.ErrNotFound):
		return nil, err
	default:
		manifest, err := c.ReadManifest(ctx, run)
		if err == nil {
			// Another process may have gone on staging the run.
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
	return c.applyChange(ctx, change, version)
}

// beginPublishing checks that the run may replace the current one, stages the
// ledger and writes the change, over the damaged one of that version if there
// is one. If another process was faster its change counts; nil says that it has
// made it already.
func (c Catalog) beginPublishing(
	ctx context.Context, g *StagedRun, opts PublishOptions, damaged string,
) (*Change, string, error) {
	plan := g.Plan
	run := plan.RunID
	manifest, files := g.manifest()
	claim := &Claim{
		PlannedAt: plan.PlannedAt.UTC(),
		Today:     plan.PlannedAt.UTC().Format(time.DateOnly) == plan.SnapshotDate,
		Replace:   plan.Replace || opts.Replace,
		Replaces:  []string{},
	}
	replaced, err := c.CheckReplace(ctx, Candidate{
		Run: run, Kind: plan.Kind, Date: plan.SnapshotDate, BaseURL: plan.BaseURL, Scope: plan.Scope,
		Today: claim.Today, Replace: claim.Replace,
	})
	if err != nil {
		return nil, "", err
	}
	if replaced != nil {
		claim.Replaces = append(claim.Replaces, replaced.RunID)
		manifest.Replaces = claim.Replaces
	}
	err = c.settleDestination(ctx, plan.BaseURL, plan.Scope.PartitionBy, plan.AcceptBaseURL || opts.AcceptBaseURL)
	if err != nil {
		return nil, "", err
	}
	if err := c.CheckCommit(ctx, run, slices.Collect(maps.Keys(files))); err != nil {
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
	files[ledger.Path] = ledger
	manifest.Ledger = ledger
	manifest.Ledger.Staged = nil
	manifest.Accepted = opts.Accepted
	manifest.PublishedAt = opts.Now().UTC().Truncate(time.Second)
	change := &Change{
		FormatVersion: FormatVersion, RunID: run, Kind: plan.Kind, SnapshotDate: plan.SnapshotDate,
		After: manifest, Staged: make(map[string]json.RawMessage), Claim: claim,
	}
	for path, file := range files {
		if file.Staged != nil {
			change.Staged[path] = file.Staged
		}
	}
	err = c.beginChange(ctx, change, damaged)
	if err != nil && !errors.Is(err, sink.ErrConflict) {
		// It may have been written anyway, and then needs the ledger.
		if _, _, readErr := c.Read(ctx, ChangePath(run)); errors.Is(readErr, sink.ErrNotFound) {
			err = errors.Join(err, c.Abort(ctx, run, ledger))
		}
		return nil, "", err
	}
	current, version, err := c.CurrentChange(ctx, run)
	if err != nil {
		return nil, "", err
	}
	if current == nil || !sameStaged(sink.File{Staged: current.Staged[ledger.Path]}, sink.File{Staged: ledger.Staged}) {
		if err := c.Abort(ctx, run, ledger); err != nil {
			return nil, "", err
		}
	}
	return current, version, nil
}

// currentChange reads the change of a run; nil if there is none.
func (c Catalog) CurrentChange(ctx context.Context, run string) (*Change, string, error) {
	change, version, err := c.readChange(ctx, run)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, "", nil
	}
	return change, version, err
}

// ReadManifest reads the manifest of a run: ErrNotFound if it is not published,
// ErrDamaged.
func (c Catalog) ReadManifest(ctx context.Context, run string) (*Manifest, error) {
	manifest, _, err := c.readManifest(ctx, run)
	return manifest, err
}

func (c Catalog) readManifest(ctx context.Context, run string) (*Manifest, string, error) {
	path := ManifestPath(run)
	manifest, version, err := ReadDocument[Manifest](ctx, c, path)
	if err != nil {
		return nil, version, err
	}
	if manifest.RunID != run {
		return nil, version, fmt.Errorf("read %s: %w: it is the manifest of another run", path, sink.ErrDamaged)
	}
	return manifest, version, nil
}
