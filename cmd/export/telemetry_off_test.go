package main

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
)

// TestTelemetryOff expects a run to use its progress directly if there is no collector.
func TestTelemetryOff(t *testing.T) {
	t.Parallel()
	a, _, _ := testApp(nil)
	progress := &pipeline.Progress{}
	require.Same(t, progress, a.observer(&url.URL{}, progress))
	require.True(t, a.tracer() == nil, "not a watcher that is nil")
	a.sample(&url.URL{}, nil)
	a.recordSummary(t.Context(), &pipeline.Summary{})
}
