package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	notraces "go.opentelemetry.io/otel/trace/noop"

	"example.org/growthexport/internal/pipeline"
)

// scope is the name of the instrumentation.
const scope = "growth-export"

// Telemetry sends metrics and traces of one command. It is safe for concurrent use.
type Telemetry struct {
	instruments *instruments
	tracer      trace.Tracer
	metrics     *sdkmetric.MeterProvider // nil if metrics are not sent
	traces      *sdktrace.TracerProvider // nil if traces are not sent
	faults      *faults

	command string
	began   time.Time
	root    trace.Span
	sample  atomic.Pointer[sample]
}

var _ pipeline.Tracer = (*Telemetry)(nil)

// Start begins the trace of a command, which must use the returned context. There can be only one Telemetry in a
// process, because OpenTelemetry reports its errors per process.
func Start(ctx context.Context, signals Signals, command, version string) (context.Context, *Telemetry, error) {
	t := &Telemetry{command: command, began: time.Now(), faults: &faults{}}
	otel.SetErrorHandler(t.faults)
	otel.SetLogger(logr.New(t.faults))
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithService(), // with an id of the process, to tell shards apart
		resource.WithAttributes(semconv.ServiceName("growth-export"), semconv.ServiceVersion(version)),
		resource.WithFromEnv(), // takes precedence over the options above
	)
	if err != nil {
		// Use the parts that could be read.
		t.faults.Handle(fmt.Errorf("describe this process: %w", err))
	}
	var meters metric.MeterProvider = nometrics.NewMeterProvider()
	if signals.Metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return ctx, nil, fmt.Errorf("prepare to send metrics: %w", err)
		}
		t.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(described), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
		meters = t.metrics
	}
	if t.instruments, err = newInstruments(meters.Meter(scope, metric.WithInstrumentationVersion(version)), &t.sample); err != nil {
		return ctx, nil, fmt.Errorf("prepare metrics: %w", err)
	}
	var tracers trace.TracerProvider = notraces.NewTracerProvider()
	if signals.Traces {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return ctx, nil, fmt.Errorf("prepare to send traces: %w", err)
		}
		t.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(described), sdktrace.WithBatcher(exporter))
		tracers = t.traces
	}
	t.tracer = tracers.Tracer(scope, trace.WithInstrumentationVersion(version))
	ctx, t.root = t.tracer.Start(ctx, command)
	return ctx, t, nil
}

// Summarize records the outcome of a run at the end of its command. If the command made several runs, the last one
// counts.
func (t *Telemetry) Summarize(ctx context.Context, s *pipeline.Summary, now time.Time) {
	t.root.SetAttributes(
		runKey.String(s.RunID),
		kindKey.String(string(s.Kind)),
		attribute.String("growth_export.snapshot_date", s.SnapshotDate),
		outcomeKey.String(string(cmp.Or(s.Outcome, pipeline.Failed))),
	)
	t.instruments.summarize(ctx, s, now)
}

// End records the exit code of the command, ends the trace and sends the remaining data within timeout. It returns the
// first error that has occurred since Start.
func (t *Telemetry) End(ctx context.Context, code int, timeout time.Duration) error {
	t.instruments.ended(ctx, t.command, code, time.Since(t.began))
	t.root.SetAttributes(semconv.ProcessExitCode(code))
	if code != 0 {
		t.root.SetAttributes(semconv.ErrorTypeKey.Int(code))
		t.root.SetStatus(codes.Error, fmt.Sprintf("exit code %d", code))
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout, fmt.Errorf("the collector took more than %s", timeout))
	defer cancel()
	sent := func(err error) {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // err is only a consequence of the timeout
		}
		t.faults.Handle(err)
	}
	var sending sync.WaitGroup
	if t.metrics != nil {
		sending.Go(func() {
			// Shutdown cancels an export in progress, whose deltas would be lost.
			sent(t.metrics.ForceFlush(ctx))
			sent(t.metrics.Shutdown(ctx))
		})
	}
	if t.traces != nil {
		sending.Go(func() {
			// A full queue drops new spans. The flush makes room for the root span, without which a trace is hard to read.
			sent(t.traces.ForceFlush(ctx))
			t.root.End()
			sent(t.traces.Shutdown(ctx))
		})
	}
	sending.Wait()
	return t.faults.first()
}

// faults collects errors of OpenTelemetry. Only the first one is reported, because the others are usually the same.
type faults struct {
	mu    sync.Mutex
	err   error
	count int
}

var (
	_ otel.ErrorHandler = (*faults)(nil)
	_ logr.LogSink      = (*faults)(nil)
)

// Handle records an error. It ignores two kinds that do not mean a loss of data: cancellations, which come from
// shutting down the SDK after everything has been sent or another error was recorded, and the error of a reader whose
// clock ticks before the SDK has registered it.
func (f *faults) Handle(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, sdkmetric.ErrReaderNotRegistered) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count == 1 {
		f.err = withoutURL(err)
	}
}

// withoutURL returns an error in which the URL is reduced to scheme and host, because a URL may contain a password or a
// key.
func withoutURL(err error) error {
	of, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	named := "the URL"
	if u, err := url.Parse(of.URL); err == nil && u.Host != "" {
		named = u.Scheme + "://" + u.Host
	}
	return errors.New(strings.ReplaceAll(err.Error(), strconv.Quote(of.URL), named))
}

// first returns the first error, with the number of errors, or nil if there was no error.
func (f *faults) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count <= 1 {
		return f.err
	}
	return fmt.Errorf("%w (first of %d errors)", f.err, f.count)
}

// Init does nothing.
func (*faults) Init(logr.RuntimeInfo) {}

// Enabled reports whether messages of a level are recorded. Warnings, which have level 1 in OpenTelemetry, are
// recorded.
func (*faults) Enabled(level int) bool { return level <= 1 }

// Info records a warning, without its values, which may be secrets.
func (f *faults) Info(_ int, message string, _ ...any) { f.Handle(errors.New(message)) }

// Error records an error of the SDK.
func (f *faults) Error(err error, message string, _ ...any) {
	f.Handle(fmt.Errorf("%s: %w", message, err))
}

// WithValues ignores the values.
func (f *faults) WithValues(...any) logr.LogSink { return f }

// WithName ignores the name.
func (f *faults) WithName(string) logr.LogSink { return f }
