//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/internal/snapshot"
)

// TestTelemetryOfARun compares the data that a real receiver gets from a run with faults, failed and denied schools
// with the run's manifest.
func TestTelemetryOfARun(t *testing.T) {
	t.Parallel()
	long(t)
	world := simulator.NewWorld(simulator.Options{Seed: 21, SchoolSizes: []int{30, 45, 12, 50, 0}, Quirks: odd.New()})
	server := simulator.New(world, simulator.ServerOptions{Key: "key-4f1c9d", Secret: "secret-77aa21", PageSize: 10, ListPageSize: 10})
	schools := world.Schools()
	server.SetFaults(append([]simulator.Fault{
		{Operation: "test_results", School: schools[1].Bid, Kind: simulator.FaultBody, Body: `{"testResults":[{"studentBid":`},
		{Operation: "school_classes", School: schools[2].Bid, Kind: simulator.FaultBody, Body: `{"x":[],"y":[]}`},
		{School: schools[0].Bid, Kind: simulator.FaultStatus, Status: http.StatusForbidden},
	}, simulator.TransientFaults(0.1, 100*time.Millisecond)...))
	var mu sync.Mutex
	sent := make(map[string]bool)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent[strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "Basic ")] = true
		for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} {
			if r.Header.Get(name) != "" {
				t.Errorf("the service was sent %s", name)
			}
		}
		mu.Unlock()
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(service.Close)
	c := newCollector(t, nil)

	dest := filepath.Join(t.TempDir(), "out")
	cmd, stderr := commandProcess(t, "run", "--base-url", service.URL+server.BasePath(), "--dest", dest, "--run-id", "night", "--datasets", "all",
		"--schools-per-file", "2", "--retries", "4", "--request-timeout", "2s", "--max-failed-schools", "4", "--concurrency", "4")
	cmd.Env = append(cmd.Env, apiKeyVariable+"=key-4f1c9d", apiSecretVariable+"=secret-77aa21",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/base", "OTEL_EXPORTER_OTLP_HEADERS=x-team=night%20shift", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test", "OTEL_BSP_MAX_QUEUE_SIZE=100000", "OTEL_METRIC_EXPORT_INTERVAL=300")
	began := time.Now()
	_ = cmd.Run()
	require.Equal(t, exitPartial, cmd.ProcessState.ExitCode(), stderr)
	require.NotContains(t, stderr.String(), "OpenTelemetry")
	var manifest snapshot.Manifest
	text, err := os.ReadFile(filepath.Join(dest, "_runs", "night", "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &manifest))

	c.requireFigures(t, &manifest, began)
	c.requireTrace(t, &manifest, len(schools))
	for _, header := range c.headers {
		require.Equal(t, "night shift", header.Get("X-Team"))
	}
	for _, r := range c.resources {
		described := attributeMap(r.GetAttributes())
		require.Equal(t, "growth-export", described["service.name"])
		require.NotEmpty(t, described["service.version"])
		require.NotEmpty(t, described["service.instance.id"])
		require.Equal(t, "test", described["deployment.environment.name"])
	}

	received := c.bodies.String()
	looked := 0
	absent := func(what, value string) {
		if len(value) < 5 {
			return // too short: it may occur by chance
		}
		looked++
		require.NotContains(t, received, value, "%s leaked", what)
	}
	require.Contains(t, received, schools[3].Bid, "what is looked for would be found")
	absent("the key", "key-4f1c9d")
	absent("the secret", "secret-77aa21")
	absent("a URL", "http://")
	absent("a query", "next-page")
	for token := range sent {
		absent("a token", token)
	}
	for value, column := range identifiers(t, world) {
		absent(column, value)
	}
	for _, r := range server.Log() {
		if cursor := r.Query.Get("next-page"); cursor != "" {
			absent("a cursor", cursor)
		}
	}
	require.Greater(t, looked, 400)

	// The documentation lists all metrics and no others.
	documented, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	var listed, registered []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+\\.[a-z_.]+)` \\|").FindAllStringSubmatch(string(documented), -1) {
		listed = append(listed, row[1])
	}
	for name := range c.metrics {
		registered = append(registered, name)
	}
	require.ElementsMatch(t, listed, registered)
}

// requireFigures compares the metrics with the manifest.
func (c *collector) requireFigures(t *testing.T, manifest *snapshot.Manifest, began time.Time) {
	t.Helper()
	requests := c.values(t, "http.client.request.duration", "growth_export.operation", "http.response.status_code", "error.type")
	byStatus := make(map[string]int64)
	for key, n := range requests {
		words := strings.Fields(key)
		if words[0] != "token" {
			byStatus[words[1]] += n
		}
		if len(words) == 3 {
			require.Equal(t, words[1], words[2], "the status code is the type of the error")
		}
	}
	want := make(map[string]int64)
	for status, n := range manifest.Requests.ByStatus {
		if status == "unreadable" { // only known once the body was parsed
			status = "200"
		}
		want[status] += n
	}
	require.Equal(t, want, byStatus)
	require.Greater(t, len(want), 5, "there was a lot to tell")
	var retries int64
	for _, n := range c.values(t, "growth_export.request.retries", "error.type") {
		retries += n
	}
	require.Equal(t, manifest.Requests.Retries, retries)
	require.Positive(t, c.values(t, "growth_export.request.retries", "error.type")["unreadable"])

	rows, bytes := make(map[string]int64), make(map[string]int64)
	for name, table := range manifest.Tables {
		rows[name] = table.Rows
		for _, file := range table.Files {
			bytes[name] += file.Bytes
		}
	}
	require.Equal(t, rows, c.values(t, "growth_export.rows", "growth_export.table"))
	require.Equal(t, bytes, c.values(t, "growth_export.bytes", "growth_export.table"))
	outcomes := c.values(t, "growth_export.school.datasets", "growth_export.dataset", "growth_export.outcome")
	for name, of := range manifest.Datasets {
		if name == "schools" || name == "districts" || name == "district_schools" {
			continue
		}
		for outcome, n := range map[string]int64{"ok": of.OK, "denied": of.Denied, "failed": of.Failed} {
			require.Equal(t, n, outcomes[name+" "+outcome], name+" "+outcome)
		}
	}
	require.Equal(t, map[string]int64{"ok": manifest.Schools.OK, "denied": manifest.Schools.Denied, "failed": manifest.Schools.Failed},
		c.values(t, "growth_export.schools", "growth_export.outcome"))
	require.Positive(t, manifest.Schools.Denied)
	require.Positive(t, manifest.Schools.Failed)

	require.Equal(t, map[string]int64{"run 3": 1}, c.values(t, "growth_export.run.duration", "growth_export.command", "process.exit.code"))
	require.InDelta(t, began.Unix(), c.values(t, "growth_export.snapshot.published", "growth_export.kind")["full"], 60)
	require.Zero(t, c.values(t, "http.client.active_requests")[""])
	require.InDelta(t, 2.5, c.values(t, "growth_export.request.limit")[""], 1.5)
}

// requireTrace checks that spans are nested correctly, and that there is one for each request and each school's
// dataset.
func (c *collector) requireTrace(t *testing.T, manifest *snapshot.Manifest, schools int) {
	t.Helper()
	byID := make(map[string]*trace.Span)
	for _, s := range c.spans {
		byID[string(s.GetSpanId())] = s
	}
	require.Len(t, byID, len(c.spans))
	places := make(map[string]int64)
	var again int64
	for _, s := range c.spans {
		require.Equal(t, c.spans[0].GetTraceId(), s.GetTraceId())
		var place []string
		for at := s; at != nil; at = byID[string(at.GetParentSpanId())] {
			name := at.GetName()
			if at.GetKind() == trace.Span_SPAN_KIND_CLIENT {
				name, _, _ = strings.Cut(name, " ")
			}
			place = append([]string{name}, place...)
			parent := byID[string(at.GetParentSpanId())]
			if parent == nil {
				continue
			}
			require.GreaterOrEqual(t, at.GetStartTimeUnixNano(), parent.GetStartTimeUnixNano())
			require.LessOrEqual(t, at.GetEndTimeUnixNano(), parent.GetEndTimeUnixNano())
		}
		places[strings.Join(place, " ")]++
		attributes := attributeMap(s.GetAttributes())
		if attributes["http.request.resend_count"] != "" && attributes["growth_export.operation"] != "token" {
			again++
		}
		switch s.GetName() {
		case "run":
			require.Equal(t, map[string]string{
				"growth_export.run.id": "night", "growth_export.kind": "full", "growth_export.snapshot_date": manifest.SnapshotDate,
				"growth_export.outcome": "published", "process.exit.code": "3", "error.type": "3",
			}, attributes)
			require.Equal(t, trace.Status_STATUS_CODE_ERROR, s.GetStatus().GetCode())
		case "school":
			require.NotEmpty(t, attributes["growth_export.school"])
			require.NotEmpty(t, attributes["growth_export.dataset"])
			failed := attributes["growth_export.outcome"] == "failed"
			require.Equal(t, failed, s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR)
		}
	}
	perSchool := int64(len(manifest.Datasets) - 3)
	require.EqualValues(t, 1, places["run"])
	require.EqualValues(t, 1, places["run plan"])
	require.EqualValues(t, 1, places["run fetch"])
	require.EqualValues(t, 1, places["run publish"])
	require.Equal(t, 3*perSchool+3, places["run fetch stage"], "three buckets, and the lookups")
	require.Equal(t, perSchool*int64(schools), places["run fetch school"])
	require.Equal(t, manifest.Requests.Total, places["run plan GET"]+places["run fetch school GET"])
	require.GreaterOrEqual(t, again, manifest.Requests.Retries, "with a new token an attempt is sent twice")
	require.Positive(t, places["run plan POST"], "a token")
	delete(places, "run fetch school POST") // there may be new tokens
	require.Len(t, places, 9, places)
}
