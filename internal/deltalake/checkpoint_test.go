package deltalake_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// interval is the number of commits from one checkpoint to the next in these tests.
const interval = 2

// checkpointed is a row of a checkpoint as other readers see it: with maps and lists.
type checkpointed struct {
	Txn *struct {
		AppID   string `parquet:"appId"`
		Version int64  `parquet:"version"`
	} `parquet:"txn"`
	Protocol *struct {
		MinReaderVersion int32 `parquet:"minReaderVersion"`
		MinWriterVersion int32 `parquet:"minWriterVersion"`
	} `parquet:"protocol"`
	MetaData *struct {
		ID               string            `parquet:"id"`
		SchemaString     string            `parquet:"schemaString"`
		PartitionColumns []string          `parquet:"partitionColumns,list"`
		Configuration    map[string]string `parquet:"configuration"`
		CreatedTime      int64             `parquet:"createdTime"`
	} `parquet:"metaData"`
	Add *struct {
		Path             string             `parquet:"path"`
		Size             int64              `parquet:"size"`
		PartitionValues  map[string]*string `parquet:"partitionValues"`
		ModificationTime int64              `parquet:"modificationTime"`
		Stats            *string            `parquet:"stats"`
	} `parquet:"add"`
	Remove *struct {
		Path              string `parquet:"path"`
		DeletionTimestamp int64  `parquet:"deletionTimestamp"`
	} `parquet:"remove"`
}

func checkpointName(root, table string, version int) string {
	return filepath.Join(root, table, "_delta_log", fmt.Sprintf("%020d.checkpoint.parquet", version))
}

// requireCheckpoints requires that every checkpoint of a log agrees with the commits up to its version, and that the
// document about the newest checkpoint refers to one that exists. It returns the newest version; 0 if there is none.
func requireCheckpoints(t *testing.T, root, table string, log [][]line, args ...any) int {
	t.Helper()
	newest := 0
	for version := range log {
		rows, err := parquet.ReadFile[checkpointed](checkpointName(root, table, version))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err, args...)
		newest = version
		requireCheckpoint(t, table, rows, log[:version+1], args...)
	}
	name := filepath.Join(root, table, "_delta_log", "_last_checkpoint")
	if exists(name) {
		var last struct{ Version, Size int }
		readJSON(t, name, &last)
		rows, err := parquet.ReadFile[checkpointed](checkpointName(root, table, last.Version))
		require.NoError(t, err, args...)
		require.Len(t, rows, last.Size, args...)
	}
	return newest
}

func requireCheckpoint(t *testing.T, table string, rows []checkpointed, log [][]line, args ...any) {
	t.Helper()
	want := live(t, table, log)
	removed := make(map[string]bool)
	txn, counts := float64(-1), map[string]int{}
	for _, l := range slices.Concat(log...) {
		if l.Txn != nil {
			txn = l.Txn["version"].(float64)
		}
		if l.Remove != nil {
			removed[l.Remove.Path] = true
		}
	}
	for _, row := range rows {
		switch {
		case row.Add != nil:
			counts["add"]++
			name, err := url.PathUnescape(row.Add.Path)
			require.NoError(t, err)
			name = path.Join(table, name)
			require.Contains(t, want, name, args...)
			got := file{row.Add.Path, row.Add.Size, row.Add.PartitionValues, row.Add.ModificationTime, ""}
			if row.Add.Stats != nil {
				got.Stats = *row.Add.Stats
			}
			require.Equal(t, *want[name], got, args...)
			delete(want, name)
		case row.Remove != nil:
			counts["remove"]++
			require.True(t, removed[row.Remove.Path], args...)
			require.NotContains(t, live(t, table, log), path.Join(table, row.Remove.Path), args...)
		case row.Txn != nil:
			counts["txn"]++
			require.Equal(t, "growth-export", row.Txn.AppID)
			require.InDelta(t, txn, row.Txn.Version, 0, args...)
		case row.Protocol != nil:
			counts["protocol"]++
			require.EqualValues(t, 1, row.Protocol.MinReaderVersion)
			require.EqualValues(t, 2, row.Protocol.MinWriterVersion)
		default:
			counts["metaData"]++
			var meta *line
			for _, l := range slices.Concat(log...) {
				if l.MetaData != nil {
					meta = &l
				}
			}
			require.Equal(t, meta.MetaData.ID, row.MetaData.ID, args...)
			require.Equal(t, meta.MetaData.SchemaString, row.MetaData.SchemaString, args...)
			require.Equal(t, meta.MetaData.PartitionColumns, row.MetaData.PartitionColumns, args...)
			require.Equal(t, meta.MetaData.Configuration, row.MetaData.Configuration, args...)
			require.Equal(t, meta.MetaData.CreatedTime, row.MetaData.CreatedTime, args...)
		}
	}
	require.Empty(t, want, args...)
	for _, kind := range []string{"txn", "protocol", "metaData"} {
		require.Equal(t, 1, counts[kind], args...)
	}
}

// checkpointTexts returns all strings in a checkpoint, where they are compressed.
func checkpointTexts(t *testing.T, content string) string {
	t.Helper()
	var texts strings.Builder
	rows := parquet.NewReader(strings.NewReader(content))
	defer func() { require.NoError(t, rows.Close()) }()
	batch := make([]parquet.Row, 1)
	for {
		n, err := rows.ReadRows(batch)
		for _, row := range batch[:n] {
			for _, value := range row {
				texts.WriteString(value.String() + "\n")
			}
		}
		if n == 0 {
			require.ErrorContains(t, err, "EOF")
			return texts.String()
		}
	}
}

// TestCheckpoints expects checkpoints to depend only on the commits, and to be written if they are missing.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	for _, date := range days(4) {
		takeNight(t, d.store, date)
		mustReconcile(t, d.store, creating())
	}
	takeRun(t, d.store, "again", days(4)[1], func(p *snapshot.Plan) { p.Replace = true })
	report := mustReconcile(t, d.store, options())
	require.EqualValues(t, 4, report.Tables[1].Checkpoint)
	requireUpToDate(t, d.root)
	require.False(t, exists(checkpointName(d.root, "students", 0)))
	require.False(t, exists(checkpointName(d.root, "students", 3)))
	rows, err := parquet.ReadFile[checkpointed](checkpointName(d.root, "students", 4))
	require.NoError(t, err)
	removed := slices.IndexFunc(rows, func(r checkpointed) bool { return r.Remove != nil })
	require.Equal(t, "snapshot_date=2026-09-02/part-0000-run-2026-09-02.parquet", rows[removed].Remove.Path)

	whole := snapshottest.Tree(t, filepath.Join(d.root, "students", "_delta_log"))
	last := filepath.Join(d.root, "students", "_delta_log", "_last_checkpoint")
	report = mustReconcile(t, d.store, options())
	require.Zero(t, report.Tables[1].Checkpoint, "nothing is missing")
	for name, lose := range map[string]func(){
		"checkpoint": func() { require.NoError(t, os.Remove(checkpointName(d.root, "students", 4))) },
		"last":       func() { require.NoError(t, os.Remove(last)) },
		"damaged":    func() { require.NoError(t, os.WriteFile(last, []byte("{"), 0o600)) },
		"older":      func() { require.NoError(t, os.WriteFile(last, []byte(`{"version":2,"size":6}`), 0o600)) },
		"missing":    func() { require.NoError(t, os.WriteFile(last, []byte(`{"version":3,"size":6}`), 0o600)) },
	} {
		lose()
		report = mustReconcile(t, d.store, options())
		require.False(t, report.Tables[1].Committed, name)
		require.Equal(t, whole, snapshottest.Tree(t, filepath.Join(d.root, "students", "_delta_log")), name)
	}

	// A process that listed the log before others committed does not replace the reference to their newer checkpoint.
	require.NoError(t, os.WriteFile(last, []byte(`{"version":6,"size":6}`), 0o600))
	mustReconcile(t, d.store, options())
	var named struct{ Version int }
	readJSON(t, last, &named)
	require.Equal(t, 6, named.Version)
}

// TestCheckpointsOfOtherPrograms expects checkpoints of other programs to count like this program's own. The document
// does not refer to one in several parts.
func TestCheckpointsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	for _, date := range days(3)[:2] {
		takeNight(t, d.store, date)
		mustReconcile(t, d.store, creating())
	}
	folder := filepath.Join(d.root, "students", "_delta_log")
	other := filepath.Join(folder, "00000000000000000002.checkpoint.0000000001.0000000002.parquet")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	takeNight(t, d.store, days(3)[2])
	report := mustReconcile(t, d.store, options())
	require.Zero(t, report.Tables[1].Checkpoint)
	require.EqualValues(t, 2, report.Tables[0].Checkpoint)
	require.False(t, exists(filepath.Join(folder, "_last_checkpoint")))

	// The document cannot refer to a damaged checkpoint.
	require.NoError(t, os.Rename(other, checkpointName(d.root, "students", 2)))
	_, err := deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
	require.ErrorContains(t, err, "students/_delta_log/00000000000000000002.checkpoint.parquet")
	require.ErrorContains(t, err, "remove this file and run growth-export delta-lake")
}

// TestForeignCommitsInCheckpoints keeps files that another program has added, without their statistics, and its other
// transactions.
func TestForeignCommitsInCheckpoints(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	for _, date := range days(3)[:2] {
		takeNight(t, d.store, date)
		mustReconcile(t, d.store, creating())
	}
	appendCommit(t, d.root, "students",
		`{"txn":{"appId":"other","version":7,"lastUpdated":8}}`,
		`{"add":{"path":"odd%20name.parquet","partitionValues":{"snapshot_date":null},"size":3,"modificationTime":1,"dataChange":true,`+
			`"stats":"{\"numRecords\":1,\"minValues\":{\"first_name\":\"PLANTED\"}}"}}`)
	report := mustReconcile(t, d.store, options())
	require.EqualValues(t, 2, report.Tables[1].Checkpoint, "a checkpoint of the foreign version, although a commit follows it")
	content, err := os.ReadFile(checkpointName(d.root, "students", 2))
	require.NoError(t, err)
	texts := checkpointTexts(t, string(content))
	require.Contains(t, texts, "odd%20name.parquet")
	require.Contains(t, texts, "numRecords", "the statistics of own files")
	require.NotContains(t, texts, "PLANTED")
	rows, err := parquet.ReadFile[checkpointed](checkpointName(d.root, "students", 2))
	require.NoError(t, err)
	applications := map[string]int64{}
	for _, row := range rows {
		if row.Txn != nil {
			applications[row.Txn.AppID] = row.Txn.Version
		}
		if row.Add != nil && row.Add.Stats == nil {
			require.Equal(t, map[string]*string{"snapshot_date": nil}, row.Add.PartitionValues)
		}
	}
	require.Equal(t, map[string]int64{"growth-export": 1, "other": 7}, applications)
	verified, err := deltalake.Verify(t.Context(), snapshot.At(d.store))
	require.NoError(t, err)
	require.Empty(t, verified.Problems)
	require.Equal(t, 1, verified.Tables[1].Checkpoints)
}

// TestVerifyCheckpoints expects Verify to find every difference between a checkpoint and the commits, and its advice to
// repair the checkpoint.
func TestVerifyCheckpoints(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	for _, date := range days(5) {
		takeNight(t, d.store, date)
		mustReconcile(t, d.store, creating())
	}
	newest := checkpointName(d.root, "students", 4)
	whole, err := os.ReadFile(newest)
	require.NoError(t, err)
	older, err := os.ReadFile(checkpointName(d.root, "students", 2))
	require.NoError(t, err)
	ofSchools, err := os.ReadFile(checkpointName(d.root, "schools", 4))
	require.NoError(t, err)
	// edited returns the checkpoint with a change to each row; nil leaves it out.
	edited := func(edit func(*deltalake.CheckpointRow) *deltalake.CheckpointRow) []byte {
		return deltalake.EditCheckpoint(t, whole, edit)
	}
	require.Equal(t, whole, edited(func(r *deltalake.CheckpointRow) *deltalake.CheckpointRow { return r }))
	adds := func(edit func(r *deltalake.CheckpointRow)) []byte {
		return edited(func(r *deltalake.CheckpointRow) *deltalake.CheckpointRow {
			if r.Add != nil {
				edit(r)
			}
			return r
		})
	}
	text := "other"
	const file = "differs from the log in the file snapshot_date=2026-09-0"
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":     {nil, "is damaged"},
		"cut":       {whole[:len(whole)-1], "is damaged"},
		"older":     {older, "has 3 live files, but the log has 5"},
		"of others": {ofSchools, file},
		"size":      {adds(func(r *deltalake.CheckpointRow) { r.Add.Size++ }), file},
		"path":      {adds(func(r *deltalake.CheckpointRow) { r.Add.Path += "x" }), file},
		"twice": {adds(func(r *deltalake.CheckpointRow) {
			r.Add.Path = "snapshot_date=2026-09-01/part-0000-run-2026-09-01.parquet"
		}), file},
		"partition": {adds(func(r *deltalake.CheckpointRow) { r.Add.PartitionValues.KeyValue[0].Value = &text }), file},
		"stats":     {adds(func(r *deltalake.CheckpointRow) { r.Add.Stats = &text }), file},
		"no stats":  {adds(func(r *deltalake.CheckpointRow) { r.Add.Stats = nil }), file},
		"no protocol": {edited(func(r *deltalake.CheckpointRow) *deltalake.CheckpointRow {
			if r.Protocol != nil {
				return nil
			}
			return r
		}), "in the version of the protocol"},
		"transaction": {edited(func(r *deltalake.CheckpointRow) *deltalake.CheckpointRow {
			if r.Txn != nil {
				r.Txn.Version++
			}
			return r
		}), "in the transactions"},
		"table": {edited(func(r *deltalake.CheckpointRow) *deltalake.CheckpointRow {
			if r.MetaData != nil {
				r.MetaData.ID = text
			}
			return r
		}), "in columns or properties"},
	} {
		require.NoError(t, os.WriteFile(newest, test.content, 0o600))
		report, err := deltalake.Verify(t.Context(), snapshot.At(d.store))
		require.NoError(t, err, name)
		require.Len(t, report.Problems, 1, name)
		require.Contains(t, report.Problems[0].String(), test.want, name)
		require.Contains(t, report.Problems[0].String(), "students/_delta_log/00000000000000000004.checkpoint.parquet", name)
		require.Equal(t, 2, report.Tables[1].Checkpoints, name)

		require.NoError(t, os.Remove(newest))
		mustReconcile(t, d.store, options())
		mended, err := os.ReadFile(newest)
		require.NoError(t, err)
		require.Equal(t, whole, mended, name)
	}

	last := filepath.Join(d.root, "students", "_delta_log", "_last_checkpoint")
	for content, want := range map[string]string{
		"{":                        "is damaged",
		`{"version":3,"size":6}`:   "refers to the checkpoint of version 3, which is missing",
		`{"version":300,"size":6}`: "refers to the checkpoint of version 300, which is missing",
	} {
		require.NoError(t, os.WriteFile(last, []byte(content), 0o600))
		report, err := deltalake.Verify(t.Context(), snapshot.At(d.store))
		require.NoError(t, err)
		require.Len(t, report.Problems, 1)
		require.Contains(t, report.Problems[0].String(), "students/_delta_log/_last_checkpoint: "+want)
		require.NoError(t, os.Remove(last))
		mustReconcile(t, d.store, options())
	}
	report, err := deltalake.Verify(t.Context(), snapshot.At(d.store))
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	var named map[string]int
	content, err := os.ReadFile(last)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &named))
	require.Equal(t, map[string]int{"version": 4, "size": 8}, named)
}
