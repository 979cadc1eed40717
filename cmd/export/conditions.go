package main

import (
	"context"
	"errors"
	"log/slog"

	"example.org/growthexport/internal/doctor"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// adaptConditions tries how a store without locks keeps the conditions of writes, and warns if two publishers may
// publish at once. A store that replaces nothing is an error. The store itself logs the answer "not implemented".
func (a *app) adaptConditions(ctx context.Context, catalog snapshot.Catalog, log *slog.Logger, from sources) error {
	if catalog.Info().Locks {
		return nil
	}
	ignored, err := doctor.AdaptConditions(ctx, catalog.Store(), a.now())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, sink.ErrVersionRefused):
		return usagef("%s: destination %s: nothing can be published here: %w", destName(from), catalog, err)
	case err != nil:
		log.WarnContext(ctx, "cannot test conditional writes: run growth-export doctor for details",
			"destination", catalog.String(), "error", err)
	case ignored:
		log.WarnContext(ctx, "the store ignores the conditions of conditional writes", "advice", doctor.OnePublisher,
			"destination", catalog.String())
	}
	return nil
}
