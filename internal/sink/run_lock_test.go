package sink

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHoldRun holds a run by several processes at once.
func TestHoldRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var releases []func() error
	for _, shard := range [][2]int{{0, 7}, {3, 8}, {0, 16}} {
		release, err := HoldRunShared(t.Context(), newDir(t, root), "night", shard[0], shard[1])
		require.NoError(t, err)
		_, err = HoldRunShared(t.Context(), newDir(t, root), "night", shard[0], shard[1])
		require.ErrorIs(t, err, ErrLocked, "the same shard")
		releases = append(releases, release)
	}
	for _, release := range releases {
		_, err := HoldRunExclusive(t.Context(), newDir(t, root), "night")
		require.ErrorIs(t, err, ErrLocked)
		require.NoError(t, release())
	}
	release, err := HoldRunExclusive(t.Context(), newDir(t, root), "night")
	require.NoError(t, err)
	other, err := HoldRunShared(t.Context(), newDir(t, root), "another", 0, 1)
	require.NoError(t, err)
	require.NoError(t, other())
	require.NoError(t, release())
	require.Equal(t, []string{"./"}, names(tree(t, root)))
}
