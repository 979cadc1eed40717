package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP/HTTP receiver that records everything it receives.
type collector struct {
	*httptest.Server
	mu        sync.Mutex
	headers   []http.Header
	bodies    strings.Builder // uncompressed
	resources []*resource.Resource
	spans     []*trace.Span
	// metrics holds the newest cumulative state of each metric.
	metrics map[string]*metrics.Metric
}

// newCollector returns a collector that accepts everything. answer may answer a request
// instead and return true.
func newCollector(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) *collector {
	t.Helper()
	c := &collector{metrics: make(map[string]*metrics.Metric)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer != nil && answer(w, r) {
			return
		}
		if err := c.record(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest) // the command reports the error
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) record(r *http.Request) error {
	var reader io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzip, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		reader = unzip
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	c.bodies.Write(body)
	if strings.HasSuffix(r.URL.Path, "/v1/metrics") {
		var request metricscollector.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return err
		}
		for _, of := range request.GetResourceMetrics() {
			c.resources = append(c.resources, of.GetResource())
			for _, scope := range of.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics[m.GetName()] = m
				}
			}
		}
		return nil
	}
	var request tracecollector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return err
	}
	for _, of := range request.GetResourceSpans() {
		c.resources = append(c.resources, of.GetResource())
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return nil
}

// received returns the number of requests.
func (c *collector) received() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.headers)
}

// values returns a metric's values, or a histogram's counts, summed by the given
// attributes, whose values are joined by spaces.
func (c *collector) values(t *testing.T, name string, by ...string) map[string]int64 {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.metrics[name]
	require.NotNil(t, m, name)
	sums := make(map[string]int64)
	add := func(list []*common.KeyValue, n int64) {
		attributes := attributeMap(list)
		var key []string
		for _, name := range by {
			if value := attributes[name]; value != "" {
				key = append(key, value)
			}
		}
		sums[strings.Join(key, " ")] += n
	}
	switch data := m.GetData().(type) {
	case *metrics.Metric_Sum:
		for _, p := range data.Sum.GetDataPoints() {
			add(p.GetAttributes(), p.GetAsInt())
		}
	case *metrics.Metric_Gauge:
		for _, p := range data.Gauge.GetDataPoints() {
			add(p.GetAttributes(), p.GetAsInt())
		}
	case *metrics.Metric_Histogram:
		for _, p := range data.Histogram.GetDataPoints() {
			add(p.GetAttributes(), int64(p.GetCount()))
		}
	default:
		require.Fail(t, "metric of another kind", "%s: %T", name, data)
	}
	return sums
}

// attributeMap returns attributes as text.
func attributeMap(list []*common.KeyValue) map[string]string {
	found := make(map[string]string)
	for _, a := range list {
		switch value := a.GetValue().GetValue().(type) {
		case *common.AnyValue_IntValue:
			found[a.GetKey()] = strconv.FormatInt(value.IntValue, 10)
		default:
			found[a.GetKey()] = a.GetValue().GetStringValue()
		}
	}
	return found
}
