//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
)

// TestHostileService meets every hostile answer in one run, one school each:
// exactly these schools fail, nothing is sent to another host, and memory stays
// bounded. The program is built as users build it, as the race detector needs more
// memory.
func TestHostileService(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "growth-export")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	var visits atomic.Int64
	rogue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_, _ = io.WriteString(w, "[]")
	}))
	t.Cleanup(rogue.Close)
	faults := hostileFaults(rogue.URL + "/elsewhere")
	healthy := 6
	sizes := make([]int, len(faults)+healthy)
	for i := range sizes {
		sizes[i] = 1500
	}
	world := simulator.NewWorld(simulator.Options{Seed: 21, SchoolSizes: sizes})
	schools := world.Schools()
	hostile := make(map[string]bool)
	for i := range faults {
		faults[i].Operation, faults[i].School = "test_results", schools[i].Bid
		hostile[schools[i].Bid] = true
	}
	server := simulator.New(world, simulator.ServerOptions{Faults: faults})
	address, stopServer, err := simulator.Start(context.WithoutCancel(t.Context()), server, "")
	require.NoError(t, err)
	t.Cleanup(stopServer)

	dest := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), program, "run", "--base-url", address, "--dest", dest, "--output", "json", "--progress", "none",
		"--max-body", "8MiB", "--max-school-records", "50000", "--request-timeout", "1s", "--retries", "1", "--max-failed-schools", "100")
	cmd.Env = append(commandEnvironment(os.Environ()),
		apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, exitPartial, cmd.ProcessState.ExitCode(), "%s%s", &stdout, &stderr)

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
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	t.Logf("peak memory: %d MB", usage.Maxrss>>10)
	require.Less(t, usage.Maxrss>>10, int64(256), "megabytes at most")
}

// hostileFaults returns one fault of every kind of hostile answer. Redirects lead to
// the location, on another host.
func hostileFaults(location string) []simulator.Fault {
	faults := []simulator.Fault{
		{Kind: simulator.FaultRedirect, Status: http.StatusNotModified},
		{Kind: simulator.FaultRedirect, Status: http.StatusFound, Location: strings.TrimPrefix(location, "http:")},
	}
	for _, status := range []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	} {
		faults = append(faults, simulator.Fault{Kind: simulator.FaultRedirect, Status: status, Location: location})
	}
	for _, kind := range []simulator.FaultKind{
		simulator.FaultCursorLoop, simulator.FaultEndlessPages, simulator.FaultEmptyPages, simulator.FaultDeepNesting,
		simulator.FaultEndlessBody, simulator.FaultGzipBomb, simulator.FaultTrickle, simulator.FaultEndlessHeaders,
		simulator.FaultStall, simulator.FaultStallBody,
	} {
		faults = append(faults, simulator.Fault{Kind: kind})
	}
	// Two bytes that become a row each, as records and within one.
	ones := strings.Repeat("1,", 3_000_000) + "1"
	for _, records := range []string{"[" + ones + "]", `[{"testResultBid":"1","norms":[` + ones + `]}]`} {
		faults = append(faults, simulator.Fault{
			Kind: simulator.FaultBody, Body: `{"pagination":{"hasNextPage":false},"testResults":` + records + `}`,
		})
	}
	return faults
}
