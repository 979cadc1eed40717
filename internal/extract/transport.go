package extract

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// maxErrorBody bounds the body of a response other than 200. It is enough for an error code, and to reuse the
	// connection.
	maxErrorBody = 64 << 10
	// maxInitialBuffer bounds what is allocated because of a Content-Length, before the first byte has arrived.
	maxInitialBuffer = 1 << 20
	// maxPooledBuffer is the largest buffer that is kept for reuse. A page of results is about 2 MB; larger ones are
	// rare and would stay allocated until the end of the run.
	maxPooledBuffer = 8 << 20
)

var errBodyTooLong = errors.New("body over the limit")

// roundTripper sends a request and returns the complete response, whatever its status. The caller releases it. The
// error is an *attemptError if another attempt may succeed, the cause of ctx if ctx is done, and otherwise one that
// ends the call or the run.
type roundTripper interface {
	roundTrip(ctx context.Context, req *request) (*response, error)
}

// request is one attempt on its way through the layers.
type request struct {
	call    *Call
	url     *url.URL
	method  string
	header  http.Header
	body    []byte
	maxBody int64 // of a 200, in bytes
	attempt int   // from 1
	permit  permit
	tally   *Tally  // nil for token requests
	budget  *budget // nil for calls that only the circuit breaker bounds
	status  string  // of the last attempt, as in Stats.ByStatus
}

// response is a complete response. Only for status 200 its body is sure to be complete.
type response struct {
	status int
	header http.Header
	body   *bytes.Buffer
	pool   *sync.Pool
}

// release recycles the body. Nothing may refer to it afterwards.
func (r *response) release() {
	if r.body.Cap() <= maxPooledBuffer {
		r.body.Reset()
		r.pool.Put(r.body)
	}
}

// transport is the innermost layer: one attempt with net/http.
type transport struct {
	base    http.RoundTripper
	timeout time.Duration
	buffers sync.Pool // of *bytes.Buffer
	gzips   sync.Pool // of *gzip.Reader
}

var _ roundTripper = (*transport)(nil)

// newHTTPTransport returns net/http's transport with bounded waits and sizes. The limiter bounds the connections. Gzip
// is decoded by this package, because net/http allocates a new reader for every body.
//
// If a reused connection is closed before the first byte of a response, net/http sends a read again by itself. That is
// normal for idle connections and counts neither as an attempt nor as a request.
func newHTTPTransport(concurrency int) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           concurrency,
		MaxIdleConnsPerHost:    concurrency,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         64 << 10, // bodies are megabytes
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		// Without pings every request would try a dead HTTP/2 connection until the operating system gives it up.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// roundTrip uses the RoundTripper rather than an http.Client, so redirects are not followed: keys and tokens never
// reach another host.
func (t *transport) roundTrip(ctx context.Context, req *request) (*response, error) {
	timeout := req.budget.start(t.timeout)
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := http.NewRequestWithContext(attempt, req.method, "", bytes.NewReader(req.body))
	if err != nil {
		return nil, errors.New("create a request: invalid method")
	}
	out.URL, out.Host, out.Header = req.url, req.url.Host, req.header
	in, err := t.base.RoundTrip(out)
	if err != nil {
		return nil, explain(ctx, attempt, timeout, 0, err)
	}
	defer func() { _ = in.Body.Close() }()
	res := &response{status: in.StatusCode, header: in.Header, pool: &t.buffers}
	var ok bool
	if res.body, ok = t.buffers.Get().(*bytes.Buffer); !ok {
		res.body = new(bytes.Buffer)
	}
	limit := req.maxBody
	if res.status != http.StatusOK {
		limit = maxErrorBody
	}
	err = t.readBody(res.body, in, limit)
	switch {
	case ctx.Err() != nil && (err != nil || res.status != http.StatusOK):
		res.release()
		return nil, context.Cause(ctx)
	case err == nil || res.status != http.StatusOK: // whatever was read of an error's body is enough
		return res, nil
	case errors.Is(err, errBodyTooLong):
		err = &attemptError{
			status: res.status, final: true,
			cause: fmt.Sprintf("the response body is larger than %d bytes", limit), advice: "raise --max-body",
		}
	default:
		err = explain(ctx, attempt, timeout, res.status, err)
	}
	res.release()
	return nil, err
}

// readBody reads the whole body, decompressed: the limit applies to the decompressed size.
func (t *transport) readBody(into *bytes.Buffer, in *http.Response, limit int64) error {
	switch strings.ToLower(strings.TrimSpace(in.Header.Get("Content-Encoding"))) {
	case "", "identity":
		if in.ContentLength > limit {
			return errBodyTooLong
		}
		return fill(into, in.Body, in.ContentLength, limit)
	case "gzip", "x-gzip":
	default:
		return &attemptError{
			status: in.StatusCode, class: classUnreadable,
			cause: "the response has an unsupported Content-Encoding", advice: "check --base-url",
		}
	}
	unzip, ok := t.gzips.Get().(*gzip.Reader)
	if !ok {
		unzip = new(gzip.Reader)
	}
	defer t.gzips.Put(unzip)
	if err := unzip.Reset(in.Body); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return fill(into, unzip, 0, limit)
}

// fill reads r to its end, or returns errBodyTooLong after limit bytes. size is the expected number of bytes, if known.
func fill(into *bytes.Buffer, r io.Reader, size, limit int64) error {
	into.Grow(int(min(max(size, 32<<10), maxInitialBuffer)) + bytes.MinRead)
	n, err := into.ReadFrom(io.LimitReader(r, limit+1))
	if n > limit {
		return errBodyTooLong
	}
	return err
}

// explain returns the attemptError for an error of net/http, or the cause of ctx. status is 0 if there was no response.
func explain(ctx, attempt context.Context, timeout time.Duration, status int, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if known, ok := errors.AsType[*attemptError](err); ok {
		return known
	}
	const later = "run again later"
	e := &attemptError{status: status, class: classNetwork, advice: later}
	var (
		timedOut  net.Error
		lookup    *net.DNSError
		untrusted *tls.CertificateVerificationError
		notTLS    tls.RecordHeaderError
	)
	switch {
	case attempt.Err() != nil, errors.As(err, &timedOut) && timedOut.Timeout():
		e.class = classTimeout
		e.cause = "timeout: no complete response within " + shortDuration(timeout) + " (--request-timeout)"
	case errors.As(err, &untrusted):
		e.cause, e.advice, e.final = "TLS: certificate not trusted", "check --base-url and the system's certificates", true
	case errors.As(err, &notTLS):
		e.cause, e.advice, e.final = "TLS: the server does not speak TLS", "check --base-url", true
	case errors.As(err, &lookup):
		e.cause, e.advice = "host not found", "check --base-url"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.cause, e.advice = "connection refused", "check --base-url, or "+later
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.cause = "connection reset"
	case status == 0:
		e.cause = "connection closed before the response"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		e.cause = "the response body is corrupt (gzip)"
	default:
		e.cause = "the response body was cut short"
	}
	return e
}
