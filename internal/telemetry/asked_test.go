package telemetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/telemetry"
)

func TestAsked(t *testing.T) {
	t.Parallel()
	const (
		endpoint  = "OTEL_EXPORTER_OTLP_ENDPOINT"
		collector = "http://localhost:4318"
	)
	both := telemetry.Signals{Metrics: true, Traces: true}
	for _, test := range []struct {
		env      map[string]string
		asked    telemetry.Signals
		warnings int
	}{
		{env: nil},
		{env: map[string]string{"OTEL_SERVICE_NAME": "x", endpoint: " "}},
		{env: map[string]string{endpoint: collector}, asked: both},
		{env: map[string]string{endpoint: "https://collector.example.org/otlp"}, asked: both},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": collector}, asked: telemetry.Signals{Metrics: true}},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector}, asked: telemetry.Signals{Traces: true}},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, asked: telemetry.Signals{Metrics: true}},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_TRACES_EXPORTER": "otlp"}, asked: both},
		{env: map[string]string{endpoint: collector, "OTEL_TRACES_EXPORTER": "none"}, asked: telemetry.Signals{Metrics: true}},
		{env: map[string]string{endpoint: collector, "OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}},
		{env: map[string]string{endpoint: collector, "OTEL_SDK_DISABLED": "TRUE"}},
		{env: map[string]string{endpoint: collector, "OTEL_SDK_DISABLED": "no"}, asked: both},
		{env: map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, asked: both},

		{env: map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, warnings: 1},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
		{env: map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, asked: telemetry.Signals{Metrics: true}, warnings: 1},
		{
			env:   map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
			asked: telemetry.Signals{Traces: true}, warnings: 1,
		},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_QUEUE_SIZE": " 4096 ", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "0"}, asked: both},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, asked: telemetry.Signals{Metrics: true}, warnings: 1},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "99999999999999"}, asked: telemetry.Signals{Metrics: true}, warnings: 1},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_QUEUE_SIZE": "-1", "OTEL_TRACES_EXPORTER": "none"}, asked: telemetry.Signals{Metrics: true}},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, warnings: 1},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_TRACES_EXPORTER": "console"}, warnings: 2},
		{env: map[string]string{endpoint: "localhost:4318"}, warnings: 1},
		{env: map[string]string{endpoint: "http://user:secret@collector:port"}, warnings: 1},
		{env: map[string]string{endpoint: "unix:///secret"}, warnings: 1},
	} {
		asked, warnings := telemetry.Asked(test.env)
		require.Equal(t, test.asked, asked, test.env)
		require.Len(t, warnings, test.warnings, test.env)
		for _, warning := range warnings {
			require.NotContains(t, warning, "secret")
		}
	}
}
