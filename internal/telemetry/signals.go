package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxSpans bounds the span queue and its batches. OpenTelemetry's SDK allocates them up front, and the process ends if
// there is not enough memory.
const maxSpans = 1_000_000

// Signals are the kinds of telemetry to send.
type Signals struct {
	Metrics, Traces bool
}

// SignalsFromEnv returns the signals that the standard variables enable. A signal is only enabled if one of these
// variables sets an endpoint or the exporter otlp. The warnings describe settings that are invalid or not supported.
func SignalsFromEnv(env map[string]string) (signals Signals, warnings []string) {
	if strings.EqualFold(strings.TrimSpace(env["OTEL_SDK_DISABLED"]), "true") {
		return Signals{}, nil
	}
	enabled := func(signal string) bool {
		on, warning := signalEnabled(env, signal)
		// A variable that applies to both signals is reported once.
		if warning != "" && (len(warnings) == 0 || warnings[0] != warning) {
			warnings = append(warnings, warning)
		}
		return on
	}
	signals.Metrics = enabled("METRICS")
	signals.Traces = enabled("TRACES")
	if signals.Traces {
		if variable := invalidQueueSize(env); variable != "" {
			signals.Traces = false
			warnings = append(warnings, fmt.Sprintf("%s=%s is not a number from 0 to %d: traces are not sent", variable, env[variable], maxSpans))
		}
	}
	return signals, warnings
}

// invalidQueueSize returns the variable that sets an impossible size of the span queue, or "" if there is no such
// variable.
func invalidQueueSize(env map[string]string) string {
	for _, variable := range []string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
		n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(env[variable]), "0"))
		if err != nil || n < 0 || n > maxSpans {
			return variable
		}
	}
	return ""
}

// signalEnabled reports whether one signal should be sent. An empty variable counts as unset.
func signalEnabled(env map[string]string, signal string) (on bool, warning string) {
	// lookup returns the variable of the signal if it is set, and otherwise the variable for all signals.
	lookup := func(name string) (variable, value string) {
		own, all := "OTEL_EXPORTER_OTLP_"+signal+"_"+name, "OTEL_EXPORTER_OTLP_"+name
		if value = strings.TrimSpace(env[own]); value != "" {
			return own, value
		}
		return all, strings.TrimSpace(env[all])
	}
	endpointVariable, endpoint := lookup("ENDPOINT")
	exporterVariable := "OTEL_" + signal + "_EXPORTER"
	switch exporter := strings.TrimSpace(env[exporterVariable]); exporter {
	case "none":
		return false, ""
	case "otlp":
	case "":
		if endpoint == "" {
			return false, ""
		}
	default:
		return false, fmt.Sprintf("%s=%s is not supported: use otlp or none", exporterVariable, exporter)
	}
	if variable, protocol := lookup("PROTOCOL"); cmp.Or(protocol, "http/protobuf") != "http/protobuf" {
		return false, fmt.Sprintf("%s=%s is not supported: use http/protobuf, on port 4318 of most collectors", variable, protocol)
	}
	if endpoint == "" {
		return true, ""
	}
	// The value may contain a password, so it is not quoted.
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, endpointVariable + " is not a URL such as http://localhost:4318"
	}
	return true, ""
}
