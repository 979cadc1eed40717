package snapshot_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestAbandon abandons runs in every state before they are published. No files of theirs are left, and the previous
// snapshot is untouched.
func TestAbandon(t *testing.T) {
	t.Parallel()
	begins := func(t *testing.T, store sink.Store, commit bool) {
		t.Helper()
		begun, _, err := snapshot.BeginPublishing(snapshot.At(store), t.Context(), snapshottest.Collect(t, store, "run"), snapshottest.Options(), "")
		require.NoError(t, err)
		if commit {
			require.NoError(t, snapshot.CommitAll(snapshot.At(store), t.Context(), "run", begun.Files()[:2]))
		}
	}
	for name, prepare := range map[string]func(t *testing.T, store *sink.Dir, root string){
		"staging": func(t *testing.T, store *sink.Dir, _ string) {
			t.Helper()
			_, err := snapshot.At(store).CreatePlan(t.Context(), snapshottest.NewPlan("run", snapshottest.Planned(time.Hour)))
			require.NoError(t, err)
			snapshottest.StageTask(t, store, snapshottest.NewPlan("run"), snapshot.Task{Bucket: 0, Dataset: "test_results"}, nil)
		},
		"held": func(t *testing.T, store *sink.Dir, _ string) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Planned(time.Hour)), nil)
			require.NoError(t, snapshot.At(store).Hold(t.Context(), "run", snapshot.Held{Reasons: shrunk()}))
		},
		"publishing": func(t *testing.T, store *sink.Dir, _ string) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Planned(time.Hour)), nil)
			begins(t, store, true)
		},
		"before the pointer": func(t *testing.T, store *sink.Dir, _ string) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Planned(time.Hour)), nil)
			g := snapshottest.Collect(t, store, "run")
			_, err := snapshot.At(killedBefore{snapshottest.Lockless{Store: store}, snapshot.PointerPath(snapshot.Full, snapshottest.Today)}).Publish(t.Context(), g, snapshottest.Options())
			require.ErrorIs(t, err, snapshottest.ErrKilled)
		},
		"damaged plan": func(t *testing.T, store *sink.Dir, root string) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Planned(time.Hour)), nil)
			begins(t, store, true)
			require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/run/plan.json"), []byte("{"), 0o600))
		},
		"table is a link": func(t *testing.T, store *sink.Dir, root string) {
			t.Helper()
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Planned(time.Hour)), nil)
			begins(t, store, false)
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(root, "student_details")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("before"))
			want := snapshottest.Tree(t, root)
			prepare(t, store, root)
			require.NoError(t, snapshot.At(store).Abandon(t.Context(), "run"))
			if name == "table is a link" {
				require.NoError(t, os.Remove(filepath.Join(root, "student_details")), "the link is still there")
			}
			require.Equal(t, want, snapshottest.Tree(t, root))
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
			var refused *snapshot.RefusedError
			require.ErrorAs(t, snapshot.At(store).Abandon(t.Context(), "run"), &refused, "the run is gone")
		})
	}
}

func TestAbandonPublished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("replaced"))
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("published", snapshottest.Planned(time.Hour)))
	snapshottest.StageRun(t, store, snapshottest.NewPlan("unfinished", snapshottest.Planned(2*time.Hour)), nil)
	_, err := snapshot.At(killedBefore{snapshottest.Lockless{Store: store}, snapshot.LatestPath}).Publish(t.Context(), snapshottest.Collect(t, store, "unfinished"), snapshottest.Options())
	require.ErrorIs(t, err, snapshottest.ErrKilled)
	want := snapshottest.Tree(t, root)
	for _, run := range []string{"replaced", "unfinished", "unknown"} {
		var refused *snapshot.RefusedError
		require.ErrorAs(t, snapshot.At(store).Abandon(t.Context(), run), &refused)
		require.Equal(t, want, snapshottest.Tree(t, root))
	}
}

// TestAbandonKilledAnywhere interrupts a Publish, abandons the run, and kills Abandon before each of its operations.
// The next Abandon removes the rest, and if the Publish is finished in between, no partial snapshot is visible.
func TestAbandonKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, finishing := range []bool{false, true} {
		for n := int64(0); ; n++ {
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("before", snapshottest.Few))
			want := snapshottest.Tree(t, root)
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
			_, err := snapshot.At(killedBefore{snapshottest.Lockless{Store: store}, snapshot.PointerPath(snapshot.Full, snapshottest.Today)}).Publish(t.Context(), snapshottest.Collect(t, store, "run"), snapshottest.Options())
			require.ErrorIs(t, err, snapshottest.ErrKilled)
			dying := &snapshottest.Mortal{Store: snapshottest.NewDir(t, root)}
			dying.Left.Store(n)
			killed := snapshot.At(dying).Abandon(t.Context(), "run")
			if killed != nil {
				require.ErrorIs(t, killed, snapshottest.ErrKilled)
			}
			if finishing {
				_, err := snapshot.At(store).Recover(t.Context())
				require.NoError(t, err)
				snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today})
				runs, err := snapshot.At(store).Runs(t.Context())
				require.NoError(t, err)
				for _, run := range runs {
					require.NotEqual(t, snapshot.StatePublishing, run.State)
				}
			}
			if killed == nil {
				break
			}
			manifest, err := snapshot.At(store).Current(t.Context(), snapshot.Full, snapshottest.Today)
			require.NoError(t, err)
			if manifest.RunID == "before" {
				err := snapshot.At(store).Abandon(t.Context(), "run")
				if _, gone := err.(*snapshot.RefusedError); !gone { //nolint:errorlint // it is not wrapped
					require.NoError(t, err)
				}
				require.Equal(t, want, snapshottest.Tree(t, root), n)
			}
		}
	}
}

// TestAbandonOfARunAtWork checks that a run that a process is working on cannot be abandoned, and that the error
// contains the id of the run.
func TestAbandonOfARunAtWork(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	snapshottest.StageRun(t, store, snapshottest.NewPlan("run"), nil)
	release, err := snapshot.At(snapshottest.NewDir(t, root)).HoldRunShared(t.Context(), "run", 3, 8)
	require.NoError(t, err)
	err = snapshot.At(store).Abandon(t.Context(), "run")
	require.ErrorIs(t, err, sink.ErrLocked)
	require.ErrorContains(t, err, "abandon run run: ")
	require.ErrorContains(t, err, "held by process "+strconv.Itoa(os.Getpid()))
	require.NoError(t, release())
	require.NoError(t, snapshot.At(store).Abandon(t.Context(), "run"))
}
