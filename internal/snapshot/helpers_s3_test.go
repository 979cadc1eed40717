package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
	"example.org/growthexport/schemas"
)

// smallPlan returns the plan of a run of two datasets and one school.
func smallPlan(run string, after time.Duration) *snapshot.Plan {
	return snapshottest.NewPlan(run, snapshottest.Few, snapshottest.Planned(after), func(p *snapshot.Plan) {
		p.Schools, p.Buckets[0].End = p.Schools[:1], 1
	})
}

// stageRun creates the plan of a run and stages all of its tasks.
func stageRun(ctx context.Context, store sink.Store, plan *snapshot.Plan) error {
	plan, err := snapshot.At(store).CreatePlan(ctx, plan)
	if err != nil {
		return err
	}
	for _, task := range plan.Tasks() {
		if err := stageTask(ctx, store, plan, task); err != nil {
			return err
		}
	}
	return nil
}

func stageTask(ctx context.Context, store sink.Store, plan *snapshot.Plan, task snapshot.Task) error {
	dataset, _ := schemas.Find(task.Dataset)
	school := ""
	if task.Bucket != snapshot.LookupBucket {
		school = plan.Schools[0].Bid
	}
	journal := &snapshot.Checkpoint{
		Dataset: task.Dataset, Bucket: task.Bucket, Files: make(map[string]sink.File), StagedAt: plan.PlannedAt,
		Ledger: []snapshot.LedgerRow{{
			Dataset: task.Dataset, SchoolBid: school, Status: snapshot.StatusOK, Pages: 1, RecordsReceived: 1, RowsWritten: 1,
		}},
	}
	for _, table := range dataset.Tables {
		file, err := snapshot.NewTables(snapshot.At(store), plan.RunID).Create(ctx, plan.DataPath(table.Name, task.Bucket), table)
		if err != nil {
			return err
		}
		err = file.Append(snapshottest.SomeRows(table, school, 1))
		if err == nil {
			journal.Files[table.Name], err = file.Stage(ctx)
		}
		if err := errors.Join(err, file.Abort()); err != nil {
			return err
		}
	}
	return snapshot.At(store).WriteCheckpoint(ctx, plan.RunID, journal)
}

// publishStaged publishes a staged run.
func publishStaged(ctx context.Context, store sink.Store, run string) (*snapshot.Manifest, error) {
	plan, err := snapshot.At(store).ReadPlan(ctx, run)
	if err != nil {
		return nil, err
	}
	gathered, err := snapshot.At(store).Collect(ctx, plan)
	if err != nil {
		return nil, err
	}
	return snapshot.At(store).Publish(ctx, gathered, snapshottest.Options())
}

// s3Destination is a bucket and the folder in which the server stores it.
type s3Destination struct {
	server *s3test.Server
	bucket string
	store  sink.Store
}

func newDestination(t testing.TB, server *s3test.Server) *s3Destination {
	t.Helper()
	d := &s3Destination{server: server, bucket: server.Bucket(t)}
	d.store = openS3(t, d.options(t))
	return d
}

func (d *s3Destination) options(t testing.TB) s3.Options {
	t.Helper()
	return d.server.Options(t, d.bucket, "pre")
}

func openS3(t testing.TB, opts s3.Options) sink.Store {
	t.Helper()
	store, err := s3.New(t.Context(), opts)
	require.NoError(t, err)
	return store
}

// objects returns the objects under the prefix and their bytes.
func (d *s3Destination) objects(t testing.TB) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for entry, err := range d.store.List(t.Context(), "") {
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(d.server.Root, d.bucket, "pre", filepath.FromSlash(entry.Path)))
		require.NoError(t, err)
		found[entry.Path] = string(data)
	}
	return found
}

// requireSnapshot requires one of the runs to be the complete snapshot of today and the others to be marked replaced.
// There must be no other data, no document of an unpublished run, and no upload.
func (d *s3Destination) requireSnapshot(t testing.TB, when string, runs ...string) (winner string) {
	t.Helper()
	report, err := maintenance.Verify(t.Context(), snapshot.At(d.store), maintenance.VerifyTarget{SnapshotDate: snapshottest.Today})
	require.NoError(t, err, when)
	require.Empty(t, report.Problems, when)
	latest, err := maintenance.Verify(t.Context(), snapshot.At(d.store), maintenance.VerifyTarget{})
	require.NoError(t, err, when)
	require.Equal(t, report, latest, when)
	want := []string{"_latest.json", "_snapshots/" + snapshottest.Today + ".json"}
	for _, run := range runs {
		manifest, err := snapshot.At(d.store).ReadManifest(t.Context(), run)
		require.NoError(t, err, when)
		want = append(want, snapshot.PlanPath(run), snapshot.ManifestPath(run), snapshot.LedgerPath(run))
		if run != report.RunID {
			require.Equal(t, snapshot.Replaced, manifest.Status, "%s: run %s", when, run)
			continue
		}
		require.Equal(t, snapshot.Published, manifest.Status, "%s: run %s", when, run)
		for _, table := range manifest.Tables {
			for _, file := range table.Files {
				want = append(want, file.Path)
			}
		}
	}
	var found []string
	for entry, err := range d.store.List(t.Context(), "") {
		require.NoError(t, err)
		found = append(found, entry.Path)
	}
	require.ElementsMatch(t, want, found, when)
	require.Empty(t, d.server.Uploads(t, d.bucket), when)
	return report.RunID
}
