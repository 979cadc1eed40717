package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
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
	name := "Ж \u0085\u009b31m\u2028\u202e\u2066 é"
	require.NoError(t, a.writeOutput(outputJSON, map[string]string{"name": name}, ""))
	require.NoError(t, a.writeResult(exitOK, nil))
	require.Contains(t, stdout.String(), `"Ж \u0085\u009b31m\u2028\u202e\u2066 é"`)
	var got map[string]any
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Equal(t, name, got["name"])
}
