package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// VerifyTarget selects a run, the snapshot of a date or the enrollment as of a date. If all fields are empty, it
// selects the latest snapshot.
type VerifyTarget struct {
	RunID         string
	SnapshotDate  string
	EffectiveDate string
}

// located describes the run to verify. Its field run is empty if no run was found.
type located struct {
	run string
	// pointer is the path of the document that refers to the run, and hash is the hash of the manifest in that document.
	// Both are empty if no readable pointer refers to the run.
	pointer, hash string
}

// publishing reports whether publishing the run is in progress or was interrupted. In both cases, some of the steps
// that come after the pointer may not have been done.
func (v *verification) publishing(ctx context.Context, run string) (bool, error) {
	change, _, err := v.catalog.CurrentChange(ctx, run)
	return change != nil && change.Publishes(), err
}

func (v *verification) locate(ctx context.Context, target VerifyTarget) (located, error) {
	switch {
	case target.RunID != "":
		return v.locateRun(ctx, target.RunID)
	case target.SnapshotDate != "":
		return v.locateDate(ctx, snapshot.Full, target.SnapshotDate)
	case target.EffectiveDate != "":
		return v.locateDate(ctx, snapshot.AsOf, target.EffectiveDate)
	}
	return v.locateLatest(ctx)
}

// unknown returns the error for a target that does not exist.
func (t VerifyTarget) unknown(catalog snapshot.Catalog) error {
	what := "no snapshot of all schools is published at " + catalog.String() + ": give the date or the id of a run (see growth-export status)"
	switch {
	case t.RunID != "":
		what = "there is no run " + t.RunID + " at " + catalog.String() + ": see growth-export status"
	case t.SnapshotDate != "":
		what = "there is no snapshot of " + t.SnapshotDate + " at " + catalog.String()
	case t.EffectiveDate != "":
		what = "there is no snapshot as of " + t.EffectiveDate + " at " + catalog.String()
	}
	return &snapshot.RefusedError{Reason: what}
}

func (v *verification) locateRun(ctx context.Context, run string) (located, error) {
	manifest, err := v.catalog.ReadManifest(ctx, run)
	if errors.Is(err, sink.ErrNotFound) {
		return v.locateUnpublished(ctx, run)
	}
	if ctx.Err() != nil {
		return located{}, context.Cause(ctx)
	}
	if err != nil {
		return located{run: run}, nil //nolint:nilerr // run reads the manifest again and reports the problem.
	}
	path := snapshot.PointerPath(manifest.Kind, manifest.SnapshotDate)
	if path == "" {
		return located{run: run}, nil
	}
	pointer, err := v.pointer(ctx, path)
	if pointer == nil || err != nil {
		return located{run: run}, err
	}
	if pointer.RunID == run {
		return located{run: run, pointer: path, hash: pointer.ManifestSHA256}, nil
	}
	replaced := manifest.Status == snapshot.Replaced
	if !replaced {
		if replaced, err = v.publishing(ctx, pointer.RunID); err != nil {
			return located{}, err
		}
	}
	if replaced {
		return located{}, &snapshot.RefusedError{Reason: fmt.Sprintf("run %s at %s was replaced by run %s and its files are not kept, "+
			"so there is nothing to verify", run, v.catalog, pointer.RunID)}
	}
	v.problem(path, "refers to run %s, but the manifest of run %s is not marked as replaced", pointer.RunID, run)
	return located{run: run}, nil
}

// locateUnpublished finds a run without a manifest. If the run was published, Verify reports that its manifest is
// missing. If it was planned but never published, locateUnpublished returns a *RefusedError.
func (v *verification) locateUnpublished(ctx context.Context, run string) (located, error) {
	plan, err := v.catalog.ReadPlan(ctx, run)
	switch {
	case errors.Is(err, sink.ErrNotFound):
		return located{}, nil // neither planned nor published
	case err != nil:
		return located{run: run}, nil //nolint:nilerr // Verify reports the missing manifest.
	}
	published, err := v.catalog.WasPublished(ctx, plan)
	if err != nil || published {
		return located{run: run}, err
	}
	return located{}, &snapshot.RefusedError{Reason: fmt.Sprintf("run %s at %s is not published, so there is nothing to verify: "+
		"%s shows its progress, and %s publishes it once it is staged",
		run, v.catalog, wording.Command("status"), wording.Command("publish", wording.Setting("run-id"), run))}
}

func (v *verification) pointer(ctx context.Context, path string) (*snapshot.Pointer, error) {
	pointer, err := pinned[snapshot.Pointer](ctx, v, path)
	if pointer == nil || err != nil {
		return nil, err
	}
	if pointer.Manifest != snapshot.ManifestPath(pointer.RunID) {
		v.problem(path, "its manifest belongs to another run")
		return nil, nil
	}
	return pointer, nil
}

func (v *verification) locateDate(ctx context.Context, kind snapshot.Kind, date string) (located, error) {
	path := snapshot.PointerPath(kind, date)
	pointer, err := v.pointer(ctx, path)
	if err != nil {
		return located{}, err
	}
	if pointer != nil {
		return located{run: pointer.RunID, pointer: path, hash: pointer.ManifestSHA256}, nil
	}
	// The pointer is unusable, so search all runs for the run to which it should refer.
	runs, err := v.catalog.Runs(ctx)
	if err != nil {
		return located{}, err
	}
	for _, r := range runs { // the newest first
		if r.Kind == kind && r.SnapshotDate == date && r.State == snapshot.StatePublished {
			return located{run: r.RunID}, nil
		}
	}
	return located{}, nil
}

func (v *verification) locateLatest(ctx context.Context) (located, error) {
	latest, err := pinned[snapshot.Latest](ctx, v, snapshot.LatestPath)
	if err != nil {
		return located{}, err
	}
	newest, err := v.catalog.NewestUnfiltered(ctx)
	if err != nil || latest == nil && newest == nil {
		return located{}, err
	}
	// _latest.json is written after the pointer of the date, and the change of the newest run is read after both. If
	// publishing has ended before the change is read, _latest.json has changed, and Verify starts over.
	if newest != nil && (latest == nil || latest.SnapshotDate < newest.SnapshotDate) {
		follows, err := v.publishing(ctx, newest.RunID)
		if err != nil {
			return located{}, err
		}
		switch {
		case follows:
			v.report.Problems = slices.DeleteFunc(v.report.Problems, func(p Problem) bool {
				return p == Problem{Path: snapshot.LatestPath, Problem: Missing}
			})
		case latest != nil:
			v.problem(snapshot.LatestPath, "refers to the snapshot of %s, but the newest is of %s", latest.SnapshotDate, newest.SnapshotDate)
		}
	}
	if latest == nil {
		return v.locateDate(ctx, snapshot.Full, newest.SnapshotDate)
	}
	if latest.Manifest != snapshot.ManifestPath(latest.RunID) {
		v.problem(snapshot.LatestPath, "its manifest belongs to another run")
	}
	found, err := v.locateDate(ctx, snapshot.Full, latest.SnapshotDate)
	if err != nil {
		return located{}, err
	}
	if found.run != latest.RunID {
		follows, err := v.publishing(ctx, found.run)
		if err != nil {
			return located{}, err
		}
		switch {
		case follows:
		case found.run == "":
			v.problem(snapshot.LatestPath, "refers to run %s, but there is no snapshot of %s", latest.RunID, latest.SnapshotDate)
		default:
			v.problem(snapshot.LatestPath, "refers to run %s, but the snapshot of %s is run %s", latest.RunID, latest.SnapshotDate, found.run)
		}
	}
	if found.run == "" && newest != nil {
		return v.locateDate(ctx, snapshot.Full, newest.SnapshotDate)
	}
	return found, nil
}
