package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
)

func TestIsDocument(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		snapshot.LatestPath, snapshot.HistoryPointerPath, snapshot.ServicePath, snapshot.IndexPath, snapshot.SuppressedPath,
		snapshot.PointerPath(snapshot.Full, "2026-11-20"), snapshot.PointerPath(snapshot.AsOf, "2026-11-20"), snapshot.PurgesPrefix + "id.json",
		snapshot.PlanPath("a b"), snapshot.ManifestPath("r"), snapshot.LedgerPath("r"), snapshot.ReportPath("r"), snapshot.HeldPath("r"),
		snapshot.ChangePath("r"), snapshot.AlivePath("r"), snapshot.CheckpointPath("r", snapshot.LookupBucket, "schools"),
		snapshot.CheckpointPath("r", 1, "students"), "_runs/r/journal/0001-students-0123456789abcdef.turnover",
		"_runs/r/journal/0001-students-0123456789abcdef.calls", snapshot.HistoryManifestPath("id"), snapshot.HistoryPrefix + snapshot.ChangeName,
	} {
		require.True(t, snapshot.IsDocument(path), path)
	}
	for _, path := range []string{
		"notes.txt", "_backup/students.parquet", "_history/i.parquet", "_history/id/manifest.json/x", "_purges/list.csv", "_purges/old/id.json",
		"_runs/r/old/e.parquet", "_runs/r/e.parquet", "_runs/r/journal/e.parquet", "_snapshots/2026-11-20.parquet", "students/manifest.json",
	} {
		require.False(t, snapshot.IsDocument(path), path)
	}
}
