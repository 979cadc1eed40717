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

// WriteIndex writes the page of all runs, if it has changed. It lists the runs after reading the page that it replaces.
// Of two processes, the one that saw the older state therefore gets a conflict and tries again.
func WriteIndex(ctx context.Context, catalog snapshot.Catalog) error {
	err := sink.Swap(ctx, snapshot.IndexPath, func() error {
		before, version, err := catalog.Read(ctx, snapshot.IndexPath)
		when := sink.Condition{Version: version}
		switch {
		case errors.Is(err, sink.ErrNotFound):
			when = sink.Condition{Absent: true}
		case err != nil:
			return err
		}
		runs, err := catalog.Outcomes(ctx, report.ReadIndex(before))
		if err != nil || len(runs) == 0 && when.Absent {
			return err
		}
		var page bytes.Buffer
		if err := report.WriteIndex(&page, runs); err != nil {
			return err
		}
		if bytes.Equal(page.Bytes(), before) {
			return nil
		}
		return catalog.Store().Write(ctx, snapshot.IndexPath, page.Bytes(), when)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", snapshot.IndexPath, err)
	}
	return nil
}
