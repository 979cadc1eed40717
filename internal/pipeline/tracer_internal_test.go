package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUntraced expects that spans allocate no memory if there is no tracer.
func TestUntraced(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	deps := Deps{}
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		within, end := deps.startSpan(ctx, Span{Name: SpanSchool, Dataset: "students", School: "S"})
		end(SpanEnd{Err: within.Err()})
	}))
}
