package snapshot_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
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

func TestTasksAndShards(t *testing.T) {
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

func TestCreatePlanTwice(t *testing.T) {
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

func TestInvalidPlans(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*snapshot.Plan){
		"has format version 2":            func(p *snapshot.Plan) { p.FormatVersion = 2 },
		"it is the plan of another run":   func(p *snapshot.Plan) { p.RunID = "other" },
		"bucket 1 has an invalid range":   func(p *snapshot.Plan) { p.Buckets[1].End = 9 },
		`does not know dataset "unheard"`: snapshottest.Datasets("schools", "unheard"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			plan := snapshottest.NewPlan("r", edit)
			require.NoError(t, snapshot.WriteDocument(t.Context(), store, snapshot.PlanPath("r"), plan, sink.Condition{}))
			_, err := snapshot.At(store).ReadPlan(t.Context(), "r")
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "_runs/r/plan.json")
		})
	}
}

// trimInts removes the redundant annotation of 64-bit integers from types.
func trimInts(types []string) []string {
	for i := range types {
		types[i] = strings.ReplaceAll(types[i], "INT(64,true)", "INT64")
	}
	return types
}

// liar is a Draft whose bytes are read back changed, as from a bad disk.
type liar struct{ sink.Draft }

func (l liar) ReadAt(p []byte, offset int64) (int, error) {
	n, err := l.Draft.ReadAt(p, offset)
	if n > 0 {
		p[n-1] ^= 1
	}
	return n, err
}
