package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// fetch attempts a call until accept succeeds, no retries are left, another attempt would fail in the same way, or the
// client gives up on the service. It returns nil if accept has succeeded.
func (c *Client) fetch(ctx context.Context, call *Call, tally *Tally, accept func(body io.Reader) error) error {
	req, err := c.newRequest(call, tally, accept)
	if err != nil {
		return call.fail(&failure{err: err}, 0)
	}
	if call.Lookup {
		req.budget = &budget{limit: c.giveUpAfter}
	}
	defer c.retrying.done(call)
	defer c.breaker.countCall(call)()
	last := &failure{}
	sent, counted := 0, 0 // the number of attempts, and of attempts that count against the retries
	for {
		if req.permit, err = c.breaker.acquire(ctx, call); err != nil {
			return callError(ctx, call, &failure{status: last.status, code: last.code, err: err}, sent)
		}
		req.attempt = sent + 1
		status := req.status
		f := c.attempt(ctx, req)
		if f != nil && errors.Is(f.err, errBreakerOpen) {
			c.breaker.release(req.permit)
			continue
		}
		if sent++; sent > 1 {
			tally.Retries++
			c.counters.update(func(s *Stats) { s.Retries++ })
			c.observer.Retried(ctx, call.Operation, status)
		}
		if f == nil || !f.retry {
			c.releaseLast(ctx, req, f)
			if f == nil {
				return nil
			}
			return callError(ctx, call, f, sent)
		}
		last = f
		if c.countsAsRetry(ctx, req, f) {
			counted++
		}
		switch {
		case counted > c.retries:
			c.breaker.gaveUpOn(ctx, call, f)
			return call.fail(f, sent)
		case counted > 0 && c.breaker.isDead(call):
			return call.failEarly(f, sent)
		}
		c.retrying.failed(ctx, call, sent, f, c.breaker.throttle.isAnswering(time.Now()))
		if c.breaker.blocks(permit{exempt: req.permit.exempt}) {
			continue // acquire waits until the breaker closes
		}
		delay := retryDelay(max(0, counted-1))
		if call.Lookup {
			delay = retryDelay(sent - 1)
		}
		if err := req.budget.sleep(ctx, f, delay); err != nil {
			return callError(ctx, call, &failure{status: f.status, code: f.code, err: err}, sent)
		}
	}
}

// newRequest returns the request for the first attempt of a call.
func (c *Client) newRequest(call *Call, tally *Tally, accept func(body io.Reader) error) (*request, error) {
	target, err := call.url(c.base)
	if err != nil {
		return nil, err
	}
	return &request{
		call: call, url: target, method: http.MethodGet, maxBody: c.maxBody, accept: accept, attempt: 1, tally: tally,
	}, nil
}

// attempt sends the request once. It returns nil on success.
func (c *Client) attempt(ctx context.Context, req *request) *failure {
	ctx, cancel := req.permit.bound(ctx)
	defer cancel()
	ctx, cancelBudget := req.budget.bound(ctx)
	defer cancelBudget()
	res, err := c.limiter.roundTrip(ctx, req)
	if err != nil {
		return failureOf(err)
	}
	if res.status != http.StatusOK {
		return statusFailure(res.status, res.body, req, c.hideCodes)
	}
	if err = res.rejected; err == nil {
		return nil
	}
	_, retry := errors.AsType[unreadable](err)
	if retry {
		req.status = classUnreadable
		c.counters.update(func(s *Stats) {
			s.ByStatus[classUnreadable]++
			if s.ByStatus["200"]--; s.ByStatus["200"] == 0 {
				delete(s.ByStatus, "200")
			}
		})
	}
	f := &failure{status: res.status, err: err, retry: retry, isPage: retry && isWebPage(res.header)}
	if f.isPage {
		f.err = fmt.Errorf("%w%s%s", err, notThisService, checkBaseURL)
	}
	return f
}

// releaseLast releases the permit of a call's last attempt. A complete 200, even if it cannot be used, shows that the
// service is healthy. A rejection shows nothing. A later page of a list is not kept as a canary, because its cursor may
// be valid only once.
func (c *Client) releaseLast(ctx context.Context, req *request, f *failure) {
	if f == nil || f.status == http.StatusOK {
		c.breaker.succeeded(ctx, req.permit, req.call, f == nil && req.call.cursor == "")
		return
	}
	c.breaker.release(req.permit)
}

// countsAsRetry releases the permit of an attempt that will be retried, and reports whether the attempt counts against
// the retries. It does if a canary succeeds, because that shows that the call is failing, not the service.
func (c *Client) countsAsRetry(ctx context.Context, req *request, f *failure) bool {
	if f.status == http.StatusUnauthorized { // the service may accept other requests
		c.breaker.release(req.permit)
		return true
	}
	if req.call.Lookup {
		before := req.failed
		req.failed = time.Now()
		return !f.showsOutage(req.attempt) || c.breaker.answeredSince(before) || c.canarySucceeds(ctx, req, f)
	}
	closed := req.permit.outage == nil
	counts := c.breaker.failed(req, f)
	switch {
	case req.permit.outage == nil:
		return counts
	case closed && f.overloaded(): // a canary would only add to the load
	case c.canarySucceeds(ctx, req, f):
		return true
	case ctx.Err() != nil:
		c.breaker.release(req.permit)
		return false
	}
	c.breaker.probeFailed(ctx, req.permit, closed)
	return false
}

// minOutageAttempts is how many attempts of a lookup or token request must fail before its failures can count as an
// outage of the service instead of against the retries.
const minOutageAttempts = 5

// showsOutage reports whether a lookup or token request probably fails because of an outage of the service. The request
// has failed in the given number of attempts, most recently with f. The time for an outage is limited by GiveUpAfter
// instead of the retries.
func (f *failure) showsOutage(attempts int) bool {
	answered := f.status != 0 && f.status != http.StatusRequestTimeout && f.status != http.StatusTooManyRequests && f.status < 500
	return attempts >= minOutageAttempts && !answered
}

// canarySucceeds sends the canaries of a failed probe and reports whether one of them succeeds, which closes the
// breaker. It discards the bodies of the canaries.
func (c *Client) canarySucceeds(ctx context.Context, probe *request, f *failure) bool {
	for _, call := range c.breaker.canariesFor(probe.permit, probe.call, f) {
		req, err := c.newRequest(call, probe.tally, func(io.Reader) error { return nil })
		if err != nil {
			continue
		}
		req.permit = probe.permit
		if c.attempt(ctx, req) == nil {
			c.breaker.succeeded(ctx, probe.permit, call, false)
			return true
		}
	}
	return false
}

// callError returns the error of a call that is not attempted again. It returns token errors that end the run
// unchanged.
func callError(ctx context.Context, call *Call, f *failure, attempts int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*Error](f.err); ok && EndsRun(e) {
		return e
	}
	return call.fail(f, attempts)
}
