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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxErrorBody is how much of an answer other than 200 is read: enough for an error code, and to use the connection again.
const maxErrorBody = 64 << 10

// sender asks the service. An answer that came whole is no error, whatever its status; it is the caller's to release. An error
// is a *broken if another request may fare better, the cause of ctx if that is done, else one that ends the call or the run.
type sender interface {
	send(ctx context.Context, req *request) (*answer, error)
}

// request is one attempt on its way through the layers.
type request struct {
	call    *Call
	url     *url.URL
	method  string
	header  http.Header
	body    []byte
	maxBody int64 // most bytes of a 200's body
	attempt int   // counted from 1
	pass    pass  // what the gate said
	tally   *Tally
	// patience is nil for calls that only the gate bounds.
	patience *patience
	ended    string // how it ended when it was sent last, as in Stats.ByStatus
}

// answer is a whole one. Only a body of status 200 is complete for certain.
type answer struct {
	status int
	header http.Header
	body   *buffer
}

func (a *answer) release() { a.body.release() }

// broken is an attempt that brought no whole answer. Its text quotes nothing that was received: what net/http says of a
// malformed answer does.
type broken struct {
	status int    // if the answer got so far
	class  string // the name it is counted under, if not its status
	cause  string // in a few words
	advice string
	final  bool // the next attempt would end the same way
}

func (b *broken) Error() string {
	if b.advice == "" {
		return b.cause
	}
	return b.cause + "; " + b.advice
}

// The classes of Stats.ByStatus beside status codes.
const (
	classTimeout    = "timeout"    // no whole answer within --request-timeout
	classNetwork    = "network"    // not connected, reset, or the body cut short
	classUnreadable = "unreadable" // a 200 whose body is no answer
	classCancelled  = "cancelled"  // the run was ended while the request was at work
)

// wire is the last layer: one attempt over net/http.
type wire struct {
	transport http.RoundTripper
	timeout   time.Duration
	buffers   buffers
	gzips     sync.Pool // of *gzip.Reader
}

var _ sender = (*wire)(nil)

// newTransport makes net/http's own transport with every wait and size bounded. Connections need no bound, since the slots
// bound the requests. Compression is asked for and undone here rather than there, where each body would cost a new reader.
//
// A read that a kept connection dropped without a byte of an answer is sent again by net/http itself, on another
// connection: that is how idle connections end, and it is neither an attempt nor counted.
func newTransport(concurrency int) *http.Transport {
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
		// A dead HTTP/2 connection would be tried again by every request until the system notices.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// send goes to the RoundTripper, below http.Client, and so follows no redirect: keys and tokens never reach another host.
func (w *wire) send(ctx context.Context, req *request) (*answer, error) {
	timeout := req.patience.attempt(w.timeout)
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The body of a read is a nil slice, which net/http sends as no body.
	out, err := http.NewRequestWithContext(attempt, req.method, "", bytes.NewReader(req.body))
	if err != nil {
		return nil, errors.New("make a request: its method is not valid")
	}
	out.URL, out.Host, out.Header = req.url, req.url.Host, req.header
	in, err := w.transport.RoundTrip(out)
	if err != nil {
		return nil, explain(ctx, attempt, timeout, 0, err)
	}
	defer func() { _ = in.Body.Close() }()
	ans := &answer{status: in.StatusCode, header: in.Header, body: w.buffers.get()}
	if ans.status != http.StatusOK {
		// What can be read of it is enough, the status stands.
		_ = ans.body.fill(in.Body, in.ContentLength, maxErrorBody)
		if ctx.Err() != nil {
			ans.release()
			return nil, context.Cause(ctx)
		}
		return ans, nil
	}
	if err := w.read(ans.body, in, req.maxBody); err != nil {
		ans.release()
		if errors.Is(err, errTooLong) {
			return nil, &broken{
				status: ans.status, final: true,
				cause: fmt.Sprintf("the body is larger than %d bytes", req.maxBody), advice: "raise --max-body",
			}
		}
		return nil, explain(ctx, attempt, timeout, ans.status, err)
	}
	return ans, nil
}

// read takes the whole body, decompressed, so that the limit holds for what it unpacks to.
func (w *wire) read(into *buffer, in *http.Response, limit int64) error {
	encoding := strings.ToLower(strings.TrimSpace(in.Header.Get("Content-Encoding")))
	switch encoding {
	case "", "identity":
		if in.ContentLength > limit {
			return errTooLong
		}
		return into.fill(in.Body, in.ContentLength, limit)
	case "gzip", "x-gzip":
	default:
		return &broken{status: in.StatusCode, class: classUnreadable, cause: "the body is in an encoding that was not asked for"}
	}
	unzip, ok := w.gzips.Get().(*gzip.Reader)
	if !ok {
		unzip = new(gzip.Reader)
	}
	defer w.gzips.Put(unzip)
	if err := unzip.Reset(in.Body); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return into.fill(unzip, -1, limit)
}

// explain finds what went wrong with an attempt whose status is already known, or 0.
func explain(ctx, attempt context.Context, limit time.Duration, status int, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if own, ok := errors.AsType[*broken](err); ok {
		return own
	}
	const later = "run again later"
	network := func(cause, advice string) *broken {
		return &broken{status: status, class: classNetwork, cause: cause, advice: advice}
	}
	var (
		timeout  net.Error
		lookup   *net.DNSError
		untrust  *tls.CertificateVerificationError
		notTLS   tls.RecordHeaderError
		checksum = errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader)
	)
	switch {
	case attempt.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		b := network("timeout: no complete answer within "+limit.String()+" (--request-timeout)", later)
		b.class = classTimeout
		return b
	case errors.As(err, &untrust):
		return &broken{
			class: classNetwork, final: true,
			cause: "TLS: the service's certificate is not trusted", advice: "check --base-url and the system's certificates",
		}
	case errors.As(err, &notTLS):
		return &broken{class: classNetwork, final: true, cause: "TLS: the service does not speak TLS there", advice: "check --base-url"}
	case errors.As(err, &lookup):
		return network("host not found", "check --base-url")
	case errors.Is(err, syscall.ECONNREFUSED):
		return network("connection refused", "check --base-url, or "+later)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return network("connection reset", later)
	case status != 0 && checksum:
		return network("the compressed body is damaged", later)
	case status != 0:
		return network("the body was cut short", later)
	default:
		return network("the connection broke before an answer came", later)
	}
}

// isTimeout tells whether an attempt brought no whole answer in time.
func isTimeout(err error) bool {
	b, ok := errors.AsType[*broken](err)
	return ok && b.class == classTimeout
}

// statusName is what an attempt is counted and logged under.
func statusName(ctx context.Context, ans *answer, err error) string {
	b, isBroken := errors.AsType[*broken](err)
	switch {
	case err == nil:
		return strconv.Itoa(ans.status)
	case isBroken && b.class != "":
		return b.class
	case isBroken:
		return strconv.Itoa(b.status)
	case ctx.Err() != nil:
		return classCancelled
	default:
		return classNetwork
	}
}
