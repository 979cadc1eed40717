package extract_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// lockedText is a log that can be read while it is being written.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// planningFailures returns ways in which a service may be unavailable, by their cause.
func planningFailures() map[string]bare {
	fails := func(err error) bare {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	return map[string]bare{
		"host not found":              fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}}),
		"connection refused":          fails(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}),
		"the proxy cannot be reached": fails(&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}),
		"connection reset":            fails(syscall.ECONNRESET),
		"timeout: no complete response within 5s (--give-up-after)": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"status 503":      failing(503),
		"throttled (429)": failing(429),
	}
}

// TestLookupsAndTokensGiveUp expects lookups and token requests to give up after --give-up-after, and to log the cause
// of their first failure.
func TestLookupsAndTokensGiveUp(t *testing.T) {
	t.Parallel()
	for words, response := range planningFailures() {
		for operation, credentials := range map[string]func(*extract.Options){"schools": withToken, "token": func(*extract.Options) {}} {
			t.Run(operation+" "+words, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log lockedText
					c := dial(t, response, credentials, func(o *extract.Options) {
						o.GiveUpAfter = 5 * time.Second
						o.Logger = slog.New(slog.NewTextHandler(&log, nil))
					})
					began := time.Now()
					done := make(chan error)
					go func() {
						_, err := c.Get(t.Context(), schools(), discard)
						done <- err
					}()
					if !strings.HasPrefix(words, "timeout") {
						time.Sleep(time.Millisecond) //nolint:forbidigo // virtual
						synctest.Wait()
						level := "WARN"
						if words == "throttled (429)" {
							level = "INFO" // a service that throttles is not failing
						}
						require.Contains(t, log.String(), "level="+level+` msg="request failed, retrying" operation=`+operation)
						require.Contains(t, log.String(), words)
						health := c.Health()
						require.Len(t, health.Retrying, 1)
						require.Equal(t, extract.Retry{Operation: operation, Attempt: 2, Cause: words, Since: began}, health.Retrying[0])
					}
					err := <-done
					require.ErrorIs(t, err, extract.ErrGaveUp)
					require.ErrorContains(t, err, "no request succeeded for 5s (--give-up-after), last failure: "+words)
					require.Equal(t, operation, asError(t, err).Operation)
					require.Equal(t, 5*time.Second, time.Since(began))
					require.Equal(t, 1, strings.Count(log.String(), "retrying"), "the cause is logged once")
					require.Empty(t, c.Health().Retrying)
				})
			})
		}
	}
}

// TestLookupRejectedAmongSuccesses checks that a single rejection among successes is not logged as a warning, because the
// service only throttles.
func TestLookupRejectedAmongSuccesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lockedText
		requests := 0
		c := dial(t, fake(func(*http.Request) (*http.Response, error) {
			if requests++; requests == 2 {
				return reply(503, ""), nil
			}
			return reply(200, "[]"), nil
		}), withToken, func(o *extract.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for range 2 {
			_, err := c.Get(t.Context(), schools(), discard)
			require.NoError(t, err)
		}
		require.Contains(t, log.String(), `level=INFO msg="request failed, retrying"`)
	})
}

// TestHealthListsRetries expects Health to list the retries of schools, and why all requests pause.
func TestHealthListsRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var log lockedText
		var out atomic.Bool
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			switch down := time.Since(began) < 3*time.Second; {
			case schoolOf(r) == "unwell" && down:
				return reply(503, ""), nil
			case schoolOf(r) == "unread" && down:
				return reply(200, "<html>"), nil
			case out.Load() && time.Since(began) < 2*time.Minute:
				return nil, errors.Join(io.ErrUnexpectedEOF)
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		done := make(chan map[string]outcome)
		go func() { done <- fetch(t.Context(), c, "unwell", "unread") }()
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual
		synctest.Wait()
		health := c.Health()
		require.Empty(t, health.Paused)
		require.Equal(t, []extract.Retry{
			{Operation: "test_results", School: "unread", Attempt: 2, Cause: "unreadable response", Since: began},
			{Operation: "test_results", School: "unwell", Attempt: 2, Cause: "status 503", Since: began},
		}, health.Retrying)
		require.NotContains(t, log.String(), "retrying", "a school's retries are not logged one by one")
		<-done
		require.Empty(t, c.Health().Retrying)

		out.Store(true)
		go func() { done <- fetch(t.Context(), c, named("later", 4)...) }()
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		synctest.Wait()
		health = c.Health()
		require.Equal(t, "connection closed before the response", health.Paused)
		require.InDelta(t, 30*60, time.Until(health.PausedUntil).Seconds(), 2)
		require.GreaterOrEqual(t, len(health.Retrying), 3) // the fourth may have been held back at once
		<-done
		require.Empty(t, c.Health().Paused)
	})
}

// TestPausesAreLogged expects a pause to be logged at the normal level after a few seconds, and as a warning after a
// minute.
func TestPausesAreLogged(t *testing.T) {
	t.Parallel()
	for lasts, want := range map[time.Duration][]string{
		2 * time.Second:  nil,
		30 * time.Second: {"INFO", "INFO"},
		3 * time.Minute:  {"INFO", "WARN", "INFO"},
	} {
		t.Run(lasts.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lockedText
				c := dial(t, outageBetween(new(requestLog), time.Now(), 0, lasts, failing(503)), withToken, func(o *extract.Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				})
				for school, o := range fetch(t.Context(), c, named("s", 8)...) {
					require.NoError(t, o.err, school)
				}
				var levels []string
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "concurrency") {
						continue
					}
					_, level, _ := strings.Cut(line, "level=")
					levels = append(levels, level[:4])
					if len(levels) == len(want) {
						require.Contains(t, line, `msg="service answering again: resuming"`)
					} else {
						require.Contains(t, line, `msg="service failing: pausing all requests" cause="status 503" give_up_after=30m`)
					}
				}
				require.Equal(t, want, levels)
			})
		})
	}
}
