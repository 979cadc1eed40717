package extract_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

func TestConcurrencyBoundsRequests(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{1, 3, 8} {
		t.Run(strconv.Itoa(capacity), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var now, highest atomic.Int64
				c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
					n := now.Add(1)
					defer now.Add(-1)
					for was := highest.Load(); n > was; was = highest.Load() {
						highest.CompareAndSwap(was, n)
					}
					wait(r.Context(), time.Second)
					return reply(200, tokenBody("T")), nil
				}), func(o *extract.Options) { o.Concurrency = capacity })
				start := time.Now()
				done := make(chan error, 1)
				go func() { done <- all(t, c, 48, discard) }()
				wait(t.Context(), 1500*time.Millisecond)
				require.EqualValues(t, capacity, c.Stats().InFlight)
				require.NoError(t, <-done)
				require.Zero(t, c.Stats().InFlight)
				require.EqualValues(t, capacity, highest.Load())
				require.Equal(t, time.Duration(48/capacity+1)*time.Second, time.Since(start), "all slots are always used")
			})
		})
	}
}

// TestWaitsDoNotCount has one call waiting for a retry, at concurrency 1.
func TestWaitsDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if schoolOf(r) == "broken" {
				return reply(500, ""), nil
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.Concurrency = 1 })
		done := make(chan error, 1)
		go func() {
			_, err := c.Get(t.Context(), results("broken"), discard)
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		require.Error(t, <-done)
	})
}

// TestRequestsAreAdmittedInOrder expects requests to be admitted in order, even while the limit falls and rises.
func TestRequestsAreAdmittedInOrder(t *testing.T) {
	t.Parallel()
	for name, rejected := range map[string]bool{"healthy service": false, "busy service": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j requestLog
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					n := len(j.of(""))
					j.add(schoolOf(r))
					wait(r.Context(), time.Second)
					if rejected && n%7 == 0 {
						return reply(504, ""), nil // 429 and 503 also set a rate, at which requests admitted together follow one another.
					}
					return reply(200, "[]"), nil
				}), withToken, noRetries, func(o *extract.Options) { o.Concurrency = 5 })
				schools := named("s", 100)[10:] // names that sort like their numbers
				done := make(chan struct{})
				for _, school := range schools {
					go func() {
						_, _ = c.Get(t.Context(), results(school), discard)
						done <- struct{}{}
					}()
					wait(t.Context(), time.Millisecond)
				}
				for range schools {
					<-done
				}
				// Requests admitted at the same moment may be sent in any order.
				entries := j.of("")
				slices.SortStableFunc(entries, func(a, b entry) int {
					return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.school, b.school))
				})
				var requested []string
				for _, e := range entries {
					requested = append(requested, e.school)
				}
				require.Equal(t, schools, requested)
			})
		})
	}
}

// TestCancelledCallsFreeTheirSlots cancels calls that have a slot, are waiting for one, or are just getting one.
func TestCancelledCallsFreeTheirSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			wait(r.Context(), time.Second)
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			return reply(200, "[]"), nil
		}), withToken, func(o *extract.Options) { o.Concurrency = 2 })
		for range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan map[string]outcome, 1)
			go func() { done <- fetch(ctx, c, named("s", 6)...) }()
			wait(t.Context(), time.Second) // the moment at which the first two get a response
			cancel()
			for _, o := range <-done {
				if o.err != nil {
					require.ErrorIs(t, o.err, context.Canceled)
				}
			}
			require.Zero(t, c.Stats().InFlight)
		}
		start := time.Now()
		require.NoError(t, all(t, c, 6, discard))
		require.Equal(t, 3*time.Second, time.Since(start), "both slots are free")
	})
}

// TestLimitStaysInBounds uses services with random capacity and failures.
func TestLimitStaysInBounds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			concurrency := 1 + random.IntN(40)
			m := &model{
				maxLatency: maxLatency, network: 5 * time.Millisecond, late: seed%2 == 0, share: 0.3 * random.Float64(), failure: 503,
				capacityAt: func(since time.Duration) int { return 1 + int(since/time.Second)*13%37 },
			}
			f := run(t, m, seed, load{concurrency: concurrency, schools: named("s", 600)})
			require.LessOrEqual(t, m.maxInFlight, concurrency)
			require.Greater(t, len(f.limits), 100)
			for _, limit := range f.limits {
				require.GreaterOrEqual(t, limit, int64(1))
				require.LessOrEqual(t, limit, int64(concurrency))
			}
		})
	}
}

// TestLimitIsLogged expects the limit to be logged when it has halved and when it is back, not at every change.
func TestLimitIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &model{minLatency: minLatency, maxLatency: maxLatency, random: rand.New(rand.NewPCG(1, 1)), began: time.Now(), capacityAt: func(since time.Duration) int {
			if since < 5*time.Second {
				return 2
			}
			return 16
		}}
		c := dial(t, m, withToken, func(o *extract.Options) {
			o.Concurrency, o.Logger = 12, slog.New(slog.NewTextHandler(&log, nil))
		})
		require.NoError(t, all(t, c, 2000, discard))
		var told []string
		for line := range strings.Lines(log.String()) {
			if _, figures, found := strings.Cut(line, `throttled by the service: concurrency `); found {
				told = append(told, strings.TrimSpace(figures))
			}
		}
		require.Equal(t, []string{`lowered" from=8 to=2`, `restored" from=2 to=12`}, told)
		require.Equal(t, 1, strings.Count(log.String(), "no longer throttled"))
	})
}

// TestLimitOfRequestsPerSecond runs against a proxy that passes 40 requests per second with a burst of 5, like nginx
// with limit_req, and twice as many after a minute. It rejects others with nginx's default status or with 429. The
// client finds the rate, stays near it, and logs it once. With longer latencies, lowering the concurrency is enough.
func TestLimitOfRequestsPerSecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		latency time.Duration
	}{{429, time.Millisecond}, {429, 10 * time.Millisecond}, {503, time.Millisecond}, {503, 10 * time.Millisecond}} {
		t.Run(fmt.Sprint(c.status, " ", c.latency), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var mu sync.Mutex
				excess, last, began := 0.0, time.Now(), time.Now()
				passed, refused := 0, 0
				service := fake(func(r *http.Request) (*http.Response, error) {
					wait(r.Context(), c.latency)
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					allowed := 40.0
					if now.Sub(began) > time.Minute {
						allowed = 80
					}
					late := now.Sub(began) > 10*time.Second
					left := max(0, excess-allowed*now.Sub(last).Seconds())
					if left > 5 {
						if late {
							refused++
						}
						return reply(c.status, ""), nil
					}
					excess, last = left+1, now
					if late {
						passed++
					}
					return reply(http.StatusOK, "[]"), nil
				})
				client := dial(t, service, withToken, func(o *extract.Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
				})
				require.NoError(t, all(t, client, 6000, discard))
				took := time.Since(began)
				t.Logf("%d passed and %d were rejected after ten seconds, in %s", passed, refused, took)
				require.Less(t, float64(refused), 0.05*float64(passed))
				require.Less(t, took, 130*time.Second, "it takes 105 s at the limits")
				require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
				require.Regexp(t, fmt.Sprintf(`throttled by the service \(%d\): sending \d\S* requests per second`, c.status), log.String())
			})
		})
	}
}

// TestFewLimitsAreLogged has the service's capacity change all night: only the first changes are logged at INFO.
func TestFewLimitsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &model{minLatency: minLatency, maxLatency: maxLatency, random: rand.New(rand.NewPCG(1, 1)), began: time.Now(), capacityAt: func(since time.Duration) int {
			return 2 + int(since/time.Minute)%2*14
		}}
		c := dial(t, m, withToken, func(o *extract.Options) {
			o.Concurrency, o.Logger = 12, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		require.NoError(t, all(t, c, 70_000, discard))
		changes := func(level string) int {
			return strings.Count(log.String(), "level="+level+` msg="throttled by the service: concurrency`) +
				strings.Count(log.String(), "level="+level+` msg="no longer throttled`)
		}
		require.Equal(t, 6, changes("INFO"))
		require.Positive(t, changes("DEBUG"))
		require.Equal(t, 1, strings.Count(log.String(), `note="further changes are in the debug log"`))
	})
}
