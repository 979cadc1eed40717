//go:build unix

package main

import (
	"bytes"
	"context"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/odd"
	"example.org/growthexport/internal/simulator/oracle"
)

// TestNothingLeaks searches the output and the files of a faulty, failing, killed and resumed run, except for its data
// files, for secrets and students.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	long(t)
	world := simulator.NewWorld(simulator.Options{Seed: 13, SchoolSizes: []int{30, 45, 12, 50}, Quirks: odd.New()})
	server := simulator.New(world, simulator.ServerOptions{
		Key: "key-4f1c9d", Secret: "secret-77aa21", PageSize: 10, ListPageSize: 10, Latency: 3 * time.Millisecond,
	})
	schools := world.Schools()
	broken := `{"testResults":[{"studentBid":` // a truncated body in a shape that holds students
	server.SetFaults(append([]simulator.Fault{
		{Operation: "test_results", School: schools[1].Bid, Kind: simulator.FaultBody, Body: broken},
		{Operation: "student_details", School: "", Kind: simulator.FaultStatus, Status: 404, Share: 0.1},
		{Operation: "school_classes", School: schools[2].Bid, Kind: simulator.FaultBody, Body: `{"x":[],"y":[]}`},
		{Operation: "educator_school_associations", School: schools[3].Bid, Kind: simulator.FaultStatus, Status: http.StatusFound},
	}, simulator.TransientFaults(0.05, 100*time.Millisecond)...))
	var mu sync.Mutex
	sent := make(map[string]bool)
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent[r.Header.Get("Authorization")] = true
		mu.Unlock()
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	address := listening.URL + server.BasePath()

	folder := t.TempDir()
	dest, secret := filepath.Join(folder, "out"), filepath.Join(folder, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret-77aa21\n"), 0o600))
	var said, listed bytes.Buffer
	args := []string{
		"run", "--base-url", address, "--dest", dest, "--datasets", "all", "--schools-per-file", "1", "--retries", "3", "--request-timeout", "2s",
		"--log-level", "debug", "--progress", "plain", "--output", "json", "--max-failed-schools", "4", "--concurrency", "4",
	}
	for attempt := 0; ; attempt++ {
		require.Less(t, attempt, 10)
		cmd, _ := commandProcess(t, args...)
		cmd.Env = append(cmd.Env, apiKeyVariable+"=key-4f1c9d", apiSecretVariable+"_FILE="+secret)
		cmd.Stdout, cmd.Stderr = &said, &said
		require.NoError(t, cmd.Start())
		line, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cmdline")
		if err == nil {
			listed.Write(line) // not to said, to which the process still writes
		}
		if attempt < 2 {
			// The second run is killed once it has a checkpoint with a failed school.
			killed := afterDelay(time.Second)
			if attempt == 1 {
				killed = afterFileContains(filepath.Join(dest, "_runs", "*", "journal", "*.json"), `"status": "failed"`)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var killTest sync.WaitGroup
			killTest.Go(func() {
				killed(ctx)
				_ = cmd.Process.Signal(syscall.SIGKILL) // It may have ended.
			})
			_ = cmd.Wait()
			cancel()
			killTest.Wait()
			said.WriteString(documents(t, dest))
			continue
		}
		_ = cmd.Wait()
		require.Equal(t, exitPartial, cmd.ProcessState.ExitCode(), &said)
		break
	}
	said.WriteString(documents(t, dest))
	text := said.String() + listed.String()
	require.Contains(t, text, "level=DEBUG")
	require.Contains(t, text, `"status": "failed"`)
	require.Contains(t, text, "<h2>Failed")

	looked := 0
	absent := func(what, value string) {
		if len(value) < 5 {
			return // too short: it may occur by chance
		}
		looked++
		if at := strings.Index(text, value); at >= 0 {
			require.Fail(t, what+" leaked", "%q in %q", value, text[max(0, at-200):min(len(text), at+200)])
		}
	}
	absent("the key", "key-4f1c9d")
	absent("the secret", "secret-77aa21")
	require.Greater(t, len(sent), 1)
	for authorization := range sent {
		scheme, token, _ := strings.Cut(authorization, " ")
		require.Contains(t, []string{"Basic", "Bearer"}, scheme)
		absent("a token", token)
	}
	for value, column := range identifiers(t, world) {
		absent(column, value)
	}
	require.Greater(t, looked, 400)
	for _, r := range server.Log() {
		if cursor := r.Query.Get("next-page"); cursor != "" {
			absent("a cursor", cursor)
		}
	}
}

// identifiers returns the values of a world that identify a student or an educator,
// each with a column that holds it.
func identifiers(t *testing.T, world *simulator.World) map[string]string {
	t.Helper()
	found := make(map[string]string)
	rows := oracle.Rows(world, oracle.Options{Datasets: oracle.AllDatasets()})
	for table, columns := range map[string][]string{
		"students":                     {"student_bid", "student_id"},
		"student_details":              {"student_bid", "state_student_id"},
		"test_results":                 {"test_result_bid", "student_bid"},
		"student_school_associations":  {"student_school_association_bid", "district_student_id"},
		"educator_school_associations": {"educator_bid"},
		"school_class_students":        {"student_bid"},
	} {
		require.NotEmpty(t, rows[table])
		for _, row := range rows[table] {
			for _, column := range columns {
				value, ok := row[column].(string)
				if _, err := strconv.ParseFloat(value, 64); err == nil && len(value) < 8 {
					continue // such a number can be part of any time
				}
				if ok {
					found[value] = table + "." + column
				}
			}
		}
	}
	for _, school := range world.Schools() {
		delete(found, school.Bid)
	}
	for _, district := range world.Districts() {
		delete(found, district.Bid)
		for _, bid := range district.Schools {
			delete(found, bid)
		}
	}
	return found
}

// documents returns the content of all documents and reports of a destination.
func documents(t *testing.T, dest string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dest, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, ".html") {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + "\n")
		all.WriteString(html.UnescapeString(string(data)))
		return err
	})
	require.NoError(t, err)
	return all.String()
}
