package sink

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// interloper is a Store without locks on which somebody else does something
// just before a document is written for the first time.
type interloper struct {
	lockless

	path string
	once sync.Once
	act  func()
}

func (i *interloper) Write(ctx context.Context, path string, data []byte, when Condition) error {
	if path == i.path {
		i.once.Do(i.act)
	}
	return i.lockless.Write(ctx, path, data, when)
}

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
		{"later, at the intent", IntentPath("run"), planned(time.Hour), "other", "other"},
		{"earlier, at the intent", IntentPath("run"), planned(-time.Hour), "run", "run"},
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
