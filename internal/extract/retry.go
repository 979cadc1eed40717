package extract

import (
	"context"
	"errors"
	"net/http"
)

// ask attempts one request until accept takes its body, the attempts are used up, or another would end the same way.
func (c *Client) ask(ctx context.Context, call *Call, tally *Tally, accept func(body []byte) error) error {
	req, err := c.request(call, tally)
	if err != nil {
		return call.fail(&failure{err: err}, 0)
	}
	if call.Lookup {
		req.patience = &patience{limit: c.patience}
	}
	defer c.retrying.done(call)
	last := &failure{}
	made, counted := 0, 0 // attempts sent, and those of them that count against the retries
	for {
		if req.pass, err = c.gate.enter(ctx, call); err != nil {
			return c.stop(ctx, call, &failure{status: last.status, code: last.code, err: err}, made)
		}
		req.attempt = made + 1
		before := req.ended
		f := c.attempt(ctx, req, accept)
		if f != nil && errors.Is(f.err, errHeld) {
			c.gate.left(req.pass)
			continue
		}
		if made++; made > 1 {
			c.stats.retried(tally)
			c.observer.Retried(ctx, call.Operation, before)
		}
		switch {
		case f == nil:
			c.gate.served(ctx, req.pass, call.witness())
			return nil
		case !f.again:
			c.settle(ctx, req.pass, f)
			return c.stop(ctx, call, f, made)
		}
		last = f
		if c.counts(ctx, req, f) {
			counted++
		}
		if counted > c.retries {
			return call.fail(f, made)
		}
		c.retrying.failed(ctx, call, made, f)
		if c.gate.closed(req.pass) {
			continue // the wait is the gate's
		}
		if err := req.patience.sleep(ctx, f, backoff(max(0, counted-1))); err != nil {
			return c.stop(ctx, call, &failure{status: f.status, code: f.code, err: err}, made)
		}
	}
}

// request makes the read that call stands for.
func (c *Client) request(call *Call, tally *Tally) (*request, error) {
	target, err := call.url(c.base)
	if err != nil {
		return nil, err
	}
	return &request{call: call, url: target, method: http.MethodGet, maxBody: c.maxBody, attempt: 1, tally: tally}, nil
}

// attempt sends the request once and has the body accepted. It returns nil if that went well.
func (c *Client) attempt(ctx context.Context, req *request, accept func(body []byte) error) *failure {
	ctx, cancel := req.pass.bound(ctx)
	defer cancel()
	ctx, forget := req.patience.bound(ctx)
	defer forget()
	ans, err := c.slots.send(ctx, req)
	if err != nil {
		return failureOf(err)
	}
	defer ans.release()
	if ans.status != http.StatusOK {
		return judge(ans, req.call)
	}
	err = accept(ans.body.data)
	if err == nil {
		return nil
	}
	_, again := errors.AsType[unreadable](err)
	if again {
		req.ended = classUnreadable
		c.stats.unreadable()
	}
	return &failure{status: ans.status, err: err, again: again, fault: again}
}

// settle hands back the pass of an attempt that ends its call. A whole 200, even one that cannot be used, shows a service that
// is well; a refusal shows nothing.
func (c *Client) settle(ctx context.Context, p pass, f *failure) {
	if f.status == http.StatusOK {
		c.gate.served(ctx, p, nil)
		return
	}
	c.gate.left(p)
}

// counts hands back the pass of an attempt that may be made again, and tells whether it counts against the retries.
func (c *Client) counts(ctx context.Context, req *request, f *failure) bool {
	switch {
	case !f.fault:
		c.gate.left(req.pass)
		return true
	case req.pass.trouble != nil && c.wellElsewhere(ctx, req):
		c.gate.served(ctx, req.pass, nil)
		return false
	default:
		return c.gate.failed(ctx, req.pass, req.call.School, f)
	}
}

// wellElsewhere asks again, after a probe has failed, what another school was answered before. The answer is thrown away: it
// only tells a service in trouble from a school that is broken by itself.
func (c *Client) wellElsewhere(ctx context.Context, probe *request) bool {
	call := c.gate.witness(probe.call)
	if call == nil {
		return false
	}
	req, err := c.request(call, probe.tally)
	if err != nil {
		return false
	}
	req.pass = probe.pass
	return c.attempt(ctx, req, func([]byte) error { return nil }) == nil
}

// stop is the error of a call that is not attempted again. What ends the run and was said of the token stays as it is.
func (c *Client) stop(ctx context.Context, call *Call, f *failure, made int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if own, ok := errors.AsType[*Error](f.err); ok && EndsRun(own) {
		return own
	}
	return call.fail(f, made)
}
