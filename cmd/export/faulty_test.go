//go:build unix

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink/s3/s3test"
)

// newFaultyDest returns a destination on S3 behind a proxy that makes requests fail.
func newFaultyDest(t *testing.T, choose func(*http.Request) s3test.Fault) (*testDest, *s3test.Proxy) {
	t.Helper()
	g := newS3Storage(t)
	s := g.newDest()
	proxy := g.server.Proxy(t, choose)
	s.endpoint = proxy.Endpoint
	return s, proxy
}

func newFaultyScenario(t *testing.T) *scenario {
	t.Helper()
	return newScenario(t, simulator.Options{Seed: 10, SchoolSizes: []int{9, 0, 31, 4}}, simulator.ServerOptions{},
		"--datasets", "schools,students,test_results", "--schools-per-file", "2")
}

// TestFortyPercentOfTheStore makes 40 % of all requests to the store fail: connections are reset, errors are returned,
// and answers are lost.
func TestFortyPercentOfTheStore(t *testing.T) {
	t.Parallel()
	n := newFaultyScenario(t)
	s, proxy := newFaultyDest(t, s3test.Share(*killSeed, 0.4))
	result := n.run(t, s, "night").run()
	if result.code != exitOK {
		require.Equal(t, exitFailed, result.code, result.stderr)
		require.Contains(t, result.stderr, "the same command resumes run night")
		result = n.run(t, s, "night").run()
	}
	require.Zero(t, result.code, result.stderr)
	n.requirePublished(t, s, "night")
	require.Greater(t, proxy.Failed.Load(), proxy.Requests.Load()*3/10)
	t.Logf("%d of %d requests failed", proxy.Failed.Load(), proxy.Requests.Load())
}

// TestStoreIsDownForAWhile expects a run to survive two seconds without the store.
func TestStoreIsDownForAWhile(t *testing.T) {
	t.Parallel()
	n := newFaultyScenario(t)
	var down atomic.Pointer[time.Time]
	s, proxy := newFaultyDest(t, func(r *http.Request) s3test.Fault {
		if down.Load() == nil && strings.HasSuffix(r.URL.Path, "/plan.json") && r.Method == http.MethodPut {
			now := time.Now()
			down.Store(&now)
			return s3test.LostAnswer
		}
		if began := down.Load(); began != nil && time.Since(*began) < 2*time.Second {
			return s3test.Reset
		}
		return s3test.NoFault
	})
	n.run(t, s, "night").runOK()
	require.Positive(t, proxy.Failed.Load())
	n.requirePublished(t, s, "night")
}

// TestStoreIsDown expects a clear error: nothing is visible, and the same command
// resumes when the store is back.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	n := newFaultyScenario(t)
	for _, where := range []string{"/journal/0001-", "/change.json", "/manifest.json", "/_snapshots/"} {
		var down, up atomic.Bool
		s, _ := newFaultyDest(t, func(r *http.Request) s3test.Fault {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, where) {
				down.Store(true)
			}
			if down.Load() && !up.Load() {
				return s3test.Reset
			}
			return s3test.NoFault
		})
		p := n.run(t, s, "night")
		p.cmd.Env = append(p.cmd.Env, "AWS_MAX_ATTEMPTS=2")
		result := p.run()
		require.Equal(t, exitFailed, result.code, result.stderr)
		require.Equal(t, 1, strings.Count(result.stderr, "\n"), result.stderr)
		t.Log(result.stderr)
		require.Contains(t, result.stderr, "the same command resumes run night")
		s.requireReadable(t)
		up.Store(true)
		n.resume(t, s, "night", n.run(t, s, "night"))
		n.requirePublished(t, s, "night")
	}
}

// TestStoreThrottlesAtTheStart expects the exit code of a failure, which schedulers retry, and not of a mistake in the settings.
func TestStoreThrottlesAtTheStart(t *testing.T) {
	t.Parallel()
	n := newFaultyScenario(t)
	s, _ := newFaultyDest(t, func(*http.Request) s3test.Fault { return s3test.SlowDown })
	for _, p := range []*process{n.run(t, s, "night"), s.command(t, "status")} {
		p.cmd.Env = append(p.cmd.Env, "AWS_MAX_ATTEMPTS=2")
		result := p.run()
		require.Equal(t, exitFailed, result.code, result.stderr)
		require.Contains(t, result.stderr, "throttled by the store")
	}
}

// TestStoreIsUnreachableAtTheStart expects the same if nothing listens at the endpoint.
func TestStoreIsUnreachableAtTheStart(t *testing.T) {
	t.Parallel()
	n := newFaultyScenario(t)
	s, _ := newFaultyDest(t, nil)
	closed := httptest.NewServer(nil)
	closed.Close()
	s.endpoint = closed.URL
	for _, p := range []*process{n.run(t, s, "night"), s.command(t, "status")} {
		p.cmd.Env = append(p.cmd.Env, "AWS_MAX_ATTEMPTS=2")
		result := p.run()
		require.Equal(t, exitFailed, result.code, result.stderr)
		require.Contains(t, result.stderr, "connection failed at "+closed.URL)
	}
}

// TestScratchIsFull expects an error that names the scratch folder: nothing is
// visible, no partial file is left, and the same command resumes with more space.
func TestScratchIsFull(t *testing.T) {
	t.Parallel()
	g := newS3Storage(t)
	n := newScenario(t, simulator.Options{Seed: 11, SchoolSizes: []int{40, 900, 900}}, simulator.ServerOptions{},
		"--datasets", "test_results", "--schools-per-file", "1", "--concurrency", "1")
	small := t.TempDir()
	fulls := map[string]string{"file too large": t.TempDir()}
	if mount := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small); mount.Run() == nil {
		t.Cleanup(func() {
			require.NoError(t, exec.CommandContext(context.WithoutCancel(t.Context()), "umount", small).Run())
		})
		fulls["no space left on device"] = small
	}
	for reason, scratch := range fulls {
		s := g.newDest()
		p := n.run(t, s, "night", "--scratch", scratch)
		if scratch != small {
			// A limit on the file size simulates a full file system.
			p.cmd.Args = slices.Concat([]string{"sh", "-c", `ulimit -f 20 && exec "$0" "$@"`}, p.cmd.Args)
			p.cmd.Path = "/bin/sh"
		}
		result := p.run()
		require.Equal(t, exitFailed, result.code, result.stderr)
		require.Regexp(t, `^growth-export: .*the scratch file of .* in `+regexp.QuoteMeta(scratch)+`: `+reason+
			`; the same command resumes run night\n$`, result.stderr)
		s.requireReadable(t)
		left, err := os.ReadDir(scratch)
		require.NoError(t, err)
		require.Empty(t, left)

		n.resume(t, s, "night", n.run(t, s, "night"))
		n.requirePublished(t, s, "night")
	}
}
