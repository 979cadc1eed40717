package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
)

// TestErrorsAsJSON runs every command that has JSON output with invalid settings. Stdout then holds one object with the
// exit code and the error.
func TestErrorsAsJSON(t *testing.T) {
	t.Parallel()
	a, _, _ := testApp(nil)
	tested := 0
	for _, cmd := range a.rootCommand(nil).Commands() {
		if cmd.Flags().Lookup("output") == nil {
			continue
		}
		tested++
		for _, wrong := range [][]string{
			{"--output", "json", "--no-such-flag"},
			{"--no-such-flag", "--output=json"},
			{"--output", "json", "no-argument"},
			{"--output", "json", "--config", "no-such-file.yaml"},
		} {
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), append([]string{cmd.Name()}, wrong...), nil, nil, &stdout, &stderr)
			require.Equal(t, exitUsage, code, "%s %q: %s", cmd.Name(), wrong, &stderr)
			requireErrorAsJSON(t, stdout.Bytes(), exitUsage)
		}
	}
	require.Greater(t, tested, 10)
}

// requireErrorAsJSON expects one JSON object about an error, and returns the error.
func requireErrorAsJSON(t *testing.T, stdout []byte, code int) string {
	t.Helper()
	var object struct {
		ExitCode int    `json:"exit_code"`
		Error    string `json:"error"`
	}
	require.NoError(t, json.Unmarshal(stdout, &object), "%s", stdout)
	require.Equal(t, code, object.ExitCode)
	require.NotEmpty(t, object.Error)
	return object.Error
}

// TestEscapeJSON checks that characters that would control a terminal are escaped, and that no value changes.
func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	a, stdout, _ := testApp(nil)
	name := "Ж \u007f\u0085\u009b31m\u2028\u202e\u2066 é"
	require.NoError(t, a.writeOutput(outputJSON, map[string]string{"name": name}, ""))
	require.NoError(t, a.writeResult(exitOK, nil))
	require.Contains(t, stdout.String(), `"Ж \u007f\u0085\u009b31m\u2028\u202e\u2066 é"`)
	var got map[string]any
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Equal(t, name, got["name"])
}

// TestLongListsAreShortened expects 480 problems, or snapshots that are left out, to take about 20 lines.
func TestLongListsAreShortened(t *testing.T) {
	t.Parallel()
	var lines []string
	report := &history.Report{HistoryID: "id", Through: "2026-11-20"}
	var runs []snapshot.RunState
	for i := range 480 {
		lines = append(lines, fmt.Sprint("problem ", i))
		report.LeftOut = append(report.LeftOut, history.LeftOut{Date: "2026-11-20", RunID: fmt.Sprint("run-", i), Reason: "it holds only some schools"})
		runs = append(runs, snapshot.RunState{RunID: fmt.Sprint("run-", i), State: snapshot.StatePublished, Problems: []string{"damaged"}})
	}
	var b strings.Builder
	writeFirst(&b, "x ", lines)
	require.True(t, strings.HasPrefix(b.String(), "x problem 0\nx problem 1\n"), b.String())
	require.True(t, strings.HasSuffix(b.String(), "x problem 19\nand 460 more: --output json lists all of them\n"), b.String())

	text := historyText(report, "out", false)
	require.Equal(t, 22, strings.Count(text, "\n"), text)
	require.Contains(t, text, "left out 2026-11-20 (run run-19): it holds only some schools\nand 460 more: --output json lists all of them\n")
	text = statusText("out", runs, false, nil, time.Now(), 0)
	require.Equal(t, 20, strings.Count(text, " has a problem: damaged\n"))
	require.Contains(t, text, "run-19 has a problem: damaged\nand 460 more: --output json lists all of them\n")

	b.Reset()
	writeFirst(&b, "", lines[:20])
	require.Equal(t, 20, strings.Count(b.String(), "\n"))
	require.NotContains(t, b.String(), "more")
}
