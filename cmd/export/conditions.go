package main

import (
	"context"
	"errors"
	"log/slog"

	"example.org/growthexport/internal/doctor"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// adaptConditions tests whether a store without locks honors conditional writes, and warns if it does not, because two
// publishers could then publish at once. It also warns if the test itself fails. It returns an error if the store
// rejects every replacement of a document, or if ctx has ended. If the server answers "not implemented", the store logs
// that itself.
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
		log.WarnContext(ctx, "the store ignores the conditions of conditional writes", "advice", doctor.PublisherAdvice(catalog.Info()),
			"destination", catalog.String())
	}
	return nil
}
