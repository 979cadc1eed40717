package snapshot_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	require.Equal(t, "_runs/r/plan.json", snapshot.PlanPath("r"))
	require.Equal(t, "_runs/%2E%2E/manifest.json", snapshot.ManifestPath(".."))
	require.Equal(t, "_runs/r/ledger.parquet", snapshot.LedgerPath("r"))
	require.Equal(t, "_runs/r/held.json", snapshot.HeldPath("r"))
	require.Equal(t, "_runs/r/change.json", snapshot.ChangePath("r"))
	require.Equal(t, "_runs/r/journal/lookup-schools.json", snapshot.CheckpointPath("r", snapshot.LookupBucket, "schools"))
	require.Equal(t, "_runs/r/journal/12345-x.json", snapshot.CheckpointPath("r", 12345, "x"))
	require.Equal(t, "_snapshots/2026-11-20.json", snapshot.PointerPath(snapshot.Full, snapshottest.Today))
	require.Equal(t, "_as_of/2026-11-20.json", snapshot.PointerPath(snapshot.AsOf, snapshottest.Today))
	require.Empty(t, snapshot.PointerPath(snapshot.Delta, snapshottest.Today))
	dataPath := func(kind snapshot.Kind, run string, bucket int) string {
		p := &snapshot.Plan{Kind: kind, SnapshotDate: snapshottest.Today, RunID: run}
		if kind == snapshot.Delta {
			p.Scope.PartitionBy, p.Buckets = snapshot.ByDistrict, []snapshot.Bucket{{Index: bucket, District: "a b"}}
		}
		return p.DataPath("t", bucket)
	}
	require.Equal(t, "t/snapshot_date=2026-11-20/part-0000-r.parquet", dataPath(snapshot.Full, "r", snapshot.LookupBucket))
	require.Equal(t, "as_of/t/snapshot_date=2026-11-20/part-0007-r.parquet", dataPath(snapshot.AsOf, "r", 7))
	require.Equal(t, "changes/t/snapshot_date=2026-11-20/district=a%20b/part-0007-r.parquet", dataPath(snapshot.Delta, "r", 7))
	for path, run := range map[string]string{
		dataPath(snapshot.Delta, "a-b-c", 70000): "a-b-c",
		dataPath(snapshot.Full, "..", 0):         "%2E%2E",
		snapshot.PlanPath(".."):                  "%2E%2E",
		"_runs/notes.txt":                        "",
		"t/part-x-r.parquet":                     "",
		"t/notes.txt":                            "",
		"t/part-0000.parquet":                    "",
		"part-1-x.csv":                           "",
	} {
		require.Equal(t, run, sink.Owner(path), path)
	}
}

func TestUnitsAndShards(t *testing.T) {
	t.Parallel()
	p := snapshottest.NewPlan("r", snapshottest.Datasets("test_results", "students", "district_schools", "schools"), func(p *snapshot.Plan) {
		p.Shards = 2
		p.Buckets = append(p.Buckets, snapshot.Bucket{Index: 2, First: 4, End: 4}, snapshot.Bucket{Index: snapshot.LookupBucket})
		slices.Reverse(p.Buckets)
	})
	var got []string
	for _, u := range p.Tasks() {
		got = append(got, u.String())
	}
	require.Equal(t, []string{
		"schools", "district_schools",
		"students of bucket 0", "test_results of bucket 0",
		"students of bucket 1", "test_results of bucket 1",
		"students of bucket 2", "test_results of bucket 2",
	}, got)
	require.Equal(t, 0, snapshot.Task{Bucket: snapshot.LookupBucket}.Shard(p.Shards))
	require.Equal(t, 1, snapshot.Task{Bucket: 1}.Shard(p.Shards))
	require.Equal(t, 0, snapshot.Task{Bucket: 2}.Shard(p.Shards))
	p.Shards = 0
	require.Equal(t, 0, snapshot.Task{Bucket: 1}.Shard(p.Shards))
}

func TestPlanIsThatOfTheFirst(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	_, err := snapshot.At(store).ReadPlan(t.Context(), "r")
	require.ErrorIs(t, err, sink.ErrNotFound)
	first, second := snapshottest.NewPlan("r"), snapshottest.NewPlan("r", snapshottest.Few)
	got, err := snapshot.At(store).CreatePlan(t.Context(), first)
	require.NoError(t, err)
	require.Equal(t, first, got)
	got, err = snapshot.At(store).CreatePlan(t.Context(), second)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(first, got))
}

func TestPlansThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*snapshot.Plan){
		"has format version 2":            func(p *snapshot.Plan) { p.FormatVersion = 2 },
		"it is the plan of another run":   func(p *snapshot.Plan) { p.RunID = "other" },
		"bucket 1 exceeds its schools":    func(p *snapshot.Plan) { p.Buckets[1].End = 9 },
		`does not know dataset "unheard"`: snapshottest.Datasets("schools", "unheard"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			plan := snapshottest.NewPlan("r", edit)
			require.NoError(t, snapshot.At(store).WriteDocument(t.Context(), snapshot.PlanPath("r"), plan, sink.Condition{}))
			_, err := snapshot.At(store).ReadPlan(t.Context(), "r")
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "_runs/r/plan.json")
		})
	}
}

func TestAJournalThatProvesNothingIsPassedOver(t *testing.T) {
	t.Parallel()
	task := snapshot.Task{Bucket: 0, Dataset: "students"}
	spoil := map[string]func(t *testing.T, store sink.Store, checkpoint *snapshot.Checkpoint){
		"cut": func(t *testing.T, store sink.Store, _ *snapshot.Checkpoint) {
			t.Helper()
			require.NoError(t, store.Write(t.Context(), snapshot.CheckpointPath("r", 0, "students"), []byte(`{"data`), sink.Condition{}))
		},
		"of another task": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			j.Dataset = "schools"
			require.NoError(t, snapshot.At(store).WriteDocument(t.Context(), snapshot.CheckpointPath("r", 0, "students"), j, sink.Condition{}))
		},
		"without a table": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			clear(j.Files)
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", j))
		},
		"of other schools": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			j.Ledger[0].SchoolBid = "s9"
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", j))
		},
		"of too many schools": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			j.Ledger = append(j.Ledger, j.Ledger[0])
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", j))
		},
		"of a file that is gone": func(t *testing.T, store sink.Store, j *snapshot.Checkpoint) {
			t.Helper()
			require.NoError(t, store.Abort(t.Context(), "r", j.Files["students"]))
		},
	}
	for name, do := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			plan := snapshottest.NewPlan("r", snapshottest.Few)
			snapshottest.StageRun(t, store, plan, nil)
			checkpoints, err := snapshot.At(store).ReadCheckpoints(t.Context(), "r")
			require.NoError(t, err)
			require.Len(t, checkpoints, 2)
			do(t, store, checkpoints[1])
			g, err := snapshot.At(store).Collect(t.Context(), plan)
			require.NoError(t, err)
			require.Equal(t, []snapshot.Task{task}, g.Missing)
			snapshottest.StageTask(t, store, plan, task, nil)
			snapshottest.PublishRun(t, store, "r")
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
		})
	}
}

func TestAUnitDoneAgainDropsWhatItHadStaged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("r", snapshottest.Few)
	snapshottest.StageRun(t, store, plan, snapshottest.StatusOf{"s1": snapshot.StatusFailed})
	files := len(snapshottest.Tree(t, root))
	earlier := snapshottest.Collect(t, store, "r").Tables["students"].Files[0]
	checkpoint := snapshottest.StageTask(t, store, plan, snapshot.Task{Bucket: 0, Dataset: "students"}, nil)
	require.Len(t, snapshottest.Tree(t, root), files)
	holds, err := store.Holds(t.Context(), "r", earlier)
	require.NoError(t, err)
	require.False(t, holds)

	t.Log("writing the same checkpoint again drops nothing")
	require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", checkpoint))
	g := snapshottest.Collect(t, store, "r")
	require.Empty(t, g.Missing)
	require.Empty(t, g.Failed)
	require.EqualValues(t, 2, g.Schools.OK)
}

// Two processes do the same task at the same time, and the one that was faster publishes before it can know of the
// other.
func TestAUnitDoneTwice(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	plan := snapshottest.NewPlan("r", snapshottest.Few)
	snapshottest.StageRun(t, store, plan, nil)
	g := snapshottest.Collect(t, store, "r")
	task := snapshot.Task{Bucket: 0, Dataset: "students"}
	snapshottest.StageTask(t, store, plan, task, nil)
	_, err := snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.NoError(t, err)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	published := snapshottest.Tree(t, root)

	t.Log("the slower one may come after all is done")
	snapshottest.StageTask(t, store, plan, task, nil)
	require.NotEqual(t, published, snapshottest.Tree(t, root))
	_, err = snapshot.At(store).Publish(t.Context(), g, snapshottest.Options())
	require.NoError(t, err)
	require.Equal(t, published, snapshottest.Tree(t, root))
}

func TestALedgerThatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(j *snapshot.Checkpoint){
		`school "s1": 7 records were received, 1 written and 1 dropped`: func(j *snapshot.Checkpoint) {
			j.Ledger[0].RecordsReceived = 7
		},
		"its ledger counts 3 rows, table students has 2": func(j *snapshot.Checkpoint) {
			j.Ledger[0].RecordsReceived, j.Ledger[0].RowsWritten = 3, 2
		},
		`its ledger has a row of "schools"`: func(j *snapshot.Checkpoint) { j.Ledger[0].Dataset = "schools" },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			plan := snapshottest.NewPlan("r", snapshottest.Few)
			snapshottest.StageRun(t, store, plan, nil)
			checkpoints, err := snapshot.At(store).ReadCheckpoints(t.Context(), "r")
			require.NoError(t, err)
			edit(checkpoints[1])
			require.NoError(t, snapshot.At(store).WriteCheckpoint(t.Context(), "r", checkpoints[1]))
			_, err = snapshot.At(store).Collect(t.Context(), plan)
			require.ErrorContains(t, err, "add up students of bucket 0: "+want)
		})
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	ledger := []snapshot.LedgerRow{
		{Dataset: "students", SchoolBid: "b", Status: snapshot.StatusDenied, Requests: 1, Error: "403"},
		{
			Dataset: "students", SchoolBid: "a", Status: snapshot.StatusOK, Pages: 1, RecordsReceived: 5, DuplicatesDropped: 2,
			RowsWritten: 3, RecordsUnavailable: 4, Requests: 6, Retries: 7,
		},
		{Dataset: "district_schools", DistrictBid: "d", Status: snapshot.StatusOK},
		{Dataset: "students", Status: snapshot.StatusFailed, Error: "no bid"},
	}
	file, err := snapshot.StageLedger(snapshot.At(store), t.Context(), "r", ledger)
	require.NoError(t, err)
	require.EqualValues(t, 4, file.Rows)
	require.NoError(t, store.Commit(t.Context(), "r", file))
	object, err := store.Open(t.Context(), snapshot.LedgerPath("r"))
	require.NoError(t, err)
	parquetFile, err := parquet.OpenFile(object, object.Size())
	require.NoError(t, err)

	var columns []string
	for _, column := range parquetFile.Root().Columns() {
		kind := column.Name() + " " + column.Type().String()
		if column.Optional() {
			kind += " optional"
		}
		columns = append(columns, kind)
	}
	require.Equal(t, []string{
		"dataset STRING", "requested_school_bid STRING optional", "requested_district_bid STRING optional",
		"status STRING", "pages INT64", "records_received INT64", "duplicates_dropped INT64", "rows_written INT64",
		"records_unavailable INT64", "requests INT64", "retries INT64", "error STRING optional",
	}, trimInts(columns))

	var found [][]string
	rowsOf := parquetFile.RowGroups()[0].Rows()
	buffer := make([]parquet.Row, 4)
	n, _ := rowsOf.ReadRows(buffer)
	require.Equal(t, 4, n)
	for _, row := range buffer {
		var values []string
		for _, v := range row {
			values = append(values, v.String())
		}
		found = append(found, values)
	}
	require.NoError(t, rowsOf.Close())
	require.Equal(t, [][]string{
		{"district_schools", "<null>", "d", "ok", "0", "0", "0", "0", "0", "0", "0", "<null>"},
		{"students", "<null>", "<null>", "failed", "0", "0", "0", "0", "0", "0", "0", "no bid"},
		{"students", "a", "<null>", "ok", "1", "5", "2", "3", "4", "6", "7", "<null>"},
		{"students", "b", "<null>", "denied", "0", "0", "0", "0", "0", "1", "0", "403"},
	}, found)
	totals, err := snapshot.ReadLedgerTotals(object, object.Size())
	require.NoError(t, err)
	require.Equal(t, snapshot.ManifestDataset{OK: 1, Denied: 1, Failed: 1, SchoolsWithRow: 1}, totals.Datasets["students"])
	ok, denied, failed, known := totals.Schools()
	require.Equal(t, []int64{1, 1, 1}, []int64{ok, denied, failed})
	require.True(t, known)
	require.NoError(t, object.Close())
}

// trimInts removes the redundant annotation of 64-bit integers from types.
func trimInts(types []string) []string {
	for i := range types {
		types[i] = strings.ReplaceAll(types[i], "INT(64,true)", "INT64")
	}
	return types
}

// liar is a Draft whose bytes come back changed, as from a bad disk.
type liar struct{ sink.Draft }

func (l liar) ReadAt(p []byte, offset int64) (int, error) {
	n, err := l.Draft.ReadAt(p, offset)
	if n > 0 {
		p[n-1] ^= 1
	}
	return n, err
}

func TestTableFileIsReadBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	table := schemas.Tables()[0]
	create := func() *snapshot.TableFile {
		t.Helper()
		file, err := snapshot.NewTables(snapshot.At(store), "r").Create(t.Context(), path.Join(table.Name, "x.parquet"), table)
		require.NoError(t, err)
		require.NoError(t, file.Append(snapshottest.SomeRows(table, "", 3)))
		return file
	}
	file := create()
	file.SetDraft(func(d sink.Draft) sink.Draft { return liar{d} })
	_, err := file.Stage(t.Context())
	require.ErrorContains(t, err, "stage "+table.Name+"/x.parquet: ")
	require.NoError(t, file.Abort())

	file = create()
	require.NoError(t, file.Writer().Append(snapshottest.SomeRows(table, "", 1)))
	staged, err := file.Stage(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, staged.Rows)
	require.Len(t, staged.SHA256, 64)
	require.Error(t, file.Append(rows.New(table)))
	_, err = file.Stage(t.Context())
	require.Error(t, err)
	_, err = snapshot.Inspect(t.Context(), create().Draft(), 0, 0)
	require.Error(t, err)

	t.Log("equal rows give equal bytes, on a writer that was used before, too")
	tables := snapshot.NewTables(snapshot.At(store), "r")
	for range 3 {
		again, err := tables.Create(t.Context(), "other.parquet", table)
		require.NoError(t, err)
		require.NoError(t, again.Append(snapshottest.SomeRows(table, "", 4)))
		f, err := again.Stage(t.Context())
		require.NoError(t, err)
		require.Equal(t, staged.SHA256, f.SHA256)
	}
	require.NoError(t, store.Sweep(t.Context(), "r"))
	require.Equal(t, []string{"./"}, snapshottest.Names(snapshottest.Tree(t, root)))
}

func TestRequestsAdd(t *testing.T) {
	t.Parallel()
	var sum snapshot.Requests
	sum.Add(snapshot.Requests{Total: 1, Retries: 2, TokenRefreshes: 3, ByStatus: map[string]int64{"200": 1}})
	sum.Add(snapshot.Requests{Total: 1, ByStatus: map[string]int64{"200": 1, "404": 1}})
	require.Equal(t, snapshot.Requests{Total: 2, Retries: 2, TokenRefreshes: 3, ByStatus: map[string]int64{"200": 2, "404": 1}}, sum)
}
