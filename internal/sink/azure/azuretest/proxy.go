package azuretest

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Exchange is a request that a proxy received, with its response.
type Exchange struct {
	Request *http.Request
	// Body is the body of the response. It is empty before Forward.
	Body []byte

	server *Server
	w      http.ResponseWriter
	status int
	header http.Header
}

// Proxy starts a proxy that forwards requests to the server, and returns the endpoint of the account at the proxy. The
// proxy runs until the test ends. It calls handle for each request, possibly concurrently.
func (s *Server) Proxy(t testing.TB, handle func(e *Exchange)) string {
	t.Helper()
	listener := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle(&Exchange{Request: r, server: s, w: w})
	}))
	listener.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // Lost responses cause errors.
	listener.Start()
	t.Cleanup(listener.Close)
	return listener.URL + "/" + Account
}

// Forward sends the request to the server, which carries it out.
func (e *Exchange) Forward() {
	out := e.Request.Clone(e.Request.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", e.server.address, ""
	if out.ContentLength == 0 {
		out.Body = http.NoBody
	}
	response, err := e.server.transport.RoundTrip(out)
	if err != nil {
		e.Lose()
	}
	e.status, e.header = response.StatusCode, response.Header
	e.Body, err = io.ReadAll(response.Body)
	_ = response.Body.Close() // The body has been read.
	if err != nil {
		e.Lose()
	}
}

// Answer responds as the server did, but with only the given number of bytes of the body. If the body is longer, Answer
// then closes the connection.
func (e *Exchange) Answer(bytes int) {
	maps.Copy(e.w.Header(), e.header)
	e.w.WriteHeader(e.status)
	_, _ = e.w.Write(e.Body[:bytes]) // The client may be gone.
	if bytes < len(e.Body) {
		e.Lose()
	}
}

// Pass forwards the request and responds as the server did.
func (e *Exchange) Pass() {
	e.Forward()
	e.Answer(len(e.Body))
}

// Write responds with a body and does not contact the server.
func (e *Exchange) Write(body string) { _, _ = io.WriteString(e.w, body) }

// Refuse responds with an error and does not contact the server.
func (e *Exchange) Refuse(status int, code string) {
	e.w.Header().Set("X-Ms-Error-Code", code)
	e.w.WriteHeader(status)
}

// Lose closes the connection, so that the response is lost.
func (*Exchange) Lose() { panic(http.ErrAbortHandler) }
