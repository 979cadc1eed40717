package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPublishingOnS3IsKilled kills a Publish before an operation and expects the same result from the next command.
func TestPublishingOnS3IsKilled(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, test := range []struct {
		name  string
		setUp func(ctx context.Context, store sink.Store) error
		runs  []string
	}{
		{"the first run", nil, []string{"new"}},
		{"a run that replaces another", func(ctx context.Context, store sink.Store) error {
			if err := stageRun(ctx, store, smallPlan("old", 0)); err != nil {
				return err
			}
			_, err := publishStaged(ctx, store, "old")
			return err
		}, []string{"old", "new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			prepared := func(t *testing.T) *s3Destination {
				t.Helper()
				d := newDestination(t, server)
				if test.setUp != nil {
					require.NoError(t, test.setUp(t.Context(), d.store))
				}
				require.NoError(t, stageRun(t.Context(), d.store, smallPlan("new", time.Hour)))
				return d
			}
			quiet := prepared(t)
			counter := &snapshottest.Mortal{Store: quiet.store}
			counter.Left.Store(1 << 30)
			require.NoError(t, finish(t.Context(), counter, "new"))
			require.Equal(t, "new", quiet.requireSnapshot(t, "undisturbed", test.runs...))
			want := quiet.objects(t)
			operations := 1<<30 - counter.Left.Load()
			require.Greater(t, operations, int64(20))
			for n := int64(0); n < operations; n += stride() {
				d := prepared(t)
				when := fmt.Sprintf("killed before operation %d of %d", n, operations)
				dead := &snapshottest.Mortal{Store: d.store}
				dead.Left.Store(n)
				require.ErrorIs(t, finish(t.Context(), dead, "new"), snapshottest.ErrKilled, when)
				require.NoError(t, finish(t.Context(), d.store, "new"), when)
				d.requireSnapshot(t, when, test.runs...)
				require.Equal(t, want, d.objects(t), when)
			}
		})
	}
}

// stride skips operations, because all of them take a minute. S3_STRIDE=1 in the environment skips none.
func stride() int64 {
	if os.Getenv("S3_STRIDE") == "1" {
		return 1
	}
	return 8
}

// TestPublishingOnS3IsOvertaken publishes another run of the date while this one is stopped before one of its
// operations.
func TestPublishingOnS3IsOvertaken(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, test := range []struct {
		name  string
		after time.Duration // how long after this run the other is planned
		// others are published one after the other.
		others []string
	}{
		{"by a run planned later", time.Hour, []string{"other"}},
		{"by a run planned earlier", -time.Hour, []string{"other"}},
		{"by another process of the run, and then by a later run", time.Hour, []string{"this", "other"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			operations := int64(1 << 30)
			for n := int64(0); n < operations; n += stride() {
				d := newDestination(t, server)
				ctx := t.Context()
				require.NoError(t, stageRun(ctx, d.store, smallPlan("this", 0)))
				require.NoError(t, stageRun(ctx, d.store, smallPlan("other", test.after)))
				var otherErr error
				this := &snapshottest.Mortal{Store: d.store}
				this.Left.Store(1 << 30)
				var taken atomic.Int64
				this.Wait = func() {
					if taken.Add(1)-1 == n {
						for _, run := range test.others {
							_, otherErr = publishStaged(ctx, d.store, run)
						}
					}
				}
				_, thisErr := publishStaged(ctx, this, "this")
				operations = taken.Load()
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

// TestTwoPublishersOnS3 publishes two runs of a date concurrently.
func TestTwoPublishersOnS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for round := range 4 {
		d := newDestination(t, server)
		opts := d.options(t)
		ctx := t.Context()
		runs := []string{"a", "b"}
		for i, run := range runs {
			require.NoError(t, stageRun(ctx, d.store, smallPlan(run, time.Duration(i)*time.Hour)))
		}
		errs := make([]error, len(runs))
		var group errgroup.Group
		for i, run := range runs {
			store := openS3(t, opts)
			group.Go(func() error {
				_, errs[i] = publishStaged(ctx, store, run)
				return nil
			})
		}
		require.NoError(t, group.Wait())
		when := fmt.Sprintf("round %d", round)
		require.Equal(t, "b", d.requireSnapshot(t, when, runs...), "the one planned later is current")
		require.NoError(t, errs[1], when)
		if errs[0] != nil {
			require.ErrorIs(t, errs[0], sink.ErrConflict, when)
		}
	}
}

// TestTwoProcessesOfARunOnS3 stages and publishes the same run in two processes at once. There is one complete
// snapshot, at the latest after the command has been run again.
func TestTwoProcessesOfARunOnS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for round := range 4 {
		d := newDestination(t, server)
		opts := d.options(t)
		ctx := t.Context()
		command := func(store sink.Store) error {
			if err := snapshottest.FinishAll(ctx, store); err != nil {
				return err
			}
			plan, err := snapshot.At(store).CreatePlan(ctx, smallPlan("run", 0))
			if err != nil {
				return err
			}
			gathered, err := snapshot.At(store).Collect(ctx, plan)
			if err != nil {
				return err
			}
			if _, err := snapshot.At(store).ReadManifest(ctx, "run"); errors.Is(err, sink.ErrNotFound) {
				for _, task := range gathered.Missing {
					if err := stageTask(ctx, store, plan, task); err != nil {
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
			store := openS3(t, opts)
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

// TestPublishingOnS3WithFortyPercent makes 40 % of all requests fail. After a few commands the result is the same as
// without failures.
func TestPublishingOnS3WithFortyPercent(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	quiet, d := newDestination(t, server), newDestination(t, server)
	ctx := t.Context()
	for _, run := range []string{"a", "b"} {
		require.NoError(t, stageRun(ctx, quiet.store, smallPlan(run, 0)))
		require.NoError(t, finish(ctx, quiet.store, run))
	}
	opts := d.options(t)
	opts.Endpoint = d.server.Proxy(t, s3test.Share(11, 0.4)).Endpoint
	store := openS3(t, opts)
	for _, run := range []string{"a", "b"} {
		tries := 0
		for {
			err := stageRun(ctx, store, smallPlan(run, 0))
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

// TestLostUpload publishes a run after the store has dropped a staged upload. No files are visible, and only that task
// is done again.
func TestLostUpload(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	d := newDestination(t, server)
	ctx := t.Context()
	plan := smallPlan("run", 0)
	require.NoError(t, stageRun(ctx, d.store, plan))
	gathered, err := snapshot.At(d.store).Collect(ctx, plan)
	require.NoError(t, err)
	require.NoError(t, d.store.Abort(ctx, "run", gathered.Tables["students"].Files[0]))
	_, err = snapshot.At(d.store).Publish(ctx, gathered, snapshottest.Options())
	require.ErrorIs(t, err, sink.ErrStagedLost)
	require.ErrorContains(t, err, "run the same command again")
	for name := range d.objects(t) {
		require.Equal(t, "_runs", strings.Split(path.Clean(name), "/")[0], "%s is visible", name)
	}
	gathered, err = snapshot.At(d.store).Collect(ctx, plan)
	require.NoError(t, err)
	require.NotEmpty(t, gathered.Missing)
	for _, task := range gathered.Missing {
		require.NoError(t, stageTask(ctx, d.store, plan, task))
	}
	require.NoError(t, finish(ctx, d.store, "run"))
	d.requireSnapshot(t, "after all", "run")
}

// TestRunsOnS3 expects the same status of runs as on disk.
func TestRunsOnS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	d := newDestination(t, server)
	ctx := t.Context()
	require.NoError(t, stageRun(ctx, d.store, smallPlan("run", 0)))
	runs, err := snapshot.At(d.store).Runs(ctx)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, snapshot.StateStaged, runs[0].State)
	require.WithinDuration(t, time.Now(), runs[0].LastProgress, time.Hour)
	require.NoError(t, finish(ctx, d.store, "run"))
	runs, err = snapshot.At(d.store).Runs(ctx)
	require.NoError(t, err)
	require.Equal(t, snapshot.StatePublished, runs[0].State)
}
