package maintenance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestDropEnded drops the versions that ended on the second of three nights. Folds, undone folds, purges and rebuilds work
// on the other versions, and none of them brings the dropped ones back.
func TestDropEnded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store := snapshottest.NewDir(t, root)
	options := dropOptions("2026-11-20")
	_, err := maintenance.DropEnded(t.Context(), snapshot.At(store), options)
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused, "there is no history")

	historySite(t, store)
	before, full := snapshottest.Tree(t, root), versions(t, store)
	var kept []string
	for _, row := range full {
		if !strings.Contains(row, "/valid_to=2026-11-19 ") {
			kept = append(kept, row)
		}
	}
	require.Less(t, len(kept), len(full))
	require.True(t, slices.ContainsFunc(kept, func(row string) bool { return strings.Contains(row, "/valid_to=2026-11-20 ") }))

	options.Before = "2026-11-21"
	_, err = maintenance.DropEnded(t.Context(), snapshot.At(store), options)
	require.ErrorAs(t, err, &refused, "the last night can still be replaced")
	options.Before = "2026-11-19"
	report, err := maintenance.DropEnded(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Nil(t, report.History)
	options.Before, options.DryRun = "2026-11-20", true
	would, err := maintenance.DropEnded(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, before, snapshottest.Tree(t, root), "nothing was changed so far")

	options.DryRun = false
	report, err = maintenance.DropEnded(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Equal(t, would.History, report.History)
	rows := int64(0)
	for _, n := range report.History.RowsRemoved {
		rows += n
	}
	require.EqualValues(t, len(full)-len(kept), rows)
	require.Equal(t, kept, versions(t, store))
	require.Contains(t, strings.Join(report.NotReached, "\n"), "2 snapshots from before 2026-11-20, the oldest of 2026-11-18,")
	proof, err := snapshot.ReadIfSound[maintenance.PurgeReport](t.Context(), snapshot.At(store), maintenance.PurgePath(report.ID))
	require.NoError(t, err)
	require.Equal(t, report.History, proof.History)
	require.Equal(t, "done", proof.State)
	require.Positive(t, proof.Verification.Rows)
	after := snapshottest.Tree(t, root)
	for path := range after {
		require.False(t, snapshot.EndedBefore(path, "2026-11-20"), path)
	}

	again, err := maintenance.DropEnded(t.Context(), snapshot.At(store), options)
	require.NoError(t, err)
	require.Nil(t, again.History)
	require.Equal(t, report.ID, again.Earlier.ID)
	require.Equal(t, after, snapshottest.Tree(t, root), "a repeated command changes nothing")

	t.Run("a rebuild", func(t *testing.T) {
		t.Parallel()
		copied := snapshottest.CopyTree(t, root)
		require.NoError(t, foldHistory(t, true)(t.Context(), snapshottest.NewDir(t, copied)))
		require.Equal(t, after, snapshottest.Tree(t, copied), "the same bytes")
	})
	t.Run("a replaced night and another", func(t *testing.T) {
		t.Parallel()
		store := snapshottest.NewDir(t, snapshottest.CopyTree(t, root))
		snapshottest.PublishWorld(t, store, "again", func(p *snapshot.Plan) { p.Replace = true })
		require.NoError(t, foldHistory(t, false)(t.Context(), store))
		requireDropped(t, store)
		snapshottest.PublishWorld(t, store, "next", snapshottest.OnDate("2026-11-21"))
		require.NoError(t, foldHistory(t, false)(t.Context(), store))
		requireDropped(t, store)
		updated := versions(t, store)
		require.NoError(t, foldHistory(t, true)(t.Context(), store))
		requireDropped(t, store)
		require.Equal(t, updated, versions(t, store), "a rebuild gives the same rows")
	})
	t.Run("purges", func(t *testing.T) {
		t.Parallel()
		store := snapshottest.NewDir(t, snapshottest.CopyTree(t, root))
		_, err := maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions(nil, []string{snapshottest.GoneDistrict}))
		require.NoError(t, err)
		requireDropped(t, store)
		require.Less(t, len(versions(t, store)), len(kept))
	})
}

// requireDropped expects a history without the versions of the second night.
func requireDropped(t *testing.T, store sink.Store) {
	t.Helper()
	h, err := snapshot.At(store).ReadHistory(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2026-11-20", h.Manifest.DroppedBefore)
	for _, row := range versions(t, store) {
		require.NotContains(t, row, "/valid_to=2026-11-19 ")
	}
}
