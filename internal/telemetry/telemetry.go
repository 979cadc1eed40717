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

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
)

// scope names the instrumentation.
const scope = "growth-export"

// Telemetry sends what one command does. It is safe for use by many goroutines.
type Telemetry struct {
	instruments *instruments
	tracer      trace.Tracer
	metrics     *sdkmetric.MeterProvider // nil if none are sent
	traces      *sdktrace.TracerProvider // nil if none are sent
	faults      *faults

	command string
	began   time.Time
	root    trace.Span
	sample  atomic.Pointer[sample]
}

var _ pipeline.Watcher = (*Telemetry)(nil)

// Start begins the trace of a command, which has to do what it does with the context that is returned. There is one Telemetry in
// a process: it takes what OpenTelemetry has to say, which is said per process.
func Start(ctx context.Context, signals Signals, command, version string) (context.Context, *Telemetry, error) {
	t := &Telemetry{command: command, began: time.Now(), faults: &faults{}}
	otel.SetErrorHandler(t.faults)
	otel.SetLogger(logr.New(t.faults))
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithService(), // for an id of this process: shards must not be taken for one
		resource.WithAttributes(semconv.ServiceName("growth-export"), semconv.ServiceVersion(version)),
		resource.WithFromEnv(), // overrules
	)
	if err != nil {
		// What could be read of the environment counts.
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

// sample is where the state of the client is read from when metrics are sent.
type sample struct {
	stats  func() extract.Stats
	server attribute.Set
}

// Summarize tells what became of a run that the command took, at the time given: of the last, if there are several.
func (t *Telemetry) Summarize(ctx context.Context, s *pipeline.Summary, now time.Time) {
	t.root.SetAttributes(
		runKey.String(s.RunID),
		kindKey.String(string(s.Kind)),
		attribute.String("growth_export.snapshot_date", s.SnapshotDate),
		outcomeKey.String(string(cmp.Or(s.Outcome, pipeline.Failed))),
	)
	t.instruments.summarize(ctx, s, now)
}

// End ends the command with its exit code, and sends what has not been sent yet, for which it takes at most the time given. The
// error says what could not be sent, in the whole time of the command.
func (t *Telemetry) End(ctx context.Context, code int, patience time.Duration) error {
	t.instruments.ended(ctx, t.command, code, time.Since(t.began))
	t.root.SetAttributes(semconv.ProcessExitCode(code))
	if code != 0 {
		t.root.SetAttributes(semconv.ErrorTypeKey.Int(code))
		t.root.SetStatus(codes.Error, fmt.Sprintf("exit code %d", code))
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), patience, fmt.Errorf("the collector took more than %s", patience))
	defer cancel()
	sent := func(err error) {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // whatever it says, it says it because of that
		}
		t.faults.Handle(err)
	}
	var sending sync.WaitGroup
	if t.metrics != nil {
		sending.Go(func() {
			// Shutting down breaks off what is just being sent: what deltas it has would be lost.
			sent(t.metrics.ForceFlush(ctx))
			sent(t.metrics.Shutdown(ctx))
		})
	}
	if t.traces != nil {
		sending.Go(func() {
			// A full queue drops what comes: there has to be room for the root, without which a trace is hard to read.
			sent(t.traces.ForceFlush(ctx))
			t.root.End()
			sent(t.traces.Shutdown(ctx))
		})
	}
	sending.Wait()
	return t.faults.first()
}

// faults are what OpenTelemetry has to complain of. The first is told, for the others mostly say the same.
type faults struct {
	mu    sync.Mutex
	err   error
	count int
}

var (
	_ otel.ErrorHandler = (*faults)(nil)
	_ logr.LogSink      = (*faults)(nil)
)

// Handle takes down an error, if it is one. That something was cancelled is none: only the SDK does that, when it is shut down,
// which comes after all was sent, or that was not is told.
func (f *faults) Handle(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count == 1 {
		f.err = withoutURL(err)
	}
}

// withoutURL says of an error that names a URL no more than its host: there may be a password or a key in it.
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

// first is nil if there was none.
func (f *faults) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count <= 1 {
		return f.err
	}
	return fmt.Errorf("%w (the first of %d complaints)", f.err, f.count)
}

// Init is of no use here.
func (*faults) Init(logr.RuntimeInfo) {}

// Enabled lets warnings pass, as OpenTelemetry numbers levels.
func (*faults) Enabled(level int) bool { return level <= 1 }

// Info is told of warnings. Values are left out: they may be secrets.
func (f *faults) Info(_ int, message string, _ ...any) { f.Handle(errors.New(message)) }

// Error is told of what the SDK cannot do as it was asked.
func (f *faults) Error(err error, message string, _ ...any) {
	f.Handle(fmt.Errorf("%s: %w", message, err))
}

// WithValues adds nothing.
func (f *faults) WithValues(...any) logr.LogSink { return f }

// WithName adds nothing.
func (f *faults) WithName(string) logr.LogSink { return f }
