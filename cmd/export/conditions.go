package main

import (
	"context"
	"errors"
	"log/slog"

	"example.org/growthexport/internal/sink"
)

// onePublisher is the advice for stores on which two publishers cannot exclude each other.
const onePublisher = "let only one run or publish work at this destination at a time"

// tryConditions writes a document under true and false conditions, and reports whether the store ignores the false
// ones. The error is sink.ErrVersionRefused if the store rejects the version it has just returned. The caller removes
// the document.
func tryConditions(ctx context.Context, store sink.Store, path string) (ignored bool, err error) {
	fresh := sink.Condition{Absent: true}
	if err := store.Write(ctx, path, trialContent(), fresh); err != nil {
		return false, err
	}
	again := store.Write(ctx, path, trialContent(), fresh)
	stale := store.Write(ctx, path, trialContent(), sink.Condition{Version: "0"})
	for _, refused := range []error{again, stale} {
		if refused != nil && !errors.Is(refused, sink.ErrConflict) {
			return false, refused
		}
	}
	_, version, err := store.Read(ctx, path)
	if err != nil {
		return false, err
	}
	err = store.Write(ctx, path, append(trialContent(), '\n'), sink.Condition{Version: version})
	if errors.Is(err, sink.ErrConflict) {
		err = sink.ErrVersionRefused
	}
	return again == nil || stale == nil, err
}

// warnOfConditions warns about a store on which two publishers cannot exclude each other, or on which documents cannot
// be replaced. The store itself logs the answer "not implemented".
func (a *app) warnOfConditions(ctx context.Context, store sink.Store, logger *slog.Logger) {
	_, path := trialPaths(trialRun(a.now()))
	ignored, err := tryConditions(ctx, store, path)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, sink.ErrVersionRefused):
		logger.WarnContext(ctx, "snapshots cannot be replaced at this destination", "destination", store.String(), "error", err)
	case err != nil:
		logger.WarnContext(ctx, "cannot test conditional writes; for details run growth-export doctor",
			"destination", store.String(), "error", err)
	case ignored:
		if remote, ok := store.(interface{ JudgeConditions() }); ok {
			remote.JudgeConditions()
		}
		logger.WarnContext(ctx, "the store ignores the conditions of conditional writes; "+onePublisher,
			"destination", store.String())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepPatience)
	defer cancel()
	_ = store.Remove(ctx, path) // The next doctor removes it if this fails.
}
