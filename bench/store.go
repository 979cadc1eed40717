package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"
)

// storeScale measures commands on an S3 server behind a proxy that delays every answer.
type storeScale struct {
	settings

	server  string // the versitygw binary
	schools int
	results int
	perFile int // schools in a file
	latency time.Duration
	front   *delay
	env     []string
	steps   []storeStep
}

// storeStep holds the measurements of a command.
type storeStep struct {
	title    string
	cost     cost
	requests int
	most     int // maximum number of requests in flight
}

// measureStore measures two runs on an S3 destination with many files, and the commands that follow them.
func measureStore(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	s := storeScale{settings: settings{env: env}}
	flags := flag.NewFlagSet("store", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.StringVar(&s.server, "server", "../.tools/versitygw", "path of versitygw, the S3 server")
	flags.IntVar(&s.schools, "schools", 520, "schools of the simulated service")
	flags.IntVar(&s.results, "results", 104_000, "results of the simulated service")
	flags.IntVar(&s.perFile, "schools-per-file", 4, "schools in a file")
	flags.DurationVar(&s.latency, "latency", 60*time.Millisecond, "delay of each answer of the store")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	return s.report(ctx, "store", stdout, func(b *strings.Builder) error {
		root := s.dest("store")
		if err := emptyFolder(root); err != nil {
			return err
		}
		err := s.serveStore(ctx, root, func(ctx context.Context) error { return s.nights(ctx, root, b, stderr) })
		return errors.Join(err, os.RemoveAll(root))
	})
}

// serveStore runs the server, with its objects as files below root, and the proxy in front of it, while use runs.
func (s *storeScale) serveStore(ctx context.Context, root string, use func(ctx context.Context) error) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := errors.Join(listener.Close(), os.MkdirAll(filepath.Join(root, "bucket"), 0o750)); err != nil {
		return err
	}
	server := exec.CommandContext(ctx, s.server, "--quiet", "--keep-alive", "--port", address, "posix", root)
	server.Env = []string{"ROOT_ACCESS_KEY=bench", "ROOT_SECRET_KEY=bench-secret"}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Kill() // the server may have ended
		_ = server.Wait()         // the signal makes it fail
	}()
	if err := awaitServer(ctx, address); err != nil {
		return fmt.Errorf("start versitygw: %w", err)
	}
	if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	s.front = newDelay(&url.URL{Scheme: "http", Host: address}, s.latency)
	front := &http.Server{Handler: s.front, ReadHeaderTimeout: time.Minute}
	go func() { _ = front.Serve(listener) }() // Close makes it fail.
	defer func() { _ = front.Close() }()      // No command uses it any longer.
	s.env = append(slices.Clone(s.settings.env), "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench-secret", "AWS_REGION=us-east-1",
		"GROWTH_EXPORT_DEST=s3://bucket/growth", "GROWTH_EXPORT_S3_ENDPOINT=http://"+listener.Addr().String(), "GROWTH_EXPORT_S3_PATH_STYLE=true")
	return use(ctx)
}

// awaitServer waits until a server accepts connections.
func awaitServer(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if waited := pause(ctx, 20*time.Millisecond); waited != nil {
			return errors.Join(err, waited)
		}
	}
}

// pause waits for the given time. It returns an error if ctx is done first.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// nights runs all steps and writes the table.
func (s *storeScale) nights(ctx context.Context, root string, b *strings.Builder, stderr io.Writer) error {
	service, err := s.simulated(ctx, s.schools, s.results, 0)
	if err != nil {
		return err
	}
	service.env = s.env
	for i, title := range []string{"first night", "second night, compared with the first"} {
		day := firstNight.AddDate(0, 0, 14+i)
		err := service.serve(ctx, day, func(ctx context.Context, env []string) error {
			return s.step(ctx, stderr, title, env, "run", "--snapshot-date", day.Format(time.DateOnly), "--backdate",
				"--concurrency", "16", "--schools-per-file", strconv.Itoa(s.perFile))
		})
		if err != nil {
			return err
		}
	}
	dest := filepath.Join(root, "bucket", "growth")
	snapshot, err := newestSnapshot(dest)
	if err != nil {
		return err
	}
	school, err := anySchool(dest)
	if err != nil {
		return err
	}
	for _, command := range [][]string{
		{"history of two nights", "history"},
		{"verify the second night", "verify"},
		{"status", "status"},
		{"purge a school", "purge", "--schools", school, "--yes"},
		{"remove the first night", "prune", "--keep", "1"},
	} {
		if err := s.step(ctx, stderr, command[0], s.env, command[1:]...); err != nil {
			return err
		}
	}
	files := 0
	for _, name := range slices.Sorted(maps.Keys(snapshot.Tables)) {
		files += len(snapshot.Tables[name].Files)
	}
	fmt.Fprintf(b, "A real S3 server, versitygw, on the same machine, behind a proxy that delays each answer by %s: %d schools with %d results, "+
		"%d files per night.\n\n", s.latency, s.schools, s.results, files)
	b.WriteString("| step | wall | CPU | peak, MB | requests to the store | most at once |\n|---|--:|--:|--:|--:|--:|\n")
	for _, step := range s.steps {
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %d | %d |\n", step.title, rounded(step.cost.wall), rounded(step.cost.cpu), step.cost.peakMB(),
			step.requests, step.most)
	}
	return nil
}

// step runs a command, and records its cost and the number of its requests.
func (s *storeScale) step(ctx context.Context, stderr io.Writer, title string, env []string, command ...string) error {
	s.front.reset()
	c, err := timed(ctx, append([]string{s.build}, command...), env)
	if err != nil {
		return err
	}
	step := storeStep{title: title, cost: c}
	step.requests, step.most = s.front.counts()
	s.steps = append(s.steps, step)
	fmt.Fprintf(stderr, "%s: %s, %d requests, %d at once\n", title, c.wall.Round(time.Second), step.requests, step.most)
	return nil
}

// anySchool returns the bid of a school in one of the snapshots.
func anySchool(dest string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dest, "schools", "*", "*.parquet"))
	if err != nil {
		return "", err
	}
	type school struct {
		Bid string `parquet:"school_bid,optional"`
	}
	for _, path := range files {
		list, err := parquet.ReadFile[school](path)
		if err != nil {
			return "", err
		}
		if len(list) > 0 {
			return list[0].Bid, nil
		}
	}
	return "", fmt.Errorf("%s has no school", dest)
}

// delay forwards requests after a delay and counts them.
type delay struct {
	forward http.Handler
	latency time.Duration

	mu       sync.Mutex
	requests int
	now      int
	most     int
}

// newDelay returns a proxy that delays all requests to a server.
func newDelay(to *url.URL, latency time.Duration) *delay {
	return &delay{latency: latency, forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the host is part of the signature
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}}
}

// ServeHTTP forwards a request after the delay.
func (d *delay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.requests++
	d.now++
	d.most = max(d.most, d.now)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.now--
		d.mu.Unlock()
	}()
	if pause(r.Context(), d.latency) != nil {
		return // The client has disconnected.
	}
	d.forward.ServeHTTP(w, r)
}

func (d *delay) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests, d.most = 0, d.now
}

func (d *delay) counts() (requests, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests, d.most
}
