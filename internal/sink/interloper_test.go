package sink

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSomebodyElseIsFaster has another run be published in the middle of a
// publishing, just before it writes each of its documents.
func TestSomebodyElseIsFaster(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		path   string
		other  func(*Plan)
		winner string // of today
		latest string
	}{
		{"later, at the change", ChangePath("run"), planned(time.Hour), "other", "other"},
		{"earlier, at the change", ChangePath("run"), planned(-time.Hour), "run", "run"},
		{"later, at the manifest", ManifestPath("run"), planned(time.Hour), "other", "other"},
		{"earlier, at the manifest", ManifestPath("run"), planned(-time.Hour), "run", "run"},
		{"later, at the pointer", PointerPath(Full, today), planned(time.Hour), "other", "other"},
		{"earlier, at the pointer", PointerPath(Full, today), planned(-time.Hour), "run", "run"},
		{"later, at the latest", LatestPath, planned(time.Hour), "other", "other"},
		{"of a newer date, at the latest", LatestPath, onDate("2026-11-21"), "run", "other"},
		{"of an older date, at the latest", LatestPath, onDate("2026-11-19"), "run", "run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := newDir(t, root)
			stageRun(t, store, newPlan("run", few), nil)
			stageRun(t, store, newPlan("other", few, test.other), nil)
			g := gather(t, store, "run")
			disturbed := &interloper{lockless: lockless{store}, path: test.path, act: func() {
				publishRun(t, lockless{store}, "other")
			}}
			_, err := Publish(t.Context(), disturbed, g, options())
			if test.winner == "other" && test.path != LatestPath {
				require.ErrorIs(t, err, ErrConflict)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.winner, requireVerified(t, store, VerifyTarget{SnapshotDate: today}).RunID)
			require.Equal(t, test.latest, requireVerified(t, store, VerifyTarget{}).RunID)
			if test.winner == test.latest && test.latest == "other" {
				requireOneWinner(t, root, []string{"run", "other"})
			}
			require.NoDirExists(t, root+"/_staging")
		})
	}
}

// TestAShardIsFaster has another process write the plan first.
func TestAShardIsFaster(t *testing.T) {
	t.Parallel()
	store := newDir(t, t.TempDir())
	first := newPlan("run", few)
	disturbed := &interloper{lockless: lockless{store}, path: PlanPath("run"), act: func() {
		_, err := CreatePlan(t.Context(), store, first)
		require.NoError(t, err)
	}}
	standing, err := CreatePlan(t.Context(), disturbed, newPlan("run"))
	require.NoError(t, err)
	require.Equal(t, first, standing)
}

// sweeper is a Store without locks on which somebody else does something, and
// sweeps the run, while the ledger is staged.
type sweeper struct {
	lockless

	act func()
}

func (s sweeper) Draft(ctx context.Context, run, path string) (Draft, error) {
	draft, err := s.lockless.Draft(ctx, run, path)
	if path == LedgerPath(run) {
		draft = sweptDraft{Draft: draft, act: s.act}
	}
	return draft, err
}

type sweptDraft struct {
	Draft

	act func()
}

func (d sweptDraft) Stage(context.Context) ([]byte, error) {
	d.act()
	return nil, errors.Join(ErrStagedLost, d.Abort())
}

// killedBefore is a Store without locks whose user is killed before a document
// is written.
type killedBefore struct {
	lockless

	path string
}

func (s killedBefore) Write(ctx context.Context, path string, data []byte, when Condition) error {
	if path == s.path {
		return errKilled
	}
	return s.lockless.Write(ctx, path, data, when)
}

// TestSweptLedger has another process of the run publish it, whole or in part,
// while this one stages the ledger, which is swept.
func TestSweptLedger(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		path string // of the document before which the other is killed
		want error
	}{
		{"from beginning to end", "", nil},
		{"up to its manifest", ManifestPath("run"), nil},
		{"not at all", ChangePath("run"), ErrStagedLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := newDir(t, t.TempDir())
			stageRun(t, store, newPlan("run", few), nil)
			g := gather(t, store, "run")
			manifest, err := Publish(t.Context(), sweeper{lockless{store}, func() {
				_, err := Publish(t.Context(), killedBefore{lockless{store}, test.path}, g, options())
				if test.path == "" {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, errKilled)
				}
				begun, err := PublishingBegun(t.Context(), store, "run")
				require.NoError(t, err)
				require.Equal(t, test.want == nil, begun)
			}}, g, options())
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, Published, manifest.Status)
			requireVerified(t, store, VerifyTarget{})
			staged, err := store.Staged(t.Context())
			require.NoError(t, err)
			require.Empty(t, staged)
			begun, _, err := store.Read(t.Context(), ChangePath("run"))
			require.ErrorIs(t, err, ErrNotFound, string(begun))
		})
	}
}
