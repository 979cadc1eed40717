package extract

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// slots lets at most --concurrency requests through, and fewer while the service takes fewer (level.go). A slot is held until
// the body is read. Requests get slots in the order in which they came for one.
type slots struct {
	next sender
	log  *slog.Logger

	mu      sync.Mutex
	level   level
	ailing  ailing
	taken   int       // more than the limit for a while after that was lowered
	waiting list.List // of *waiter
	told    int       // the limit that the log last told of, or the highest one since there is nothing to tell
	fewer   bool      // the log has told of a limit that is not back at --concurrency yet
}

var _ sender = (*slots)(nil)

// waiter is a request that has come for a slot.
type waiter struct {
	ready chan struct{} // closed when it has one
	mark  mark          // set by then
}

func newSlots(next sender, concurrency int, log *slog.Logger) *slots {
	l := newLevel(concurrency)
	return &slots{next: next, log: log, level: l, told: l.limit}
}

func (s *slots) send(ctx context.Context, req *request) (*answer, error) {
	m, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	ans, err := s.next.send(ctx, req)
	s.release(ctx, req.call.School, m, ans, err)
	return ans, err
}

// limit is how many slots there are now.
func (s *slots) limit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level.limit
}

// take waits for a slot.
func (s *slots) take(ctx context.Context) (mark, error) {
	w := &waiter{ready: make(chan struct{})}
	s.mu.Lock()
	place := s.waiting.PushBack(w)
	s.fill()
	s.mu.Unlock()
	select {
	case <-w.ready:
		return w.mark, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ready: // meanwhile
		s.taken--
		s.fill()
	default:
		s.waiting.Remove(place)
	}
	return mark{}, context.Cause(ctx)
}

// fill gives free slots to those who have waited longest. The caller holds mu.
func (s *slots) fill() {
	free := min(s.level.limit-s.taken, s.waiting.Len())
	if free <= 0 {
		return
	}
	s.taken += free
	m := s.level.mark(s.taken)
	for i := range free {
		if w, ok := s.waiting.Remove(s.waiting.Front()).(*waiter); ok {
			w.mark = m
			w.mark.last = i == free-1
			close(w.ready)
		}
	}
}

// release gives a slot back and has the level learn from how the request of a school ended. Most failures say nothing of how
// busy the service is.
func (s *slots) release(ctx context.Context, school string, m mark, ans *answer, err error) {
	s.mu.Lock()
	switch {
	case ans != nil && ans.status == http.StatusOK:
		s.ailing.succeeded(school)
		s.level.succeeded(m, s.waiting.Len() > 0, time.Now())
	case overloaded(ans, err) && s.ailing.rejected(school):
		var wait time.Duration
		if ans != nil {
			wait = retryAfter(ans.header)
		}
		s.level.rejected(m, wait, time.Now())
	}
	s.taken--
	s.fill()
	before := s.told
	limit, tell := s.level.limit, s.news()
	s.mu.Unlock()
	if tell {
		message := fmt.Sprintf("throttled by the service: concurrency %d → %d", before, limit)
		if limit > before {
			message = fmt.Sprintf("no longer throttled by the service: concurrency %d → %d", before, limit)
		}
		s.log.LogAttrs(ctx, slog.LevelInfo, message, //nolint:sloglint // a sentence that says it all
			slog.Int("limit", limit), slog.Int("concurrency", s.level.most))
	}
}

// news tells whether the limit has fallen by half since the log told of it, or is back at --concurrency after that. The
// caller holds mu.
func (s *slots) news() bool {
	limit := s.level.limit
	switch {
	case limit <= s.told/2:
		s.told, s.fewer = limit, true
		return true
	case s.fewer && limit == s.level.most:
		s.told, s.fewer = limit, false
		return true
	case !s.fewer:
		s.told = max(s.told, limit)
	}
	return false
}

// overloaded tells whether the service had no room for a request, or did not get to it in time.
func overloaded(ans *answer, err error) bool {
	if err != nil {
		return isTimeout(err)
	}
	switch ans.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}
