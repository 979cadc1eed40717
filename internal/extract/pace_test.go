package extract_test

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/extract"
)

// all asks for n schools at once and returns the first error.
func all(t *testing.T, c *extract.Client, n int, accept func([]byte) error) error {
	t.Helper()
	var g errgroup.Group
	for i := range n {
		g.Go(func() error {
			_, err := c.Get(t.Context(), results(strconv.Itoa(i)), accept)
			return err
		})
	}
	return g.Wait()
}

func TestConcurrencyBoundsRequestsInFlight(t *testing.T) {
	t.Parallel()
	for _, bound := range []int{1, 3, 16} {
		t.Run(strconv.Itoa(bound), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int64
				c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
					n := now.Add(1)
					defer now.Add(-1)
					for was := most.Load(); n > was; was = most.Load() {
						most.CompareAndSwap(was, n)
					}
					after(r.Context(), time.Second)
					return reply(200, tokenBody("T")), nil
				}), func(o *extract.Options) { o.Concurrency = bound })
				start := time.Now()
				done := make(chan error, 1)
				go func() { done <- all(t, c, 48, discard) }()
				after(t.Context(), 1500*time.Millisecond)
				require.EqualValues(t, bound, c.Stats().InFlight)
				require.NoError(t, <-done)
				require.Zero(t, c.Stats().InFlight)
				require.EqualValues(t, bound, most.Load())
				require.Equal(t, time.Duration(48/bound+1)*time.Second, time.Since(start), "all slots are used all the time")
			})
		})
	}
}

// TestSlotsAreFreeDuringWaitsAndAccept holds one call in a retry's wait and one in accept, at concurrency 1.
func TestSlotsAreFreeDuringWaitsAndAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if schoolOf(r) == "broken" {
				return reply(500, ""), nil
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.Concurrency = 1 })
		hold := make(chan struct{})
		done := make(chan error, 2)
		go func() {
			_, err := c.Get(t.Context(), results("broken"), discard)
			done <- err
		}()
		go func() {
			_, err := c.Get(t.Context(), results("held"), func([]byte) error { <-hold; return nil })
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		close(hold)
		require.NoError(t, <-done)
		require.Error(t, <-done)
	})
}

func TestRateCountsEveryRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		var failed atomic.Int64
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			j.note("")
			if r.Method == http.MethodGet && failed.Add(1)%3 == 0 {
				return reply(500, ""), nil
			}
			return reply(200, tokenBody("T")), nil
		}), func(o *extract.Options) { o.RatePerSecond, o.Concurrency = 4, 16 })
		require.NoError(t, all(t, c, 40, discard))
		require.Greater(t, len(j.of("")), 50)
		for _, gap := range gaps(j.of("")) {
			require.GreaterOrEqual(t, gap, 250*time.Millisecond-time.Microsecond)
		}
	})
}

// TestRateHoldsAfterAPause has requests wait for the rate when a pause begins: they leave at the rate after it, not together.
func TestRateHoldsAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		c := dial(t, fake(func(*http.Request) (*http.Response, error) {
			j.note("")
			if len(j.of("")) == 1 {
				return reply(429, "", "Retry-After", "60"), nil
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.RatePerSecond, o.Concurrency = 1, 8 })
		require.NoError(t, all(t, c, 20, discard))
		found := gaps(j.of(""))
		require.GreaterOrEqual(t, found[0], time.Minute)
		for _, gap := range found[1:] {
			require.GreaterOrEqual(t, gap, time.Second-time.Microsecond)
		}
	})
}
