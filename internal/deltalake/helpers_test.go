package deltalake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// destination is a destination of a test, and the folder that holds its files.
type destination struct {
	store sink.Store
	root  string
}

func onDisk(t *testing.T) destination {
	t.Helper()
	root := t.TempDir()
	return destination{snapshottest.NewDir(t, root), root}
}

// onS3 returns a destination on a server that stores objects as files.
func onS3(t *testing.T, server *s3test.Server) destination {
	t.Helper()
	bucket := server.Bucket(t)
	return destination{server.Open(t, bucket, "pre"), filepath.Join(server.Root, bucket, "pre")}
}

// onBoth runs a test on disk and on S3.
func onBoth(t *testing.T, test func(t *testing.T, create func(t *testing.T) destination, onS3 bool)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		test(t, onDisk, false)
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		server := s3test.Start(t)
		test(t, func(t *testing.T) destination {
			t.Helper()
			return onS3(t, server)
		}, true)
	})
}

// options returns the options of commands that keep logs up to date.
func options() deltalake.Options {
	return deltalake.Options{Now: snapshottest.PublishedAt, ToolVersion: "1.0.0", CheckpointInterval: interval}
}

// creating returns the options of commands that also create logs.
func creating() deltalake.Options {
	o := options()
	o.Create = true
	return o
}

func reconcile(ctx context.Context, store sink.Store) error {
	_, err := deltalake.Reconcile(ctx, snapshot.At(store), options())
	return err
}

func mustReconcile(t *testing.T, store sink.Store, o deltalake.Options) *deltalake.Report {
	t.Helper()
	report, err := deltalake.Reconcile(t.Context(), snapshot.At(store), o)
	require.NoError(t, err)
	require.NotNil(t, report)
	return report
}

// line is an action, read without the code under test.
type line struct {
	CommitInfo map[string]any `json:"commitInfo"`
	Protocol   map[string]any `json:"protocol"`
	Txn        map[string]any `json:"txn"`
	MetaData   *struct {
		ID               string            `json:"id"`
		SchemaString     string            `json:"schemaString"`
		PartitionColumns []string          `json:"partitionColumns"`
		Configuration    map[string]string `json:"configuration"`
		CreatedTime      int64             `json:"createdTime"`
	} `json:"metaData"`
	Add    *file `json:"add"`
	Remove *file `json:"remove"`
}

type file struct {
	Path             string             `json:"path"`
	Size             int64              `json:"size"`
	PartitionValues  map[string]*string `json:"partitionValues"`
	ModificationTime int64              `json:"modificationTime"`
	Stats            string             `json:"stats"`
}

// commits returns the commits of a table's log. There must be no gaps between versions.
func commits(t *testing.T, root, table string) [][]line {
	t.Helper()
	folder := filepath.Join(root, table, "_delta_log")
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".checkpoint.parquet") || e.Name() == "_last_checkpoint"
	})
	var all [][]line
	for i, entry := range entries {
		require.Equal(t, fmt.Sprintf("%020d.json", i), entry.Name())
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(data), "}\n"))
		var commit []line
		for text := range strings.Lines(string(data)) {
			var l line
			require.NoError(t, json.Unmarshal([]byte(text), &l), text)
			commit = append(commit, l)
		}
		all = append(all, commit)
	}
	return all
}

// live returns the files of a table that are live after the commits in log, by path below the destination.
func live(t *testing.T, table string, log [][]line) map[string]*file {
	t.Helper()
	files := make(map[string]*file)
	for _, commit := range log {
		seen := make(map[string]bool)
		for _, l := range commit {
			for _, f := range []*file{l.Remove, l.Add} {
				if f == nil {
					continue
				}
				name, err := url.PathUnescape(f.Path)
				require.NoError(t, err)
				require.False(t, seen[name], "a commit contains a file twice")
				seen[name] = true
				name = path.Join(table, name)
				if f == l.Add {
					files[name] = f
				} else {
					require.Contains(t, files, name)
					delete(files, name)
				}
			}
		}
	}
	return files
}

// requireUpToDate requires that there is at least one log, and that each log has its newest checkpoint and exactly the
// files in the manifests that pointers refer to. It reads pointers and manifests without the code under test.
func requireUpToDate(t *testing.T, root string, args ...any) {
	t.Helper()
	want := make(map[string]map[string]int64)
	addManifest := func(name, prefix string) {
		var pointer struct{ Manifest string }
		readJSON(t, name, &pointer)
		var manifest struct {
			Tables map[string]struct {
				Files []struct {
					Path  string
					Bytes int64
				}
			}
		}
		readJSON(t, filepath.Join(root, pointer.Manifest), &manifest)
		for table, m := range manifest.Tables {
			for _, f := range m.Files {
				if want[prefix+table] == nil {
					want[prefix+table] = make(map[string]int64)
				}
				want[prefix+table][f.Path] = f.Bytes
			}
		}
	}
	pointers, err := filepath.Glob(filepath.Join(root, "_snapshots", "*.json"))
	require.NoError(t, err)
	for _, name := range pointers {
		addManifest(name, "")
	}
	if name := filepath.Join(root, "_history.json"); exists(name) {
		addManifest(name, "history/")
	}
	logs := 0
	for _, pattern := range []string{"*/_delta_log", "history/*/_delta_log"} {
		folders, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		logs += len(folders)
		for _, folder := range folders {
			table, err := filepath.Rel(root, filepath.Dir(folder))
			require.NoError(t, err)
			got := make(map[string]int64)
			log := commits(t, root, table)
			due := (len(log) - 1) / interval * interval
			require.GreaterOrEqual(t, requireCheckpoints(t, root, table, log, args...), due, args...)
			require.Equal(t, due > 0, exists(filepath.Join(folder, "_last_checkpoint")), args...)
			for name, f := range live(t, table, log) {
				info, err := os.Stat(filepath.Join(root, name))
				require.NoError(t, err, args...)
				require.Equal(t, info.Size(), f.Size, args...)
				got[name] = f.Size
			}
			if want[table] == nil {
				want[table] = map[string]int64{}
			}
			require.Equal(t, want[table], got, args...)
			delete(want, table)
		}
	}
	require.Positive(t, logs, args...)
	require.Empty(t, want, "tables without a log")
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func readJSON(t *testing.T, name string, value any) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, value))
}

// takeNight publishes a small snapshot of a date.
func takeNight(t *testing.T, store sink.Store, date string, edit ...func(*snapshot.Plan)) {
	t.Helper()
	takeRun(t, store, "run-"+date, date, edit...)
}

func takeRun(t *testing.T, store sink.Store, run, date string, edit ...func(*snapshot.Plan)) {
	t.Helper()
	edits := append([]func(*snapshot.Plan){snapshottest.Few, snapshottest.OnDate(date)}, edit...)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan(run, edits...))
}

// days returns n dates from the first of September on.
func days(n int) []string {
	dates := make([]string, n)
	for i := range dates {
		dates[i] = time.Date(2026, 9, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	return dates
}

func prune(ctx context.Context, store sink.Store, keep int) error {
	_, err := maintenance.Prune(ctx, snapshot.At(store), maintenance.PruneOptions{Keep: keep, Now: snapshottest.PublishedAt})
	return err
}

// fold adds the snapshots that are not in the history yet.
func fold(ctx context.Context, store sink.Store) error {
	_, err := history.Update(ctx, snapshot.At(store), history.Options{})
	return err
}

func purge(ctx context.Context, store sink.Store, school string) error {
	_, err := maintenance.Purge(ctx, snapshot.At(store), maintenance.PurgeOptions{
		Schools: []string{school}, Now: snapshottest.PublishedAt, ToolVersion: "1.0.0",
	})
	return err
}

// appendCommit adds a commit of another program to a log.
func appendCommit(t *testing.T, root, table string, actions ...string) {
	t.Helper()
	name := fmt.Sprintf("%020d.json", len(commits(t, root, table)))
	text := strings.Join(slices.Concat([]string{`{"commitInfo":{"timestamp":1,"operation":"OTHER","engineInfo":"engine/1"}}`}, actions), "\n") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, table, "_delta_log", name), []byte(text), 0o600))
}
