package maintenance_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// deafStore refuses every version, like a store behind a proxy that rewrites ETags: documents can be created but never
// replaced.
type deafStore struct{ snapshottest.Lockless }

func (d deafStore) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if when.Version != "" {
		return sink.ErrConflict
	}
	return d.Lockless.Write(ctx, path, data, when)
}

// TestVersionsRefused publishes two dates and replaces one. Each Publish fails with an error that says why, and
// published snapshots are untouched.
func TestVersionsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := deafStore{snapshottest.Lockless{Store: snapshottest.NewDir(t, root)}}
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("first", snapshottest.Few, snapshottest.OnDate("2026-11-19")))

	// The next date is published, but _latest.json cannot be replaced.
	snapshottest.StageRun(t, store, snapshottest.NewPlan("second", snapshottest.Few), nil)
	_, err := snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "second"), snapshottest.Options())
	require.ErrorIs(t, err, sink.ErrVersionRefused)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today})
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: "2026-11-19"})

	// Another run of the date cannot replace it.
	snapshottest.StageRun(t, store, snapshottest.NewPlan("again", snapshottest.Few, snapshottest.Planned(time.Hour)), nil)
	_, err = snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "again"), snapshottest.Options())
	require.ErrorIs(t, err, sink.ErrVersionRefused)
	require.ErrorContains(t, err, "no files of the run are visible")
	require.Equal(t, "second", snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{SnapshotDate: snapshottest.Today}).RunID)
	for path := range snapshottest.Tree(t, root) {
		require.False(t, sink.Owner(path) == "again" && !strings.HasPrefix(path, "_"), "%s is visible", path)
	}
}

// TestPurgeIsUndoneIfVersionsAreRefused expects a purge to leave the run as it was.
func TestPurgeIsUndoneIfVersionsAreRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := deafStore{snapshottest.Lockless{Store: snapshottest.NewDir(t, root)}}
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("run", snapshottest.Few))
	before := snapshottest.Tree(t, root)
	_, err := maintenance.Purge(t.Context(), snapshot.At(store), maintenance.PurgeOptions{Schools: []string{"s1"}, Now: snapshottest.PublishedAt})
	require.ErrorIs(t, err, sink.ErrVersionRefused)
	after := snapshottest.Tree(t, root)
	for path, content := range before {
		require.Equal(t, content, after[path], path)
	}
	for path := range after {
		if _, was := before[path]; !was {
			require.Contains(t, path, "_purges/", "left behind by the purge: %s", path)
		}
	}
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}
