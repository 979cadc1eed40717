package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// errNothingPublished is the last part of errors about snapshots that were not found.
var errNothingPublished = usagef("see growth-export status for the runs at the destination")

// runsByID returns the manifests of published runs, oldest first. If there are several runs, they must all be delta
// runs.
func runsByID(ctx context.Context, catalog snapshot.Catalog, ids []string) ([]*snapshot.Manifest, error) {
	var runs []*snapshot.Manifest
	for _, id := range ids {
		manifest, err := catalog.ReadManifest(ctx, id)
		switch {
		case errors.Is(err, sink.ErrNotFound):
			return nil, fmt.Errorf("no run %s is published at %s: %w", id, catalog, errNothingPublished)
		case err != nil:
			return nil, fmt.Errorf("read run %s: %w", id, err)
		case manifest.Status != snapshot.Published:
			return nil, usagef("run %s at %s was replaced and its files are gone: give the run that replaced it (see growth-export status)", id, catalog)
		case len(ids) > 1 && manifest.Kind != snapshot.Delta:
			return nil, usagef("--run-id: run %s is not a delta run, and only delta runs can be combined: give only this run", id)
		}
		runs = append(runs, manifest)
	}
	slices.SortFunc(runs, snapshot.ByPlan)
	return runs, nil
}

// publishedRun returns the manifest of the full snapshot of snapshotDate or of the as-of snapshot of effectiveDate. If
// both dates are empty, it returns the manifest of the latest snapshot. If no snapshot covers all schools and students,
// as is the case at the destination of a cohort, the latest snapshot is the newest full snapshot of any scope.
func publishedRun(ctx context.Context, catalog snapshot.Catalog, snapshotDate, effectiveDate string) (*snapshot.Manifest, error) {
	var manifest *snapshot.Manifest
	var err error
	what, missing := "latest snapshot", "no snapshot is published"
	switch {
	case snapshotDate != "":
		what = "snapshot of " + snapshotDate
		manifest, err = catalog.Current(ctx, snapshot.Full, snapshotDate)
	case effectiveDate != "":
		what = "enrollment as of " + effectiveDate
		manifest, err = catalog.Current(ctx, snapshot.AsOf, effectiveDate)
	default:
		if manifest, err = catalog.LatestRun(ctx); manifest == nil && err == nil {
			manifest, err = catalog.Newest(ctx, snapshot.Full, func(*snapshot.Manifest) bool { return true })
		}
	}
	if snapshotDate != "" || effectiveDate != "" {
		missing = "there is no " + what
	}
	switch {
	case err != nil && !errors.Is(err, sink.ErrNotFound):
		return nil, fmt.Errorf("read the %s: %w", what, err)
	case manifest == nil:
		return nil, fmt.Errorf("%s at %s: %w", missing, catalog, errNothingPublished)
	}
	return manifest, nil
}
