package gcstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long the server may take to start, on a busy machine.
const patience = 30 * time.Second

// Server is a running emulator. It keeps objects in memory.
type Server struct {
	// Endpoint is its URL, http.
	Endpoint string

	emulator *url.URL
	front    *httptest.Server
	command  *exec.Cmd
	output   *bytes.Buffer
	exited   chan struct{}
	buckets  atomic.Int64
	// rewriting is held while a condition of a rewrite is compared and the object is rewritten.
	rewriting sync.Mutex
}

// Start starts a server that runs until the test ends. Without FAKE_GCS_SERVER in the environment the test fails if CI is
// set, else it is skipped. With -short it is always skipped.
func Start(t testing.TB, getenv func(string) string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("tests on an emulator take long")
	}
	binary := getenv("FAKE_GCS_SERVER")
	if binary == "" {
		Missing(t, getenv)
	}
	server, err := Launch(t.Context(), binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// Missing fails or skips a test that has no server; see Start.
func Missing(t testing.TB, getenv func(string) string) {
	t.Helper()
	const message = "FAKE_GCS_SERVER is not set: make check builds a fake-gcs-server binary and sets it"
	if getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// Launch starts a server. Stop ends it.
func Launch(ctx context.Context, binary string) (*Server, error) {
	var err error
	for range 3 { // Another process may take the port.
		s := new(Server)
		if err = s.launch(ctx, binary); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func (s *Server) launch(ctx context.Context, binary string) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	s.emulator = &url.URL{Scheme: "http", Host: address}
	s.output = new(bytes.Buffer)
	// Stop ends it, not the context.
	s.command = exec.CommandContext(context.WithoutCancel(ctx), binary, //nolint:gosec // The Makefile built the binary.
		"-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-backend", "memory", "-log-level", "error")
	s.command.Stdout, s.command.Stderr = s.output, s.output
	if err := s.command.Start(); err != nil {
		return fmt.Errorf("start fake-gcs-server: %w", err)
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.command.Wait() // Stop kills it.
		close(s.exited)
	}()
	s.front = httptest.NewUnstartedServer(s.handler())
	s.front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // Killed clients cause errors.
	s.front.Start()
	s.Endpoint = s.front.URL
	if err := s.await(ctx, address); err != nil {
		s.Stop()
		return fmt.Errorf("start fake-gcs-server: %w: %s", err, strings.TrimSpace(s.output.String()))
	}
	return nil
}

// await waits until the server accepts connections.
func (s *Server) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var dialer net.Dialer
	for {
		if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-s.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Stop ends the server.
func (s *Server) Stop() {
	s.front.Close()
	_ = s.command.Process.Kill() // It may have ended.
	<-s.exited
}

// rewritePath is the escaped path of a rewrite.
var rewritePath = regexp.MustCompile(`^/storage/v1/b/[^/]+/o/[^/]+/rewriteTo(/b/[^/]+/o/[^/]+)$`)

// handler forwards requests to the emulator, rewrites only if their condition holds.
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

// generation returns the generation of an object, 0 if there is none.
func (s *Server) generation(ctx context.Context, object string) (string, error) {
	resp, err := s.send(ctx, http.MethodGet, "/storage/v1"+object, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // It has been read.
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
	return s.front.Client().Do(req) //nolint:gosec // as above
}

// Bucket creates a bucket and returns its name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := "bucket-" + strconv.FormatInt(s.buckets.Add(1), 10)
	resp, err := s.send(t.Context(), http.MethodPost, "/storage/v1/b?project=test", strings.NewReader(`{"name": "`+name+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // The status says enough.
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
	defer func() { _ = resp.Body.Close() }() // It has been read.
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
