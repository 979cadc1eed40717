package snapshot

import (
	"context"
	"errors"
	"fmt"

	"example.org/growthexport/internal/sink"
)

// Baseline is the published snapshot that a run is compared with while it is staged. The plan pins it, so that every
// process of the run compares with the same rows.
type Baseline struct {
	RunID        string `json:"run_id"`
	SnapshotDate string `json:"snapshot_date"`
	// ManifestSHA256 is the hash of the manifest. It changes when the snapshot is replaced or purged.
	ManifestSHA256 string `json:"manifest_sha256"`
	// SchoolsGone counts the schools of the baseline that the run does not have.
	SchoolsGone int64 `json:"schools_gone"`
}

// FindBaseline returns the baseline of a plan: the published full snapshot of the last date before the run's, of equal
// service and scope. It returns nil if there is none, or the run is not full. Damaged snapshots of dates before the run's
// are skipped, and skipped is called with the path of their pointer.
func (c Catalog) FindBaseline(ctx context.Context, plan *Plan, skipped func(pointer string)) (*Baseline, error) {
	if plan.Kind != Full {
		return nil, nil
	}
	before, err := c.fullBefore(ctx, plan.SnapshotDate, plan.BaseURL, plan.Scope, func(pointer string) bool {
		skipped(pointer)
		return true
	})
	if before == nil || err != nil {
		return nil, err
	}
	data, _, err := c.Read(ctx, ManifestPath(before.RunID))
	if errors.Is(err, sink.ErrNotFound) {
		return nil, nil // pruned just now
	}
	if err != nil {
		return nil, err
	}
	baseline := &Baseline{RunID: before.RunID, SnapshotDate: before.SnapshotDate, ManifestSHA256: sink.Hash(data)}
	earlier, err := c.ReadPlan(ctx, before.RunID)
	if err != nil {
		if Unreadable(err) {
			err = nil // OpenBaseline reports it
		}
		return baseline, err
	}
	listed := make(map[string]bool, len(plan.Schools))
	for i := range plan.Schools {
		listed[plan.Schools[i].Bid] = true
	}
	for i := range earlier.Schools {
		if !listed[earlier.Schools[i].Bid] {
			baseline.SchoolsGone++
		}
	}
	return baseline, nil
}

// errBaselineChanged says that the baseline of a run is no longer what the run's plan has pinned.
var errBaselineChanged = errors.New("it was replaced, purged or pruned after this run had begun")

// ReadBaseline returns the manifest of a baseline. It fails if that is not the pinned one.
func (c Catalog) ReadBaseline(ctx context.Context, baseline *Baseline) (*Manifest, error) {
	path := ManifestPath(baseline.RunID)
	data, _, err := c.Read(ctx, path)
	if errors.Is(err, sink.ErrNotFound) || err == nil && sink.Hash(data) != baseline.ManifestSHA256 {
		return nil, fmt.Errorf("read %s: %w", path, errBaselineChanged)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	manifest := new(Manifest)
	return manifest, DecodeDocument(path, data, manifest)
}
