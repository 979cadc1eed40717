//go:build unix

package main

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/sink"
)

var (
	kills    = flag.Int("kills", 25, "SIGKILLs of TestKill for each kind of destination")
	killSeed = flag.Uint64("kill-seed", 1, "seed of the moments at which TestKill kills")
)

// TestKill ends runs by SIGKILL at random moments, publishing included, and
// runs the same command again until it is done: nothing that was staged is
// fetched again, no half of a snapshot is seen, and the bytes are those of an
// undisturbed run.
func TestKill(t *testing.T) {
	t.Parallel()
	world := simulator.NewWorld(simulator.Options{Seed: 5, SchoolSizes: []int{0, 40, 1, 60, 25, 90, 10, 30}})
	server := simulator.New(world, simulator.ServerOptions{Latency: 4 * time.Millisecond})
	address, stop, err := simulator.Start(context.WithoutCancel(t.Context()), server, "")
	require.NoError(t, err)
	t.Cleanup(stop)

	quiet := killed{t: t, url: address, server: server, dest: filepath.Join(t.TempDir(), "quiet")}
	began := time.Now()
	require.True(t, quiet.run(0))
	whole := time.Since(began)
	want := quiet.hashes()

	random := rand.New(rand.NewPCG(*killSeed, 0))
	count, runs := 0, 0
	for count < *kills {
		k := killed{t: t, url: address, server: server, dest: filepath.Join(t.TempDir(), "out")}
		for !k.run(time.Duration(random.Int64N(int64(whole)))) {
			count++
			k.requireNothingHalfVisible()
		}
		runs++
		require.Equal(t, want, k.hashes())
		// An empty folder of locks may be left where the last kill came as late
		// as that.
		staged, err := filepath.Glob(filepath.Join(k.dest, "_staging", "*", "*"))
		require.NoError(t, err)
		require.Empty(t, staged)
		require.Zero(t, k.command("verify", "--dest", k.dest).ProcessState.ExitCode())
	}
	t.Logf("%d kills over %d runs, seed %d", count, runs, *killSeed)
}

// killed is a run that is killed and run again.
type killed struct {
	t      *testing.T
	url    string
	server *simulator.Server
	dest   string
}

// run runs the command and kills it after a while, 0 for never. It tells
// whether the command ended by itself, which must be with a snapshot.
func (k *killed) run(after time.Duration) bool {
	k.t.Helper()
	staged := k.staged()
	k.server.ResetLog()
	cmd := k.prepare("run", "--dest", k.dest, "--base-url", k.url, "--schools-per-file", "2", "--run-id", "night",
		"--progress", "none", "--concurrency", "4")
	require.NoError(k.t, cmd.Start())
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		defer timer.Stop()
	}
	err := cmd.Wait()
	for _, r := range k.server.Log() {
		require.False(k.t, staged[r.Operation+" "+r.School], "%s of school %s was staged and is asked again", r.Operation, r.School)
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(k.t, ok)
	if status.Signaled() {
		require.Equal(k.t, syscall.SIGKILL, status.Signal())
		return false
	}
	require.NoError(k.t, err, cmd.Stderr)
	return true
}

func (k *killed) prepare(args ...string) *exec.Cmd {
	k.t.Helper()
	cmd, _ := commandProcess(k.t, args...)
	cmd.Env = append(cmd.Env, apiKeyVariable+"="+simulator.DefaultKey, apiSecretVariable+"="+simulator.DefaultSecret)
	return cmd
}

// command runs another command to its end.
func (k *killed) command(args ...string) *exec.Cmd {
	k.t.Helper()
	cmd := k.prepare(args...)
	require.NoError(k.t, cmd.Run(), cmd.Stderr)
	return cmd
}

// staged are the datasets and schools whose unit is journalled, and the lookups
// if all of them are: until then they feed one another.
func (k *killed) staged() map[string]bool {
	k.t.Helper()
	asked := make(map[string]bool)
	journals, err := filepath.Glob(filepath.Join(k.dest, "_runs", "night", "journal", "*.json"))
	require.NoError(k.t, err)
	for _, path := range journals {
		var journal sink.Journal
		k.readJSON(path, &journal)
		for _, row := range journal.Ledger {
			asked[journal.Dataset+" "+row.SchoolBid] = true
		}
	}
	lookups := []string{"schools ", "districts ", "district_schools "}
	if slices.ContainsFunc(lookups, func(lookup string) bool { return !asked[lookup] }) {
		for _, lookup := range lookups {
			delete(asked, lookup)
		}
	}
	return asked
}

func (k *killed) readJSON(path string, into any) {
	k.t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(k.t, err)
	require.NoError(k.t, json.Unmarshal(data, into), path)
}

// requireNothingHalfVisible checks that data files are seen only once a
// publisher has said that it began, which is after all of them are staged.
func (k *killed) requireNothingHalfVisible() {
	k.t.Helper()
	run := filepath.Join(k.dest, "_runs", "night")
	for _, name := range []string{"intent.json", "manifest.json"} {
		if _, err := os.Stat(filepath.Join(run, name)); err == nil {
			return
		}
	}
	err := filepath.WalkDir(k.dest, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), "_"):
			return fs.SkipDir
		case err == nil && !entry.IsDir():
			require.Fail(k.t, "visible before all is staged", path)
		}
		return err
	})
	require.NoError(k.t, err)
}

// hashes are the data files of the snapshot by their hashes in the manifest,
// which verify holds against the bytes.
func (k *killed) hashes() map[string]string {
	k.t.Helper()
	var manifest sink.Manifest
	k.readJSON(filepath.Join(k.dest, "_runs", "night", "manifest.json"), &manifest)
	require.Equal(k.t, sink.Published, manifest.Status)
	hashes := make(map[string]string)
	for _, table := range manifest.Tables {
		for _, file := range table.Files {
			hashes[file.Path] = file.SHA256
		}
	}
	require.NotEmpty(k.t, hashes)
	return hashes
}
