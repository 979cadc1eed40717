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

func (s *stats) started() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.InFlight++
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

// recorder counts every request and logs it, by its route template.
type recorder struct {
	next  sender
	stats *stats
	log   *slog.Logger
}

var _ sender = (*recorder)(nil)

func (r *recorder) send(ctx context.Context, req *request) (*answer, error) {
	r.stats.started()
	start := time.Now()
	ans, err := r.next.send(ctx, req)
	status := statusName(ctx, ans, err)
	r.stats.finished(req.tally, status)
	if r.log.Enabled(ctx, slog.LevelDebug) {
		bytes := 0
		if ans != nil {
			bytes = len(ans.body.data)
		}
		r.log.LogAttrs(ctx, slog.LevelDebug, "request", append(req.call.attrs(),
			slog.String("status", status), slog.Duration("duration", time.Since(start)),
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
