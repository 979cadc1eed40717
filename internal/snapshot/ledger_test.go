package snapshot_test

import (
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

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

// TestWorstStatusOfASchool counts each school once, regardless of the order of its datasets.
func TestWorstStatusOfASchool(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	statuses := []snapshot.Status{snapshot.StatusOK, snapshot.StatusDenied, snapshot.StatusFailed}
	var ledger []snapshot.LedgerRow
	for _, first := range statuses {
		for _, second := range statuses {
			for dataset, status := range map[string]snapshot.Status{"students": first, "test_results": second} {
				ledger = append(ledger, snapshot.LedgerRow{Dataset: dataset, SchoolBid: string(first + second), Status: status})
			}
		}
	}
	file, err := snapshot.StageLedger(snapshot.At(store), t.Context(), "r", ledger)
	require.NoError(t, err)
	require.NoError(t, store.Commit(t.Context(), "r", file))
	object, err := store.Open(t.Context(), snapshot.LedgerPath("r"))
	require.NoError(t, err)
	totals, err := snapshot.ReadLedgerTotals(object, object.Size())
	require.NoError(t, err)
	require.NoError(t, object.Close())
	ok, denied, failed, _ := totals.Schools()
	require.Equal(t, []int64{1, 3, 5}, []int64{ok, denied, failed})
}

// TestReadLedger reads back the ledger of a run.
func TestReadLedger(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Few), snapshottest.StatusOf{"s1": snapshot.StatusFailed, "s2": snapshot.StatusDenied})
	g := snapshottest.Collect(t, store, "run")
	snapshottest.PublishRun(t, store, "run")
	var read []snapshot.LedgerRow
	require.NoError(t, snapshot.At(store).ReadLedger(t.Context(), "run", func(row *snapshot.LedgerRow) { read = append(read, *row) }))
	require.NotEmpty(t, read)
	require.Equal(t, g.Ledger, read)
	err := snapshot.At(store).ReadLedger(t.Context(), "nowhere", func(*snapshot.LedgerRow) {})
	require.ErrorIs(t, err, sink.ErrNotFound)
	require.ErrorContains(t, err, "_runs/nowhere/ledger.parquet")
}

func TestLedgerDoesNotAddUp(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(j *snapshot.Checkpoint){
		`school "s1": 7 records were received, 1 written and 1 dropped`: func(j *snapshot.Checkpoint) {
			j.Ledger[0].RecordsReceived = 7
		},
		"its ledger counts 3 rows, but table students has 2": func(j *snapshot.Checkpoint) {
			j.Ledger[0].RecordsReceived, j.Ledger[0].RowsWritten = 3, 2
		},
		`its ledger has a row for "schools"`: func(j *snapshot.Checkpoint) { j.Ledger[0].Dataset = "schools" },
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
