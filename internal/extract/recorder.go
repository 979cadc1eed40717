package extract

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"
)

// Event describes a request that has ended, including token requests. It contains neither the URL nor the query.
type Event struct {
	Method              string
	Operation, Template string
	School, District    string // bids; empty unless the call was for a school or district
	Status              string // as in Stats.ByStatus, except that a 200 whose body accept rejects is still "200"
	Attempt             int    // the number of the attempt of the call, from 1
	Bytes               int    // the size of the body, decompressed
	InFlight            int64  // the number of concurrent requests when the request began, including itself
	Began               time.Time
	Took                time.Duration
}

// Observer receives the requests of a client. Its methods are called concurrently and must return quickly, because the
// request may still occupy a slot in the limiter. The context is the context of the call.
type Observer interface {
	// Requested is called after every request.
	Requested(ctx context.Context, event Event)
	// Retried is called after every attempt except the first. cause is the status of the previous attempt, as in
	// Stats.ByStatus.
	Retried(ctx context.Context, operation, cause string)
}

// noObserver is an Observer that does nothing.
type noObserver struct{}

func (noObserver) Requested(context.Context, Event)        {}
func (noObserver) Retried(context.Context, string, string) {}

// recorder counts, logs and reports every request.
type recorder struct {
	next     roundTripper
	counters *counters
	observer Observer
	log      *slog.Logger
}

var _ roundTripper = (*recorder)(nil)

func (r *recorder) roundTrip(ctx context.Context, req *request) (*response, error) {
	var inFlight int64
	r.counters.update(func(s *Stats) {
		s.InFlight++
		inFlight = s.InFlight
	})
	start := time.Now()
	res, err := r.next.roundTrip(ctx, req)
	took := time.Since(start)
	req.status = statusName(ctx, res, err)
	r.counters.update(func(s *Stats) {
		s.InFlight--
		if req.tally == nil {
			s.TokenRequests++
			return
		}
		req.tally.Requests++
		s.Requests++
		s.ByStatus[req.status]++
	})
	bytes := 0
	if res != nil {
		bytes = int(res.size)
	}
	call := req.call
	r.observer.Requested(ctx, Event{
		Method: req.method, Operation: call.Operation, Template: call.Template, School: call.School, District: call.District,
		Status: req.status, Attempt: req.attempt, Bytes: bytes, InFlight: inFlight, Began: start, Took: took,
	})
	if r.log.Enabled(ctx, slog.LevelDebug) {
		r.log.LogAttrs(ctx, slog.LevelDebug, "request", append(call.attrs(),
			slog.String("status", req.status), slog.Duration("duration", took),
			slog.Int("bytes", bytes), slog.Int("attempt", req.attempt))...)
	}
	return res, err
}

// statusName returns the status under which an attempt is counted and logged, as in Stats.ByStatus.
func statusName(ctx context.Context, res *response, err error) string {
	e, ok := errors.AsType[*attemptError](err)
	switch {
	case err == nil:
		return strconv.Itoa(res.status)
	case ok && e.class != "":
		return e.class
	case ok:
		return strconv.Itoa(e.status)
	case ctx.Err() != nil:
		return classCancelled
	default:
		return classNetwork
	}
}

// attrs returns the log attributes that identify a call.
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
