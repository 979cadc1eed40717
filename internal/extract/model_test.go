package extract_test

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/extract"
)

// model is a service with limited capacity, in virtual time. The zero value responds at once.
type model struct {
	minLatency, maxLatency time.Duration // of a response
	network                time.Duration // maximum time of each direction: requests are reordered
	capacity               int           // concurrent requests; more are rejected with 429
	capacityAt             func(since time.Duration) int
	late                   bool   // rejections take as long as responses
	retryAfter             string // of rejections
	fails                  func(school string, since time.Duration) bool
	share                  float64 // share of requests that fail at random
	failure                int     // status of failed requests; 0 means no response

	mu                    sync.Mutex
	random                *rand.Rand
	began                 time.Time
	inFlight, maxInFlight int // now and maximum
	working, maxWorking   int // requests within the capacity
	requests, rejected    int
	answers               []time.Time
}

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, tokenPath) {
		return reply(200, tokenBody("TOKEN-1")), nil
	}
	defer m.count()()
	wait(r.Context(), m.between(0, m.network))
	status, takes, done := m.enter(schoolOf(r))
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	wait(r.Context(), takes)
	done()
	wait(r.Context(), m.between(0, m.network))
	if status == 429 && m.retryAfter != "" {
		return reply(429, "", "Retry-After", m.retryAfter), nil
	}
	return reply(status, "[]"), nil
}

// enter returns the status of the response to a request, and how long the response takes.
func (m *model) enter(school string) (status int, takes time.Duration, done func()) {
	takes = m.between(m.minLatency, m.maxLatency)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	since, capacity := time.Since(m.began), m.capacity
	if m.capacityAt != nil {
		capacity = m.capacityAt(since)
	}
	nothing := func() {}
	switch {
	case m.fails != nil && m.fails(school, since), m.random.Float64() < m.share:
		return m.failure, 0, nothing
	case capacity > 0 && m.working >= capacity:
		m.rejected++
		if !m.late {
			takes = 0
		}
		return 429, takes, nothing
	}
	m.working++
	m.maxWorking = max(m.maxWorking, m.working)
	return 200, takes, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.working--
		m.answers = append(m.answers, time.Now())
	}
}

// count counts a request while it is in flight.
func (m *model) count() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight++
	m.maxInFlight = max(m.maxInFlight, m.inFlight)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inFlight--
	}
}

func (m *model) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return low + time.Duration(m.random.Int64N(int64(high-low)))
}

// wasted returns the share of requests that were rejected.
func (m *model) wasted() float64 { return float64(m.rejected) / float64(m.requests) }

// every is the interval at which the limit is sampled.
const every = 10 * time.Millisecond

// figures are the results of a run.
type figures struct {
	took   time.Duration
	most   time.Duration // time until nine tenths of the calls are answered
	limits []int64
	model  *model
}

// settled returns the mean limit of the second half of the run.
func (f *figures) settled() float64 {
	half := f.limits[len(f.limits)/2:]
	sum := int64(0)
	for _, l := range half {
		sum += l
	}
	return float64(sum) / float64(len(half))
}

// load describes the calls of a run.
type load struct {
	concurrency int
	schools     []string // in order
	callers     int      // concurrent calls; 0 for a few more than --concurrency, as in a run
	aside       []string // called all at once in the middle of the run
}

// run gets the results of schools from m.
func run(t *testing.T, m *model, seed uint64, l load) figures {
	t.Helper()
	f := figures{model: m}
	synctest.Test(t, func(t *testing.T) {
		m.random, m.began = rand.New(rand.NewPCG(seed, 0)), time.Now()
		c := dial(t, m, withToken, func(o *extract.Options) {
			o.Concurrency, o.RequestTimeout = l.concurrency, 10*time.Second
		})
		over := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { f.limits = limits(c, over) })
		var calls errgroup.Group
		calls.SetLimit(cmp.Or(l.callers, l.concurrency+2))
		var aside sync.WaitGroup
		// The tests themselves check which schools failed.
		ask := func(school string) { _, _ = c.Get(t.Context(), results(school), discard) }
		for i, school := range l.schools {
			if i == len(l.schools)/2 {
				for _, other := range l.aside {
					aside.Go(func() { ask(other) })
				}
			}
			calls.Go(func() error { ask(school); return nil })
		}
		_ = calls.Wait()
		m.mu.Lock()
		answered := len(m.answers) // canaries follow
		m.mu.Unlock()
		aside.Wait()
		close(over)
		watch.Wait()
		f.took = m.answers[answered-1].Sub(m.began)
		f.most = m.answers[answered*9/10].Sub(m.began)
	})
	return f
}

// limits samples the limit until over is closed.
func limits(c *extract.Client, over <-chan struct{}) []int64 {
	var found []int64
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		found = append(found, c.Stats().Limit)
		select {
		case <-ticker.C:
		case <-over:
			return found
		}
	}
}
