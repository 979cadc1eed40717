package extract

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// minMeasured is the shortest time over which the rate of successes is measured.
	minMeasured = time.Second
	// throttleCut and throttleRaise change the rate: down to a little less than what passed, at most once a second, and
	// up again a little every second.
	throttleCut, throttleRaise = 0.95, 1.02
	// throttleHold is how long the rate stays after it was lowered.
	throttleHold = 10 * time.Second
	// answering is how long after a success a rejection for too many requests does not count as a failing service.
	answering = 10 * time.Second
)

// throttle finds the rate that a service takes if it rejects requests by their number per second (429), which a limit of
// concurrent requests cannot prevent: even a request alone in flight is rejected then.
type throttle struct {
	limiter *rate.Limiter // of the pacer
	most    rate.Limit    // --rate
	log     *slog.Logger

	mu      sync.Mutex
	recent  [64]time.Time // of successes, a ring
	next    int           // the oldest one
	engaged bool
	lowered time.Time
	raise   time.Time // the rate does not rise before
}

// succeeded counts a success and raises the rate.
func (t *throttle) succeeded(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent[t.next] = now
	t.next = (t.next + 1) % len(t.recent)
	if !t.engaged || now.Before(t.raise) {
		return
	}
	t.raise = now.Add(time.Second)
	if raised := t.limiter.Limit() * throttleRaise; raised < t.most {
		t.limiter.SetLimit(raised)
		return
	}
	t.limiter.SetLimit(t.most)
	t.engaged = false
}

// isAnswering reports whether a request succeeded a moment ago.
func (t *throttle) isAnswering(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.recent[(t.next+len(t.recent)-1)%len(t.recent)]
	return !last.IsZero() && now.Sub(last) < answering
}

// rejected lowers the rate after a 429, and reports whether the rate was the reason rather than the concurrency.
func (t *throttle) rejected(ctx context.Context, alone bool, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
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
	t.engaged, t.lowered = true, now
	t.limiter.SetLimit(min(t.limiter.Limit(), rate.Limit(passed)) * throttleCut)
	if first {
		t.log.LogAttrs(ctx, slog.LevelWarn, fmt.Sprintf( //nolint:sloglint // a complete sentence
			"throttled by the service (429): about %.3g requests per second pass, so no more are sent from now on", passed))
	}
	return true
}

// passed returns the successes per second of late, 0 if there are too few to tell.
func (t *throttle) passed(now time.Time) float64 {
	n, since := 0, time.Duration(0)
	for i := range t.recent {
		then := t.recent[(t.next+len(t.recent)-1-i)%len(t.recent)]
		if then.IsZero() {
			break
		}
		n, since = i, now.Sub(then)
	}
	if n == 0 || since < minMeasured {
		return 0
	}
	return float64(n) / since.Seconds()
}
