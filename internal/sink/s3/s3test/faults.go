package s3test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Fault is a way in which a Proxy makes a request fail.
type Fault int

// The server carries out the request only with LostAnswer and CutAnswer.
const (
	NoFault Fault = iota
	// Reset closes the connection before the server sees the request.
	Reset
	// LostAnswer closes the connection after the server has answered, so that the client gets no response.
	LostAnswer
	// CutAnswer sends half of the body of the response and closes the connection.
	CutAnswer
	// InternalError responds with 500 Internal Server Error.
	InternalError
	// SlowDown responds with 503, as a store that throttles does.
	SlowDown
	faults
)

// Proxy forwards requests to the server and makes some of them fail.
type Proxy struct {
	// Endpoint is the URL of the proxy, which uses the server's certificate.
	Endpoint string
	// Requests counts all requests. Failed counts the requests that were made to fail.
	Requests, Failed atomic.Int64

	server    *Server
	transport http.RoundTripper
	choose    func(*http.Request) Fault
}

// Proxy starts a proxy that runs until the test ends. The function choose returns the fault for a request. It is called
// concurrently, and may be nil. Modes make the server behave like another store. The last mode sees a request first.
func (s *Server) Proxy(t testing.TB, choose func(*http.Request) Fault, modes ...Mode) *Proxy {
	t.Helper()
	p := &Proxy{server: s, choose: choose, transport: &http.Transport{
		TLSClientConfig: s.tlsConfig(), MaxIdleConnsPerHost: 32, DisableCompression: true,
	}}
	for _, mode := range modes {
		p.transport = mode(p.transport)
	}
	listener := httptest.NewUnstartedServer(p)
	listener.TLS = &tls.Config{Certificates: []tls.Certificate{s.cert}, MinVersion: tls.VersionTLS12}
	listener.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // Killed clients cause errors.
	listener.StartTLS()
	t.Cleanup(listener.Close)
	p.Endpoint = listener.URL
	return p
}

// Share returns a function for Proxy that makes the given share of requests fail, with every fault equally likely. The
// seed determines the sequence of faults, but not which request gets which fault.
func Share(seed uint64, share float64) func(*http.Request) Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, seed))
	return func(*http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= share {
			return NoFault
		}
		return Fault(1 + random.IntN(int(faults)-1))
	}
}

// ServeHTTP forwards a request or makes it fail.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Requests.Add(1)
	fault := NoFault
	if p.choose != nil {
		fault = p.choose(r)
	}
	if fault != NoFault {
		p.Failed.Add(1)
	}
	switch fault {
	case Reset:
		panic(http.ErrAbortHandler)
	case InternalError:
		answer(w, http.StatusInternalServerError, "InternalError")
		return
	case SlowDown:
		answer(w, http.StatusServiceUnavailable, "SlowDown")
		return
	}
	p.forward(w, r, fault)
}

func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>`+code+
		`</Code><Message>a fault of the test</Message></Error>`) // The client may be gone.
}

// forward forwards a request with the Host that its signature covers.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, fault Fault) {
	to, err := url.Parse(p.server.Endpoint)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = to.Scheme, to.Host, ""
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // The body has been read.
	if err != nil || fault == LostAnswer {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if fault == CutAnswer {
		_, _ = w.Write(body[:len(body)/2]) // The connection is closed next.
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // The client may be gone.
}
