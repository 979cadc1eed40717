package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health is what a client is having trouble with.
type Health struct {
	// Retrying are the calls that are being retried, longest first.
	Retrying []Retry
	// Paused is why all requests are held back while the service is failing,
	// empty if they are not; PausedUntil is when the client gives up.
	Paused      string
	PausedUntil time.Time
}

// Retry is a call that is being retried.
type Retry struct {
	Operation        string
	School, District string    // bids, empty where the call is for none
	Attempt          int       // that is being made or waited for, from 2
	Cause            string    // why the attempt before failed, in a few words
	Since            time.Time // when the first attempt failed
}

// Health reports what the client is having trouble with now.
func (c *Client) Health() Health {
	h := Health{Retrying: c.retrying.list()}
	h.Paused, h.PausedUntil = c.gate.paused()
	return h
}

// retrying returns the calls that are being retried.
type retrying struct {
	log *slog.Logger

	mu    sync.Mutex
	calls map[*Call]*Retry
}

func newRetrying(log *slog.Logger) *retrying {
	return &retrying{log: log, calls: make(map[*Call]*Retry)}
}

// failed records an attempt that failed and will be retried. Nothing happens
// until the token and the lookups have arrived, so their first failure is
// logged at once, and later ones only if the reason has changed.
func (r *retrying) failed(ctx context.Context, call *Call, made int, f *failure) {
	cause := f.cause()
	r.mu.Lock()
	known := false
	for _, other := range r.calls {
		known = known || other.Operation == call.Operation && other.Cause == cause
	}
	entry := r.calls[call]
	if entry == nil {
		entry = &Retry{Operation: call.Operation, School: call.School, District: call.District, Since: time.Now()}
		r.calls[call] = entry
	}
	entry.Attempt, entry.Cause = made+1, cause
	r.mu.Unlock()
	if call.Lookup && !known {
		r.log.LogAttrs(ctx, slog.LevelWarn, "request failed, trying again",
			append(call.attrs(), slog.String("cause", cause), slog.Int("attempt", made))...)
	}
}

// done removes a call that has ended.
func (r *retrying) done(call *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, call)
}

func (r *retrying) list() []Retry {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Retry, 0, len(r.calls))
	for _, entry := range r.calls {
		all = append(all, *entry)
	}
	slices.SortFunc(all, func(a, b Retry) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.School, b.School), strings.Compare(a.Operation, b.Operation))
	})
	return all
}

// cause says in a few words why an attempt failed.
func (f *failure) cause() string {
	if b, ok := errors.AsType[*broken](f.err); ok {
		return b.cause
	}
	switch f.status {
	case 0:
		return f.err.Error()
	case http.StatusOK:
		return "unreadable answer"
	case http.StatusTooManyRequests:
		return "throttled (429)"
	default:
		return fmt.Sprintf("status %d", f.status)
	}
}

// patience bounds a lookup or a token request by --give-up-after, from its
// first attempt. A nil patience is unlimited.
type patience struct {
	limit time.Duration
	began time.Time // of the first attempt, zero before
	last  *failure  // of the attempt before
}

// attempt records that an attempt is sent and returns the longest time that it
// may take.
func (p *patience) attempt(timeout time.Duration) time.Duration {
	if p == nil {
		return timeout
	}
	if p.began.IsZero() {
		p.began = time.Now()
	}
	return min(timeout, p.limit)
}

// bound cancels a context when the time is up, from the second attempt on.
func (p *patience) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if p == nil || p.last == nil {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, p.began.Add(p.limit), gaveUp(p.limit, p.last.cause()))
}

// sleep waits before the next attempt, after one that failed so.
func (p *patience) sleep(ctx context.Context, f *failure, wait time.Duration) error {
	if p != nil {
		p.last = f
	}
	ctx, cancel := p.bound(ctx)
	defer cancel()
	return sleep(ctx, wait)
}
