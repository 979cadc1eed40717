package maintenance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestUnfinishedPurge kills a purge of students after its first change. The purge counts as unfinished until the same
// list is purged again, even if other commands finish the change, a run is published in between, or only one of the two
// commands has a privacy key.
func TestUnfinishedPurge(t *testing.T) {
	t.Parallel()
	key := testKey(t, "a7c3")
	for name, keys := range map[string][2]*privacy.Key{
		"without a key": {}, "with a key": {key, key}, "repeated with a key": {nil, key},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			studentSite(t, store, asWritten)
			_, err := maintenance.Purge(t.Context(), snapshot.At(&changesOf{Store: store, left: 1}), studentOptions(keys[0]))
			require.ErrorIs(t, err, snapshottest.ErrKilled)
			catalog := snapshot.At(store)
			_, err = catalog.Recover(t.Context())
			require.NoError(t, err)
			snapshottest.StageWorld(t, store, "next-night", studentWorld(3, asWritten), snapshottest.Datasets(studentDatasets()...), snapshottest.OnDate("2026-11-21"))
			plan, err := catalog.ReadPlan(t.Context(), "next-night")
			require.NoError(t, err)
			staged, err := catalog.Collect(t.Context(), plan)
			require.NoError(t, err)
			publish := snapshottest.Options()
			publish.Now = func() time.Time { return snapshottest.PublishedAt().Add(time.Hour) }
			_, err = catalog.Publish(t.Context(), staged, publish)
			require.NoError(t, err)
			unfinished, err := catalog.UnfinishedPurges(t.Context())
			require.NoError(t, err)
			require.Len(t, unfinished, 1)
			require.Contains(t, unfinished[0].String(), "repeat growth-export purge with the same list")

			// A purge of other students does not end it.
			other := studentOptions(keys[0])
			other.Students = []string{staysStudent, "x", "y"}
			copied := snapshot.At(snapshottest.NewDir(t, snapshottest.CopyTree(t, root)))
			_, err = maintenance.Purge(t.Context(), copied, other)
			require.NoError(t, err)
			still, err := copied.UnfinishedPurges(t.Context())
			require.NoError(t, err)
			require.Equal(t, unfinished, still)

			report, err := maintenance.Purge(t.Context(), catalog, studentOptions(keys[1]))
			require.NoError(t, err)
			require.Equal(t, unfinished[0].Proof, maintenance.PurgePath(report.ID))
			unfinished, err = catalog.UnfinishedPurges(t.Context())
			require.NoError(t, err)
			require.Empty(t, unfinished)
		})
	}
}

// TestUnfinishedPurgeCovered ends a killed purge of a school with a purge of more schools.
func TestUnfinishedPurgeCovered(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	endedSite(t, store, true)
	catalog := snapshot.At(store)
	unfinished := func() int {
		found, err := catalog.UnfinishedPurges(t.Context())
		require.NoError(t, err)
		return len(found)
	}
	_, err := maintenance.Purge(t.Context(), snapshot.At(&changesOf{Store: store, left: 1}), purgeOptions([]string{"always"}, nil))
	require.ErrorIs(t, err, snapshottest.ErrKilled)
	require.Equal(t, 1, unfinished())
	for i, schools := range [][]string{{"gone"}, {"always", "late"}} {
		_, err = maintenance.Purge(t.Context(), catalog, purgeOptions(schools, nil))
		require.NoError(t, err)
		require.Equal(t, 1-i, unfinished())
	}
}
