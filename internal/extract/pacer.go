package extract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// minLoggedPause is the minimum duration of a pause that is logged.
	minLoggedPause = 5 * time.Second
	// maxRetryAfter is the maximum value of Retry-After. It keeps absurd values within the range of a time.Duration.
	maxRetryAfter = 10 * 365 * 24 * time.Hour
)

// errBreakerOpen reports that the breaker opened after the request had got its permit. The request then has to wait for
// the breaker again.
var errBreakerOpen = errors.New("held back, the service is failing")

// pacer applies --rate and the pauses that the service requests (Retry-After) to all requests together.
type pacer struct {
	next        roundTripper
	rate        *rate.Limiter
	giveUpAfter time.Duration
	breaker     *breaker
	log         *slog.Logger

	mu          sync.Mutex
	pausedUntil time.Time
}

var _ roundTripper = (*pacer)(nil)

func (p *pacer) roundTrip(ctx context.Context, req *request) (*response, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	if p.breaker.blocks(req.permit) {
		return nil, errBreakerOpen
	}
	res, err := p.next.roundTrip(ctx, req)
	if err != nil || !retryable(res.status) {
		return res, err
	}
	if d := retryAfter(res.header); d > 0 {
		p.extendPause(d)
		if d >= minLoggedPause {
			p.log.LogAttrs(ctx, slog.LevelInfo, "throttled by the service (Retry-After): pausing all requests",
				append(req.call.attrs(), slog.Int("status", res.status), slog.Duration("wait", d))...)
		}
		if _, err := p.pause(); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// wait waits until a request may be sent. If a pause begins while a request is waiting for the rate, the request has to
// wait for the rate again after the pause, so that the rate is not exceeded at that moment.
func (p *pacer) wait(ctx context.Context) error {
	for reserved := false; ; {
		left, err := p.pause()
		switch {
		case err != nil:
			return err
		case left > 0:
			if err := sleep(ctx, left); err != nil {
				return err
			}
			reserved = false
		case reserved:
			return nil
		default:
			reservation := p.rate.Reserve()
			if err := sleep(ctx, reservation.Delay()); err != nil {
				reservation.Cancel()
				return err
			}
			reserved = true
		}
	}
}

// pause returns how much of the pause is left, and an error if that is longer than --give-up-after.
func (p *pacer) pause() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := max(0, time.Until(p.pausedUntil))
	if left > p.giveUpAfter {
		return left, fmt.Errorf("%w: it asks for a pause of %s (Retry-After), longer than %s (%s)",
			ErrGaveUp, shortDuration(left.Round(time.Second)), shortDuration(p.giveUpAfter), giveUpAfter)
	}
	return left, nil
}

// extendPause makes the pause last until at least d from now.
func (p *pacer) extendPause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.pausedUntil) {
		p.pausedUntil = until
	}
}

// retryAfter returns the delay in the header Retry-After, which contains seconds or a date. It returns 0 if the header
// is missing or invalid. A date is compared with the response's own Date header if there is one, so that a wrong clock
// on either side does not matter.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
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
	return min(max(0, then.Sub(now)), maxRetryAfter)
}
