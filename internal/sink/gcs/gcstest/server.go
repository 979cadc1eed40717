package gcstest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/servertest"
)

// Variable is the environment variable with the path of the emulator's binary.
const Variable = "FAKE_GCS_SERVER"

// Server is a running emulator. It keeps objects in memory.
type Server struct {
	// Endpoint is the http URL of the emulator.
	Endpoint string

	emulator *url.URL
	front    *httptest.Server
	process  *servertest.Process
	buckets  atomic.Int64
	// rewriting is held while the condition of a rewrite is checked and the object is rewritten.
	rewriting sync.Mutex
}

// Start starts a server that runs until the test ends; see servertest.Start.
func Start(t testing.TB) *Server {
	t.Helper()
	return servertest.Start(t, Variable, Launch)
}

// Launch starts a server. The caller must call Stop.
func Launch(ctx context.Context, binary string) (*Server, error) {
	process, err := servertest.Launch(ctx, binary, func(address string) (args, env []string) {
		host, port, _ := strings.Cut(address, ":")
		return []string{
			"-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-backend", "memory", "-log-level", "error",
		}, nil
	})
	if err != nil {
		return nil, err
	}
	s := &Server{emulator: &url.URL{Scheme: "http", Host: process.Address}, process: process}
	s.front = httptest.NewUnstartedServer(s.handler())
	s.front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // Killed clients cause errors.
	s.front.Start()
	s.Endpoint = s.front.URL
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() {
	s.front.Close()
	s.process.Stop()
}

// Options returns the options of a store in a bucket.
func (s *Server) Options(t testing.TB, bucket, prefix string) gcs.Options {
	t.Helper()
	return gcs.Options{
		Bucket: bucket, Prefix: prefix, Endpoint: s.Endpoint,
		Settings: remote.Settings{Scratch: t.TempDir(), MaxBackoff: 20 * time.Millisecond},
	}
}

// rewritePath matches the escaped path of a rewrite request. The submatch is the path of the new object.
var rewritePath = regexp.MustCompile(`^/storage/v1/b/[^/]+/o/[^/]+/rewriteTo(/b/[^/]+/o/[^/]+)$`)

// handler forwards requests to the emulator. It forwards a conditional rewrite only if the condition holds.
func (s *Server) handler() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(s.emulator) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		match := rewritePath.FindStringSubmatch(r.URL.EscapedPath())
		condition := r.URL.Query().Get("ifGenerationMatch")
		if match == nil || condition == "" {
			forward.ServeHTTP(w, r)
			return
		}
		s.rewriting.Lock()
		defer s.rewriting.Unlock()
		generation, err := s.generation(r.Context(), match[1])
		switch {
		case err != nil:
			panic(http.ErrAbortHandler)
		case generation != condition:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = io.WriteString(w, `{"error": {"code": 412, "message": "At least one of the pre-conditions you specified did not hold.",`+
				` "errors": [{"reason": "conditionNotMet"}]}}`) // The client may be gone.
		default:
			forward.ServeHTTP(w, r)
		}
	})
}

// generation returns the generation of an object, or "0" if the object does not exist.
func (s *Server) generation(ctx context.Context, object string) (string, error) {
	resp, err := s.send(ctx, http.MethodGet, "/storage/v1"+object, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // The body has been read.
	if resp.StatusCode == http.StatusNotFound {
		return "0", nil
	}
	var found struct {
		Generation string `json:"generation"`
	}
	err = json.NewDecoder(resp.Body).Decode(&found)
	return found.Generation, err
}

// send sends a request to the emulator.
func (s *Server) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.emulator.String()+path, body) //nolint:gosec // to the emulator
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return s.front.Client().Do(req) //nolint:gosec // to the emulator
}

// Bucket creates a bucket and returns its name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := "bucket-" + strconv.FormatInt(s.buckets.Add(1), 10)
	resp, err := s.send(t.Context(), http.MethodPost, "/storage/v1/b?project=test", strings.NewReader(`{"name": "`+name+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // The status is sufficient.
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("create a bucket: %s", resp.Status)
	}
	return name
}

// Objects returns the names of all objects of a bucket that start with a prefix.
func (s *Server) Objects(t testing.TB, bucket, prefix string) []string {
	t.Helper()
	resp, err := s.send(t.Context(), http.MethodGet, "/storage/v1/b/"+bucket+"/o?prefix="+url.QueryEscape(prefix), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // The body has been read.
	var list struct {
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}
