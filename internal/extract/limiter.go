package extract

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// limiter limits the number of concurrent requests to --concurrency, or to fewer while the service throttles (aimd.go).
// A request counts until its body has been accepted. Waiting requests are admitted in order.
type limiter struct {
	next     roundTripper
	throttle *throttle
	log      *slog.Logger

	mu        sync.Mutex
	aimd      aimd
	outlier   outlier
	inFlight  int       // may exceed the limit for a while after the limit fell
	waiting   list.List // of chan sample
	logged    int       // the limit that was last logged, or the highest limit while the limit has not been lowered
	changes   int       // the number of changes that were logged
	throttled bool      // reports whether a lower limit was logged and the limit is not back at --concurrency
	lowered   time.Time // when the limit fell to at most half of logged; zero if the limit is higher or the fall has been logged
}

var _ roundTripper = (*limiter)(nil)

func newLimiter(next roundTripper, concurrency int, t *throttle, log *slog.Logger) *limiter {
	a := newAIMD(concurrency)
	return &limiter{next: next, throttle: t, log: log, aimd: a, logged: a.limit}
}

func (l *limiter) roundTrip(ctx context.Context, req *request) (*response, error) {
	s, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	res, err := l.next.roundTrip(ctx, req)
	l.release(ctx, req, s, res, err)
	return res, err
}

// limit returns the current limit.
func (l *limiter) limit() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aimd.limit
}

// acquire waits until a request may be sent, and returns the state in which it is sent.
func (l *limiter) acquire(ctx context.Context) (sample, error) {
	admitted := make(chan sample, 1)
	l.mu.Lock()
	place := l.waiting.PushBack(admitted)
	l.admit()
	l.mu.Unlock()
	select {
	case s := <-admitted:
		return s, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-admitted:
		l.inFlight--
		l.admit()
	default:
		l.waiting.Remove(place)
	}
	return sample{}, context.Cause(ctx)
}

// admit admits waiting requests in order, up to the limit. The caller holds mu.
func (l *limiter) admit() {
	free := min(l.aimd.limit-l.inFlight, l.waiting.Len())
	if free <= 0 {
		return
	}
	l.inFlight += free
	s := l.aimd.sample(l.inFlight)
	for i := range free {
		if admitted, ok := l.waiting.Remove(l.waiting.Front()).(chan sample); ok {
			s.last = i == free-1
			admitted <- s
		}
	}
}

// release ends a request and adjusts the limit to its outcome. Most failures have nothing to do with concurrency and do
// not change the limit.
func (l *limiter) release(ctx context.Context, req *request, s sample, res *response, err error) {
	school := req.call.School
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case res != nil && res.status == http.StatusOK:
		l.throttle.succeeded(time.Now())
		l.outlier.succeeded(school)
		l.aimd.succeeded(s, l.waiting.Len() > 0, time.Now())
	case l.tooMany(req, res) && l.throttle.rejected(ctx, res.status, s.inFlight == 1, time.Now()):
	case overloaded(res, err) && l.outlier.countsRejection(school):
		var wait time.Duration
		if res != nil {
			wait = retryAfter(res.header)
		}
		l.aimd.rejected(s, wait, time.Now())
	}
	l.inFlight--
	l.admit()
	before := l.logged
	limit := l.aimd.limit
	if l.shouldLog(time.Now()) { // logging while mu is held keeps the lines in the order of the changes; there are few of them
		change, level := []slog.Attr{slog.Int("from", before), slog.Int("to", limit)}, slog.LevelInfo
		l.changes++
		switch {
		case l.changes == maxLoggedChanges:
			change = append(change, slog.String("note", "further changes are in the debug log"))
		case l.changes > maxLoggedChanges:
			level = slog.LevelDebug
		}
		if limit > before {
			l.log.LogAttrs(ctx, level, "no longer throttled by the service: concurrency restored", change...)
		} else {
			l.log.LogAttrs(ctx, level, "throttled by the service: concurrency lowered", change...)
		}
	}
}

// tooMany reports whether the service may have rejected a request because of the request rate. While the service is
// failing, a 503 says nothing about the rate. The caller holds mu.
func (l *limiter) tooMany(req *request, res *response) bool {
	switch {
	case res == nil:
		return false
	case res.status == http.StatusServiceUnavailable:
		return req.permit.outage == nil && retryAfter(res.header) == 0 && l.outlier.countsRejection(req.call.School)
	}
	return res.status == http.StatusTooManyRequests
}

// maxLoggedChanges is the number of changes to the limit that are logged at INFO. Later changes are logged at DEBUG,
// because a service may reject some requests all night.
const maxLoggedChanges = 6

// minLowered is how long the limit must remain lowered before that is logged, because the limit often halves several
// times in a row.
const minLowered = time.Second

// shouldLog reports whether a change of the limit must be logged. This is the case if the limit has been at most half
// of the logged limit for minLowered, or is back at --concurrency after that. The caller holds mu.
func (l *limiter) shouldLog(now time.Time) bool {
	limit := l.aimd.limit
	if limit > l.logged/2 {
		l.lowered = time.Time{}
	} else if l.lowered.IsZero() {
		l.lowered = now
	}
	switch {
	case limit <= l.logged/2:
		if now.Sub(l.lowered) < minLowered {
			return false
		}
		l.logged, l.throttled, l.lowered = limit, true, time.Time{}
		return true
	case l.throttled && limit == l.aimd.max:
		l.logged, l.throttled = limit, false
		return true
	case !l.throttled:
		l.logged = max(l.logged, limit)
	}
	return false
}

// overloaded reports whether the service rejected a request for lack of capacity, or did not answer in time.
func overloaded(res *response, err error) bool {
	if err != nil {
		e, ok := errors.AsType[*attemptError](err)
		return ok && e.class == classTimeout
	}
	return isOverload(res.status)
}

func isOverload(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// outlier is the school of the last rejected request, until a request of that school succeeds. If only requests of this
// school are rejected again, the cause is probably the school, although a fan-out over its students may have many calls
// in flight. Its rejections therefore lower the limit no faster than the successes of other schools raise it.
type outlier struct {
	school    string // "" if there is no outlier
	successes int    // the number of successes of other schools since the rejection
}

func (o *outlier) succeeded(school string) {
	if school == o.school {
		o.school = ""
	}
	o.successes++
}

// countsRejection reports whether a rejection should lower the limit. Once other schools have succeeded, a rejection of
// the outlier should lower the limit only after successesPerIncrease such successes. It should do so then, because
// otherwise a call that exceeds the service's capacity could fail in every attempt.
func (o *outlier) countsRejection(school string) bool {
	if o.school != "" && school == o.school && o.successes > 0 && o.successes < successesPerIncrease {
		return false
	}
	o.school, o.successes = school, 0
	return true
}
