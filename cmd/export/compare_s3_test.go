//go:build unix

package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
)

// TestComparisonOnS3 compares a run with the previous snapshot, which it reads by ranges, and expects the
// differences that diff finds.
func TestComparisonOnS3(t *testing.T) {
	t.Parallel()
	s := newS3Storage(t).newDest()
	export := func(id string, daysAgo int, sizes string) {
		date := time.Now().UTC().AddDate(0, 0, -daysAgo).Format(time.DateOnly)
		s.command(t, "run", "--simulate", "--simulate-schools", "3", "--simulate-sizes", sizes, "--datasets", "schools,students,test_results",
			"--run-id", id, "--snapshot-date", date, "--max-removed", "off", "--max-changed", "off", "--max-emptied", "off", "--max-shrink", "off").runOK()
	}
	export("first", 1, "300,200,100")
	export("second", 0, "310,190,100")
	var manifest snapshot.Manifest
	s.readJSON(t, snapshot.ManifestPath("second"), &manifest)
	require.NotNil(t, manifest.Comparison, manifest.NotCompared)

	end := s.command(t, "diff", "--run-id", "second", "--with", "first", "--output", "json").run()
	require.Equal(t, exitOK, end.code, end.stderr)
	var diff snapshot.Comparison
	require.NoError(t, json.Unmarshal([]byte(end.stdout), &diff))
	require.Equal(t, diff.SchoolsCompared, manifest.Comparison.SchoolsCompared)
	require.Len(t, manifest.Comparison.Tables, len(diff.Tables))
	for name, want := range diff.Tables {
		got := *manifest.Comparison.Tables[name]
		got.Because, want.Because = nil, nil // a run does not look for moved results
		require.Equal(t, *want, got, name)
	}
	require.Positive(t, diff.Tables["test_results"].Before())
}
