package sink

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAbandon gives up runs in every state before they are published: nothing of
// them is left, and the previous snapshot is untouched.
func TestAbandon(t *testing.T) {
	t.Parallel()
	begins := func(t *testing.T, store Store, commit bool) {
		t.Helper()
		begun, _, err := beginPublishing(t.Context(), store, gather(t, store, "run"), options(), "")
		require.NoError(t, err)
		if commit {
			require.NoError(t, CommitAll(t.Context(), store, "run", begun.files()[:2]))
		}
	}
	for name, prepare := range map[string]func(t *testing.T, store *Dir, root string){
		"staging": func(t *testing.T, store *Dir, _ string) {
			t.Helper()
			_, err := CreatePlan(t.Context(), store, newPlan("run", planned(time.Hour)))
			require.NoError(t, err)
			stageUnit(t, store, newPlan("run"), Unit{Bucket: 0, Dataset: "test_results"}, nil)
		},
		"held": func(t *testing.T, store *Dir, _ string) {
			t.Helper()
			stageRun(t, store, newPlan("run", planned(time.Hour)), nil)
			require.NoError(t, Hold(t.Context(), store, "run", Held{Reasons: []string{"shrunk"}}))
		},
		"publishing": func(t *testing.T, store *Dir, _ string) {
			t.Helper()
			stageRun(t, store, newPlan("run", planned(time.Hour)), nil)
			begins(t, store, true)
		},
		"before the pointer": func(t *testing.T, store *Dir, _ string) {
			t.Helper()
			stageRun(t, store, newPlan("run", planned(time.Hour)), nil)
			g := gather(t, store, "run")
			_, err := Publish(t.Context(), killedBefore{lockless{store}, PointerPath(Full, today)}, g, options())
			require.ErrorIs(t, err, errKilled)
		},
		"damaged plan": func(t *testing.T, store *Dir, root string) {
			t.Helper()
			stageRun(t, store, newPlan("run", planned(time.Hour)), nil)
			begins(t, store, true)
			require.NoError(t, os.WriteFile(filepath.Join(root, "_runs/run/plan.json"), []byte("{"), 0o600))
		},
		"table is a link": func(t *testing.T, store *Dir, root string) {
			t.Helper()
			stageRun(t, store, newPlan("run", planned(time.Hour)), nil)
			begins(t, store, false)
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(root, "student_details")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := newDir(t, root)
			takeSnapshot(t, store, newPlan("before"))
			want := tree(t, root)
			prepare(t, store, root)
			require.NoError(t, Abandon(t.Context(), store, "run"))
			if name == "table is a link" {
				require.NoError(t, os.Remove(filepath.Join(root, "student_details")), "the link is left alone")
			}
			require.Equal(t, want, tree(t, root))
			requireVerified(t, store, VerifyTarget{})
			var refused *RefusedError
			require.ErrorAs(t, Abandon(t.Context(), store, "run"), &refused, "it is gone")
		})
	}
}

func TestAbandonPublished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	takeSnapshot(t, store, newPlan("replaced"))
	takeSnapshot(t, store, newPlan("published", planned(time.Hour)))
	stageRun(t, store, newPlan("unfinished", planned(2*time.Hour)), nil)
	_, err := Publish(t.Context(), killedBefore{lockless{store}, LatestPath}, gather(t, store, "unfinished"), options())
	require.ErrorIs(t, err, errKilled)
	want := tree(t, root)
	for _, run := range []string{"replaced", "unfinished", "unknown"} {
		var refused *RefusedError
		require.ErrorAs(t, Abandon(t.Context(), store, run), &refused)
		require.Equal(t, want, tree(t, root))
	}
}

// TestAbandonKilledAnywhere kills the abandoning of a publishing that was cut
// short before each of its operations: the next one removes the rest, and a
// publishing that is finished in between never shows a partial snapshot.
func TestAbandonKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, finishing := range []bool{false, true} {
		for n := int64(0); ; n++ {
			root := t.TempDir()
			store := newDir(t, root)
			takeSnapshot(t, store, newPlan("before", few))
			want := tree(t, root)
			stageRun(t, store, newPlan("run", few, planned(time.Hour)), nil)
			_, err := Publish(t.Context(), killedBefore{lockless{store}, PointerPath(Full, today)}, gather(t, store, "run"), options())
			require.ErrorIs(t, err, errKilled)
			dying := &mortal{Store: newDir(t, root)}
			dying.left.Store(n)
			killed := Abandon(t.Context(), dying, "run")
			if killed != nil {
				require.ErrorIs(t, killed, errKilled)
			}
			if finishing {
				_, err := Recover(t.Context(), store)
				require.NoError(t, err)
				requireVerified(t, store, VerifyTarget{SnapshotDate: today})
				runs, err := Runs(t.Context(), store)
				require.NoError(t, err)
				for _, run := range runs {
					require.NotEqual(t, StatePublishing, run.State)
				}
			}
			if killed == nil {
				break
			}
			manifest, err := Standing(t.Context(), store, Full, today)
			require.NoError(t, err)
			if manifest.RunID == "before" {
				err := Abandon(t.Context(), store, "run")
				if _, gone := err.(*RefusedError); !gone { //nolint:errorlint // it is not wrapped
					require.NoError(t, err)
				}
				require.Equal(t, want, tree(t, root), n)
			}
		}
	}
}

// TestAbandonOfARunAtWork refuses to abandon a run that a process works on, and
// names it.
func TestAbandonOfARunAtWork(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := newDir(t, root)
	stageRun(t, store, newPlan("run"), nil)
	release, err := HoldRunShared(t.Context(), newDir(t, root), "run", 3, 8)
	require.NoError(t, err)
	err = Abandon(t.Context(), store, "run")
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "another process is working on run run")
	require.ErrorContains(t, err, "held by process "+strconv.Itoa(os.Getpid()))
	require.NoError(t, release())
	require.NoError(t, Abandon(t.Context(), store, "run"))
}
