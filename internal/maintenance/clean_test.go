package maintenance_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// TestClean checks that the leftovers of dead runs are dropped, and that other runs keep everything.
func TestClean(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := sink.NewDir(t.TempDir(), sink.DirOptions{})
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
		_, err := snapshot.At(store).CreatePlan(ctx, &snapshot.Plan{
			FormatVersion: snapshot.FormatVersion, RunID: run, Kind: snapshot.Full, SnapshotDate: "2026-11-20", PlannedAt: at, Shards: 1,
			SchoolsPerFile: 1, Scope: snapshot.Scope{Datasets: []string{"schools"}, PartitionBy: snapshot.NotPartitioned, Perspectives: "all"},
			Schools: []snapshot.School{}, Buckets: []snapshot.Bucket{},
		})
		require.NoError(t, err)
	}
	now := time.Now()
	for _, run := range []string{"alive", "killed", "unplanned"} {
		draft(run)
	}
	plan("alive", now)
	plan("killed", now)
	plan("planned", now)
	plan("fetching", now) // nothing is staged yet
	fetched := snapshot.Task{Bucket: 0, Dataset: "student_details"}
	require.NoError(t, snapshot.At(store).WriteCalls(ctx, "fetching", fetched, []byte("rows")))

	cleaned, err := maintenance.Clean(ctx, snapshot.At(store), now, time.Hour)
	require.NoError(t, err)
	require.Empty(t, cleaned, "a run that makes progress is alive, and its plan may not have been written yet")

	// A day later no run has been resumed, but one has made progress.
	cleaned, err = maintenance.Clean(ctx, snapshot.At(store), now.Add(24*time.Hour), 48*time.Hour)
	require.NoError(t, err)
	require.Empty(t, cleaned)
	require.NoError(t, snapshot.At(store).Hold(ctx, "alive", snapshot.Held{Reasons: []review.Reason{review.New(review.MaxFailedSchools, "0", nil)}}))
	journal := &snapshot.Checkpoint{
		Dataset: "schools", Bucket: snapshot.LookupBucket, Files: map[string]sink.File{"schools": stagedFile(t, store, "alive")},
		Ledger: []snapshot.LedgerRow{{Dataset: "schools", Status: snapshot.StatusOK}}, StagedAt: now,
	}
	require.NoError(t, snapshot.At(store).WriteCheckpoint(ctx, "alive", journal))
	cleaned, err = maintenance.Clean(ctx, snapshot.At(store), now.Add(24*time.Hour), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"fetching", "killed", "planned", "unplanned"}, cleaned, "a held run is kept for its user")
	runs, err := snapshot.At(store).Runs(ctx)
	require.NoError(t, err)
	require.Len(t, runs, 1, "no plan of a cleaned run is left")
	require.Equal(t, "alive", runs[0].RunID)
	left, err := snapshot.At(store).CallFiles(ctx, "fetching", fetched)
	require.NoError(t, err)
	require.Empty(t, left)
	staged, err := store.Staged(ctx)
	require.NoError(t, err)
	require.Contains(t, staged, "alive")
	require.Len(t, staged, 1)
	journals, err := snapshot.At(store).ReadCheckpoints(ctx, "alive")
	require.NoError(t, err)
	require.Len(t, journals, 1)
}

// TestCleanLeavesLiveRunsAlone cleans while live runs exist that have staged nothing for days: one on disk holds its
// lock, and one on a store without locks writes heartbeats.
func TestCleanLeavesLiveRunsAlone(t *testing.T) {
	t.Parallel()
	for _, locks := range []bool{true, false} {
		root := t.TempDir()
		store := sink.Store(snapshottest.NewDir(t, root))
		if !locks {
			store = snapshottest.Lockless{Store: store}
		}
		plan, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.NewPlan("slow", snapshottest.Few))
		require.NoError(t, err)
		snapshottest.StageTask(t, store, plan, snapshot.Task{Bucket: 0, Dataset: "students"}, nil)
		release, err := snapshot.At(store).HoldRunShared(t.Context(), "slow", 3, 8)
		require.NoError(t, err)
		long := time.Now().Add(25 * time.Hour)
		stop := func() {}
		if !locks {
			stop = snapshot.At(store).KeepAlive(t.Context(), "slow", func(err error) { require.NoError(t, err) })
			for _, _, err := store.Read(t.Context(), snapshot.AlivePath("slow")); err != nil; _, _, err = store.Read(t.Context(), snapshot.AlivePath("slow")) {
				require.ErrorIs(t, err, sink.ErrNotFound)
			}
			sign := filepath.Join(root, filepath.FromSlash(snapshot.AlivePath("slow")))
			require.NoError(t, os.Chtimes(sign, long, long))
		}
		cleaned, err := maintenance.Clean(t.Context(), snapshot.At(store), long, 24*time.Hour)
		require.NoError(t, err)
		require.Empty(t, cleaned)
		journals, err := snapshot.At(store).ReadCheckpoints(t.Context(), "slow")
		require.NoError(t, err)
		require.Len(t, journals, 1)

		stop()
		require.NoError(t, release())
		require.NoFileExists(t, filepath.Join(root, filepath.FromSlash(snapshot.AlivePath("slow"))))
		cleaned, err = maintenance.Clean(t.Context(), snapshot.At(store), long, 24*time.Hour)
		require.NoError(t, err)
		require.Equal(t, []string{"slow"}, cleaned)
	}
}

// TestCleanLeavesLiveHistoryAlone cleans while a process is working on the history that has staged nothing for days.
func TestCleanLeavesLiveHistoryAlone(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef"
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	stagedFile(t, store, id)
	release, err := snapshot.At(snapshottest.NewDir(t, root)).LockHistory(t.Context())
	require.NoError(t, err)
	clean := func() []string {
		cleaned, err := maintenance.Clean(t.Context(), snapshot.At(store), time.Now().Add(25*time.Hour), 24*time.Hour)
		require.NoError(t, err)
		return cleaned
	}
	require.Empty(t, clean())
	require.NoError(t, release())
	require.Equal(t, []string{id}, clean())
}

// TestKeepAlive checks that a heartbeat is written every few minutes and removed at the end.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := snapshottest.NewDir(t, root)
		stop := snapshot.At(store).KeepAlive(t.Context(), "run", func(err error) { require.NoError(t, err) })
		for range 3 {
			<-time.After(5 * time.Minute)
			synctest.Wait()
			sign, _, err := snapshot.ReadDocument[snapshot.Heartbeat](t.Context(), store, snapshot.AlivePath("run"))
			require.NoError(t, err)
			require.Less(t, time.Since(sign.WrittenAt), 5*time.Minute)
			require.Equal(t, os.Getpid(), sign.PID)
		}
		stop()
		_, _, err := store.Read(t.Context(), snapshot.AlivePath("run"))
		require.ErrorIs(t, err, sink.ErrNotFound)
	})
}

// stagedFile stages an empty table of schools.
func stagedFile(t *testing.T, store sink.Store, run string) sink.File {
	t.Helper()
	table, _, ok := schemas.FindTable("schools")
	require.True(t, ok)
	path := (&snapshot.Plan{Kind: snapshot.Full, SnapshotDate: "2026-11-20", RunID: run}).DataPath(table.Name, snapshot.LookupBucket)
	file, err := snapshot.NewTables(snapshot.At(store), run).Create(t.Context(), path, table)
	require.NoError(t, err)
	staged, err := file.Stage(t.Context())
	require.NoError(t, err)
	return staged
}

// TestKilledCommandsLeaveNothing checks that a clean, and a purge that finds nothing to do, remove the leftovers of
// killed commands.
func TestKilledCommandsLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(catalog snapshot.Catalog) error{
		"clean": func(catalog snapshot.Catalog) error {
			_, err := maintenance.Clean(t.Context(), catalog, snapshottest.PublishedAt(), time.Hour)
			return err
		},
		"purge": func(catalog snapshot.Catalog) error {
			report, err := maintenance.Purge(t.Context(), catalog, maintenance.PurgeOptions{
				Schools: []string{"unknown"}, AllowUnknown: true, Now: snapshottest.PublishedAt,
			})
			require.True(t, report.Nothing())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run", snapshottest.Few))
			want := snapshottest.Tree(t, root)
			for _, left := range []string{
				"_staging/run/ROWS", "_staging/~locks/publish", "_staging/~locks/documents", "_staging/~documents/HALF",
				".growth-export-check-1",
			} {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, left)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(root, left), []byte("x"), 0o600))
			}
			require.NoError(t, command(snapshot.At(store)))
			require.Equal(t, want, snapshottest.Tree(t, root))
		})
	}
}

// TestDocumentsOfPublishedRunsAreSwept checks that the next command removes a report that a killed command has partly
// written, although that command concerns a different run.
func TestDocumentsOfPublishedRunsAreSwept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	snapshottest.TakeSnapshot(t, snapshottest.NewDir(t, root), snapshottest.NewPlan("run", snapshottest.Few))
	killed := snapshottest.NewDirOn(t, root, func(system sink.FileSystem) sink.FileSystem {
		return snapshottest.Tap{FileSystem: system, Before: func(call, _ string) error {
			if call == "rename" || call == "remove" || call == "remove all" {
				return snapshottest.ErrKilled
			}
			return nil
		}}
	})
	report := snapshot.ReportPath("run")
	require.ErrorIs(t, killed.Write(t.Context(), report, []byte("x"), sink.Condition{}), snapshottest.ErrKilled)
	require.DirExists(t, filepath.Join(root, "_staging"))
	snapshottest.TakeSnapshot(t, snapshottest.NewDir(t, root), snapshottest.NewPlan("next", snapshottest.Few, snapshottest.OnDate("2026-11-21")))
	require.NoDirExists(t, filepath.Join(root, "_staging"))
}

// TestCleanWithoutLocks checks that on a store without locks a run without a heartbeat for a few minutes is not
// cleaned, however short the age that the user sets: the run may just be slow.
func TestCleanWithoutLocks(t *testing.T) {
	t.Parallel()
	dir := snapshottest.NewDir(t, t.TempDir())
	store := snapshottest.Lockless{Store: dir}
	plan, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.NewPlan("slow", snapshottest.Few))
	require.NoError(t, err)
	snapshottest.StageTask(t, store, plan, snapshot.Task{Bucket: 0, Dataset: "students"}, nil)
	runs, err := snapshot.At(store).Runs(t.Context())
	require.NoError(t, err)
	alive := runs[0].LastProgress
	cleaned, err := maintenance.Clean(t.Context(), snapshot.At(store), alive.Add(14*time.Minute), time.Second)
	require.NoError(t, err)
	require.Empty(t, cleaned)
	cleaned, err = maintenance.Clean(t.Context(), snapshot.At(store), alive.Add(maintenance.MinCleanAge+time.Second), time.Second)
	require.NoError(t, err)
	require.Equal(t, []string{"slow"}, cleaned)
}
