package main

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
)

// TestTelemetryOff expects a run to use its meter directly if there is no collector.
func TestTelemetryOff(t *testing.T) {
	t.Parallel()
	a, _, _ := testApp(nil)
	meter := &pipeline.Meter{}
	require.Same(t, meter, a.observer(&url.URL{}, meter))
	require.True(t, a.watcher() == nil, "not a watcher that is nil")
	a.sample(&url.URL{}, nil)
	a.recordSummary(t.Context(), &pipeline.Summary{})
}
