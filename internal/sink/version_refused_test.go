package sink

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deafStore refuses every version, as a store does behind a proxy that rewrites
// ETags: a document can be created and never be replaced.
type deafStore struct{ lockless }

func (d deafStore) Write(ctx context.Context, path string, data []byte, when Condition) error {
	if when.Version != "" {
		return ErrConflict
	}
	return d.lockless.Write(ctx, path, data, when)
}

// TestNothingSpinsOnAStoreThatRefusesItsVersions exports two nights, replaces
// one and purges: each ends with an error that says why, and published
// snapshots are untouched.
func TestNothingSpinsOnAStoreThatRefusesItsVersions(t *testing.T) {
	t.Parallel()
	store := deafStore{lockless{newDir(t, t.TempDir())}}
	takeSnapshot(t, store, newPlan("first", few, onDate("2026-11-19")))

	// The next night is published; _latest.json cannot follow.
	stageRun(t, store, newPlan("second", few), nil)
	_, err := Publish(t.Context(), store, gather(t, store, "second"), options())
	require.ErrorIs(t, err, ErrVersionRefused)
	requireVerified(t, store, VerifyTarget{SnapshotDate: today})
	requireVerified(t, store, VerifyTarget{SnapshotDate: "2026-11-19"})

	// The same night again cannot replace it.
	stageRun(t, store, newPlan("again", few, planned(time.Hour)), nil)
	_, err = Publish(t.Context(), store, gather(t, store, "again"), options())
	require.ErrorIs(t, err, ErrVersionRefused)
	require.Equal(t, "second", requireVerified(t, store, VerifyTarget{SnapshotDate: today}).RunID)
}

// TestPurgeIsUndoneOnAStoreThatRefusesItsVersions leaves the run as it was.
func TestPurgeIsUndoneOnAStoreThatRefusesItsVersions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := deafStore{lockless{newDir(t, root)}}
	takeSnapshot(t, store, newPlan("run", few))
	before := tree(t, root)
	_, err := Purge(t.Context(), store, PurgeOptions{Schools: []string{"s1"}, Now: publishedAt})
	require.ErrorIs(t, err, ErrVersionRefused)
	after := tree(t, root)
	for path, content := range before {
		require.Equal(t, content, after[path], path)
	}
	for path := range after {
		if _, was := before[path]; !was {
			require.Contains(t, path, "_purges/", "left behind by the purge: %s", path)
		}
	}
	requireVerified(t, store, VerifyTarget{})
}
