package maintenance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestPurgeResumedWithoutKey kills a purge of students between its changes. Without a privacy key no document says
// whose purge it is. The same command still completes its report, and a purge of another list of the same length has
// its own.
func TestPurgeResumedWithoutKey(t *testing.T) {
	t.Parallel()
	start := t.TempDir()
	studentSite(t, snapshottest.NewDir(t, start), asWritten)
	options := studentOptions(nil)
	undisturbed, err := maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, snapshottest.CopyTree(t, start))), options)
	require.NoError(t, err)
	require.Len(t, undisturbed.Runs, 5)
	for changes := 0; changes < 6; changes += sampled(1) {
		root := snapshottest.CopyTree(t, start)
		_, err := maintenance.Purge(t.Context(), snapshot.At(&changesOf{Store: snapshottest.NewDir(t, root), left: changes}), options)
		require.ErrorIs(t, err, snapshottest.ErrKilled)
		killed := purgesIn(t, root)
		require.Len(t, killed, 1)
		require.NotContains(t, killed[0], "digest")

		other := options
		other.Students = []string{staysStudent, "x", "y"}
		other.Now = func() time.Time { return options.Now().Add(time.Hour) }
		at := snapshottest.CopyTree(t, root)
		report, err := maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, at)), other)
		require.NoError(t, err)
		require.Len(t, purgesIn(t, at), 2, "%d changes", changes)
		require.Equal(t, 1, *report.Asked.Students.Matched)
		require.True(t, report.BegunAt.Equal(other.Now()))
		require.Contains(t, strings.Join(purgesIn(t, at), ""), `"state": "begun"`)

		report, err = maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), options)
		require.NoError(t, err)
		require.Len(t, purgesIn(t, root), 1, "%d changes", changes)
		require.Contains(t, killed[0], report.ID)
		require.Equal(t, undisturbed.RowsRemoved, report.RowsRemoved)
		require.Equal(t, undisturbed.ExtraRemoved, report.ExtraRemoved)
		require.Equal(t, undisturbed.History.RowsRemoved, report.History.RowsRemoved)
		require.Equal(t, 2, *report.Asked.Students.Matched)
		require.Equal(t, maintenance.PurgeDone, report.State)
	}
}

// purgesIn returns the reports of purges at a destination.
func purgesIn(t *testing.T, root string) (reports []string) {
	t.Helper()
	for path, text := range snapshottest.Tree(t, root) {
		if strings.HasPrefix(path, "_purges/") && strings.HasSuffix(path, ".json") {
			reports = append(reports, text)
		}
	}
	return reports
}
