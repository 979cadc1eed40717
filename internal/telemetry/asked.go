package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Signals are what is to be sent.
type Signals struct {
	Metrics, Traces bool
}

// Asked reads from the standard variables what is to be sent: nothing, unless one of them names an endpoint or the exporter
// otlp. The warnings are of what was asked for and will not be done.
func Asked(env map[string]string) (asked Signals, warnings []string) {
	if strings.EqualFold(strings.TrimSpace(env["OTEL_SDK_DISABLED"]), "true") {
		return Signals{}, nil
	}
	decide := func(signal string) bool {
		on, warning := signalAsked(env, signal)
		// What is wrong with the variables of both is told once.
		if warning != "" && (len(warnings) == 0 || warnings[0] != warning) {
			warnings = append(warnings, warning)
		}
		return on
	}
	asked.Metrics = decide("METRICS")
	asked.Traces = decide("TRACES")
	if asked.Traces {
		if variable := unfitForQueue(env); variable != "" {
			asked.Traces = false
			warnings = append(warnings, fmt.Sprintf("%s=%s is not a number from 0 to %d: no traces are sent", variable, env[variable], mostSpans))
		}
	}
	return asked, warnings
}

// mostSpans is how many spans may wait, or be sent at once: OpenTelemetry's SDK makes room for so many in advance, and ends the
// process where there is none.
const mostSpans = 1_000_000

// unfitForQueue is the variable that asks for a queue of spans that cannot be.
func unfitForQueue(env map[string]string) string {
	for _, variable := range []string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
		n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(env[variable]), "0"))
		if err != nil || n < 0 || n > mostSpans {
			return variable
		}
	}
	return ""
}

// signalAsked decides on one signal. A variable that is empty counts as not set.
func signalAsked(env map[string]string, signal string) (on bool, warning string) {
	// first is the variable of the signal, else that of all.
	first := func(name string) (variable, value string) {
		own, all := "OTEL_EXPORTER_OTLP_"+signal+"_"+name, "OTEL_EXPORTER_OTLP_"+name
		if value = strings.TrimSpace(env[own]); value != "" {
			return own, value
		}
		return all, strings.TrimSpace(env[all])
	}
	endpointVariable, endpoint := first("ENDPOINT")
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
		return false, fmt.Sprintf("%s=%s is not sent: otlp and none are known", exporterVariable, exporter)
	}
	if variable, protocol := first("PROTOCOL"); cmp.Or(protocol, "http/protobuf") != "http/protobuf" {
		return false, fmt.Sprintf("%s=%s: nothing is sent that way, only by http/protobuf, to port 4318 of most collectors", variable, protocol)
	}
	if endpoint == "" {
		return true, ""
	}
	// It may hold a password, so it is not repeated.
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, endpointVariable + " is not a URL such as http://localhost:4318: nothing is sent there"
	}
	return true, ""
}
