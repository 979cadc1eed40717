package extract_test

import (
	"io"
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

// all gets the results of n schools concurrently and returns the first error.
func all(t *testing.T, c *extract.Client, n int, accept func(io.Reader) error) error {
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

func TestRateAppliesToEveryRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		var failed atomic.Int64
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			j.add("")
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

// TestRateAppliesAfterAPause checks that requests that wait for the rate when a pause begins are sent at that rate
// after the pause.
func TestRateAppliesAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		c := dial(t, fake(func(*http.Request) (*http.Response, error) {
			j.add("")
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
