package extract

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// measured is the number of seconds over which the rate of successes is measured.
	measured = 10
	// throttleCut is the factor that lowers the rate to a little less than the rate of successes, at most once a second.
	// throttleRaise is the factor by which the rate rises every second. Until the service's limit has been found, it is
	// throttleSearch instead.
	throttleCut, throttleRaise, throttleSearch = 0.95, 1.05, 1.25
	// throttleHold is how long the rate does not rise after a rejection.
	throttleHold = 10 * time.Second
	// unavailableCut limits how far 503 rejections lower the rate, because they may have other reasons.
	unavailableCut = 0.5
	// answering is the time after a success during which a rejection for too many requests is not considered a sign of a
	// failing service.
	answering = 10 * time.Second
)

// throttle finds the rate that a service accepts if it limits requests per second (with 429, or 503 as nginx does). A
// limit on concurrent requests would not help in this case, because the service may reject even a single request in
// flight.
type throttle struct {
	limiter *rate.Limiter // of the pacer
	most    rate.Limit    // --rate
	log     *slog.Logger

	mu      sync.Mutex
	seconds [measured]struct {
		unix      int64
		successes int
	}
	last        time.Time // time of the last success
	unavailable time.Time // time of the last 503 rejection
	began       time.Time // when the 503 rejections began
	engaged     bool
	found       bool       // reports whether the service's limit is known, because the rate was lowered again after it had risen
	floor       rate.Limit // the minimum rate after 503 rejections
	lowered     time.Time
	raise       time.Time // the rate does not rise before this time
}

// succeeded counts a success, and raises the rate at most once a second.
func (t *throttle) succeeded(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = now
	second := &t.seconds[now.Unix()%measured]
	if second.unix != now.Unix() {
		second.unix, second.successes = now.Unix(), 0
	}
	second.successes++
	if !t.engaged || now.Before(t.raise) {
		return
	}
	t.raise = now.Add(time.Second)
	raised := t.limiter.Limit() * throttleSearch
	if t.found {
		raised = t.limiter.Limit() * throttleRaise
	}
	if raised < t.most {
		t.limiter.SetLimit(raised)
		return
	}
	t.limiter.SetLimit(t.most)
	t.engaged = false
}

// explains reports whether a failure with this status is only a rejection for too many requests, because other requests
// have recently succeeded.
func (t *throttle) explains(status int, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	tooMany := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && t.engaged
	return tooMany && now.Sub(t.last) < answering
}

// isAnswering reports whether a request has recently succeeded.
func (t *throttle) isAnswering(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.last) < answering
}

// rejected lowers the rate after a rejection, and reports whether the reason was the rate rather than the concurrency.
func (t *throttle) rejected(ctx context.Context, status int, alone bool, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if status == http.StatusServiceUnavailable && !t.busy(now) {
		return t.engaged
	}
	if !t.engaged && !alone {
		return false
	}
	passed := t.passed(now)
	if passed == 0 {
		return t.engaged
	}
	t.raise = now.Add(throttleHold)
	if t.engaged && now.Sub(t.lowered) < time.Second {
		return true
	}
	first := t.lowered.IsZero()
	t.found = t.engaged && (t.found || now.Sub(t.lowered) > throttleHold)
	if !t.engaged {
		t.floor = rate.Limit(passed) * unavailableCut
	}
	t.engaged, t.lowered = true, now
	limit := min(t.limiter.Limit(), rate.Limit(passed)) * throttleCut
	if status == http.StatusServiceUnavailable {
		limit = max(limit, min(t.limiter.Limit(), t.floor))
	}
	t.limiter.SetLimit(limit)
	if first {
		t.log.LogAttrs(ctx, slog.LevelWarn, fmt.Sprintf( //nolint:sloglint // a complete sentence
			"throttled by the service (%d): sending %.3g requests per second from now on, and more if the service accepts them", status, limit))
	}
	return true
}

// busy records a 503 rejection. It reports whether, for at least a second, some requests have been rejected with 503
// while others succeeded, which shows that the service is not down.
func (t *throttle) busy(now time.Time) bool {
	if now.Sub(t.unavailable) > answering {
		t.began = now
	}
	between := t.last.After(t.unavailable)
	t.unavailable = now
	return between && now.Sub(t.began) >= time.Second
}

// passed returns the highest number of successes in any of the last seconds, not counting the current second. It
// returns 0 if no request succeeded.
func (t *throttle) passed(now time.Time) float64 {
	most := 0
	for _, second := range t.seconds {
		if ago := now.Unix() - second.unix; ago > 0 && ago < measured {
			most = max(most, second.successes)
		}
	}
	return float64(most)
}
