//go:build unix

package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// smallRunProcess returns a short run of the embedded service.
func smallRunProcess(t *testing.T, environ ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = commandProcess(t, "run", "--simulate", "--dest", filepath.Join(t.TempDir(), "out"), "--datasets", "schools,students",
		"--simulate-schools", "3", "--progress", "none", "--log-level", "warn")
	cmd.Env = append(cmd.Env, environ...)
	return cmd, stderr
}

// TestCollectorInTrouble expects a run to succeed with a warning, and to end within a limited time after the time that
// the run itself takes.
func TestCollectorInTrouble(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	plain, stderr := smallRunProcess(t)
	started := time.Now()
	require.NoError(t, plain.Run(), stderr)
	usual := 3 * time.Since(started)
	for name, test := range map[string]struct {
		endpoint, says string
		maxTime        time.Duration
	}{
		"down": {closed.URL, "connection refused", 5 * time.Second},
		"slow": {newCollector(t, hang).URL, "the collector took more than 5s", 10 * time.Second},
		"failing": {newCollector(t, func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "out of\norder", http.StatusInternalServerError)
			return true
		}).URL, "500 Internal Server Error", 5 * time.Second},
		"overloaded": {newCollector(t, func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}).URL, "the collector took more than 5s", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, stderr := smallRunProcess(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+test.endpoint)
			began := time.Now()
			require.NoError(t, cmd.Run(), stderr)
			require.Less(t, time.Since(began), usual+test.maxTime)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr)
			require.Contains(t, stderr.String(), "growth-export: warning: OpenTelemetry: not everything was sent: ")
			require.Contains(t, stderr.String(), test.says)
		})
	}
}

// TestTelemetryWarningsHideSecrets expects OpenTelemetry's error about an address not to contain the address's
// password.
func TestTelemetryWarningsHideSecrets(t *testing.T) {
	t.Parallel()
	c := newCollector(t, nil)
	cmd, stderr := smallRunProcess(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://user:hunter2@collector:port",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+c.URL+"/v1/metrics", "OTEL_BSP_MAX_QUEUE_SIZE=-1", "OTEL_TRACES_EXPORTER=none")
	require.NoError(t, cmd.Run(), stderr)
	require.Contains(t, stderr.String(), "invalid port")
	require.NotContains(t, stderr.String(), "hunter2")
	require.Positive(t, c.received())
}

// hang blocks a request until its sender gives up.
func hang(_ http.ResponseWriter, r *http.Request) bool {
	_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the sender is gone
	<-r.Context().Done()
	return true
}

// TestTelemetrySentDuringShutdown expects no warning about requests that the shutdown interrupts, because it sends
// everything again.
func TestTelemetrySentDuringShutdown(t *testing.T) {
	t.Parallel()
	for _, temporality := range []string{"cumulative", "delta"} {
		var mu sync.Mutex
		c := newCollector(t, func(_ http.ResponseWriter, r *http.Request) bool {
			mu.Lock() // one slow request at a time, so that the next one is always waiting
			defer mu.Unlock()
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
			return false
		})
		cmd, stderr := smallRunProcess(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_TRACES_EXPORTER=none", "OTEL_METRIC_EXPORT_INTERVAL=1",
			"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality)
		require.NoError(t, cmd.Run(), stderr)
		require.Empty(t, stderr.String())
		require.Positive(t, c.received())
	}
}

// TestTelemetryNotAsked expects nothing to be sent, and a warning if the environment
// asks for something unsupported.
func TestTelemetryNotAsked(t *testing.T) {
	t.Parallel()
	c := newCollector(t, nil)
	endpoint := "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL
	for name, test := range map[string]struct {
		environ []string
		says    []string
	}{
		"disabled": {[]string{endpoint, "OTEL_SDK_DISABLED=true"}, nil},
		"none":     {[]string{endpoint, "OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_EXPORTER=none"}, nil},
		"grpc":     {[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, []string{"OpenTelemetry: OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not supported"}},
		"others": {
			[]string{endpoint, "OTEL_METRICS_EXPORTER=prometheus", "OTEL_TRACES_EXPORTER=console"},
			[]string{"OpenTelemetry: OTEL_METRICS_EXPORTER=prometheus is not supported", "OpenTelemetry: OTEL_TRACES_EXPORTER=console is not supported"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, stderr := smallRunProcess(t, test.environ...)
			require.NoError(t, cmd.Run(), stderr)
			require.Equal(t, len(test.says), strings.Count(stderr.String(), "level=WARN"), stderr)
			for _, said := range test.says {
				require.Contains(t, stderr.String(), said)
			}
			require.Zero(t, c.received())
		})
	}
}

// TestTelemetryAsTheEnvironmentSays sets the collector's certificate and the sampler in the environment.
func TestTelemetryAsTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	c := newCollector(t, nil)
	secure := httptest.NewTLSServer(c.Config.Handler)
	t.Cleanup(secure.Close)
	certificate := filepath.Join(t.TempDir(), "collector.pem")
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	cmd, stderr := smallRunProcess(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+secure.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE="+certificate,
		"OTEL_TRACES_SAMPLER=always_off", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta")
	require.NoError(t, cmd.Run(), stderr)
	require.Empty(t, stderr.String())
	require.Empty(t, c.spans)
	require.Positive(t, c.values(t, "growth_export.rows")[""])
	require.Equal(t, metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, c.metrics["growth_export.rows"].GetSum().GetAggregationTemporality())
}

// TestTelemetryOfCommands expects the exit code and the spans of each command.
func TestTelemetryOfCommands(t *testing.T) {
	t.Parallel()
	dest := filepath.Join(t.TempDir(), "out")
	shard := []string{
		"run", "--simulate", "--dest", dest, "--run-id", "night", "--datasets", "schools,students", "--simulate-schools", "3", "--schools-per-file", "1",
	}
	for _, test := range []struct {
		args []string
		code int
		// figures are how often each metric was measured, spans the names of the spans.
		figures map[string]int64
		spans   []string
	}{
		{append(shard, "--shard", "0/2"), exitOK, map[string]int64{"growth_export.rows": 3}, []string{"run", "plan", "fetch", "school", "stage"}},
		{append(shard, "--shard", "1/2"), exitOK, map[string]int64{"growth_export.schools": 3}, []string{"run", "fetch", "school", "stage"}},
		{[]string{"publish", "--dest", dest}, exitOK, map[string]int64{"growth_export.schools": 3}, []string{"publish", "publish"}},
		{
			[]string{
				"run", "--simulate", "--dest", dest, "--datasets", "school_classes", "--simulate-schools", "3",
				"--effective-date", "2025-09-01..2025-10-01/1mo",
			},
			exitOK,
			map[string]int64{"growth_export.schools": 3},
			[]string{"run", "plan", "fetch", "publish", "plan", "fetch", "publish"},
		},
		{[]string{"verify", "--dest", dest}, exitOK, nil, []string{"verify"}},
		{[]string{"prune", "--dest", dest, "--keep", "1"}, exitOK, nil, []string{"prune"}},
		{[]string{"purge", "--dest", dest, "--schools", "nobody", "--allow-unknown"}, exitOK, nil, []string{"purge"}},
		{[]string{"verify", "--dest", dest, "--run-id", "none"}, exitUsage, nil, []string{"verify"}},
	} {
		c := newCollector(t, nil)
		cmd, stderr := commandProcess(t, test.args...)
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SERVICE_NAME=ours")
		_ = cmd.Run()
		require.Equal(t, test.code, cmd.ProcessState.ExitCode(), stderr)
		require.Equal(t, map[string]int64{test.args[0] + " " + strconv.Itoa(test.code): 1},
			c.values(t, "growth_export.run.duration", "growth_export.command", "process.exit.code"))
		_, published := c.metrics["growth_export.snapshot.published"]
		require.Equal(t, slices.Contains(test.spans, "publish"), published)
		for name, least := range test.figures {
			require.GreaterOrEqual(t, c.values(t, name)[""], least, name)
		}
		require.Equal(t, "ours", attributeMap(c.resources[0].GetAttributes())["service.name"])
		names := make(map[string]int)
		for _, s := range c.spans {
			if s.GetKind() == trace.Span_SPAN_KIND_INTERNAL {
				names[s.GetName()]++
			}
		}
		for _, name := range test.spans {
			require.Positive(t, names[name], name)
			if name != "school" && name != "stage" {
				names[name]--
			}
		}
		delete(names, "school")
		delete(names, "stage")
		for name, n := range names {
			require.Zero(t, n, name)
		}
	}
}

func TestTelemetryOfAnInterruptedRun(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{"well": nil, "slow": hang} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, answer)
			dest := filepath.Join(t.TempDir(), "out")
			cmd, stderr := commandProcess(t, "run", "--simulate", "--dest", dest, "--datasets", "schools,students", "--simulate-latency", "1s",
				"--simulate-schools", "30", "--concurrency", "1", "--progress", "none")
			cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				plans, _ := filepath.Glob(filepath.Join(dest, "_runs", "*", "plan.json"))
				return len(plans) == 1
			}, time.Minute, 10*time.Millisecond, "the run never began: %s", stderr)
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			asked := time.Now()
			require.Error(t, cmd.Wait())
			require.Less(t, time.Since(asked), 30*time.Second, "the whole run takes a minute")
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), stderr)
			if answer != nil {
				require.Contains(t, stderr.String(), "the collector took more than 2s")
				return
			}
			require.Equal(t, map[string]int64{"run 130": 1}, c.values(t, "growth_export.run.duration", "growth_export.command", "process.exit.code"))
			require.Equal(t, "run", c.spans[len(c.spans)-1].GetName())
		})
	}
}
