package gcs_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/gcs/gcstest"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/storetest"
)

// front is a server between a store and the emulator. It records the requests.
type front struct {
	endpoint string

	mu   sync.Mutex
	seen []*http.Request
}

// newFront starts a server that handles requests with handle. pass forwards the request to the emulator and returns the
// emulator's response.
func newFront(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder)) *front {
	t.Helper()
	var emulator http.Handler
	if os.Getenv(gcstest.Variable) != "" {
		to, err := url.Parse(server(t).Endpoint)
		require.NoError(t, err)
		emulator = &httputil.ReverseProxy{
			Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to) },
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		}
	}
	f := new(front)
	listener := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r)
		f.mu.Unlock()
		handle(w, r, func() *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			emulator.ServeHTTP(answer, r)
			return answer
		})
	}))
	listener.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // Lost responses cause errors.
	listener.Start()
	t.Cleanup(listener.Close)
	f.endpoint = listener.URL
	return f
}

// requests returns the requests of a kind, as kindOf returns it.
func (f *front) requests(kind string) []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*http.Request
	for _, r := range f.seen {
		if kindOf(r) == kind {
			found = append(found, r)
		}
	}
	return found
}

// kindOf returns the kind of a request, such as "download".
func kindOf(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		return strings.Trim(query.Get("uploadType")+" "+r.Method, " ")
	case strings.Contains(r.URL.EscapedPath(), "/rewriteTo/"):
		return "rewrite"
	case r.Method == http.MethodDelete:
		return "delete"
	case query.Get("alt") == "media":
		return "download"
	case strings.HasSuffix(r.URL.EscapedPath(), "/o"):
		return "list"
	}
	return "stat"
}

// answer copies a response of the emulator to the client.
func answer(w http.ResponseWriter, from *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), from.Header())
	w.WriteHeader(from.Code)
	_, _ = w.Write(from.Body.Bytes()) // The client may be gone.
}

// cut closes the connection.
func cut() { panic(http.ErrAbortHandler) }

// fail responds with an error in the service's format.
func fail(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	type one struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{ // The client may be gone.
		"code": status, "message": message, "errors": []one{{reason, message}},
	}})
}

// wired returns options for a store that sends its requests to the front, with short waits.
func (f *front) wired(t *testing.T, bucket string) gcs.Options {
	t.Helper()
	return gcs.Options{
		Bucket: bucket, Prefix: "pre", Endpoint: f.endpoint,
		Settings: remote.Settings{Scratch: t.TempDir(), MaxBackoff: time.Millisecond, Attempts: 3},
	}
}

// stage stages data for a path.
func stage(t testing.TB, store sink.Store, owner, path string, data []byte) sink.File {
	t.Helper()
	file, err := storetest.Stage(t.Context(), store, owner, path, data)
	require.NoError(t, err)
	return file
}

// content returns the content of an object.
func content(t testing.TB, store sink.Store, path string) string {
	t.Helper()
	object, err := store.Open(t.Context(), path)
	require.NoError(t, err)
	data, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
	require.NoError(t, err)
	require.NoError(t, object.Close())
	return string(data)
}
