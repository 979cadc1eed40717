package snapshot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestSomebodyElseIsFaster publishes another run in the middle of a Publish, just before that writes one of its
// documents.
func TestSomebodyElseIsFaster(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		path   string
		other  func(*snapshot.Plan)
		winner string // of today
		latest string
	}{
		{"later, at the change", snapshot.ChangePath("run"), snapshottest.Planned(time.Hour), "other", "other"},
		{"earlier, at the change", snapshot.ChangePath("run"), snapshottest.Planned(-time.Hour), "run", "run"},
		{"later, at the manifest", snapshot.ManifestPath("run"), snapshottest.Planned(time.Hour), "other", "other"},
		{"earlier, at the manifest", snapshot.ManifestPath("run"), snapshottest.Planned(-time.Hour), "run", "run"},
		{"later, at the pointer", snapshot.PointerPath(snapshot.Full, snapshottest.Today), snapshottest.Planned(time.Hour), "other", "other"},
		{"earlier, at the pointer", snapshot.PointerPath(snapshot.Full, snapshottest.Today), snapshottest.Planned(-time.Hour), "run", "run"},
		{"later, at the latest", snapshot.LatestPath, snapshottest.Planned(time.Hour), "other", "other"},
		{"of a newer date, at the latest", snapshot.LatestPath, snapshottest.OnDate("2026-11-21"), "run", "other"},
		{"of an older date, at the latest", snapshot.LatestPath, snapshottest.OnDate("2026-11-19"), "run", "run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Few), nil)
			snapshottest.StageRun(t, store, snapshottest.NewPlan("other", snapshottest.Few, test.other), nil)
			g := snapshottest.Collect(t, store, "run")
			disturbed := &snapshottest.Interloper{Lockless: snapshottest.Lockless{Store: store}, Path: test.path, Act: func() {
				snapshottest.PublishRun(t, snapshottest.Lockless{Store: store}, "other")
			}}
			_, err := snapshot.At(disturbed).Publish(t.Context(), g, snapshottest.Options())
			if test.winner == "other" && test.path != snapshot.LatestPath {
				require.ErrorIs(t, err, sink.ErrConflict)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.winner, snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today}).RunID)
			require.Equal(t, test.latest, snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{}).RunID)
			if test.winner == test.latest && test.latest == "other" {
				requireOneWinner(t, root, []string{"run", "other"})
			}
			require.NoDirExists(t, root+"/_staging")
		})
	}
}

// TestAShardIsFaster lets another process write the plan first.
func TestAShardIsFaster(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	first := snapshottest.NewPlan("run", snapshottest.Few)
	disturbed := &snapshottest.Interloper{Lockless: snapshottest.Lockless{Store: store}, Path: snapshot.PlanPath("run"), Act: func() {
		_, err := snapshot.At(store).CreatePlan(t.Context(), first)
		require.NoError(t, err)
	}}
	existing, err := snapshot.At(disturbed).CreatePlan(t.Context(), snapshottest.NewPlan("run"))
	require.NoError(t, err)
	require.Equal(t, first, existing)
}

// sweeper is a Store without locks on which another process acts, and sweeps the run, while the ledger is being staged.
type sweeper struct {
	snapshottest.Lockless

	act func()
}

func (s sweeper) Draft(ctx context.Context, run, path string) (sink.Draft, error) {
	draft, err := s.Lockless.Draft(ctx, run, path)
	if path == snapshot.LedgerPath(run) {
		draft = sweptDraft{Draft: draft, act: s.act}
	}
	return draft, err
}

type sweptDraft struct {
	sink.Draft

	act func()
}

func (d sweptDraft) Stage(context.Context) ([]byte, error) {
	d.act()
	return nil, errors.Join(sink.ErrStagedLost, d.Abort())
}

// killedBefore is a Store without locks whose process is killed before a document is written.
type killedBefore struct {
	snapshottest.Lockless

	path string
}

func (s killedBefore) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if path == s.path {
		return snapshottest.ErrKilled
	}
	return s.Lockless.Write(ctx, path, data, when)
}

// TestSweptLedger lets another process of the run publish it, completely or in part, while this one stages the ledger.
// The staged ledger is swept.
func TestSweptLedger(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		path string // of the document before which the other process is killed
		want error
	}{
		{"from beginning to end", "", nil},
		{"up to its manifest", snapshot.ManifestPath("run"), nil},
		{"not at all", snapshot.ChangePath("run"), sink.ErrStagedLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := snapshottest.NewDir(t, t.TempDir())
			snapshottest.StageRun(t, store, snapshottest.NewPlan("run", snapshottest.Few), nil)
			g := snapshottest.Collect(t, store, "run")
			manifest, err := snapshot.At(sweeper{snapshottest.Lockless{Store: store}, func() {
				_, err := snapshot.At(killedBefore{snapshottest.Lockless{Store: store}, test.path}).Publish(t.Context(), g, snapshottest.Options())
				if test.path == "" {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, snapshottest.ErrKilled)
				}
				begun, err := snapshot.At(store).PublishingStarted(t.Context(), "run")
				require.NoError(t, err)
				require.Equal(t, test.want == nil, begun)
			}}).Publish(t.Context(), g, snapshottest.Options())
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, snapshot.Published, manifest.Status)
			snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
			staged, err := store.Staged(t.Context())
			require.NoError(t, err)
			require.Empty(t, staged)
			begun, _, err := store.Read(t.Context(), snapshot.ChangePath("run"))
			require.ErrorIs(t, err, sink.ErrNotFound, string(begun))
		})
	}
}
