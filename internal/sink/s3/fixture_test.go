package s3_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

const today = "2026-11-20"

func morning() time.Time { return time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC) }

// newPlan returns the plan of a run of two tables and one school, planned after morning.
func newPlan(run string, after time.Duration) *snapshot.Plan {
	return &snapshot.Plan{
		FormatVersion: snapshot.FormatVersion, RunID: run, Kind: snapshot.Full, SnapshotDate: today,
		PlannedAt: morning().Add(after), ToolVersion: "1.0.0", BaseURL: "https://service.example",
		Scope:       snapshot.Scope{Datasets: []string{"schools", "students"}, Perspectives: "all", PartitionBy: snapshot.NotPartitioned},
		Fingerprint: "f", SchoolsPerFile: 2, Shards: 1, MaxShrink: "20%",
		Schools: []snapshot.School{{Bid: "s1", District: "d1"}},
		Buckets: []snapshot.Bucket{{Index: 0, First: 0, End: 1, District: "d1"}},
	}
}

// stageRun creates the plan of a run and stages all of its tasks.
func stageRun(ctx context.Context, store sink.Store, plan *snapshot.Plan) error {
	plan, err := snapshot.At(store).CreatePlan(ctx, plan)
	if err != nil {
		return err
	}
	for _, unit := range plan.Tasks() {
		if err := stageUnit(ctx, store, plan, unit); err != nil {
			return err
		}
	}
	return nil
}

func stageUnit(ctx context.Context, store sink.Store, plan *snapshot.Plan, unit snapshot.Task) error {
	dataset, _ := schemas.Find(unit.Dataset)
	school := ""
	if unit.Bucket != snapshot.LookupBucket {
		school = plan.Schools[0].Bid
	}
	journal := &snapshot.Checkpoint{
		Dataset: unit.Dataset, Bucket: unit.Bucket, Files: make(map[string]sink.File), StagedAt: plan.PlannedAt,
		Ledger: []snapshot.LedgerRow{{
			Dataset: unit.Dataset, SchoolBid: school, Status: snapshot.StatusOK, Pages: 1, RecordsReceived: 1, RowsWritten: 1,
		}},
	}
	for _, table := range dataset.Tables {
		file, err := snapshot.NewTables(snapshot.At(store), plan.RunID).Create(ctx, plan.DataPath(table.Name, unit.Bucket), table)
		if err != nil {
			return err
		}
		err = file.Append(oneRow(table, school))
		if err == nil {
			journal.Files[table.Name], err = file.Stage(ctx)
		}
		if err := errors.Join(err, file.Abort()); err != nil {
			return err
		}
	}
	return snapshot.At(store).WriteCheckpoint(ctx, plan.RunID, journal)
}

// oneRow returns a row with values in the required columns.
func oneRow(table *schemas.Table, school string) *rows.Batch {
	batch := rows.New(table)
	for i := range batch.Cols {
		switch v := &batch.Cols[i]; {
		case !v.Required:
			v.AppendNull()
		case v.IsText():
			v.AppendString(school)
		default:
			v.AppendInt32(0)
		}
	}
	batch.N++
	return batch
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
	return snapshot.At(store).Publish(ctx, gathered, snapshot.PublishOptions{Now: morning})
}

// finishAll finishes every interrupted publishing.
func finishAll(ctx context.Context, store sink.Store) error {
	recovered, err := snapshot.At(store).Recover(ctx)
	return errors.Join(err, recovered.Err())
}

// finish does what the next command does: it finishes an interrupted publishing, or else publishes the run.
func finish(ctx context.Context, store sink.Store, run string) error {
	if err := finishAll(ctx, store); err != nil {
		return err
	}
	_, err := publishStaged(ctx, store, run)
	return err
}

// destination is a bucket and its folder.
type destination struct {
	server *s3test.Server
	bucket string
	store  sink.Store
}

func newDestination(t testing.TB) *destination {
	t.Helper()
	server := server(t)
	bucket := server.Bucket(t)
	return &destination{server: server, bucket: bucket, store: open(t, options(t, bucket, "pre"))}
}

// objects returns the objects under the prefix and their bytes.
func (d *destination) objects(t testing.TB) map[string]string {
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

// requireSnapshot expects that one of the runs is the complete snapshot of today, that the others are marked replaced,
// and that there is nothing else: no data, no document of an unpublished run, no upload.
func (d *destination) requireSnapshot(t testing.TB, when string, runs ...string) (winner string) {
	t.Helper()
	report, err := maintenance.Verify(t.Context(), snapshot.At(d.store), maintenance.VerifyTarget{SnapshotDate: today})
	require.NoError(t, err, when)
	require.Empty(t, report.Problems, when)
	latest, err := maintenance.Verify(t.Context(), snapshot.At(d.store), maintenance.VerifyTarget{})
	require.NoError(t, err, when)
	require.Equal(t, report, latest, when)
	want := []string{"_latest.json", "_snapshots/" + today + ".json"}
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
