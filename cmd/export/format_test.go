//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLaterFormat expects every command to reject a destination at which a later release has written a document, and to
// change nothing.
func TestLaterFormat(t *testing.T) {
	t.Parallel()
	s := newPurgeDest(t)
	run := []string{"run", "--base-url", s.url, "--progress", "none", "--log-level", "error", "--datasets", "students,schools"}
	s.command(append(run, "--run-id", "first")...)
	s.command(append(run, "--run-id", "staged", "--shard", "0/2", "--replace")...)
	school := s.world.Schools()[0].Bid
	for _, path := range []string{"_runs/first/manifest.json", "_runs/first/plan.json", "_runs/staged/plan.json"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "out")
			later := s.at(root, nil, "--dest", root)
			later.t = t
			require.NoError(t, os.CopyFS(root, os.DirFS(s.root)))
			file := filepath.Join(root, filepath.FromSlash(path))
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			data = bytes.Replace(data, []byte(`"format_version": 1`), []byte(`"format_version": 2, "unheard_of": {}`), 1)
			require.NoError(t, os.WriteFile(file, data, 0o600))
			before := readFiles(t, root)
			for _, args := range [][]string{
				{"status"},
				{"status", "--clean"},
				{"verify"},
				{"sql"},
				{"report"},
				{"prune", "--keep", "1"},
				{"purge", "--schools", school},
				{"purge", "--schools", school, "--dry-run"},
				{"publish", "--run-id", "staged"},
				{"publish", "--run-id", "staged", "--abandon"},
				append(run, "--run-id", "next", "--replace"),
				append(run, "--run-id", "first"),
				{"doctor", "--base-url", s.url},
			} {
				cmd := later.prepare(args...)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				require.Error(t, err, args)
				require.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), "%v: %s%s", args, out, stderr.String())
				require.Regexp(t, "this growth-export is too old for the destination: "+path+" has format version 2",
					string(out)+stderr.String(), args)
				require.Equal(t, before, readFiles(t, root), args)
			}
		})
	}
}

// readFiles returns all files below a folder and their bytes.
func readFiles(t *testing.T, root string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	require.NoError(t, err)
	return found
}
