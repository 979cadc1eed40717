package telemetry

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"example.org/growthexport/internal/extract"
)

// Service observes the requests to one service.
type Service struct {
	telemetry *Telemetry
	server    []attribute.KeyValue
	kinds     sync.Map // *described by kind
}

// kind identifies the requests that one series of a metric counts.
type kind struct{ method, operation, template, status string }

// described holds the attributes of a kind, which are expensive to create.
type described struct {
	failed     bool
	attributes []attribute.KeyValue
	options    []metric.RecordOption
}

var _ extract.Observer = (*Service)(nil)

// Service returns an observer of the requests to a service. Only host and port of the URL are sent.
func (t *Telemetry) Service(base *url.URL) *Service {
	return &Service{telemetry: t, server: serverAttributes(base)}
}

// Sample makes every export of metrics read the client's state from stats.
func (t *Telemetry) Sample(base *url.URL, stats func() extract.Stats) {
	t.sample.Store(&sample{stats: stats, server: attribute.NewSet(serverAttributes(base)...)})
}

func serverAttributes(base *url.URL) []attribute.KeyValue {
	port, err := strconv.Atoi(base.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[base.Scheme]
	}
	return []attribute.KeyValue{semconv.ServerAddress(base.Hostname()), semconv.ServerPort(port)}
}

// Requested measures a request and records it as a span within the span of its step.
func (s *Service) Requested(ctx context.Context, e extract.Event) {
	d := s.describe(kind{e.Method, e.Operation, e.Template, e.Status})
	s.telemetry.instruments.requestDuration.Record(ctx, e.Took.Seconds(), d.options...)

	_, span := s.telemetry.tracer.Start(ctx, e.Method+" "+e.Template, trace.WithTimestamp(e.Began), trace.WithSpanKind(trace.SpanKindClient))
	defer span.End(trace.WithTimestamp(e.Began.Add(e.Took)))
	if !span.IsRecording() {
		return
	}
	attributes := append(make([]attribute.KeyValue, 0, len(d.attributes)+5), d.attributes...)
	attributes = append(attributes, attribute.Int("growth_export.attempt", e.Attempt), attribute.Int("growth_export.body.bytes", e.Bytes))
	if e.Attempt > 1 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(e.Attempt-1))
	}
	if e.School != "" {
		attributes = append(attributes, schoolKey.String(e.School))
	}
	if e.District != "" {
		attributes = append(attributes, districtKey.String(e.District))
	}
	span.SetAttributes(attributes...)
	if d.failed {
		span.SetStatus(codes.Error, "")
	}
}

// describe returns the attributes of a kind, which it caches. There are few kinds: usually one per operation and
// status.
func (s *Service) describe(k kind) *described {
	if known, ok := s.kinds.Load(k); ok {
		if d, ok := known.(*described); ok {
			return d
		}
	}
	d := &described{}
	d.attributes = append(slices.Clone(s.server),
		semconv.HTTPRequestMethodKey.String(k.method), semconv.URLTemplate(k.template), operationKey.String(k.operation))
	status, err := strconv.Atoi(k.status)
	if err == nil {
		d.attributes = append(d.attributes, semconv.HTTPResponseStatusCode(status))
	}
	if d.failed = err != nil || status >= 400; d.failed {
		d.attributes = append(d.attributes, semconv.ErrorTypeKey.String(k.status))
	}
	d.options = []metric.RecordOption{metric.WithAttributes(d.attributes...)}
	s.kinds.Store(k, d)
	return d
}

// Retried counts a retry.
func (s *Service) Retried(ctx context.Context, operation, cause string) {
	s.telemetry.instruments.retries.Add(ctx, 1, metric.WithAttributes(operationKey.String(operation), semconv.ErrorTypeKey.String(cause)))
}
