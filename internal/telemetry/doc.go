// Package telemetry sends what a command does to an OpenTelemetry collector: metrics and traces, over OTLP/HTTP, when the
// standard OTEL_* variables ask for it ([Asked]). Where they do not there is no [Telemetry], and nothing of this package runs.
//
// A Telemetry observes the client's requests and watches the pipeline's steps. One command is one trace:
//
//	run                            the command, with run id, outcome and exit code
//	  plan                         the lookups
//	  fetch
//	    school                     one school's dataset
//	      GET /organizations/...   one request, by its route template
//	    stage                      the files of one unit
//	  publish
//
// Attributes tell of operations, routes, statuses, datasets and tables; schools are named on spans alone, since a metric would
// have a series for each. Nothing tells of a student: no URL, no query, no cursor, and no text of an error. Nothing is sent to
// the service: it sees no trace headers.
//
// Endpoints, headers, certificates, compression, intervals, resource attributes and the sampler are read from the environment by
// OpenTelemetry's own SDK. What it cannot send it drops: a collector that is down costs a run the time that [Telemetry.End] is
// given, and changes nothing else.
package telemetry
