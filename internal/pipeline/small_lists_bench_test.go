package pipeline_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
)

// replay repeats earlier answers from memory.
type replay struct {
	base    http.RoundTripper
	answers sync.Map // of *answer by URL
}

type answer struct {
	header http.Header
	body   []byte
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	known, ok := r.answers.Load(req.URL.String())
	if !ok {
		res, err := r.base.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusOK || req.Method != http.MethodGet {
			return res, err
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		known = &answer{header: res.Header, body: body}
		r.answers.Store(req.URL.String(), known)
	}
	a := known.(*answer)
	return &http.Response{
		StatusCode: http.StatusOK, Header: a.header, ContentLength: int64(len(a.body)), Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

// BenchmarkSmallLists takes a run of short lists. It measures the cost of each request, not including rows and network.
func BenchmarkSmallLists(b *testing.B) {
	s := newSite(b, simulator.Options{Seed: 3, Schools: 1000, Results: 1000}, simulator.ServerOptions{})
	settings := defaults()
	settings.SchoolsPerFile = 256
	settings.Datasets = []string{"academic_years", "school_classes", "student_school_associations"}
	transport := &replay{base: &http.Transport{DisableCompression: true}}
	requests := int64(0)
	export := func() {
		s.dest = b.TempDir()
		deps := s.deps(func(o *extract.Options) { o.Transport = transport })
		_, err := pipeline.Run(b.Context(), deps, settings)
		require.NoError(b, err)
		requests += deps.Client.Stats().Requests
	}
	export()
	requests = 0
	before := cpuTime(b)
	b.ReportAllocs()
	for b.Loop() {
		export()
	}
	b.ReportMetric((cpuTime(b)-before)/float64(requests)*1e6, "cpu-us/request")
	b.ReportMetric(float64(requests)/float64(b.N), "requests")
}
