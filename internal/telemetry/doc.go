// Package telemetry sends metrics and traces of a command to an OpenTelemetry collector, over OTLP/HTTP, if the
// standard OTEL_* variables enable it ([SignalsFromEnv]). Otherwise commands run without a [Telemetry].
//
// A Telemetry observes the client's requests and the pipeline's steps. A command is one trace:
//
//	run                            the command, with run id, outcome and exit code
//	  plan                         the lookups
//	  fetch
//	    school                     one school's dataset
//	      GET /organizations/...   one request, by its route template
//	    stage                      the files of one task
//	  publish
//
// Only spans identify schools, because a metric would need a series for each school. No student data is sent, and no
// URL, query, cursor or error text. Requests to the service have no trace headers.
//
// OpenTelemetry's SDK reads endpoints, headers, certificates, compression, intervals, resource attributes and the
// sampler from the environment. Data that cannot be sent is dropped. A collector that is down delays the end of a
// command by at most the timeout of [Telemetry.End], and has no other effect.
package telemetry
