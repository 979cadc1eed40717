package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// Attributes that growth-export defines.
const (
	operationKey = attribute.Key("growth_export.operation")
	datasetKey   = attribute.Key("growth_export.dataset")
	tableKey     = attribute.Key("growth_export.table")
	outcomeKey   = attribute.Key("growth_export.outcome")
	kindKey      = attribute.Key("growth_export.kind")
	commandKey   = attribute.Key("growth_export.command")
	schoolKey    = attribute.Key("growth_export.school")
	districtKey  = attribute.Key("growth_export.district")
	bucketKey    = attribute.Key("growth_export.bucket")
	runKey       = attribute.Key("growth_export.run.id")
)

// instruments are the metrics; see docs/telemetry.md.
type instruments struct {
	requestDuration metric.Float64Histogram
	retries         metric.Int64Counter
	rows            metric.Int64Counter
	bytes           metric.Int64Counter
	datasets        metric.Int64Counter
	schools         metric.Int64Gauge
	published       metric.Int64Gauge
	runDuration     metric.Float64Histogram
}

// newInstruments registers the metrics. The metrics of the client's state are not sent before from is set.
func newInstruments(m metric.Meter, from *atomic.Pointer[sample]) (*instruments, error) {
	i := &instruments{}
	var errs [11]error
	i.requestDuration, errs[0] = m.Float64Histogram("http.client.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of requests to the service, including the body."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60))
	i.retries, errs[1] = m.Int64Counter("growth_export.request.retries", metric.WithUnit("{request}"),
		metric.WithDescription("Retries, by the status of the previous attempt."))
	i.rows, errs[2] = m.Int64Counter("growth_export.rows", metric.WithUnit("{row}"),
		metric.WithDescription("Rows staged by this process."))
	i.bytes, errs[3] = m.Int64Counter("growth_export.bytes", metric.WithUnit("By"),
		metric.WithDescription("Bytes of data files staged by this process."))
	i.datasets, errs[4] = m.Int64Counter("growth_export.school.datasets", metric.WithUnit("{dataset}"),
		metric.WithDescription("Datasets of schools finished by this process, by outcome."))
	i.schools, errs[5] = m.Int64Gauge("growth_export.schools", metric.WithUnit("{school}"),
		metric.WithDescription("Schools of the run at the end of the command, by outcome."))
	i.published, errs[6] = m.Int64Gauge("growth_export.snapshot.published", metric.WithUnit("s"),
		metric.WithDescription("Time of publishing, in seconds since 1970."))
	i.runDuration, errs[7] = m.Float64Histogram("growth_export.run.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of commands."),
		metric.WithExplicitBucketBoundaries(1, 10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 57600))
	active, err := m.Int64ObservableUpDownCounter("http.client.active_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests to the service in flight."))
	errs[8] = err
	limit, err := m.Int64ObservableGauge("growth_export.request.limit", metric.WithUnit("{request}"),
		metric.WithDescription("Maximum concurrent requests: as many as set, or fewer while the service throttles."))
	errs[9] = err
	_, errs[10] = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if s := from.Load(); s != nil {
			stats := s.stats()
			o.ObserveInt64(active, stats.InFlight, metric.WithAttributeSet(s.server))
			o.ObserveInt64(limit, stats.Limit)
		}
		return nil
	}, active, limit)
	return i, errors.Join(errs[:]...)
}

// staged counts the rows and bytes of staged files.
func (i *instruments) staged(ctx context.Context, files map[string]sink.File) {
	for table, file := range files {
		of := metric.WithAttributes(tableKey.String(table))
		i.rows.Add(ctx, file.Rows, of)
		i.bytes.Add(ctx, file.Bytes, of)
	}
}

// finished counts a dataset of a school, by its outcome.
func (i *instruments) finished(ctx context.Context, l *snapshot.LedgerRow) {
	i.datasets.Add(ctx, 1, metric.WithAttributes(datasetKey.String(l.Dataset), outcomeKey.String(string(l.Status))))
}

func (i *instruments) summarize(ctx context.Context, s *pipeline.Summary, now time.Time) {
	if s.Schools.Total > 0 {
		for outcome, n := range map[snapshot.Status]int64{
			snapshot.StatusOK: s.Schools.OK, snapshot.StatusDenied: s.Schools.Denied, snapshot.StatusFailed: s.Schools.Failed,
		} {
			i.schools.Record(ctx, n, metric.WithAttributes(outcomeKey.String(string(outcome))))
		}
	}
	if s.Outcome == pipeline.Published && !s.AlreadyPublished {
		i.published.Record(ctx, now.Unix(), metric.WithAttributes(kindKey.String(string(s.Kind))))
	}
}

func (i *instruments) ended(ctx context.Context, command string, code int, took time.Duration) {
	i.runDuration.Record(ctx, took.Seconds(), metric.WithAttributes(commandKey.String(command), semconv.ProcessExitCode(code)))
}

// sample reads the state of a client when metrics are sent.
type sample struct {
	stats  func() extract.Stats
	server attribute.Set
}
