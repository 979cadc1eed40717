package sink

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

// TestClean drops what dead runs have left, and nothing of the others.
func TestClean(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := NewDir(t.TempDir(), DirOptions{})
	require.NoError(t, err)
	draft := func(run string) {
		d, err := store.Draft(ctx, run, "schools/snapshot_date=2026-11-20/part-0000-"+run+".parquet")
		require.NoError(t, err)
		_, err = d.Write([]byte("rows"))
		require.NoError(t, err)
		_, err = d.Finish()
		require.NoError(t, err)
		_, err = d.Stage(ctx)
		require.NoError(t, err)
	}
	plan := func(run string, at time.Time) {
		_, err := CreatePlan(ctx, store, &Plan{
			FormatVersion: FormatVersion, RunID: run, Kind: Full, SnapshotDate: "2026-11-20", PlannedAt: at, Shards: 1,
			SchoolsPerFile: 1, Scope: Scope{Datasets: []string{"schools"}, PartitionBy: NotPartitioned, Perspectives: "all"},
			Schools: []School{}, Buckets: []Bucket{},
		})
		require.NoError(t, err)
	}
	now := time.Now()
	for _, run := range []string{"alive", "killed", "unplanned"} {
		draft(run)
	}
	plan("alive", now)
	plan("killed", now)

	cleaned, err := Clean(ctx, store, now, time.Hour)
	require.NoError(t, err)
	require.Empty(t, cleaned, "a run that makes progress is alive, and a plan may be on its way")

	// A day later nobody has resumed them, but one has gone on.
	cleaned, err = Clean(ctx, store, now.Add(24*time.Hour), 48*time.Hour)
	require.NoError(t, err)
	require.Empty(t, cleaned)
	require.NoError(t, Hold(ctx, store, "alive", Held{Reasons: []string{"a school failed"}}))
	journal := &Journal{
		Dataset: "schools", Bucket: LookupBucket, Files: map[string]File{"schools": stagedFile(t, store, "alive")},
		Ledger: []LedgerRow{{Dataset: "schools", Status: StatusOK}}, StagedAt: now,
	}
	require.NoError(t, WriteJournal(ctx, store, "alive", journal))
	cleaned, err = Clean(ctx, store, now.Add(24*time.Hour), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"killed", "unplanned"}, cleaned, "a held run waits for its user")
	staged, err := store.Staged(ctx)
	require.NoError(t, err)
	require.Contains(t, staged, "alive")
	require.Len(t, staged, 1)
	journals, err := ReadJournals(ctx, store, "alive")
	require.NoError(t, err)
	require.Len(t, journals, 1)
}

// TestCleanLeavesLiveRunsAlone has live runs that have staged nothing for days:
// one on disk holds its lock, and one on a store without locks gives signs of
// life.
func TestCleanLeavesLiveRunsAlone(t *testing.T) {
	t.Parallel()
	for _, locks := range []bool{true, false} {
		root := t.TempDir()
		store := Store(newDir(t, root))
		if !locks {
			store = lockless{store}
		}
		plan, err := CreatePlan(t.Context(), store, newPlan("slow", few))
		require.NoError(t, err)
		stageUnit(t, store, plan, Unit{Bucket: 0, Dataset: "students"}, nil)
		release, err := HoldRunShared(t.Context(), store, "slow", 3, 8)
		require.NoError(t, err)
		long := time.Now().Add(25 * time.Hour)
		stop := func() {}
		if !locks {
			stop = KeepAlive(t.Context(), store, "slow", func(err error) { require.NoError(t, err) })
			for _, _, err := store.Read(t.Context(), AlivePath("slow")); err != nil; _, _, err = store.Read(t.Context(), AlivePath("slow")) {
				require.ErrorIs(t, err, ErrNotFound)
			}
			sign := filepath.Join(root, filepath.FromSlash(AlivePath("slow")))
			require.NoError(t, os.Chtimes(sign, long, long))
		}
		cleaned, err := Clean(t.Context(), store, long, 24*time.Hour)
		require.NoError(t, err)
		require.Empty(t, cleaned)
		journals, err := ReadJournals(t.Context(), store, "slow")
		require.NoError(t, err)
		require.Len(t, journals, 1)

		stop()
		require.NoError(t, release())
		require.NoFileExists(t, filepath.Join(root, filepath.FromSlash(AlivePath("slow"))))
		cleaned, err = Clean(t.Context(), store, long, 24*time.Hour)
		require.NoError(t, err)
		require.Equal(t, []string{"slow"}, cleaned)
	}
}

// TestKeepAlive writes a sign of life every few minutes, and takes it back.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := newDir(t, root)
		stop := KeepAlive(t.Context(), store, "run", func(err error) { require.NoError(t, err) })
		for range 3 {
			<-time.After(5 * time.Minute)
			synctest.Wait()
			sign, _, err := readDocument[aliveDocument](t.Context(), store, AlivePath("run"))
			require.NoError(t, err)
			require.Less(t, time.Since(sign.WrittenAt), 5*time.Minute)
			require.Equal(t, os.Getpid(), sign.PID)
		}
		stop()
		_, _, err := store.Read(t.Context(), AlivePath("run"))
		require.ErrorIs(t, err, ErrNotFound)
	})
}

// stagedFile stages an empty table of schools.
func stagedFile(t *testing.T, store Store, run string) File {
	t.Helper()
	table, _, ok := schemas.FindTable("schools")
	require.True(t, ok)
	path := (&Plan{Kind: Full, SnapshotDate: "2026-11-20", RunID: run}).DataPath(table.Name, LookupBucket)
	file, err := NewTables(store, run).Create(t.Context(), path, table)
	require.NoError(t, err)
	staged, err := file.Stage(t.Context())
	require.NoError(t, err)
	return staged
}
