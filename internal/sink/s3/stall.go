package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// errStalled reports that an attempt was cancelled because it transferred nothing.
var errStalled = errors.New("timeout: no data transferred")

// stallClient cancels an attempt that transfers nothing in either direction for too long. The SDK, which has no such
// limit for S3, then tries again. It also removes URLs, which contain the ids of uploads, from errors, and reports an
// empty body where a document belongs: the SDK takes it for a list of nothing.
type stallClient struct {
	next    s3.HTTPClient
	timeout time.Duration
}

// Do sends a request and watches it until the body of the response is closed.
func (c *stallClient) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(c.timeout, func() {
		cancel(fmt.Errorf("%w for %s", errStalled, c.timeout))
	})
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	explain := func(err error) error {
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			return cause
		}
		return err
	}
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{ReadCloser: req.Body, closed: func() {}, read: func(_ int, err error) error {
			timer.Reset(c.timeout)
			return err
		}}
	}
	resp, err := c.next.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		err = explain(err)
		end()
		return nil, err
	}
	timer.Reset(c.timeout)
	empty := resp.StatusCode == http.StatusOK && answersDocument(req)
	resp.Body = &watchedBody{ReadCloser: resp.Body, closed: end, read: func(n int, err error) error {
		if n > 0 {
			timer.Reset(c.timeout)
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

// answersDocument reports whether the answer to a request is an XML document: a list, or the start or end of an upload.
func answersDocument(req *http.Request) bool {
	query := req.URL.Query()
	return req.Method == http.MethodPost ||
		req.Method == http.MethodGet && (query.Has("list-type") || query.Has("uploads") || query.Has("uploadId"))
}

// watchedBody calls read after each Read, which may replace its error, and closed after Close.
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
