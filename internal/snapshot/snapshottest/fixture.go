package snapshottest

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/storetest"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Today is the snapshot date of plans in tests.
const Today = "2026-11-20"

// Morning returns the time at which tests plan their runs, on Today.
func Morning() time.Time { return time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC) }

// PublishedAt returns the time at which tests publish their runs.
func PublishedAt() time.Time { return Morning().Add(90 * time.Minute) }

// NewDir returns a Dir that does not sync files.
func NewDir(t *testing.T, root string) *sink.Dir {
	t.Helper()
	return storetest.NewDir(t, root, nil)
}

// NewDirOn returns a Dir on a wrapped file system.
func NewDirOn(t *testing.T, root string, wrap func(sink.FileSystem) sink.FileSystem) *sink.Dir {
	t.Helper()
	dir, err := sink.NewDir(root, sink.DirOptions{WrapFileSystem: wrap})
	require.NoError(t, err)
	return dir
}

// NewPlan returns a plan of four schools in two buckets, changed by edit.
func NewPlan(run string, edit ...func(*snapshot.Plan)) *snapshot.Plan {
	p := &snapshot.Plan{
		FormatVersion: snapshot.FormatVersion, RunID: run, Kind: snapshot.Full, SnapshotDate: Today, PlannedAt: Morning(),
		ToolVersion: "1.0.0", BaseURL: "https://service.example",
		Scope: snapshot.Scope{
			Datasets: []string{"districts", "schools", "test_results"}, Perspectives: "all", PartitionBy: snapshot.NotPartitioned,
		},
		Fingerprint: "f", SchoolsPerFile: 2, Shards: 1,
		Schools: []snapshot.School{{Bid: "s1", District: "d1"}, {Bid: "s2", District: "d1"}, {Bid: "s3", District: "d2"}, {Bid: "s4"}},
		Buckets: []snapshot.Bucket{
			{Index: 0, First: 0, End: 2, District: "d1"},
			{Index: 1, First: 2, End: 4, District: "d2"},
		},
	}
	for _, e := range edit {
		e(p)
	}
	return p
}

// Planned returns an edit that moves the time at which a plan was made.
func Planned(after time.Duration) func(*snapshot.Plan) {
	return func(p *snapshot.Plan) { p.PlannedAt = p.PlannedAt.Add(after) }
}

// Datasets returns an edit that replaces the datasets of a plan.
func Datasets(names ...string) func(*snapshot.Plan) {
	return func(p *snapshot.Plan) { p.Scope.Datasets = names }
}

// OnDate returns an edit that moves a plan to another snapshot date.
func OnDate(date string) func(*snapshot.Plan) {
	return func(p *snapshot.Plan) {
		p.SnapshotDate = date
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			panic(err)
		}
		p.PlannedAt = day.Add(6 * time.Hour)
	}
}

// StatusOf maps schools to the outcome of their datasets. Schools that are not in the map are ok.
type StatusOf map[string]snapshot.Status

// StageTask stages a task and returns its checkpoint. Each school that is ok has one row in the first table, two rows
// in the second, and so on.
func StageTask(t *testing.T, store sink.Store, plan *snapshot.Plan, task snapshot.Task, fate StatusOf) *snapshot.Checkpoint {
	t.Helper()
	ctx := t.Context()
	dataset, ok := schemas.Find(task.Dataset)
	require.True(t, ok)
	checkpoint := &snapshot.Checkpoint{
		Dataset: task.Dataset, Bucket: task.Bucket, Files: make(map[string]sink.File), StagedAt: Morning(),
		Requests: snapshot.Requests{Total: 3, Retries: 1, ByStatus: map[string]int64{"200": 2, "503": 1}},
		Drift:    []snapshot.Drift{{Table: dataset.Tables[0].Name, Field: "x", Kind: "unknown_field", Count: 2}},
	}
	asked := []string{""}
	if !dataset.IsLookup() {
		asked = nil
		for _, school := range schoolsOf(plan, task.Bucket) {
			asked = append(asked, school.Bid)
		}
	}
	for _, bid := range asked {
		row := snapshot.LedgerRow{Dataset: task.Dataset, SchoolBid: bid, Status: snapshot.StatusOK, Requests: 1}
		if s, ok := fate[bid]; ok {
			row.Status, row.Error = s, "the service said "+string(s)
		} else {
			row.Pages, row.RecordsReceived, row.RowsWritten, row.DuplicatesDropped = 1, 2, 1, 1
		}
		checkpoint.Ledger = append(checkpoint.Ledger, row)
	}
	for i, table := range dataset.Tables {
		file, err := snapshot.NewTables(snapshot.At(store), plan.RunID).Create(ctx, plan.DataPath(table.Name, task.Bucket), table)
		require.NoError(t, err)
		for _, bid := range asked {
			if _, bad := fate[bid]; bad {
				continue
			}
			require.NoError(t, file.Append(SomeRows(table, bid, i+1)))
		}
		checkpoint.Files[table.Name], err = file.Stage(ctx)
		require.NoError(t, err)
		require.NoError(t, file.Abort(), "Abort does nothing after Stage")
	}
	require.NoError(t, snapshot.At(store).WriteCheckpoint(ctx, plan.RunID, checkpoint))
	return checkpoint
}

// SomeRows returns n rows of a school, or n rows without a school if bid is empty, with values only in the required
// columns.
func SomeRows(table *schemas.Table, bid string, n int) *rows.Batch {
	batch := rows.New(table)
	for r := range n {
		for i := range batch.Cols {
			switch v := &batch.Cols[i]; {
			case table.Columns[i].Name == "requested_school_bid":
				v.AppendString(bid)
			case !v.Required:
				v.AppendNull()
			case v.IsText():
				v.AppendString("id")
			default:
				v.AppendInt32(int32(r))
			}
		}
		batch.N++
	}
	return batch
}

// StageRun plans a run and stages all of it.
func StageRun(t *testing.T, store sink.Store, plan *snapshot.Plan, fate StatusOf) {
	t.Helper()
	standing, err := snapshot.At(store).CreatePlan(t.Context(), plan)
	require.NoError(t, err)
	for _, task := range standing.Tasks() {
		StageTask(t, store, standing, task, fate)
	}
}

// Options returns the options with which tests publish.
func Options() snapshot.PublishOptions { return snapshot.PublishOptions{Now: PublishedAt} }

// PublishRun publishes a staged run.
func PublishRun(t *testing.T, store sink.Store, run string) *snapshot.Manifest {
	t.Helper()
	plan, err := snapshot.At(store).ReadPlan(t.Context(), run)
	require.NoError(t, err)
	g, err := snapshot.At(store).Collect(t.Context(), plan)
	require.NoError(t, err)
	m, err := snapshot.At(store).Publish(t.Context(), g, Options())
	require.NoError(t, err)
	return m
}

// TakeSnapshot stages and publishes a run.
func TakeSnapshot(t *testing.T, store sink.Store, plan *snapshot.Plan) *snapshot.Manifest {
	t.Helper()
	StageRun(t, store, plan, nil)
	return PublishRun(t, store, plan.RunID)
}

// Tree returns the content of every file below root by path, and the paths of empty folders with a trailing slash.
func Tree(t *testing.T, root string) map[string]string {
	t.Helper()
	return storetest.Tree(t, root)
}

// Names returns the paths of a tree.
func Names(tree map[string]string) []string {
	var all []string
	for name := range tree {
		all = append(all, name)
	}
	return all
}

// RequireVerified requires that Verify reads at least one file and finds no problems.
func RequireVerified(t *testing.T, store sink.Store, target maintenance.VerifyTarget) *maintenance.VerifyReport {
	t.Helper()
	report, err := maintenance.Verify(t.Context(), snapshot.At(store), target)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Positive(t, report.Files)
	return report
}

// Collect adds up the checkpoints of a run.
func Collect(t *testing.T, store sink.Store, run string) *snapshot.StagedRun {
	t.Helper()
	plan, err := snapshot.At(store).ReadPlan(t.Context(), run)
	require.NoError(t, err)
	g, err := snapshot.At(store).Collect(t.Context(), plan)
	require.NoError(t, err)
	return g
}

// Below returns the paths of a folder and of everything below it.
func Below(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, path)
		return err
	}))
	return found
}

// schoolsOf returns the schools of a bucket.
func schoolsOf(plan *snapshot.Plan, bucket int) []snapshot.School {
	for _, b := range plan.Buckets {
		if b.Index == bucket {
			return plan.Schools[b.First:b.End]
		}
	}
	return nil
}
