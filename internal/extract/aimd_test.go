package extract_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

const (
	minLatency = 20 * time.Millisecond
	maxLatency = 50 * time.Millisecond
	mean       = 0.035 // seconds
)

// TestLimitSettlesAtCapacity runs with --concurrency 32 against services with less capacity, and compares the time with
// a run at exactly their capacity.
func TestLimitSettlesAtCapacity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model   func() *model
		schools int
		wasted  float64 // at most
		slower  float64 // compared with a run at its capacity; a call rejected near the end waits for a second or more
	}{
		"four": {
			func() *model { return &model{capacity: 4} }, 2000, 0.01, 1.3,
		},
		"a short run": {
			func() *model { return &model{capacity: 4} }, 300, 0.05, 3,
		},
		"Retry-After 0": {
			func() *model { return &model{capacity: 4, retryAfter: "0"} }, 2000, 0.01, 1.3,
		},
		"Retry-After 1": {
			func() *model { return &model{capacity: 4, retryAfter: "1"} }, 2000, 0.01, 1.3,
		},
		"rejections as slow as responses": {
			func() *model { return &model{capacity: 4, late: true} }, 1000, 0.03, 1.5,
		},
		"reordered requests": {
			func() *model { return &model{capacity: 4, network: 2 * time.Millisecond} }, 1000, 0.06, 1.5,
		},
		"a short reordered run": {
			func() *model { return &model{capacity: 4, network: 2 * time.Millisecond} }, 300, 0.1, 3,
		},
		"one": {
			func() *model { return &model{capacity: 1} }, 300, 0.1, 1.3,
		},
		"twelve": {
			func() *model { return &model{capacity: 12} }, 2000, 0.015, 1.5,
		},
		"four, and unrelated failures": {
			func() *model { return &model{capacity: 4, share: 0.01, failure: 503} }, 1000, 0.03, 1.5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := c.model()
			m.minLatency, m.maxLatency = minLatency, maxLatency
			f := run(t, m, 1, load{concurrency: 32, schools: named("s", c.schools)})
			exact := float64(c.schools) * mean / float64(m.capacity)
			t.Logf("settled at %.2f, wasted %.2f%%, took %.3f of the time", f.settled(), 100*m.wasted(), f.took.Seconds()/exact)
			require.Equal(t, m.capacity, m.maxWorking, "the whole capacity is used")
			require.InDelta(t, m.capacity, f.settled(), 0.3)
			require.Less(t, m.wasted(), c.wasted)
			require.Less(t, f.took.Seconds(), c.slower*exact)
		})
	}
}

// TestLimitOfAHealthyService reaches --concurrency after a few round trips, so a run takes little longer than with a
// fixed limit.
func TestLimitOfAHealthyService(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 4, 8, 16, 32} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			t.Parallel()
			n := 60 * concurrency
			f := run(t, &model{minLatency: minLatency, maxLatency: maxLatency}, 1, load{concurrency: concurrency, schools: named("s", n)})
			fixed := mean * float64(n) / float64(concurrency)
			require.Equal(t, concurrency, f.model.maxWorking)
			require.InDelta(t, concurrency, f.settled(), 0)
			require.Less(t, f.took.Seconds(), 1.03*fixed)
		})
	}
}

func TestLimitDoublesPerRoundTripAtFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			wait(r.Context(), time.Second)
			return reply(200, "[]"), nil
		}), withToken, func(o *extract.Options) { o.Concurrency = 50 })
		done := make(chan error, 1)
		go func() { done <- all(t, c, 400, discard) }()
		wait(t.Context(), 500*time.Millisecond)
		for _, level := range []int64{8, 16, 32, 50, 50} {
			require.Equal(t, level, c.Stats().InFlight)
			require.Equal(t, level, c.Stats().Limit)
			wait(t.Context(), time.Second)
		}
		require.NoError(t, <-done)
	})
}

// TestLimitWithABrokenSchool runs one school that always fails beside 300 healthy ones. The healthy schools must not
// take much longer than without it.
func TestLimitWithABrokenSchool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ failure, calls int }{
		"503":               {503, 1},
		"504":               {504, 1},
		"stalls":            {0, 1},
		"503 to many calls": {503, 32},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var schools []string
			for range 3 {
				schools = append(schools, named("s", 300)...)
			}
			start := func(calls int) figures {
				return run(t, &model{
					minLatency: minLatency, maxLatency: maxLatency, failure: c.failure,
					fails: func(school string, _ time.Duration) bool { return school == "broken" },
				}, 1, load{concurrency: 16, schools: schools, aside: slices.Repeat([]string{"broken"}, calls)})
			}
			sick, healthy := start(c.calls), start(0)
			t.Logf("took %.3f of the time", sick.took.Seconds()/healthy.took.Seconds())
			require.Less(t, sick.took.Seconds(), 1.1*healthy.took.Seconds())
		})
	}
}

// TestLimitWithUnrelatedFailures compares random 503s with as many 500s, which do not lower the limit.
func TestLimitWithUnrelatedFailures(t *testing.T) {
	t.Parallel()
	start := func(status int) figures {
		return run(t, &model{minLatency: minLatency, maxLatency: maxLatency, share: 0.04, failure: status}, 1,
			load{concurrency: 16, callers: 100, schools: named("s", 3000)})
	}
	noticed, unnoticed := start(503), start(500)
	t.Logf("settled at %.1f, took %.3f of the time", noticed.settled(), noticed.took.Seconds()/unnoticed.took.Seconds())
	// One of the last calls may fail several times, and then its wait is longer than the time for all others.
	require.Less(t, noticed.most.Seconds(), 1.25*unnoticed.most.Seconds())
}

func TestLimitRecovers(t *testing.T) {
	t.Parallel()
	const since = 10 * time.Second // the capacity is back at 32
	for name, c := range map[string]struct {
		model  *model
		begins time.Duration // at most
		ends   time.Duration // after that, at most
	}{
		// A probe waits for up to half a minute.
		"from an outage": {&model{failure: 503, fails: func(_ string, at time.Duration) bool {
			return at >= time.Second && at < since
		}}, 31 * time.Second, 3 * time.Second},
		"from a lower capacity": {&model{capacityAt: func(at time.Duration) int {
			if at < since {
				return 4
			}
			return 32
		}}, 6 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.model.minLatency, c.model.maxLatency = minLatency, maxLatency
			f := run(t, c.model, 1, load{concurrency: 32, schools: named("s", 4000)})
			later := f.limits[since/every:]
			low := later[0]
			require.LessOrEqual(t, low, int64(16))
			begins := slices.IndexFunc(later, func(l int64) bool { return l > low+1 })
			ends := slices.Index(later, 32)
			require.GreaterOrEqual(t, ends, begins)
			require.LessOrEqual(t, time.Duration(begins)*every, c.begins)
			require.LessOrEqual(t, time.Duration(ends-begins)*every, c.ends)
			require.EqualValues(t, 32, later[len(later)-1])
		})
	}
}

// TestLimitFollowsFallingCapacity lowers the capacity during a run.
func TestLimitFollowsFallingCapacity(t *testing.T) {
	t.Parallel()
	const until = time.Second
	f := run(t, &model{minLatency: minLatency, maxLatency: maxLatency, capacityAt: func(since time.Duration) int {
		if since < until {
			return 16
		}
		return 4
	}}, 1, load{concurrency: 16, schools: named("s", 2000)})
	require.EqualValues(t, 16, f.limits[until/every-1])
	for _, limit := range f.limits[(until+time.Second/2)/every:] {
		require.LessOrEqual(t, limit, int64(5))
	}
	require.InDelta(t, 4, f.settled(), 0.3)
	require.Less(t, f.model.wasted(), 0.05)
	exact := until.Seconds() + (2000-until.Seconds()/mean*16)*mean/4
	require.Less(t, f.took.Seconds(), 1.2*exact)
}

// TestLimitFallsForACallOverCapacity keeps rejecting the same call until the limit is low enough, while others succeed.
func TestLimitFallsForACallOverCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{minLatency: minLatency, maxLatency: maxLatency, random: rand.New(rand.NewPCG(1, 0)), began: time.Now()}
		c := dial(t, m, withToken, func(o *extract.Options) { o.Concurrency = 32 })
		require.NoError(t, all(t, c, 500, discard))
		require.EqualValues(t, 32, c.Stats().Limit)
		m.capacity = 4
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		defer busy.Wait()
		defer cancel()
		for _, school := range named("s", 4) {
			busy.Go(func() {
				for ctx.Err() == nil {
					_, _ = c.Get(ctx, results(school), discard)
				}
			})
		}
		wait(t.Context(), time.Second)
		tally, err := c.Get(t.Context(), results("fifth"), discard)
		require.NoError(t, err)
		require.EqualValues(t, 4, tally.Requests, "the limit was 32, 16, 8, 4")
	})
}

// TestFailuresThatLowerTheLimit has two requests in flight, one of which fails.
func TestFailuresThatLowerTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure bare
		limit   int64
	}{
		"429":        {failing(429), 4},
		"503":        {failing(503), 4},
		"504":        {failing(504), 4},
		"a timeout":  {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, 4},
		"500":        {failing(500), 8},
		"502":        {failing(502), 8},
		"404":        {failing(404), 8},
		"403":        {failing(403), 8},
		"a reset":    {func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 8},
		"not JSON":   {func(*http.Request) (*http.Response, error) { return reply(200, "<html>"), nil }, 8},
		"cut short":  {func(*http.Request) (*http.Response, error) { return cutShort(), nil }, 8},
		"no failure": {func(*http.Request) (*http.Response, error) { return reply(200, "[]"), nil }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					if schoolOf(r) == "failing" {
						return c.failure(r)
					}
					wait(r.Context(), 2*time.Second)
					return reply(200, "[]"), nil
				}), withToken, noRetries, func(o *extract.Options) { o.RequestTimeout = 10 * time.Second })
				// Another school always has a request in flight.
				done := make(chan error, 1)
				go func() {
					for range 10 {
						if _, err := client.Get(t.Context(), results("other"), discard); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
				synctest.Wait()
				_, _ = client.Get(t.Context(), results("failing"), wantJSON)
				require.Equal(t, c.limit, client.Stats().Limit)
				require.NoError(t, <-done)
			})
		})
	}
}

// cutShort returns a response whose body is cut short.
func cutShort() *http.Response {
	response := reply(200, "")
	response.Body = io.NopCloser(io.MultiReader(strings.NewReader("["), brokenReader{}))
	return response
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestLimitIsHalvedAtMost checks that rejected requests that were in flight together at most halve the limit, and that
// a single one does not lower it.
func TestLimitIsHalvedAtMost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls int
		limit int64
	}{"all": {20, 4}, "alone": {1, 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}), withToken, func(o *extract.Options) { o.RequestTimeout, o.GiveUpAfter = time.Minute, 2*time.Minute })
				done := make(chan error, 1)
				go func() { done <- all(t, client, c.calls, discard) }()
				wait(t.Context(), time.Minute+time.Millisecond)
				require.Equal(t, c.limit, client.Stats().Limit)
				require.Error(t, <-done)
			})
		})
	}
}

// TestLimitOfOneSchool checks that the limit adapts to the calls of a single school.
func TestLimitOfOneSchool(t *testing.T) {
	t.Parallel()
	m := &model{minLatency: minLatency, maxLatency: maxLatency, capacity: 4}
	f := run(t, m, 1, load{concurrency: 32, schools: slices.Repeat([]string{"s"}, 500)})
	require.InDelta(t, 4, f.settled(), 0.3)
	require.Less(t, m.rejected, 15)
}

// TestLimitIgnoresOutdatedRejections has two requests time out that were sent before others were rejected and the limit
// rose again, twice.
func TestLimitIgnoresOutdatedRejections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			switch school := schoolOf(r); {
			case strings.HasPrefix(school, "stalls"):
				<-r.Context().Done()
				return nil, r.Context().Err()
			case strings.HasPrefix(school, "busy"):
				return reply(503, ""), nil
			}
			wait(r.Context(), minLatency)
			return reply(200, "[]"), nil
		}), withToken, noRetries, func(o *extract.Options) { o.RequestTimeout = time.Minute })
		done := make(chan map[string]outcome, 1)
		go func() { done <- fetch(t.Context(), c, named("stalls", 2)...) }()
		synctest.Wait()
		for _, school := range named("busy", 2) {
			_, err := c.Get(t.Context(), results(school), discard)
			require.Error(t, err)
			require.EqualValues(t, 4, c.Stats().Limit)
			require.NoError(t, all(t, c, 100, discard))
			require.EqualValues(t, 8, c.Stats().Limit)
		}
		require.EqualValues(t, 2, c.Stats().InFlight)
		for _, o := range <-done {
			require.Error(t, o.err)
		}
		require.EqualValues(t, 8, c.Stats().Limit)
	})
}

// TestLimitAtARealServer uses net/http's client and server, in virtual time, and a capacity for four requests.
func TestLimitAtARealServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var working, requested, rejected atomic.Int64
		c := dial(t, inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			requested.Add(1)
			defer working.Add(-1)
			if working.Add(1) > 4 {
				rejected.Add(1)
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			wait(r.Context(), 20*time.Millisecond)
			_, _ = io.WriteString(w, "[]")
		}), withToken, func(o *extract.Options) { o.Concurrency = 32 })
		over, seen := make(chan struct{}), make(chan []int64)
		go func() { seen <- limits(c, over) }()
		require.NoError(t, all(t, c, 400, discard))
		close(over)
		f := figures{limits: <-seen}
		t.Logf("settled at %.1f, %d of %d wasted", f.settled(), rejected.Load(), requested.Load())
		require.Less(t, float64(rejected.Load()), 0.1*float64(requested.Load()))
		require.InDelta(t, 4, f.settled(), 2)
		require.Equal(t, requested.Load(), c.Stats().Requests)
	})
}

// inMemory returns a transport to a server without a network, for tests in virtual time.
func inMemory(t *testing.T, handler http.HandlerFunc) *http.Transport {
	t.Helper()
	listener := pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DialTLSContext: listener.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return transport
}

// pipeListener accepts connections that dial opens in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l pipeListener) Addr() net.Addr { return &net.IPAddr{} }
