//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeNumberOfBid expects purge to reject the number of a student with a bid in either list, with an error that gives
// only the line, and to reject a name in a list of bids. The same student is erased by bid, even though the line ends with a
// tab.
func TestPurgeNumberOfBid(t *testing.T) {
	t.Parallel()
	s := newPurgeDest(t)
	s.command("run", "--base-url", s.url, "--progress", "none", "--log-level", "error", "--datasets", "students,schools")
	var found maintenance.FindReport
	require.NoError(t, json.Unmarshal([]byte(s.command("find", "--name", "a", "--output", "json")), &found))
	require.NotEmpty(t, found.Students)
	student := found.Students[0]
	require.NotEmpty(t, student.Numbers)
	list := filepath.Join(t.TempDir(), "list.txt")
	before := snapshottest.Tree(t, s.root)
	for _, flag := range []string{"--student-numbers", "--students"} {
		require.NoError(t, os.WriteFile(list, []byte("nobody\n\n"+student.Numbers[0]+" \n"), 0o600))
		cmd, stderr := s.prepareLogged("purge", flag, "@"+list, "--allow-unknown")
		out, err := cmd.Output()
		require.Error(t, err)
		require.Equal(t, exitUsage, cmd.ProcessState.ExitCode(), stderr)
		require.Regexp(t, "line 3 of the list: this is the number of a student with a bid: growth-export find --dest .* --number gives the bid", stderr.String())
		require.NotContains(t, stderr.String()+string(out), student.Numbers[0])
		require.Equal(t, before, snapshottest.Tree(t, s.root))
	}
	name := strings.Fields(student.Names[0])[0]
	require.NoError(t, os.WriteFile(list, []byte(student.Bid+"\n"+name+"\n"), 0o600))
	for _, dryRun := range []string{"--dry-run=false", "--dry-run"} {
		cmd, stderr := s.prepareLogged("purge", "--students", "@"+list, "--allow-unknown", dryRun)
		out, err := cmd.Output()
		require.Error(t, err)
		require.Equal(t, exitUsage, cmd.ProcessState.ExitCode(), stderr)
		require.Contains(t, stderr.String(), "nothing was purged: line 2 of the list: no student here has this bid; the value occurs only in students.first_name, "+
			"so it is not the bid of a student: correct the list")
		require.NotContains(t, stderr.String()+string(out), name)
		require.Equal(t, before, snapshottest.Tree(t, s.root))
	}
	require.NoError(t, os.WriteFile(list, []byte("nobody\n"+student.Bid+"\t\n"), 0o600))
	text := s.command("purge", "--students", "@"+list, "--allow-unknown")
	require.Contains(t, text, "nothing was found for: line 1 of the list\n")
	require.Contains(t, text, "1 of 2 listed students was found and erased\n")
	s.requireGone(student.Bid, student.Numbers[0])
}
