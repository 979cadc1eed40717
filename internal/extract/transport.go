package extract

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"

	"example.org/growthexport/internal/wording"
)

// Causes of failures that point to a wrong base URL or proxy.
const (
	hostNotFound      = "host not found"
	connectionRefused = "connection refused"
	proxyUnreachable  = "the proxy cannot be reached"
)

const (
	// maxErrorBody is the maximum number of bytes that are read from the body of a response other than 200. This is enough
	// to read an error code, and usually to reuse the connection.
	maxErrorBody = 64 << 10
	// maxIdleGzips is the maximum number of gzip readers that are kept for reuse. Each takes about 50 kB of memory.
	maxIdleGzips = 16

	proxyAdvice      = "check HTTPS_PROXY"
	proxyLoginAdvice = "put both into HTTPS_PROXY: http://user:password@host:port"

	giveUpAfter = wording.Setting("give-up-after")
	baseURL     = wording.Setting("base-url")
)

var checkBaseURL = "check " + baseURL.String()

var errBodyTooLong = errors.New("body over the limit")

// roundTripper sends a request and returns the response, regardless of its status. The error is the cause of ctx if ctx
// is done, an *attemptError if there is no complete response, errBreakerOpen, or an error that ends the call or the
// run.
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
	maxBody int64 // the maximum size in bytes of the body of a 200
	// accept reads the body of a 200. If accept is nil or the status is not 200, the body is in response.body.
	accept  func(body io.Reader) error
	attempt int // from 1
	permit  permit
	tally   *Tally    // nil for token requests
	budget  *budget   // nil for calls whose time only the circuit breaker limits
	status  string    // the status of the last attempt, as in Stats.ByStatus
	failed  time.Time // when the last attempt of a lookup failed
}

// response is a response whose body has been read. The body is certain to be complete only if the status is 200.
type response struct {
	status   int
	header   http.Header
	body     []byte
	size     int64 // bytes of the body, decompressed
	rejected error // the error of request.accept
}

// transport is the innermost layer. It makes one attempt with net/http.
type transport struct {
	base    http.RoundTripper
	timeout time.Duration
	gzips   chan *gzip.Reader // readers for reuse; a sync.Pool would be emptied by garbage collections
}

var _ roundTripper = (*transport)(nil)

// newHTTPTransport returns a transport of net/http with limited waits and sizes. The limiter limits the number of
// connections. This package decodes gzip itself, because net/http allocates a new, slower reader for every body.
//
// If a reused connection is closed before the first byte of a response, net/http itself sends a read again. This is
// normal for idle connections, and counts neither as an attempt nor as a request.
func newHTTPTransport(concurrency int) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: AcceptProxy,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           concurrency,
		MaxIdleConnsPerHost:    concurrency,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         16 << 10, // larger reads, such as of bodies, bypass it
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		// Without pings, every request would try a dead HTTP/2 connection until the operating system gives up on it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// AcceptProxy returns an error unless the status of a proxy's response to CONNECT is 200. The error that net/http would
// return has no type by which it could be recognized.
func AcceptProxy(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	if res.StatusCode == http.StatusProxyAuthRequired {
		return &attemptError{class: classNetwork, cause: "the proxy rejected the user or password (status 407)", advice: proxyLoginAdvice, final: true}
	}
	return &attemptError{
		class: classNetwork, cause: fmt.Sprintf("the proxy rejected the connection (status %d)", res.StatusCode), advice: proxyAdvice,
	}
}

// roundTrip uses an http.RoundTripper rather than an http.Client, which would follow redirects, because keys and tokens
// must never reach another host.
func (t *transport) roundTrip(ctx context.Context, req *request) (*response, error) {
	timeout := req.budget.start(t.timeout)
	limit := shortDuration(timeout) + " (" + wording.Setting("request-timeout").String() + ")"
	if timeout < t.timeout {
		limit = shortDuration(timeout) + " (" + wording.Setting("give-up-after").String() + ")"
	}
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := http.NewRequestWithContext(attempt, req.method, "", bytes.NewReader(req.body))
	if err != nil {
		return nil, errors.New("create a request: invalid method")
	}
	out.URL, out.Host, out.Header = req.url, req.url.Host, req.header
	in, err := t.base.RoundTrip(out)
	if err != nil {
		return nil, explain(ctx, attempt, limit, 0, err)
	}
	defer func() { _ = in.Body.Close() }()
	res := &response{status: in.StatusCode, header: in.Header}
	// A cache that ignores Cache-Control may answer with pages of another day. The header Age says for how long the cache
	// has stored the response.
	if age, _ := strconv.Atoi(strings.TrimSpace(in.Header.Get("Age"))); age > 0 && res.status == http.StatusOK && req.method == http.MethodGet {
		return nil, &attemptError{
			status: res.status, class: classUnreadable, final: true, cause: fmt.Sprintf("a cache answered with a copy that is %d s old (header Age)", age),
			advice: "configure the proxies between here and the service not to store its answers",
		}
	}
	body := &body{limit: req.maxBody}
	if res.status != http.StatusOK {
		body.limit = maxErrorBody
	}
	if err = t.open(body, in); err == nil {
		defer t.close(body)
		err = body.read(req.accept, res)
	}
	res.size = body.size
	switch {
	case ctx.Err() != nil && (err != nil || res.status != http.StatusOK):
		return nil, context.Cause(ctx)
	case err == nil || res.status != http.StatusOK: // the body of a response with another status need not be complete
		return res, nil
	case errors.Is(err, errBodyTooLong):
		advice := "raise " + wording.Setting("max-body").String()
		if req.tally == nil { // a token request, which has its own limit
			advice = checkBaseURL
		}
		return nil, &attemptError{
			status: res.status, final: true,
			cause: fmt.Sprintf("the response body is larger than %d bytes", body.limit), advice: advice,
		}
	default:
		return nil, explain(ctx, attempt, limit, res.status, err)
	}
}

// open makes body read the decompressed body of a response. It fails if the encoding is not supported or the declared
// length exceeds the limit.
func (t *transport) open(body *body, in *http.Response) error {
	switch strings.ToLower(strings.TrimSpace(in.Header.Get("Content-Encoding"))) {
	case "", "identity":
		body.from = in.Body
		if in.ContentLength > body.limit {
			return errBodyTooLong
		}
		return nil
	case "gzip", "x-gzip":
	default:
		return &attemptError{
			status: in.StatusCode, class: classUnreadable,
			cause: "the response has an unsupported Content-Encoding", advice: checkBaseURL,
		}
	}
	select {
	case body.gzip = <-t.gzips:
	default:
		body.gzip = new(gzip.Reader)
	}
	body.from = body.gzip
	err := body.gzip.Reset(in.Body)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// close keeps the gzip reader of a body for reuse, unless enough readers are kept already.
func (t *transport) close(body *body) {
	if body.gzip == nil {
		return
	}
	select {
	case t.gzips <- body.gzip:
	default:
	}
}

// body reads the decompressed body of a response up to a limit.
type body struct {
	from  io.Reader
	gzip  *gzip.Reader // nil if the body is not compressed
	limit int64
	size  int64 // bytes read
	err   error // the error of reading the body, unless it is io.EOF
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	if b.size += int64(n); b.size > b.limit {
		n, err = 0, errBodyTooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// read reads the body to its end. If the status is 200, it calls accept, and stops reading if accept fails. It stores
// the error of accept in res.rejected and returns only the error of reading the body.
func (b *body) read(accept func(io.Reader) error, res *response) error {
	if res.status != http.StatusOK || accept == nil {
		res.body, _ = io.ReadAll(b)
		return b.err
	}
	if res.rejected = accept(b); res.rejected == nil {
		_, _ = io.Copy(io.Discard, b)
	}
	return b.err
}

// explain returns the attemptError for an error of net/http, or the cause of ctx. limit describes the timeout of the
// attempt in words. status is 0 if there was no response.
func explain(ctx, attempt context.Context, limit string, status int, err error) error {
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
		operation *net.OpError
	)
	switch {
	case attempt.Err() != nil, errors.As(err, &timedOut) && timedOut.Timeout():
		e.class = classTimeout
		e.cause = "timeout: no complete response within " + limit
	case errors.As(err, &untrusted):
		e.cause, e.advice, e.final = "TLS: certificate not trusted", checkBaseURL+", or set SSL_CERT_FILE to a file with the authorities to trust", true
	case errors.As(err, &notTLS):
		e.cause, e.advice, e.final = "TLS: the server does not speak TLS", checkBaseURL, true
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		e.cause, e.advice = proxyUnreachable, proxyAdvice
	case errors.As(err, &lookup):
		e.cause, e.advice = hostNotFound, checkBaseURL
	case errors.Is(err, syscall.ECONNREFUSED):
		e.cause, e.advice = connectionRefused, checkBaseURL+", or "+later
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
