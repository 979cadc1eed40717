package extract

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Tally is what one call cost.
type Tally struct {
	Requests int64 // sent for it, those included that were sent again with a new token or to see whether the service is well
	Retries  int64 // attempts after the first, over all pages
	Pages    int64 // whole pages accepted
}

// Stats are the totals of a client. Requests are reads alone: it is the sum of all tallies and of ByStatus.
type Stats struct {
	Requests       int64
	Retries        int64
	TokenRequests  int64            // sent to the token endpoint
	TokenRefreshes int64            // tokens after the first
	ByStatus       map[string]int64 // by status code, or "timeout", "network", "unreadable" (a 200 that is no answer), "cancelled"
	InFlight       int64            // requests at work now, token requests included
	Limit          int64            // how many reads may be at work now: --concurrency, or fewer while the service takes fewer
}

// stats counts.
type stats struct {
	mu     sync.Mutex
	totals Stats
}

func (s *stats) snapshot() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	totals := s.totals
	totals.ByStatus = maps.Clone(totals.ByStatus)
	return totals
}

// started counts a request that begins, and tells how many are at work with it.
func (s *stats) started() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.InFlight++
	return s.totals.InFlight
}

// finished counts a request and how it ended; reads have a tally.
func (s *stats) finished(tally *Tally, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.InFlight--
	if tally == nil {
		s.totals.TokenRequests++
		return
	}
	tally.Requests++
	s.totals.Requests++
	s.totals.ByStatus[status]++
}

// unreadable moves a request that was answered 200 to those without an answer.
func (s *stats) unreadable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.totals.ByStatus["200"]--; s.totals.ByStatus["200"] == 0 {
		delete(s.totals.ByStatus, "200")
	}
	s.totals.ByStatus[classUnreadable]++
}

func (s *stats) retried(tally *Tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tally.Retries++
	s.totals.Retries++
}

func (s *stats) refreshed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.TokenRefreshes++
}

// Event is a request that has ended, token requests included. It holds neither URL nor query.
type Event struct {
	Method              string
	Operation, Template string
	School, District    string // bids, empty where the call is for none
	Status              string // as in Stats.ByStatus, before the body was looked at: never "unreadable"
	Attempt             int    // from 1, over all attempts of the call
	Bytes               int    // of the body, after decompression
	InFlight            int64  // requests at work when it began, itself included
	Began               time.Time
	Took                time.Duration
}

// Observer is told what becomes of requests. Its methods are called by many goroutines at a time, with a slot held, so they
// must be quick. The context is that of the call.
type Observer interface {
	// Requested is told of every request that has ended.
	Requested(ctx context.Context, event Event)
	// Retried is told of every attempt after the first, once it has ended: cause is how the one before it did, as in
	// Stats.ByStatus.
	Retried(ctx context.Context, operation, cause string)
}

// nobody observes.
type nobody struct{}

func (nobody) Requested(context.Context, Event)        {}
func (nobody) Retried(context.Context, string, string) {}

// recorder counts every request, tells the observer of it and logs it, by its route template.
type recorder struct {
	next     sender
	stats    *stats
	observer Observer
	log      *slog.Logger
}

var _ sender = (*recorder)(nil)

func (r *recorder) send(ctx context.Context, req *request) (*answer, error) {
	inFlight := r.stats.started()
	start := time.Now()
	ans, err := r.next.send(ctx, req)
	took := time.Since(start)
	req.ended = statusName(ctx, ans, err)
	r.stats.finished(req.tally, req.ended)
	bytes := 0
	if ans != nil {
		bytes = len(ans.body.data)
	}
	r.observer.Requested(ctx, Event{
		Method: req.method, Operation: req.call.Operation, Template: req.call.Template, School: req.call.School, District: req.call.District,
		Status: req.ended, Attempt: req.attempt, Bytes: bytes, InFlight: inFlight, Began: start, Took: took,
	})
	if r.log.Enabled(ctx, slog.LevelDebug) {
		r.log.LogAttrs(ctx, slog.LevelDebug, "request", append(req.call.attrs(),
			slog.String("status", req.ended), slog.Duration("duration", took),
			slog.Int("bytes", bytes), slog.Int("attempt", req.attempt))...)
	}
	return ans, err
}

// attrs says where a call stands, for logs.
func (c *Call) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("operation", c.Operation), slog.String("route", c.Template)}
	if c.School != "" {
		attrs = append(attrs, slog.String("school", c.School))
	}
	if c.District != "" {
		attrs = append(attrs, slog.String("district", c.District))
	}
	return attrs
}
