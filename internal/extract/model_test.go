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

// model is a service with a bound of its own, in virtual time. Its zero value answers everything at once.
type model struct {
	fastest, slowest time.Duration // of an answer
	network          time.Duration // most time on the way, there and back each: requests overtake one another
	bound            int           // requests that it works at; more are rejected with 429
	boundAt          func(since time.Duration) int
	late             bool   // rejections take as long as answers
	retryAfter       string // of rejections
	fails            func(school string, since time.Duration) bool
	share            float64 // of the requests, which are answered failure for no reason
	failure          int     // status of those that fail; 0 is no answer at all

	mu              sync.Mutex
	random          *rand.Rand
	began           time.Time
	inFlight, crowd int // now and at most
	working, most   int // those of them that it works at
	asked, rejected int
	lastAnswer      time.Time
}

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, tokenPath) {
		return reply(200, tokenBody("TOKEN-1")), nil
	}
	defer m.crowded()()
	after(r.Context(), m.between(0, m.network))
	status, takes, done := m.enter(schoolOf(r))
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	after(r.Context(), takes)
	done()
	after(r.Context(), m.between(0, m.network))
	if status == 429 && m.retryAfter != "" {
		return reply(429, "", "Retry-After", m.retryAfter), nil
	}
	return reply(status, "[]"), nil
}

// enter decides what a request gets and when.
func (m *model) enter(school string) (status int, takes time.Duration, done func()) {
	takes = m.between(m.fastest, m.slowest)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	since, bound := time.Since(m.began), m.bound
	if m.boundAt != nil {
		bound = m.boundAt(since)
	}
	nothing := func() {}
	switch {
	case m.fails != nil && m.fails(school, since), m.random.Float64() < m.share:
		return m.failure, 0, nothing
	case bound > 0 && m.working >= bound:
		m.rejected++
		if !m.late {
			takes = 0
		}
		return 429, takes, nothing
	}
	m.working++
	m.most = max(m.most, m.working)
	return 200, takes, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.working--
		m.lastAnswer = time.Now()
	}
}

// crowded counts a request for as long as it is in flight.
func (m *model) crowded() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight++
	m.crowd = max(m.crowd, m.inFlight)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inFlight--
	}
}

func (m *model) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return least + time.Duration(m.random.Int64N(int64(most-least)))
}

// wasted is the share of the requests that were rejected.
func (m *model) wasted() float64 { return float64(m.rejected) / float64(m.asked) }

// every is how often a run's limit is looked at.
const every = 10 * time.Millisecond

// figures are what came of a run.
type figures struct {
	took   time.Duration
	limits []int64
	model  *model
}

// settled is the mean of the limit over the second half of the run.
func (f *figures) settled() float64 {
	half := f.limits[len(f.limits)/2:]
	sum := int64(0)
	for _, l := range half {
		sum += l
	}
	return float64(sum) / float64(len(half))
}

// load is what a run asks for.
type load struct {
	concurrency int
	schools     []string // asked for in order
	callers     int      // so many at a time; 0 for a few more than may be in flight, as a run has
	aside       []string // asked for all at once in the middle
}

// run asks m for the results of schools.
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
		// That a school fails for good is the business of each test.
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
		aside.Wait()
		close(over)
		watch.Wait()
		f.took = m.lastAnswer.Sub(m.began)
	})
	return f
}

// limits notes the limit again and again.
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
