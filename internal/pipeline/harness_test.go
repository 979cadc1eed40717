package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// theDay is the day of the simulated world, on which the tests' runs take
// place.
var theDay = time.Date(2026, 11, 20, 3, 30, 0, 0, time.UTC)

// site is the environment of a run: a simulated service and a destination.
type site struct {
	t      testing.TB
	world  *simulator.World
	server *simulator.Server
	url    *url.URL
	dest   string
}

func newSite(t testing.TB, world simulator.Options, options simulator.ServerOptions) *site {
	t.Helper()
	s := &site{t: t, world: simulator.NewWorld(world), dest: filepath.Join(t.TempDir(), "growth-data")}
	s.server = simulator.New(s.world, options)
	address, stop, err := simulator.Start(context.WithoutCancel(t.Context()), s.server, "")
	require.NoError(t, err)
	t.Cleanup(stop)
	s.url, err = url.Parse(address)
	require.NoError(t, err)
	return s
}

// deps returns new dependencies, as a separate process would have.
func (s *site) deps(change func(*extract.Options)) pipeline.Deps {
	s.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	options := extract.Options{
		BaseURL:     s.url,
		Credentials: extract.Credentials{APIKey: simulator.DefaultKey, APISecret: simulator.DefaultSecret},
		Concurrency: 8, Retries: 8, RequestTimeout: 20 * time.Second, GiveUpAfter: time.Minute,
		MaxBody: 32 << 20, UserAgent: "growth-export/test", Logger: logger,
	}
	if change != nil {
		change(&options)
	}
	client, err := extract.New(options)
	require.NoError(s.t, err)
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(s.t, err)
	return pipeline.Deps{
		Client: client, Catalog: snapshot.At(store), Logger: logger, Progress: &pipeline.Progress{},
		Now: func() time.Time { return theDay },
	}
}

func defaults() pipeline.Settings {
	s := pipeline.Settings{
		BaseURL: "simulate", ToolVersion: "test",
		Perspectives: pipeline.AllPerspectives, PartitionBy: snapshot.NotPartitioned,
		SchoolsPerFile: 4, Limits: review.Limits{MaxShrink: review.Share{Part: 0.2}}, Shards: 1,
		Concurrency: 8, MaxSchoolRecords: 2_000_000,
	}
	for _, d := range schemas.Datasets() {
		if d.Default {
			s.Datasets = append(s.Datasets, d.Name)
		}
	}
	return s
}

// run takes a snapshot that is expected to succeed.
func (s *site) run(settings pipeline.Settings) *pipeline.Summary {
	s.t.Helper()
	summary, err := runAll(s.t.Context(), s.deps(nil), settings)
	require.NoError(s.t, err)
	return summary
}

// hashes returns the SHA-256 of the visible data files, by path without the run id.
func (s *site) hashes() map[string]string {
	s.t.Helper()
	pointers, err := filepath.Glob(filepath.Join(s.dest, "_snapshots", "*.json"))
	require.NoError(s.t, err)
	hashes := make(map[string]string)
	store, err := sink.NewDir(s.dest, sink.DirOptions{})
	require.NoError(s.t, err)
	for _, pointer := range pointers {
		manifest := s.manifest(strings.TrimSuffix(filepath.Base(pointer), ".json"), store)
		for _, table := range manifest.Tables {
			for _, file := range table.Files {
				hashes[strings.Replace(file.Path, manifest.RunID, "RUN", 1)] = file.SHA256
			}
		}
	}
	require.NotEmpty(s.t, hashes)
	return hashes
}

func (s *site) manifest(date string, store sink.Store) *snapshot.Manifest {
	s.t.Helper()
	manifest, err := snapshot.At(store).Current(s.t.Context(), snapshot.Full, date)
	require.NoError(s.t, err)
	return manifest
}

// visible lists the files that a reader's glob matches: all except those in folders that start with an underscore.
func (s *site) visible() []string {
	s.t.Helper()
	var files []string
	err := filepath.WalkDir(s.dest, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), "_"):
			return fs.SkipDir
		case !entry.IsDir():
			files = append(files, path)
		}
		return nil
	})
	require.NoError(s.t, err)
	return files
}

// rows reads back a table of the destination, file by file.
func (s *site) rows(table *schemas.Table) []oracle.Row {
	s.t.Helper()
	return s.rowsAt(table, "", "*")
}

// rowsAt reads a table of the snapshots of a date below a folder.
func (s *site) rowsAt(table *schemas.Table, folder, date string) []oracle.Row {
	s.t.Helper()
	partition := filepath.Join(s.dest, folder, table.Name, "snapshot_date="+date)
	files, err := filepath.Glob(filepath.Join(partition, "*.parquet"))
	require.NoError(s.t, err)
	nested, err := filepath.Glob(filepath.Join(partition, "district=*", "*.parquet"))
	require.NoError(s.t, err)
	files = append(files, nested...)
	slices.Sort(files)
	require.NotEmpty(s.t, files, table.Name)
	rows := []oracle.Row{}
	for _, file := range files {
		rows = append(rows, readFile(s.t, file, table)...)
	}
	return rows
}

func readFile(t testing.TB, path string, table *schemas.Table) []oracle.Row {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var rows []oracle.Row
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		buffer := make([]parquet.Row, 512)
		for {
			n, err := reader.ReadRows(buffer)
			for _, values := range buffer[:n] {
				row := make(oracle.Row, len(values))
				for _, v := range values {
					column := table.Columns[v.Column()]
					row[column.Name] = goValue(column.Type, v)
				}
				rows = append(rows, row)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, reader.Close())
	}
	return rows
}

func goValue(typ schemas.Type, v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	switch typ {
	case schemas.Int32:
		return int64(v.Int32())
	case schemas.Date:
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
	case schemas.Int64, schemas.Timestamp:
		return v.Int64()
	case schemas.Double:
		return v.Double()
	case schemas.Boolean:
		return v.Boolean()
	case schemas.String, schemas.JSON:
	}
	return string(v.ByteArray())
}
