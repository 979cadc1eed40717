package extract_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// events is an Observer that records all events.
type events struct {
	mu      sync.Mutex
	events  []extract.Event
	retries []string
}

func (n *events) Requested(_ context.Context, e extract.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *events) Retried(_ context.Context, operation, cause string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retries = append(n.retries, operation+" "+cause)
}

// TestObserverSeesEveryRequest has a call fail with 503, an unreadable body and a network error, then succeed.
func TestObserverSeesEveryRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen, requested := &events{}, 0
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			requested++
			wait(r.Context(), time.Second)
			switch requested {
			case 1:
				return reply(503, ""), nil
			case 3:
				return nil, http.ErrHandlerTimeout
			default:
				return reply(200, "page"), nil
			}
		}), func(o *extract.Options) { o.Observer = seen })
		accepted := 0
		_, err := c.Get(t.Context(), results("S1"), func(io.Reader) error {
			if accepted++; accepted == 1 {
				return extract.Unreadable(http.ErrBodyNotAllowed)
			}
			return nil
		})
		require.NoError(t, err)

		require.Equal(t, []string{"test_results 503", "test_results unreadable", "test_results network"}, seen.retries)
		var statuses []string
		for i, e := range seen.events {
			statuses = append(statuses, e.Operation+" "+e.Status)
			if i == 0 {
				continue // a token request
			}
			require.Equal(t, i, e.Attempt)
			require.Equal(t, "S1", e.School)
			require.Equal(t, growth, e.Template)
			require.Equal(t, time.Second, e.Took)
			require.False(t, e.Began.IsZero())
		}
		require.Equal(t, []string{
			"token 200", "test_results 503", "test_results 200", "test_results network", "test_results 200",
		}, statuses)
		require.Equal(t, len("page"), seen.events[4].Bytes)
		require.EqualValues(t, 1, seen.events[4].InFlight)
		require.EqualValues(t, len(seen.retries), c.Stats().Retries)
	})
}
