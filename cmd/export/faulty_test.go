//go:build unix

package main

import (
	"context"
	"net/http"
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

// faultySite is a site on S3 behind a proxy that lets requests fail.
func faultySite(t *testing.T, choose func(*http.Request) s3test.Fault) (*site, *s3test.Proxy) {
	t.Helper()
	g := groundOnS3(t)
	s := g.site()
	proxy := g.server.Proxy(t, choose)
	s.endpoint = proxy.Endpoint
	return s, proxy
}

func faultyNight(t *testing.T) *night {
	t.Helper()
	return newNight(t, simulator.Options{Seed: 10, SchoolSizes: []int{9, 0, 31, 4}}, simulator.ServerOptions{},
		"--datasets", "schools,students,test_results", "--schools-per-file", "2")
}

// TestFortyPercentOfTheStore lets that share of all requests to the store fail:
// connections reset, errors, answers lost that had been given.
func TestFortyPercentOfTheStore(t *testing.T) {
	t.Parallel()
	n := faultyNight(t)
	s, proxy := faultySite(t, s3test.Share(*killSeed, 0.4))
	end := n.run(t, s, "night").end(nil)
	if end.code != exitOK {
		require.Equal(t, exitFailed, end.code, end.stderr)
		require.Contains(t, end.stderr, "the same command resumes run night")
		end = n.run(t, s, "night").end(nil)
	}
	require.Zero(t, end.code, end.stderr)
	n.requirePublished(t, s, "night")
	require.Greater(t, proxy.Failed.Load(), proxy.Requests.Load()*3/10)
	t.Logf("%d of %d requests failed", proxy.Failed.Load(), proxy.Requests.Load())
}

// TestStoreIsDownForAWhile is ridden out.
func TestStoreIsDownForAWhile(t *testing.T) {
	t.Parallel()
	n := faultyNight(t)
	var down atomic.Pointer[time.Time]
	s, proxy := faultySite(t, func(r *http.Request) s3test.Fault {
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
	end := n.run(t, s, "night").end(nil)
	require.Zero(t, end.code, end.stderr)
	require.Positive(t, proxy.Failed.Load())
	n.requirePublished(t, s, "night")
}

// TestStoreIsDown is an error that says so: nothing is visible, and the same
// command goes on when the store is back.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	n := faultyNight(t)
	for _, where := range []string{"/journal/0001-", "/change.json", "/manifest.json", "/_snapshots/"} {
		var down, up atomic.Bool
		s, _ := faultySite(t, func(r *http.Request) s3test.Fault {
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
		end := p.end(nil)
		require.Equal(t, exitFailed, end.code, end.stderr)
		require.Equal(t, 1, strings.Count(end.stderr, "\n"), end.stderr)
		t.Log(end.stderr)
		require.Contains(t, end.stderr, "the same command resumes run night")
		s.requireReadable(t)
		up.Store(true)
		settled := n.settled(t, s, "night")
		n.server.ResetLog()
		again := n.run(t, s, "night").end(nil)
		require.Zero(t, again.code, again.stderr)
		n.requireNotAsked(t, settled)
		n.requirePublished(t, s, "night")
	}
}

// TestScratchIsFull is an error that names the scratch folder: nothing is
// visible, nothing of what was half written is left, and with room the same
// command goes on.
func TestScratchIsFull(t *testing.T) {
	t.Parallel()
	g := groundOnS3(t)
	n := newNight(t, simulator.Options{Seed: 11, SchoolSizes: []int{40, 900, 900}}, simulator.ServerOptions{},
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
		s := g.site()
		p := n.run(t, s, "night", "--scratch", scratch)
		if scratch != small {
			// Files that cannot grow stand for a file system that cannot.
			p.cmd.Args = slices.Concat([]string{"sh", "-c", `ulimit -f 20 && exec "$0" "$@"`}, p.cmd.Args)
			p.cmd.Path = "/bin/sh"
		}
		end := p.end(nil)
		require.Equal(t, exitFailed, end.code, end.stderr)
		require.Regexp(t, `^growth-export: .*the scratch file of .* in `+regexp.QuoteMeta(scratch)+`: `+reason+
			`; the same command resumes run night\n$`, end.stderr)
		s.requireReadable(t)
		left, err := os.ReadDir(scratch)
		require.NoError(t, err)
		require.Empty(t, left)

		settled := n.settled(t, s, "night")
		n.server.ResetLog()
		again := n.run(t, s, "night").end(nil)
		require.Zero(t, again.code, again.stderr)
		n.requireNotAsked(t, settled)
		n.requirePublished(t, s, "night")
	}
}
