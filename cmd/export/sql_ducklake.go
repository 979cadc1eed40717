package main

import (
	"context"
	"fmt"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas/render"
)

// describeDuckLake returns a description of the files of all full snapshots, for a DuckLake catalogue.
func (a *app) describeDuckLake(ctx context.Context, o *sqlOptions, from sources) (*render.Snapshot, error) {
	for _, name := range []string{"dialect", "views", "norms", "schema", "snapshot-date", "effective-date", "run-id", "changes", "history", "delta-lake"} {
		if from[name].rank == byFlag {
			return nil, usagef("--format ducklake is for DuckDB and for the tables of all snapshots: remove %s", from[name].name)
		}
	}
	catalog, err := a.existingCatalog(ctx, &o.destination, from, false)
	if err != nil {
		return nil, err
	}
	return await(ctx, func() (*render.Snapshot, error) {
		var manifests []*snapshot.Manifest
		for s, err := range catalog.Snapshots(ctx, snapshot.Full, "") {
			if err == nil && s.Err != nil {
				err = fmt.Errorf("read the manifest to which %s refers: %w", s.Path, s.Err)
			}
			if err != nil {
				return nil, fmt.Errorf("list the files of all snapshots: %w", err)
			}
			manifests = append(manifests, s.Manifest)
		}
		if len(manifests) == 0 {
			return nil, fmt.Errorf("no full snapshot is published at %s: %w", catalog, errNothingPublished)
		}
		slices.Reverse(manifests) // oldest first
		lake := o.describeSnapshot(manifests, catalog)
		lake.Title = fmt.Sprintf("%s, from %s to %s.", wording.Many(len(manifests), "snapshot"), manifests[0].SnapshotDate, lake.Dates[0])
		return lake, nil
	})
}
