//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwner expects that root does not write to another user's folder, which that user could not write to afterwards.
// Commands that only read work.
func TestOwner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	owner, _ := otherOwner(folder, 1)
	require.Empty(t, owner, "only root is refused")
	owner, _ = otherOwner(filepath.Join(folder, "missing"), 0)
	require.Empty(t, owner, "a new folder will be root's")
	if os.Geteuid() != 0 {
		owner, prefix := otherOwner(folder, 0)
		require.NotEmpty(t, owner)
		require.NotEmpty(t, prefix)
		return
	}
	owner, _ = otherOwner(folder, 0)
	require.Empty(t, owner)
	dest := filepath.Join(folder, "data")
	run := func(args ...string) (string, int) {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), args, nil, nil, &stdout, &stderr)
		return stderr.String(), code
	}
	world := []string{"--simulate", "--simulate-schools", "1", "--simulate-sizes", "1", "--datasets", "schools", "--progress", "none", "--run-id", "night"}
	stderr, code := run(append([]string{"run", "--dest", dest}, world...)...)
	require.Equal(t, exitOK, code, stderr)
	require.NotContains(t, stderr, "another user")
	require.NoError(t, os.Chown(dest, 1, 1))
	other := filepath.Join(folder, "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.Chown(other, 1, 1))
	for _, warned := range []bool{true, false} {
		stderr, code = run(append([]string{"run", "--dest", other}, world...)...)
		require.Equal(t, exitOK, code, stderr)
		require.Equal(t, warned, strings.Contains(stderr, `level=WARN msg="the folder of the destination belongs to another user`), "only the first run: %s", stderr)
	}
	stderr, code = run("report", "--dest", dest)
	require.Equal(t, exitOK, code, "a container may run as root on another user's folder: %s", stderr)
	before := readFiles(t, dest)
	for _, id := range []int{1, 54321} {
		require.NoError(t, os.Chown(filepath.Join(dest, "_runs"), id, id))
		for _, args := range [][]string{
			append([]string{"run", "--restart"}, world...),
			{"publish", "--run-id", "night"},
			{"report"},
			{"history"},
			{"delta-lake"},
			{"prune", "--keep", "1"},
			{"purge", "--schools", "1", "--yes"},
			{"status", "--clean"},
		} {
			stderr, code := run(append(args, "--dest", dest)...)
			require.Equal(t, exitUsage, code, args)
			require.Contains(t, stderr, "--dest: the runs in the folder "+dest+" belong to ")
			require.Regexp(t, map[int]string{
				1:     `run this command as that user: runuser -u \w+ -- growth-export ` + args[0] + ` `,
				54321: `the user with the id 54321, .*: setpriv --reuid=54321 --regid=54321 --clear-groups growth-export ` + args[0] + ` `,
			}[id], stderr)
		}
		stderr, code := run(append([]string{"doctor", "--dest", dest}, world[:1]...)...)
		require.Equal(t, exitUsage, code, stderr)
		for _, args := range [][]string{{"status"}, {"verify"}, {"prune", "--keep", "1", "--dry-run"}, {"report", "--to", "-"}} {
			stderr, code := run(append(args, "--dest", dest)...)
			require.Equal(t, exitOK, code, "%v: %s", args, stderr)
		}
	}
	require.Equal(t, before, readFiles(t, dest))
}
