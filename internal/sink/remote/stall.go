package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// ErrStalled reports that an attempt was cancelled because it transferred no data for too long.
var ErrStalled = errors.New("timeout: no data transferred")

// Doer sends requests, as an http.Client does.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Client cancels an attempt that transfers no data in either direction for too long, so that the caller can try again.
// It also removes URLs from errors, because they may contain upload ids or signatures. If a document is expected,
// Client reports an empty body as an error, because an SDK would decode it as an empty list. It also logs outages of
// the store.
type Client struct {
	Next    Doer
	Timeout time.Duration
	// AnswersDocument reports whether a successful response to a request has a document as its body. Such a body is never
	// empty.
	AnswersDocument func(req *http.Request) bool

	outage outage
}

// Do sends a request and watches it until the body of the response is closed.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(c.Timeout, func() {
		cancel(fmt.Errorf("%w for %s", ErrStalled, c.Timeout))
	})
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	explain := func(err error) error {
		if cause := context.Cause(ctx); errors.Is(cause, ErrStalled) {
			return cause
		}
		return err
	}
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{ReadCloser: req.Body, closed: func() {}, read: func(_ int, err error) error {
			timer.Reset(c.Timeout)
			return err
		}}
	}
	resp, err := c.Next.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		err = explain(err)
		c.outage.attempt(req, nil, err)
		end()
		return nil, err
	}
	c.outage.attempt(req, resp, nil)
	timer.Reset(c.Timeout)
	empty := resp.StatusCode == http.StatusOK && c.AnswersDocument(req)
	resp.Body = &watchedBody{ReadCloser: resp.Body, closed: end, read: func(n int, err error) error {
		if n > 0 {
			timer.Reset(c.Timeout)
			empty = false
		}
		if empty && errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = explain(err)
		}
		return err
	}}
	return resp, nil
}

// watchedBody is a body that calls read after each Read, and closed after Close. Read returns the error that read
// returns.
type watchedBody struct {
	io.ReadCloser

	read   func(n int, err error) error
	closed func()
}

// Read reads from the body.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	return n, b.read(n, err)
}

// Close closes the body.
func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.closed()
	return err
}
