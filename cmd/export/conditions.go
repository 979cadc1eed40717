package main

import (
	"context"
	"errors"
	"log/slog"

	"example.org/growthexport/internal/doctor"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// warnOfConditions warns about a store on which two publishers may publish at once, or on which documents cannot
// be replaced. The store itself logs the answer "not implemented".
func (a *app) warnOfConditions(ctx context.Context, catalog snapshot.Catalog, logger *slog.Logger) {
	if catalog.Info().Locks {
		return
	}
	ignored, err := doctor.ConditionsIgnored(ctx, catalog, a.now())
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, sink.ErrVersionRefused):
		logger.WarnContext(ctx, "snapshots cannot be replaced at this destination", "destination", catalog.String(), "error", err)
	case err != nil:
		logger.WarnContext(ctx, "cannot test conditional writes: run growth-export doctor for details",
			"destination", catalog.String(), "error", err)
	case ignored:
		if remote, ok := catalog.Store.(sink.ConditionEmulator); ok {
			remote.EmulateConditions()
		}
		logger.WarnContext(ctx, "the store ignores the conditions of conditional writes", "advice", doctor.OnePublisher,
			"destination", catalog.String())
	}
}
