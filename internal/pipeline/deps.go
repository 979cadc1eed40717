package pipeline

import (
	"context"
	"log/slog"
	"time"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
)

// Deps holds the dependencies of a run.
type Deps struct {
	Client   *extract.Client // nil for commands that only publish
	Catalog  snapshot.Catalog
	Logger   *slog.Logger
	Progress *Progress // may be read during the run
	Tracer   Tracer    // observes the spans; may be nil
	Now      func() time.Time
	// Recovered lists the changes that an earlier command left unfinished at the destination, and says which of them
	// could be finished.
	Recovered snapshot.Recovered
}

// startSpan reports the start of a span to the tracer, if there is one.
func (d *Deps) startSpan(ctx context.Context, span Span) (context.Context, func(SpanEnd)) {
	if d.Tracer == nil {
		return ctx, untraced
	}
	return d.Tracer.Start(ctx, span)
}

func untraced(SpanEnd) {}

// runPhase runs one phase of a run, and reports the phase to the progress and the tracer.
func (d *Deps) runPhase(ctx context.Context, name, run string, work func(ctx context.Context) error) error {
	d.Progress.setPhase(name)
	ctx, end := d.startSpan(ctx, Span{Name: name, RunID: run})
	err := work(ctx)
	end(SpanEnd{Err: err})
	return err
}

// keepAlive writes signs of life for a run while work is running.
func (d *Deps) keepAlive(ctx context.Context, run string, work func(ctx context.Context) error) error {
	stop := d.Catalog.KeepAlive(ctx, run, func(err error) {
		d.Logger.DebugContext(ctx, "the sign of life of the run cannot be written or removed", "run", run, "error", err)
	})
	defer stop()
	return work(ctx)
}
