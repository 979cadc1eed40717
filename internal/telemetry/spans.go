package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/snapshot"
)

// Start starts a span for a part of a run. It returns a context with the span, and a function that ends it.
func (t *Telemetry) Start(ctx context.Context, part pipeline.Span) (context.Context, func(pipeline.SpanEnd)) {
	var attributes []attribute.KeyValue
	switch part.Name {
	case pipeline.SpanSchool:
		attributes = []attribute.KeyValue{datasetKey.String(part.Dataset), schoolKey.String(part.School)}
	case pipeline.SpanStage:
		attributes = []attribute.KeyValue{datasetKey.String(part.Dataset), bucketKey.Int(part.Bucket)}
	default:
		attributes = []attribute.KeyValue{runKey.String(part.RunID)}
	}
	ctx, span := t.tracer.Start(ctx, part.Name, trace.WithAttributes(attributes...))
	return ctx, func(end pipeline.SpanEnd) {
		defer span.End()
		if end.Err != nil {
			span.SetStatus(codes.Error, "")
			return
		}
		t.instruments.staged(ctx, end.Files)
		if l := end.Ledger; l != nil {
			t.instruments.finished(ctx, l)
			span.SetAttributes(
				outcomeKey.String(string(l.Status)),
				attribute.Int64("growth_export.requests", l.Requests),
				attribute.Int64("growth_export.retries", l.Retries),
				attribute.Int64("growth_export.rows", l.RowsWritten),
			)
			if l.Status == snapshot.StatusFailed {
				span.SetStatus(codes.Error, "")
			}
		}
	}
}
