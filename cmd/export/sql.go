package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.org/growthexport/internal/sink"
)

// errNothingPublished says that there is no snapshot where one was looked for.
var errNothingPublished = errors.New("no snapshot is published there")

// publishedRun returns the manifest of the snapshot of a date, or of the
// enrollment as of a date, or else of the latest snapshot.
func publishedRun(ctx context.Context, store sink.Store, snapshotDate, effectiveDate string) (*sink.Manifest, error) {
	var manifest *sink.Manifest
	var err error
	what := "latest snapshot"
	switch {
	case snapshotDate != "":
		what = "snapshot of " + snapshotDate
		manifest, err = sink.Standing(ctx, store, sink.Full, snapshotDate)
	case effectiveDate != "":
		what = "enrollment as of " + effectiveDate
		manifest, err = sink.Standing(ctx, store, sink.AsOf, effectiveDate)
	default:
		var data []byte
		data, _, err = store.Read(ctx, sink.LatestPath)
		if errors.Is(err, sink.ErrNotFound) {
			break
		}
		var latest sink.Latest
		if err == nil {
			err = json.Unmarshal(data, &latest)
		}
		if err == nil {
			if manifest, err = sink.ReadManifest(ctx, store, latest.RunID); errors.Is(err, sink.ErrNotFound) {
				err = fmt.Errorf("the manifest of run %s is missing", latest.RunID)
			}
		}
	}
	switch {
	case err != nil && !errors.Is(err, sink.ErrNotFound):
		return nil, fmt.Errorf("read the %s: %w", what, err)
	case manifest == nil:
		return nil, fmt.Errorf("find the %s at %s: %w", what, store, errNothingPublished)
	}
	return manifest, nil
}
