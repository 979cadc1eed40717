package sink

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

const today = "2026-11-20"

func morning() time.Time { return time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC) }

// published is when runs of tests are published.
func publishedAt() time.Time { return morning().Add(90 * time.Minute) }

func newDir(t *testing.T, root string) *Dir {
	t.Helper()
	return newDirOn(t, root, func(system FileSystem) FileSystem {
		return tap{FileSystem: system, before: func(string, string) error { return nil }} // It syncs nothing.
	})
}

func newDirOn(t *testing.T, root string, wrap func(FileSystem) FileSystem) *Dir {
	t.Helper()
	dir, err := NewDir(root, DirOptions{WrapFileSystem: wrap})
	require.NoError(t, err)
	return dir
}

// newPlan is a plan of four schools in two buckets; edit changes it.
func newPlan(run string, edit ...func(*Plan)) *Plan {
	p := &Plan{
		FormatVersion: FormatVersion, RunID: run, Kind: Full, SnapshotDate: today, PlannedAt: morning(),
		ToolVersion: "1.0.0", BaseURL: "https://service.example",
		Scope: Scope{
			Datasets: []string{"districts", "schools", "test_results"}, Perspectives: "all", PartitionBy: NotPartitioned,
		},
		Fingerprint: "f", SchoolsPerFile: 2, Shards: 1, MaxShrink: "20%",
		Schools: []School{{Bid: "s1", District: "d1"}, {Bid: "s2", District: "d1"}, {Bid: "s3", District: "d2"}, {Bid: "s4"}},
		Buckets: []Bucket{
			{Index: 0, First: 0, End: 2, District: "d1"},
			{Index: 1, First: 2, End: 4, District: "d2"},
		},
	}
	for _, e := range edit {
		e(p)
	}
	return p
}

func planned(after time.Duration) func(*Plan) {
	return func(p *Plan) { p.PlannedAt = p.PlannedAt.Add(after) }
}

func datasets(names ...string) func(*Plan) {
	return func(p *Plan) { p.Scope.Datasets = names }
}

func onDate(date string) func(*Plan) {
	return func(p *Plan) {
		p.SnapshotDate = date
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			panic(err)
		}
		p.PlannedAt = day.Add(6 * time.Hour)
	}
}

// statusOf tells what becomes of a school's dataset; ok where it says nothing.
type statusOf map[string]Status

// stageUnit stages a unit with one row per school that is ok, and two rows in
// each further table.
func stageUnit(t *testing.T, store Store, plan *Plan, unit Unit, fate statusOf) *Journal {
	t.Helper()
	ctx := t.Context()
	dataset, ok := schemas.Find(unit.Dataset)
	require.True(t, ok)
	journal := &Journal{
		Dataset: unit.Dataset, Bucket: unit.Bucket, Files: make(map[string]File), StagedAt: morning(),
		Requests: Requests{Total: 3, Retries: 1, ByStatus: map[string]int64{"200": 2, "503": 1}},
		Drift:    []Drift{{Table: dataset.Tables[0].Name, Field: "x", Kind: "unknown_field", Count: 2}},
	}
	asked := []string{""}
	if !dataset.IsLookup() {
		asked = nil
		for _, school := range schoolsOf(plan, unit.Bucket) {
			asked = append(asked, school.Bid)
		}
	}
	for _, bid := range asked {
		row := LedgerRow{Dataset: unit.Dataset, SchoolBid: bid, Status: StatusOK, Requests: 1}
		if s, ok := fate[bid]; ok {
			row.Status, row.Error = s, "the service said "+string(s)
		} else {
			row.Pages, row.RecordsReceived, row.RowsWritten, row.DuplicatesDropped = 1, 2, 1, 1
		}
		journal.Ledger = append(journal.Ledger, row)
	}
	for i, table := range dataset.Tables {
		file, err := NewTables(store, plan.RunID).Create(ctx, plan.DataPath(table.Name, unit.Bucket), table)
		require.NoError(t, err)
		for _, bid := range asked {
			if _, bad := fate[bid]; bad {
				continue
			}
			require.NoError(t, file.Append(someRows(table, bid, i+1)))
		}
		journal.Files[table.Name], err = file.Stage(ctx)
		require.NoError(t, err)
		require.NoError(t, file.Abort(), "after Stage it does nothing")
	}
	require.NoError(t, WriteJournal(ctx, store, plan.RunID, journal))
	return journal
}

// someRows are n rows of a school, or of none, whose required columns are
// filled.
func someRows(table *schemas.Table, bid string, n int) *rows.Batch {
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

// stageRun plans a run and stages all of it.
func stageRun(t *testing.T, store Store, plan *Plan, fate statusOf) {
	t.Helper()
	standing, err := CreatePlan(t.Context(), store, plan)
	require.NoError(t, err)
	for _, unit := range standing.Units() {
		stageUnit(t, store, standing, unit, fate)
	}
}

func options() PublishOptions { return PublishOptions{Now: publishedAt} }

// publishRun publishes a staged run.
func publishRun(t *testing.T, store Store, run string) *Manifest {
	t.Helper()
	plan, err := ReadPlan(t.Context(), store, run)
	require.NoError(t, err)
	g, err := Gather(t.Context(), store, plan)
	require.NoError(t, err)
	m, err := Publish(t.Context(), store, g, options())
	require.NoError(t, err)
	return m
}

// takeSnapshot stages and publishes a run.
func takeSnapshot(t *testing.T, store Store, plan *Plan) *Manifest {
	t.Helper()
	stageRun(t, store, plan, nil)
	return publishRun(t, store, plan.RunID)
}

// tree returns every file below root by path, and empty folders with a slash.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			data, err := os.ReadFile(path)
			found[filepath.ToSlash(name)] = string(data)
			return err
		}
		if inside, err := os.ReadDir(path); err != nil || len(inside) == 0 {
			found[filepath.ToSlash(name)+"/"] = ""
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// names are the paths of a tree.
func names(tree map[string]string) []string {
	var all []string
	for name := range tree {
		all = append(all, name)
	}
	return all
}

func requireVerified(t *testing.T, store Store, target VerifyTarget) *VerifyReport {
	t.Helper()
	report, err := Verify(t.Context(), store, target)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Positive(t, report.Files)
	return report
}

func gather(t *testing.T, store Store, run string) *Gathered {
	t.Helper()
	plan, err := ReadPlan(t.Context(), store, run)
	require.NoError(t, err)
	g, err := Gather(t.Context(), store, plan)
	require.NoError(t, err)
	return g
}

// below returns the paths of all that is below a folder.
func below(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, path)
		return err
	}))
	return found
}

// schoolsOf returns the schools of a bucket.
func schoolsOf(plan *Plan, bucket int) []School {
	for _, b := range plan.Buckets {
		if b.Index == bucket {
			return plan.Schools[b.First:b.End]
		}
	}
	return nil
}
