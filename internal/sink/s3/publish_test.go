package s3_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/schemas"
)

const today = "2026-11-20"

func morning() time.Time { return time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC) }

// newPlan is a run of two tables and one school, planned that long after
// morning.
func newPlan(run string, after time.Duration) *sink.Plan {
	return &sink.Plan{
		FormatVersion: sink.FormatVersion, RunID: run, Kind: sink.Full, SnapshotDate: today,
		PlannedAt: morning().Add(after), ToolVersion: "1.0.0", BaseURL: "https://service.example",
		Scope:       sink.Scope{Datasets: []string{"schools", "students"}, Perspectives: "all", PartitionBy: sink.NotPartitioned},
		Fingerprint: "f", SchoolsPerFile: 2, Shards: 1, MaxShrink: "20%",
		Schools: []sink.School{{Bid: "s1", District: "d1"}},
		Buckets: []sink.Bucket{{Index: 0, First: 0, End: 1, District: "d1"}},
	}
}

// stageRun plans a run and stages all of it.
func stageRun(ctx context.Context, store sink.Store, plan *sink.Plan) error {
	plan, err := sink.CreatePlan(ctx, store, plan)
	if err != nil {
		return err
	}
	for _, unit := range plan.Units() {
		if err := stageUnit(ctx, store, plan, unit); err != nil {
			return err
		}
	}
	return nil
}

func stageUnit(ctx context.Context, store sink.Store, plan *sink.Plan, unit sink.Unit) error {
	dataset, _ := schemas.Find(unit.Dataset)
	school := ""
	if unit.Bucket != sink.LookupBucket {
		school = plan.Schools[0].Bid
	}
	journal := &sink.Journal{
		Dataset: unit.Dataset, Bucket: unit.Bucket, Files: make(map[string]sink.File), StagedAt: plan.PlannedAt,
		Ledger: []sink.LedgerRow{{
			Dataset: unit.Dataset, SchoolBid: school, Status: sink.StatusOK, Pages: 1, RecordsReceived: 1, RowsWritten: 1,
		}},
	}
	for _, table := range dataset.Tables {
		file, err := sink.CreateTable(ctx, store, plan.RunID, plan.DataPath(table.Name, unit.Bucket), table)
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
	return sink.WriteJournal(ctx, store, plan.RunID, journal)
}

// oneRow is a row whose required columns are filled.
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
func publishStaged(ctx context.Context, store sink.Store, run string) (*sink.Manifest, error) {
	plan, err := sink.ReadPlan(ctx, store, run)
	if err != nil {
		return nil, err
	}
	gathered, err := sink.Gather(ctx, store, plan)
	if err != nil {
		return nil, err
	}
	return sink.Publish(ctx, store, gathered, sink.PublishOptions{Now: morning})
}

// finish does what the next command does: it finishes what was begun, and
// publishes the run if that had not begun.
func finish(ctx context.Context, store sink.Store, run string) error {
	if _, err := sink.FinishPublishing(ctx, store); err != nil {
		return err
	}
	_, err := publishStaged(ctx, store, run)
	return err
}

// destination is a bucket that is looked at as what it is, a folder.
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

// objects are the objects under the prefix and their bytes.
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

// requireSnapshot expects that one of the runs is the snapshot of today, whole,
// that the others are marked replaced, and that nothing else is left of any: no
// data, no document that only an unpublished run needs, no upload.
func (d *destination) requireSnapshot(t testing.TB, when string, runs ...string) (winner string) {
	t.Helper()
	report, err := sink.Verify(t.Context(), d.store, sink.VerifyTarget{SnapshotDate: today})
	require.NoError(t, err, when)
	require.Empty(t, report.Problems, when)
	latest, err := sink.Verify(t.Context(), d.store, sink.VerifyTarget{})
	require.NoError(t, err, when)
	require.Equal(t, report, latest, when)
	want := []string{"_latest.json", "_snapshots/" + today + ".json"}
	for _, run := range runs {
		manifest, err := sink.ReadManifest(t.Context(), d.store, run)
		require.NoError(t, err, when)
		want = append(want, sink.PlanPath(run), sink.ManifestPath(run), sink.LedgerPath(run))
		if run != report.RunID {
			require.Equal(t, sink.Replaced, manifest.Status, "%s: run %s", when, run)
			continue
		}
		require.Equal(t, sink.Published, manifest.Status, "%s: run %s", when, run)
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

// A publishing is killed before an operation; the next command comes to the
// very same end.
func TestPublishingIsKilled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		setUp func(ctx context.Context, store sink.Store) error
		runs  []string
	}{
		{"the first run", nil, []string{"new"}},
		{"a run that replaces another", func(ctx context.Context, store sink.Store) error {
			if err := stageRun(ctx, store, newPlan("old", 0)); err != nil {
				return err
			}
			_, err := publishStaged(ctx, store, "old")
			return err
		}, []string{"old", "new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			prepared := func(t *testing.T) *destination {
				t.Helper()
				d := newDestination(t)
				if test.setUp != nil {
					require.NoError(t, test.setUp(t.Context(), d.store))
				}
				require.NoError(t, stageRun(t.Context(), d.store, newPlan("new", time.Hour)))
				return d
			}
			quiet := prepared(t)
			counter := killedAt(quiet.store, 1<<30)
			require.NoError(t, finish(t.Context(), counter, "new"))
			require.Equal(t, "new", quiet.requireSnapshot(t, "undisturbed", test.runs...))
			want := quiet.objects(t)
			operations := int(counter.taken.Load())
			require.Greater(t, operations, 20)
			for n := 0; n < operations; n += stride() {
				d := prepared(t)
				when := fmt.Sprintf("killed before operation %d of %d", n, operations)
				require.ErrorIs(t, finish(t.Context(), killedAt(d.store, n), "new"), errKilled, when)
				require.NoError(t, finish(t.Context(), d.store, "new"), when)
				d.requireSnapshot(t, when, test.runs...)
				require.Equal(t, want, d.objects(t), when)
			}
		})
	}
}

// stride passes over some operations, for all of them take a minute. With
// S3_STRIDE=1 in the environment none is passed over.
func stride() int {
	if os.Getenv("S3_STRIDE") == "1" {
		return 1
	}
	return 6
}

// Somebody else publishes another run of the date, from beginning to end, while
// this one stands still before one of its operations.
func TestPublishingIsOvertaken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		after time.Duration // the other is planned after this one
		// others are the runs that others publish, one after the other.
		others []string
	}{
		{"by a run planned later", time.Hour, []string{"other"}},
		{"by a run planned earlier", -time.Hour, []string{"other"}},
		{"by another process of the run, and then by a later run", time.Hour, []string{"this", "other"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			operations := 1 << 30
			for n := 0; n < operations; n += stride() {
				d := newDestination(t)
				ctx := t.Context()
				require.NoError(t, stageRun(ctx, d.store, newPlan("this", 0)))
				require.NoError(t, stageRun(ctx, d.store, newPlan("other", test.after)))
				var otherErr error
				this := overtakenAt(d.store, n, func() {
					for _, run := range test.others {
						_, otherErr = publishStaged(ctx, d.store, run)
					}
				})
				_, thisErr := publishStaged(ctx, this, "this")
				operations = int(this.taken.Load())
				when := fmt.Sprintf("overtaken before operation %d of %d", n, operations)
				winner := d.requireSnapshot(t, when, "this", "other")
				for run, err := range map[string]error{"this": thisErr, "other": otherErr} {
					if run == winner {
						require.NoError(t, err, when)
					} else if err != nil {
						require.ErrorIs(t, err, sink.ErrConflict, when)
					}
				}
			}
		})
	}
}

// Two publish at once.
func TestTwoPublishers(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		d := newDestination(t)
		opts := options(t, d.bucket, "pre")
		ctx := t.Context()
		runs := []string{"a", "b"}
		for i, run := range runs {
			require.NoError(t, stageRun(ctx, d.store, newPlan(run, time.Duration(i)*time.Hour)))
		}
		errs := make([]error, len(runs))
		var group errgroup.Group
		for i, run := range runs {
			store := open(t, opts)
			group.Go(func() error {
				_, errs[i] = publishStaged(ctx, store, run)
				return nil
			})
		}
		require.NoError(t, group.Wait())
		when := fmt.Sprintf("round %d", round)
		require.Equal(t, "b", d.requireSnapshot(t, when, runs...), "the one planned later stands")
		require.NoError(t, errs[1], when)
		if errs[0] != nil {
			require.ErrorIs(t, errs[0], sink.ErrConflict, when)
		}
	}
}

// Two processes do the same run at once, staging included: there is one whole
// snapshot, at the latest when the command is given once more.
func TestTwoProcessesOfARun(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		d := newDestination(t)
		opts := options(t, d.bucket, "pre")
		ctx := t.Context()
		command := func(store sink.Store) error {
			if _, err := sink.FinishPublishing(ctx, store); err != nil {
				return err
			}
			plan, err := sink.CreatePlan(ctx, store, newPlan("run", 0))
			if err != nil {
				return err
			}
			gathered, err := sink.Gather(ctx, store, plan)
			if err != nil {
				return err
			}
			if _, err := sink.ReadManifest(ctx, store, "run"); errors.Is(err, sink.ErrNotFound) {
				for _, unit := range gathered.Missing {
					if err := stageUnit(ctx, store, plan, unit); err != nil {
						return err
					}
				}
			}
			_, err = publishStaged(ctx, store, "run")
			return err
		}
		errs := make([]error, 2)
		var group errgroup.Group
		for i := range errs {
			store := open(t, opts)
			group.Go(func() error {
				errs[i] = command(store)
				return nil
			})
		}
		require.NoError(t, group.Wait())
		require.NoError(t, command(d.store))
		d.requireSnapshot(t, fmt.Sprintf("round %d: %v", round, errs), "run")
	}
}

// With 40 % of all requests failing, a command or two come to the same end.
func TestPublishingWithFortyPercent(t *testing.T) {
	t.Parallel()
	quiet, d := newDestination(t), newDestination(t)
	ctx := t.Context()
	for _, run := range []string{"a", "b"} {
		require.NoError(t, stageRun(ctx, quiet.store, newPlan(run, 0)))
		require.NoError(t, finish(ctx, quiet.store, run))
	}
	opts := options(t, d.bucket, "pre")
	opts.Endpoint = d.server.Proxy(t, s3test.Share(11, 0.4)).Endpoint
	store := open(t, opts)
	for _, run := range []string{"a", "b"} {
		tries := 0
		for {
			err := stageRun(ctx, store, newPlan(run, 0))
			if err == nil {
				err = finish(ctx, store, run)
			}
			if err == nil {
				break
			}
			tries++
			require.Less(t, tries, 5, "%v", err)
		}
	}
	require.Equal(t, "b", d.requireSnapshot(t, "after all", "a", "b"))
	require.Equal(t, quiet.objects(t), d.objects(t))
}

// A store that has dropped a staged upload: nothing is visible, the unit is
// done again, and what is left is taken as it is.
func TestLostUpload(t *testing.T) {
	t.Parallel()
	d := newDestination(t)
	ctx := t.Context()
	plan := newPlan("run", 0)
	require.NoError(t, stageRun(ctx, d.store, plan))
	gathered, err := sink.Gather(ctx, d.store, plan)
	require.NoError(t, err)
	require.NoError(t, d.store.Abort(ctx, "run", gathered.Tables["students"].Files[0]))
	_, err = sink.Publish(ctx, d.store, gathered, sink.PublishOptions{})
	require.ErrorIs(t, err, sink.ErrStagedLost)
	require.ErrorContains(t, err, "run it again")
	for name := range d.objects(t) {
		require.Equal(t, "_runs", strings.Split(path.Clean(name), "/")[0], "%s is visible", name)
	}
	gathered, err = sink.Gather(ctx, d.store, plan)
	require.NoError(t, err)
	require.NotEmpty(t, gathered.Missing)
	for _, unit := range gathered.Missing {
		require.NoError(t, stageUnit(ctx, d.store, plan, unit))
	}
	require.NoError(t, finish(ctx, d.store, "run"))
	d.requireSnapshot(t, "after all", "run")
}

// Status tells of runs on S3 as of those on disk.
func TestRuns(t *testing.T) {
	t.Parallel()
	d := newDestination(t)
	ctx := t.Context()
	require.NoError(t, stageRun(ctx, d.store, newPlan("run", 0)))
	runs, err := sink.Runs(ctx, d.store)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, sink.StateStaged, runs[0].State)
	require.WithinDuration(t, time.Now(), runs[0].LastProgress, time.Hour)
	require.NoError(t, finish(ctx, d.store, "run"))
	runs, err = sink.Runs(ctx, d.store)
	require.NoError(t, err)
	require.Equal(t, sink.StatePublished, runs[0].State)
}
