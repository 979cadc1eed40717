package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestHistoryOfAnyConcurrency takes the same snapshots with one and with sixteen concurrent requests, and folds them
// one by one and all at once. The files of the histories are equal.
func TestHistoryOfAnyConcurrency(t *testing.T) {
	t.Parallel()
	histories := make(map[string]map[string]string)
	for _, concurrency := range []string{"1", "16"} {
		dest := filepath.Join(t.TempDir(), "out")
		command := func(args ...string) {
			cmd, stderr := commandProcess(t, append(args, "--dest", dest)...)
			require.NoError(t, cmd.Run(), stderr)
		}
		for _, date := range []string{"2025-09-08", "2025-09-09", "2025-12-20"} {
			command("run", "--simulate", "--simulate-date", date, "--snapshot-date", date, "--backdate", "--run-id", "night-"+date,
				"--simulate-schools", "7", "--simulate-results", "400", "--schools-per-file", "2", "--datasets", "students,test_results",
				"--concurrency", concurrency, "--progress", "none", "--max-shrink", "off", "--max-removed", "off")
			if concurrency == "1" {
				command("history")
			}
		}
		command("history")
		files := snapshottest.Tree(t, dest)
		maps.DeleteFunc(files, func(path, _ string) bool { return !strings.HasPrefix(path, "history/") })
		histories[concurrency] = files
	}
	require.Greater(t, len(histories["1"]), 10)
	require.Equal(t, histories["1"], histories["16"])
}
