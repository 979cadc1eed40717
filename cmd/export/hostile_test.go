//go:build linux

package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
)

// TestHostileService has every kind of hostile answer in one run, each for one school: exactly these schools fail,
// nothing is sent to another host, and memory stays bounded. It is not part of the short tests, because these also run
// with the race detector, which needs more memory.
func TestHostileService(t *testing.T) {
	t.Parallel()
	long(t)
	var visits atomic.Int64
	rogue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_, _ = io.WriteString(w, "[]")
	}))
	t.Cleanup(rogue.Close)
	answers := hostileAnswers(t, rogue.URL+"/elsewhere")
	healthy := 6
	sizes := make([]int, len(answers)+healthy)
	for i := range sizes {
		sizes[i] = 1100
	}
	world := simulator.NewWorld(simulator.Options{Seed: 21, SchoolSizes: sizes})
	honest := simulator.New(world, simulator.ServerOptions{})
	hostile := make(map[string]bool)
	answerOf := make(map[string]hostileAnswer)
	for i, answer := range answers {
		bid := world.Schools()[i].Bid
		hostile[bid], answerOf[bid] = true, answer
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answerOf[r.URL.Query().Get("school-bid")]
		if answer == nil || !strings.HasSuffix(r.URL.Path, "/test-results/v1/growth") {
			honest.ServeHTTP(w, r)
			return
		}
		first := r.Clone(r.Context())
		first.URL.RawQuery = "school-bid=" + url.QueryEscape(r.URL.Query().Get("school-bid"))
		answer(w, r, func() []byte {
			page := httptest.NewRecorder()
			honest.ServeHTTP(page, first)
			return page.Body.Bytes()
		})
	}))
	t.Cleanup(service.Close)

	dest := filepath.Join(t.TempDir(), "out")
	cmd, stderr := commandProcess(t, "run", "--base-url", service.URL+honest.BasePath(), "--dest", dest, "--output", "json", "--progress", "none",
		"--max-body", "8MiB", "--max-school-records", "50000", "--request-timeout", "3s", "--retries", "1", "--max-failed-schools", "100")
	cmd.Env = append(cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Start())
	peak := watchPeakMemory(t, cmd.Process.Pid)
	require.Error(t, cmd.Wait())
	require.Equal(t, exitPartial, cmd.ProcessState.ExitCode(), "%s%s", &stdout, stderr)

	var summary pipeline.Summary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &summary))
	failed := make(map[string]bool)
	for _, failure := range summary.Schools.Failures {
		require.Equal(t, "test_results", failure.Dataset)
		failed[failure.SchoolBid] = true
		t.Log(failure.Error)
	}
	require.Equal(t, hostile, failed)
	require.Zero(t, visits.Load(), "key and token go nowhere else")
	megabytes := <-peak
	t.Logf("peak memory: %d MB", megabytes)
	require.Positive(t, megabytes)
	require.Less(t, megabytes, 256, "megabytes at most")
}

// watchPeakMemory sends the largest resident set of a process, in MiB, when the process has ended. It polls while the
// process runs, because the figure that a parent gets afterwards includes the parent's own memory at the fork.
func watchPeakMemory(t *testing.T, pid int) <-chan int {
	t.Helper()
	peak := make(chan int, 1)
	go func() {
		most := 0
		for ticks := time.Tick(5 * time.Millisecond); ; <-ticks {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			line := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
			if err != nil || line == nil { // the process is gone, or a zombie, which has no memory
				peak <- most
				return
			}
			kilobytes, _ := strconv.Atoi(string(line[1]))
			most = kilobytes >> 10
		}
	}()
	return peak
}

// hostileAnswer answers a request for test results; page returns the correct first page.
type hostileAnswer func(w http.ResponseWriter, r *http.Request, page func() []byte)

// hostileAnswers returns one answer of every kind. Redirects lead to location, which is on another host.
func hostileAnswers(t *testing.T, location string) []hostileAnswer {
	t.Helper()
	var answers []hostileAnswer
	for status, to := range map[int]string{
		http.StatusNotModified: "", http.StatusMultipleChoices: strings.TrimPrefix(location, "http:"), http.StatusMovedPermanently: location,
		http.StatusFound: location, http.StatusSeeOther: location, http.StatusTemporaryRedirect: location, http.StatusPermanentRedirect: location,
	} {
		answers = append(answers, func(w http.ResponseWriter, _ *http.Request, _ func() []byte) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		})
	}
	// Two bytes that each become a row, as records and within one record, and deep nesting.
	ones, depth := strings.Repeat("1,", 3_000_000)+"1", 100_000
	for _, records := range []string{
		"[" + ones + "]", `[{"testResultBid":"1","norms":[` + ones + `]}]`, strings.Repeat("[", depth) + strings.Repeat("]", depth),
	} {
		answers = append(answers, func(w http.ResponseWriter, _ *http.Request, _ func() []byte) {
			_, _ = io.WriteString(w, `{"pagination":{"hasNextPage":false},"testResults":`+records+`}`)
		})
	}
	// Pages that refer to themselves or to an endless series of further pages, with and without records.
	for _, next := range []struct {
		cursor, more string
		empty        bool
	}{{cursor: "x"}, {more: "x"}, {more: "x", empty: true}} {
		answers = append(answers, func(w http.ResponseWriter, r *http.Request, page func() []byte) {
			members := map[string]json.RawMessage{"testResults": json.RawMessage("[]")}
			if !next.empty {
				if err := json.Unmarshal(page(), &members); err != nil {
					t.Error(err)
				}
			}
			cursor := cmp.Or(next.cursor, r.URL.Query().Get("next-page")+next.more)
			members["pagination"] = json.RawMessage(`{"hasNextPage":true,"nextPage":"` + cursor + `"}`)
			_ = json.NewEncoder(w).Encode(members)
		})
	}
	record := []byte(strings.Repeat(`{"filler":"`+strings.Repeat("x", 1000)+`"},`, 64))
	return append(answers,
		func(w http.ResponseWriter, _ *http.Request, _ func() []byte) { // a body without end
			writeForever(w, []byte(`{"testResults":[`), record)
		},
		func(w http.ResponseWriter, _ *http.Request, _ func() []byte) { // a gzip bomb
			w.Header().Set("Content-Encoding", "gzip")
			writeForever(gzip.NewWriter(w), []byte("["), bytes.Repeat([]byte(" "), 1<<20))
		},
		func(w http.ResponseWriter, _ *http.Request, _ func() []byte) { // headers without end
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			writeForever(conn, []byte("HTTP/1.1 200 OK\r\n"), []byte("X-Padding: "+strings.Repeat("x", 1000)+"\r\n"))
			_ = conn.Close()
		},
		func(w http.ResponseWriter, r *http.Request, page func() []byte) { // a byte at a time
			for whole, i := page(), 0; i < len(whole) && r.Context().Err() == nil; i++ {
				_, _ = w.Write(whole[i : i+1])
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		},
		func(_ http.ResponseWriter, r *http.Request, _ func() []byte) { // nothing
			<-r.Context().Done()
		},
		func(w http.ResponseWriter, r *http.Request, page func() []byte) { // half a body
			whole := page()
			_, _ = w.Write(whole[:len(whole)/2])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	)
}

// writeForever writes until the reader closes the connection.
func writeForever(w io.Writer, first, more []byte) {
	_, err := w.Write(first)
	for err == nil {
		_, err = w.Write(more)
	}
}
