package telemetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/telemetry"
)

func TestSignalsFromEnv(t *testing.T) {
	t.Parallel()
	const (
		endpoint  = "OTEL_EXPORTER_OTLP_ENDPOINT"
		collector = "http://localhost:4318"
	)
	both := telemetry.Signals{Metrics: true, Traces: true}
	for _, test := range []struct {
		env      map[string]string
		signals  telemetry.Signals
		warnings int
	}{
		{env: nil},
		{env: map[string]string{"OTEL_SERVICE_NAME": "x", endpoint: " "}},
		{env: map[string]string{endpoint: collector}, signals: both},
		{env: map[string]string{endpoint: "https://collector.example.org/otlp"}, signals: both},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": collector}, signals: telemetry.Signals{Metrics: true}},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector}, signals: telemetry.Signals{Traces: true}},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, signals: telemetry.Signals{Metrics: true}},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_TRACES_EXPORTER": "otlp"}, signals: both},
		{env: map[string]string{endpoint: collector, "OTEL_TRACES_EXPORTER": "none"}, signals: telemetry.Signals{Metrics: true}},
		{env: map[string]string{endpoint: collector, "OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}},
		{env: map[string]string{endpoint: collector, "OTEL_SDK_DISABLED": "TRUE"}},
		{env: map[string]string{endpoint: collector, "OTEL_SDK_DISABLED": "no"}, signals: both},
		{env: map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, signals: both},

		{env: map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, warnings: 1},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
		{env: map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, signals: telemetry.Signals{Metrics: true}, warnings: 1},
		{
			env:     map[string]string{endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
			signals: telemetry.Signals{Traces: true}, warnings: 1,
		},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_QUEUE_SIZE": " 4096 ", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "0"}, signals: both},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, signals: telemetry.Signals{Metrics: true}, warnings: 1},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "99999999999999"}, signals: telemetry.Signals{Metrics: true}, warnings: 1},
		{env: map[string]string{endpoint: collector, "OTEL_BSP_MAX_QUEUE_SIZE": "-1", "OTEL_TRACES_EXPORTER": "none"}, signals: telemetry.Signals{Metrics: true}},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, warnings: 1},
		{env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_TRACES_EXPORTER": "console"}, warnings: 2},
		{env: map[string]string{endpoint: "localhost:4318"}, warnings: 1},
		{env: map[string]string{endpoint: "http://user:secret@collector:port"}, warnings: 1},
		{env: map[string]string{endpoint: "unix:///secret"}, warnings: 1},
	} {
		signals, warnings := telemetry.SignalsFromEnv(test.env)
		require.Equal(t, test.signals, signals, test.env)
		require.Len(t, warnings, test.warnings, test.env)
		for _, warning := range warnings {
			require.NotContains(t, warning, "secret")
		}
	}
}
