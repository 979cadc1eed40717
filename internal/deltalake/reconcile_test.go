package deltalake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// TestNights follows the nights of two months, with a replaced night, a pruned month and a purged school. At the end, a
// new log of the same destination has the same files.
func TestNights(t *testing.T) {
	t.Parallel()
	byDistrict := func(p *snapshot.Plan) { p.Scope.PartitionBy = snapshot.ByDistrict }
	onBoth(t, func(t *testing.T, create func(t *testing.T) destination, onS3 bool) {
		t.Helper()
		nights := 60
		if onS3 {
			nights = 8
		}
		for name, edit := range map[string]func(*snapshot.Plan){"plain": func(*snapshot.Plan) {}, "by district": byDistrict} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				followNights(t, create(t), days(nights), edit)
			})
		}
	})
}

func followNights(t *testing.T, d destination, dates []string, edit func(*snapshot.Plan)) {
	t.Helper()
	report, err := deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
	require.NoError(t, err)
	require.Nil(t, report, "there is no log to keep up to date")

	last := func() int { return len(commits(t, d.root, "students")) - 1 }
	for i, date := range dates {
		takeNight(t, d.store, date, edit)
		report := mustReconcile(t, d.store, creating())
		require.Len(t, report.Tables, 2)
		for _, table := range report.Tables {
			want := deltalake.TableReport{Table: table.Table, Version: int64(i), Committed: true, Added: 1, Files: i + 1}
			if i%interval == 0 {
				want.Checkpoint = int64(i)
			}
			require.Equal(t, want, table)
		}
	}
	requireUpToDate(t, d.root, "every night")
	report = mustReconcile(t, d.store, options())
	for _, table := range report.Tables {
		require.False(t, table.Committed)
	}
	require.Equal(t, len(dates)-1, last(), "nothing to do, no commit")

	at := dates[len(dates)/2]
	takeRun(t, d.store, "again", at, edit, func(p *snapshot.Plan) { p.Replace = true })
	require.NoError(t, reconcile(t.Context(), d.store))
	requireUpToDate(t, d.root, "replaced")
	log := commits(t, d.root, "students")
	require.Len(t, log[len(log)-1], 4, "one commit: commitInfo, txn, remove, add")

	require.NoError(t, prune(t.Context(), d.store, len(dates)/2))
	require.NoError(t, reconcile(t.Context(), d.store))
	requireUpToDate(t, d.root, "pruned")
	require.Equal(t, len(dates)+1, last())

	require.NoError(t, purge(t.Context(), d.store, "s1"))
	require.NoError(t, reconcile(t.Context(), d.store))
	requireUpToDate(t, d.root, "purged")
	require.Equal(t, len(dates)+2, last())

	followed := live(t, "students", commits(t, d.root, "students"))
	id := func() string { return commits(t, d.root, "students")[0][2].MetaData.ID }
	before := id()
	require.NoError(t, os.RemoveAll(filepath.Join(d.root, "students", "_delta_log")))
	mustReconcile(t, d.store, creating())
	require.Equal(t, before, id(), "it is the same table")
	require.NotEqual(t, before, commits(t, d.root, "schools")[0][2].MetaData.ID)
	require.Equal(t, 0, last(), "a hundred old nights are one commit")
	require.Equal(t, followed, live(t, "students", commits(t, d.root, "students")))
	requireUpToDate(t, d.root, "at once")
}

// TestFirstCommit expects the first commit to have everything that the protocol requires.
func TestFirstCommit(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	odd := "a b%/é"
	snapshottest.TakeSnapshot(t, d.store, snapshottest.NewPlan("run", func(p *snapshot.Plan) {
		p.Scope.PartitionBy = snapshot.ByDistrict
		p.Schools = []snapshot.School{{Bid: "s1", District: odd}, {Bid: "s2"}}
		p.Buckets = []snapshot.Bucket{{Index: 0, End: 1, District: odd}, {Index: 1, First: 1, End: 2}}
	}))
	mustReconcile(t, d.store, creating())
	requireUpToDate(t, d.root)

	log := commits(t, d.root, "test_results")
	require.Len(t, log, 1)
	require.Len(t, log[0], 6)
	require.Equal(t, map[string]any{"minReaderVersion": 1.0, "minWriterVersion": 2.0}, log[0][1].Protocol)
	require.Equal(t, map[string]any{"appId": "growth-export", "version": 0.0}, log[0][3].Txn)
	meta := log[0][2].MetaData
	// A name-based UUID: a log of this service and table always gets the same one.
	require.Equal(t, "a73af39e-010d-821d-9979-2c7395a0e774", meta.ID)
	require.Equal(t, []string{"snapshot_date", "district"}, meta.PartitionColumns)
	require.Equal(t, snapshottest.PublishedAt().UnixMilli(), meta.CreatedTime)
	var schema struct {
		Fields []struct {
			Name, Type string
			Nullable   bool
			Metadata   map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(meta.SchemaString), &schema))
	table, _, _ := schemas.FindTable("test_results")
	require.Len(t, schema.Fields, len(table.Columns)+2)
	for i, c := range table.Columns {
		f := schema.Fields[i]
		require.Equal(t, c.Name, f.Name)
		require.Equal(t, !c.Required, f.Nullable, c.Name)
		require.Equal(t, c.Doc, f.Metadata["comment"], c.Name)
	}
	require.Equal(t, "date", schema.Fields[len(table.Columns)].Type)

	var districts []string
	for _, l := range log[0][4:] {
		require.Equal(t, snapshottest.Today, *l.Add.PartitionValues["snapshot_date"])
		require.Equal(t, snapshottest.PublishedAt().UnixMilli(), l.Add.ModificationTime)
		value, ok := l.Add.PartitionValues["district"]
		require.True(t, ok)
		if value == nil {
			districts = append(districts, "null")
			continue
		}
		districts = append(districts, *value)
		require.True(t, strings.HasPrefix(l.Add.Path, "snapshot_date=2026-11-20/district=a%2520b%2525%252F%C3%A9/"), l.Add.Path)
	}
	require.ElementsMatch(t, []string{odd, "null"}, districts)
	require.Equal(t, []string{"snapshot_date"}, commits(t, d.root, "schools")[0][2].MetaData.PartitionColumns)
}

// TestNewColumn adds a column that the log does not have in the same commit, and keeps what the user has set.
func TestNewColumn(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	takeNight(t, d.store, "2026-11-19")
	mustReconcile(t, d.store, creating())
	name := filepath.Join(d.root, "students", "_delta_log", fmt.Sprintf("%020d.json", 0))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	whole := commits(t, d.root, "students")[0][2].MetaData
	older := strings.Replace(string(data), `{\"name\":\"first_name\"`, `{\"name\":\"other\"`, 1)
	older = strings.Replace(older, `"configuration":{`, `"configuration":{"user":"set",`, 1)
	older = strings.Replace(older, whole.ID, "random", 1) // as earlier releases made it
	require.NotEqual(t, string(data), older)
	require.NoError(t, os.WriteFile(name, []byte(older), 0o600))

	takeNight(t, d.store, "2026-11-20")
	mustReconcile(t, d.store, options())
	log := commits(t, d.root, "students")
	require.Len(t, log, 2)
	require.Len(t, log[1], 4, "commitInfo, metaData, txn, add")
	got := log[1][1].MetaData
	require.Equal(t, "set", got.Configuration["user"])
	require.Equal(t, "random", got.ID)
	got.ID = whole.ID
	delete(got.Configuration, "user")
	require.Equal(t, whole, got)
	requireUpToDate(t, d.root)
}

// TestSixteenAtOnce publishes sixteen nights at once; each process then brings the logs up to date.
func TestSixteenAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, create func(t *testing.T) destination, onS3 bool) {
		t.Helper()
		d := create(t)
		dates := days(16)
		for _, date := range dates {
			snapshottest.StageRun(t, d.store, snapshottest.NewPlan("run-"+date, snapshottest.Few, snapshottest.OnDate(date)), nil)
		}
		var all sync.WaitGroup
		for _, date := range dates {
			all.Go(func() {
				store := d.store
				if !onS3 {
					store = snapshottest.NewDir(t, d.root) // a process of its own
				}
				snapshottest.PublishRun(t, store, "run-"+date)
				_, err := deltalake.Reconcile(t.Context(), snapshot.At(store), creating())
				require.NoError(t, err)
			})
		}
		all.Wait()
		requireUpToDate(t, d.root)
		require.Len(t, live(t, "students", commits(t, d.root, "students")), 16)
	})
}

// TestOtherWriters expects the commits of other programs to be undone, and their versions to be reported.
func TestOtherWriters(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	for _, date := range days(2) {
		takeNight(t, d.store, date)
	}
	mustReconcile(t, d.store, creating())
	ours := slices.Collect(func(yield func(string) bool) {
		for _, f := range live(t, "students", commits(t, d.root, "students")) {
			if !yield(f.Path) {
				return
			}
		}
	})
	slices.Sort(ours)
	remove := func(path string) string {
		return `{"remove":{"path":"` + path + `","deletionTimestamp":1,"dataChange":true}}`
	}
	add := func(path, date string) string {
		return `{"add":{"path":"` + path + `","partitionValues":{"snapshot_date":"` + date + `"},"size":3,"modificationTime":1,"dataChange":true}}`
	}
	for name, actions := range map[string][]string{
		"append":   {add("snapshot_date=2026-09-01/other.parquet", "2026-09-01"), add("elsewhere%20odd.parquet", "2026-09-03")},
		"delete":   {remove(ours[0])},
		"optimize": {remove(ours[0]), remove(ours[1]), add("snapshot_date=2026-09-01/one.parquet", "2026-09-01")},
		"moved":    {add(ours[0], "2026-01-01")},
		"schema":   {`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{}","partitionColumns":[],"configuration":{}}}`},
	} {
		appendCommit(t, d.root, "students", actions...)
		version := int64(len(commits(t, d.root, "students")) - 1)
		report := mustReconcile(t, d.store, options())
		require.Equal(t, []deltalake.Foreign{{Version: version, Operation: "OTHER", Engine: "engine/1"}}, report.Tables[1].Foreign, name)
		require.True(t, report.Tables[1].Committed, name)
		requireUpToDate(t, d.root, name)
	}
	id := ""
	for _, l := range slices.Concat(commits(t, d.root, "students")...) {
		if l.MetaData != nil {
			id = l.MetaData.ID
		}
	}
	require.Equal(t, commits(t, d.root, "students")[0][2].MetaData.ID, id, "the identifier never changes")
	appendCommit(t, d.root, "students") // as VACUUM does
	report := mustReconcile(t, d.store, options())
	require.Len(t, report.Tables[1].Foreign, 1)
	require.False(t, report.Tables[1].Committed)
}

// TestLogsThatCannotBeKept expects logs that cannot be updated to be left unchanged, and the others to be brought up to
// date.
func TestLogsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	folder := func(d destination) string { return filepath.Join(d.root, "students", "_delta_log") }
	for name, test := range map[string]struct {
		breaks func(t *testing.T, d destination)
		want   string
	}{
		"protocol": {func(t *testing.T, d destination) {
			t.Helper()
			appendCommit(t, d.root, "students", `{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}`)
		}, "requires version 3 of the protocol"},
		"no first commit": {func(t *testing.T, d destination) {
			t.Helper()
			require.NoError(t, os.Rename(filepath.Join(folder(d), fmt.Sprintf("%020d.json", 0)),
				filepath.Join(folder(d), fmt.Sprintf("%020d.checkpoint.parquet", 0))))
		}, "00000000000000000000.json is missing"},
		"gap": {func(t *testing.T, d destination) {
			t.Helper()
			appendCommit(t, d.root, "students")
			appendCommit(t, d.root, "students")
			require.NoError(t, os.Remove(filepath.Join(folder(d), fmt.Sprintf("%020d.json", 1))))
		}, "00000000000000000001.json is missing"},
		"damaged": {func(t *testing.T, d destination) {
			t.Helper()
			appendCommit(t, d.root, "students", "{")
		}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := onDisk(t)
			takeNight(t, d.store, "2026-11-19")
			mustReconcile(t, d.store, creating())
			test.breaks(t, d)
			before := snapshottest.Tree(t, folder(d))
			takeNight(t, d.store, "2026-11-20")
			report, err := deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "remove the folder students/_delta_log and run growth-export delta-lake")
			require.Contains(t, report.Tables[1].Problem, test.want)
			require.Equal(t, before, snapshottest.Tree(t, folder(d)))
			require.Len(t, live(t, "schools", commits(t, d.root, "schools")), 2)

			require.NoError(t, os.RemoveAll(folder(d)))
			mustReconcile(t, d.store, options())
			requireUpToDate(t, d.root)
		})
	}
}

// TestFileReplacedMeanwhile fails to find a file once, as if another process had replaced it after the manifest was
// read.
func TestFileReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	takeNight(t, d.store, "2026-11-18")
	store := &losingOnce{Store: d.store, path: "students/snapshot_date=2026-11-18/part-0000-run-2026-11-18.parquet"}
	mustReconcile(t, store, creating())
	require.True(t, store.lost)
	requireUpToDate(t, d.root)
}

// losingOnce is a store that does not find a file the first time it is opened.
type losingOnce struct {
	sink.Store

	path string
	lost bool
}

func (s *losingOnce) Open(ctx context.Context, path string) (sink.Object, error) {
	if path == s.path && !s.lost {
		s.lost = true
		return nil, sink.ErrNotFound
	}
	return s.Store.Open(ctx, path)
}

// TestMissingFiles expects that a snapshot with a missing file is left out, or left as it was, and that the others are
// registered.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	d := onDisk(t)
	takeNight(t, d.store, "2026-11-18")
	mustReconcile(t, d.store, creating())
	takeNight(t, d.store, "2026-11-19")
	takeNight(t, d.store, "2026-11-20")
	name := filepath.Join(d.root, "students", "snapshot_date=2026-11-19", "part-0000-run-2026-11-19.parquet")
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, broken := range [][]byte{nil, content[:len(content)-1], append(slices.Clone(content), 0), make([]byte, len(content))} {
		require.NoError(t, os.RemoveAll(name))
		if broken != nil {
			require.NoError(t, os.WriteFile(name, broken, 0o600))
		}
		report, err := deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
		require.ErrorContains(t, err, "students/snapshot_date=2026-11-19/part-0000-run-2026-11-19.parquet is missing or damaged")
		require.Equal(t, 2, report.Tables[1].Files)
		require.Equal(t, 3, report.Tables[0].Files)
	}
	require.NoError(t, os.WriteFile(name, content, 0o600))
	mustReconcile(t, d.store, options())
	requireUpToDate(t, d.root)

	// Another program has compacted the files and removed them.
	f := `{"add":{"path":"snapshot_date=2026-11-19/one.parquet","partitionValues":{"snapshot_date":"2026-11-19"},"size":3,"modificationTime":1,"dataChange":true}}`
	appendCommit(t, d.root, "students", `{"remove":{"path":"snapshot_date=2026-11-19/part-0000-run-2026-11-19.parquet","dataChange":false}}`, f)
	require.NoError(t, os.Remove(name))
	takeNight(t, d.store, "2026-11-21")
	_, err = deltalake.Reconcile(t.Context(), snapshot.At(d.store), options())
	require.ErrorContains(t, err, "is missing or damaged")
	files := live(t, "students", commits(t, d.root, "students"))
	require.Len(t, files, 4)
	require.Contains(t, files, "students/snapshot_date=2026-11-19/one.parquet")
}
