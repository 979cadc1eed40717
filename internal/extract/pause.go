package extract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The waits between attempts.
const (
	minWait = 500 * time.Millisecond
	maxWait = 30 * time.Second
)

// backoff is the wait after n failures before this one. It doubles from at most a second to at most half a minute; the lower
// half of each is fixed and the upper one random, so that requests that failed together do not come back together.
func backoff(n int) time.Duration {
	top := min(maxWait, minWait<<min(n+1, 16))
	return top/2 + rand.N(top-top/2+1)
}

// sleep waits for d, or returns the cause of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause is the time before which the service asked not to be called, shared by all requests.
type pause struct {
	limit time.Duration // --give-up-after

	mu    sync.Mutex
	until time.Time
}

// left is how long the pause still lasts.
func (p *pause) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.until))
}

// extend makes the pause last d from now, unless it lasts longer already.
func (p *pause) extend(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.until) {
		p.until = until
	}
}

// check is an error if the service asks for more than --give-up-after.
func (p *pause) check() error {
	if left := p.left(); left > p.limit {
		return fmt.Errorf("%w: it asks to wait %s (Retry-After), longer than %s (--give-up-after); run the same command again then to resume",
			ErrGaveUp, left.Round(time.Second), p.limit)
	}
	return nil
}

// wait returns once there is no pause, though it be extended meanwhile.
func (p *pause) wait(ctx context.Context) error {
	for {
		if err := p.check(); err != nil {
			return err
		}
		left := p.left()
		if left == 0 {
			return nil
		}
		if err := sleep(ctx, left); err != nil {
			return err
		}
	}
}

// shortDuration writes a duration without the units that are 0: 30m rather than 30m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// retryAfter reads the header, in seconds or as a date. A date is taken relative to the answer's own Date where there is one,
// so that a clock that is wrong here does not matter.
func retryAfter(h http.Header) time.Duration {
	const most = 10 * 365 * 24 * time.Hour
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(most/time.Second) {
			return most
		}
		return time.Duration(seconds) * time.Second
	}
	then, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(0, then.Sub(now)), most)
}
