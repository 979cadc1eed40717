//go:build race

package pipeline_test

import "testing"

// skipWithRaceDetector skips a test that checks the output or the decisions of a run. Other tests start the same
// goroutines, and the race detector makes a test ten times slower.
func skipWithRaceDetector(t *testing.T) {
	t.Helper()
	t.Skip("runs without the race detector")
}
