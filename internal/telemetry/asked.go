package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
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
	return asked, warnings
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
