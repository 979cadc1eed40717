package pipeline

import (
	"context"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// The names of spans.
const (
	SpanPlan    = "plan"    // the lookups and the plan
	SpanFetch   = "fetch"   // from the plan to the last staged task
	SpanSchool  = "school"  // one school's dataset
	SpanStage   = "stage"   // the files of a task become durable
	SpanPublish = "publish" // checking and publishing
)

// Tracer observes the spans of a run. It is called concurrently and must be fast. A span ends after the spans that
// begin within it.
type Tracer interface {
	// Start is called at the start of a span, which uses the returned context for all its work, including requests. end
	// is called once, when the span has ended.
	Start(ctx context.Context, span Span) (_ context.Context, end func(SpanEnd))
}

// Span is a part of a run.
type Span struct {
	Name  string
	RunID string // set for plan, fetch and publish spans
	// Dataset is set for school and stage spans, School (a bid) is set for school spans, and Bucket is set for stage
	// spans (-1 for lookups).
	Dataset, School string
	Bucket          int
}

// SpanEnd is the outcome of a span.
type SpanEnd struct {
	Err error
	// Ledger is the ledger row of a school span, or nil after an error.
	Ledger *snapshot.LedgerRow
	// Files are the staged files of a stage span, by table.
	Files map[string]sink.File
}
