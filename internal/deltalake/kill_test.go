package deltalake_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

var kills = flag.Int("kills", 0, "kills of each command of TestKilled on each kind of destination; 0 for few, -1 for all")

// TestKilled kills a command before each of its store operations. After the next command that changes the destination,
// which may be a different one, the logs are correct.
func TestKilled(t *testing.T) {
	t.Parallel()
	tests := map[string]func(ctx context.Context, store sink.Store) error{
		"publish": publishAgain,
		"prune":   func(ctx context.Context, store sink.Store) error { return prune(ctx, store, 1) },
		"purge":   func(ctx context.Context, store sink.Store) error { return purge(ctx, store, "s1") },
		"fold":    fold,
		"first":   func(context.Context, sink.Store) error { return nil },
	}
	onBoth(t, func(t *testing.T, create func(t *testing.T) destination, onS3 bool) {
		t.Helper()
		for name, do := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				start := create(t)
				takeNight(t, start.store, days(2)[0])
				require.NoError(t, fold(t.Context(), start.store))
				if name != "first" {
					mustReconcile(t, start.store, creating())
				}
				takeNight(t, start.store, days(2)[1])
				if name != "first" {
					mustReconcile(t, start.store, creating()) // so that the next commit gets a checkpoint
				}
				killAnywhere(t, start, create, onS3, *kills, func(store sink.Store) error {
					if err := do(t.Context(), store); err != nil {
						return err
					}
					_, err := deltalake.Reconcile(t.Context(), snapshot.At(store), creating())
					return err
				})
			})
		}
	})
}

// TestKilledWritingCheckpoints kills the update of two logs before each of its store operations. Readers find a correct
// log, and the next command writes the rest.
func TestKilledWritingCheckpoints(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, create func(t *testing.T) destination, onS3 bool) {
		t.Helper()
		start := create(t)
		for _, date := range days(3) {
			takeNight(t, start.store, date)
			if date != days(3)[2] {
				mustReconcile(t, start.store, creating())
			}
		}
		total := *kills
		if !onS3 && !testing.Short() {
			total = -1
		}
		killAnywhere(t, start, create, onS3, total, func(store sink.Store) error { return reconcile(t.Context(), store) })
	})
}

// killAnywhere kills a command total times: 0 means a few times, -1 before each of its operations.
func killAnywhere(
	t *testing.T, start destination, create func(t *testing.T) destination, onS3 bool, total int, command func(store sink.Store) error,
) {
	t.Helper()
	copied := func() destination {
		d := create(t)
		if onS3 {
			snapshottest.LinkTree(t, start.root, d.root)
			return d
		}
		root := snapshottest.CopyTree(t, start.root)
		return destination{snapshottest.NewDir(t, root), root}
	}
	counted := &snapshottest.Mortal{Store: copied().store}
	counted.Left.Store(1 << 40)
	require.NoError(t, command(counted))
	operations := int(1<<40 - counted.Left.Load())
	require.Greater(t, operations, 20)
	switch {
	case total < 0 || total > operations:
		total = operations
	case total == 0 && onS3:
		total = 3
	case total == 0:
		total = 10
	}
	checkpoints := 0
	for i := range total {
		n := i * operations / total
		d := copied()
		dead := &snapshottest.Mortal{Store: d.store}
		dead.Left.Store(int64(n))
		require.ErrorIs(t, command(dead), snapshottest.ErrKilled)
		requireCheckpoints(t, d.root, "schools", commits(t, d.root, "schools"))
		checkpoints += requireCheckpoints(t, d.root, "students", commits(t, d.root, "students"))
		require.NoError(t, snapshottest.FinishAll(t.Context(), d.store))
		mustReconcile(t, d.store, creating())
		requireUpToDate(t, d.root, "killed before operation %d of %d", n, operations)
		require.NoError(t, os.RemoveAll(d.root))
	}
	t.Logf("%d kills at %d store operations, %d after the checkpoint of a log", total, operations, checkpoints/interval)
}

// publishAgain replaces the second of two nights.
func publishAgain(ctx context.Context, store sink.Store) error {
	catalog := snapshot.At(store)
	plan, err := catalog.CreatePlan(ctx, snapshottest.NewPlan("again", snapshottest.Few, snapshottest.OnDate(days(2)[1]), func(p *snapshot.Plan) {
		p.Replace = true
	}))
	if err != nil {
		return err
	}
	for _, task := range plan.Tasks() {
		if err := snapshottest.StageWorldTask(ctx, store, plan, task, nil); err != nil {
			return err
		}
	}
	staged, err := catalog.Collect(ctx, plan)
	if err == nil {
		_, err = catalog.Publish(ctx, staged, snapshottest.Options())
	}
	return err
}
