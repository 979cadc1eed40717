package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestHoldRun lets several processes hold a run at once.
func TestHoldRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var releases []func() error
	for _, shard := range [][2]int{{0, 7}, {3, 8}, {0, 16}} {
		release, err := snapshot.At(snapshottest.NewDir(t, root)).HoldRunShared(t.Context(), "night", shard[0], shard[1])
		require.NoError(t, err)
		_, err = snapshot.At(snapshottest.NewDir(t, root)).HoldRunShared(t.Context(), "night", shard[0], shard[1])
		require.ErrorIs(t, err, sink.ErrLocked, "the same shard")
		releases = append(releases, release)
	}
	for _, release := range releases {
		_, err := snapshot.At(snapshottest.NewDir(t, root)).HoldRunExclusive(t.Context(), "night")
		require.ErrorIs(t, err, sink.ErrLocked)
		require.NoError(t, release())
	}
	release, err := snapshot.At(snapshottest.NewDir(t, root)).HoldRunExclusive(t.Context(), "night")
	require.NoError(t, err)
	other, err := snapshot.At(snapshottest.NewDir(t, root)).HoldRunShared(t.Context(), "another", 0, 1)
	require.NoError(t, err)
	require.NoError(t, other())
	require.NoError(t, release())
	require.Equal(t, []string{"./"}, snapshottest.Names(snapshottest.Tree(t, root)))
}
