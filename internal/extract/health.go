package extract

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health describes the current problems of a client.
type Health struct {
	Retrying    []Retry   // the calls that are being retried, oldest first
	Paused      string    // why all requests are held back while the service is failing; otherwise empty
	PausedUntil time.Time // the time at which the client gives up
}

// Retry is a call that is being retried.
type Retry struct {
	Operation        string
	School, District string    // bids; empty unless the call is for a school or district
	Attempt          int       // the number of the current or next attempt; at least 2
	Cause            string    // the reason why the last attempt failed, in a few words
	Since            time.Time // when the first attempt failed
}

// retryList contains the calls that are being retried.
type retryList struct {
	log *slog.Logger

	mu    sync.Mutex
	calls map[*Call]*Retry
}

// failed records an attempt that will be retried. Because a run cannot begin without the token and the lookups, their
// first failure is logged at once, and later failures are logged if the cause has changed. answering is true if the
// service has recently answered other requests.
func (r *retryList) failed(ctx context.Context, call *Call, attempts int, f *failure, answering bool) {
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
	entry.Attempt, entry.Cause = attempts+1, cause
	r.mu.Unlock()
	if call.Lookup && !known {
		level := slog.LevelWarn
		if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable && answering {
			level = slog.LevelInfo // the service throttles requests, but is not failing
		}
		r.log.LogAttrs(ctx, level, "request failed, retrying",
			append(call.attrs(), slog.String("cause", cause), slog.Int("attempt", attempts))...)
	}
}

// done removes a call that has ended.
func (r *retryList) done(call *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, call)
}

func (r *retryList) list() []Retry {
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
