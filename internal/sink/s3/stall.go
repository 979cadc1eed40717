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

// errStalled says that an attempt was given up because nothing moved.
var errStalled = errors.New("nothing moved on the connection")

// stallClient gives up an attempt on which nothing moves, in either direction:
// the SDK, which knows no such limit for S3, tries it again. It also keeps URLs,
// which hold the ids of uploads, out of errors.
type stallClient struct {
	next    s3.HTTPClient
	timeout time.Duration
}

// Do sends a request. The watch over it ends when its answer's body is closed.
func (c *stallClient) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{timeout: c.timeout}
	w.timer = time.AfterFunc(c.timeout, func() {
		cancel(fmt.Errorf("%w for %s", errStalled, c.timeout))
	})
	w.end = func() {
		w.timer.Stop()
		cancel(nil)
	}
	w.explain = func(err error) error {
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			return cause
		}
		return err
	}
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sentBody{ReadCloser: req.Body, watch: w}
	}
	resp, err := c.next.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		err = w.explain(err)
		w.end()
		return nil, err
	}
	w.moved()
	resp.Body = &receivedBody{ReadCloser: resp.Body, watch: w}
	return resp, nil
}

// watch is the watch over one attempt.
type watch struct {
	timeout time.Duration
	timer   *time.Timer
	end     func()
	explain func(error) error
}

func (w *watch) moved() { w.timer.Reset(w.timeout) }

// sentBody tells the watch that the transport goes on reading what it sends.
type sentBody struct {
	io.ReadCloser

	watch *watch
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.watch.moved()
	return b.ReadCloser.Read(p)
}

// receivedBody tells the watch that the store goes on answering.
type receivedBody struct {
	io.ReadCloser

	watch *watch
}

func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.moved()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *receivedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.end()
	return err
}
