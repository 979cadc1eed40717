package main

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
)

// TestTelemetryOff holds that where no collector is to be told nobody stands
// between a run and its meter.
func TestTelemetryOff(t *testing.T) {
	t.Parallel()
	a, _, _ := testApp(nil)
	meter := &pipeline.Meter{}
	require.Same(t, meter, a.observer(&url.URL{}, meter))
	require.True(t, a.watcher() == nil, "not a watcher that is nil")
	a.sample(&url.URL{}, nil)
	a.recordSummary(t.Context(), &pipeline.Summary{})
}
