package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/snapshot"
)

// Begin records a step as a span.
func (t *Telemetry) Begin(ctx context.Context, step pipeline.Step) (context.Context, func(pipeline.End)) {
	var attributes []attribute.KeyValue
	switch step.Name {
	case pipeline.StepSchool:
		attributes = []attribute.KeyValue{datasetKey.String(step.Dataset), schoolKey.String(step.School)}
	case pipeline.StepStage:
		attributes = []attribute.KeyValue{datasetKey.String(step.Dataset), bucketKey.Int(step.Bucket)}
	default:
		attributes = []attribute.KeyValue{runKey.String(step.RunID)}
	}
	ctx, span := t.tracer.Start(ctx, step.Name, trace.WithAttributes(attributes...))
	return ctx, func(end pipeline.End) {
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
