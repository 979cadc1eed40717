package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

func TestHeld(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	held, err := snapshot.At(store).ReadHeld(t.Context(), "run")
	require.NoError(t, err)
	require.Empty(t, held.Reasons)
	require.False(t, held.OtherReasons())
	for _, want := range []struct {
		held  snapshot.Held
		other bool
	}{
		{snapshot.Held{Reasons: []string{"2 schools failed"}, FailedSchools: true}, false},
		{snapshot.Held{Reasons: []string{"2 schools failed", "a table shrank"}, FailedSchools: true}, true},
		{snapshot.Held{Reasons: []string{"a table shrank"}}, true},
	} {
		require.NoError(t, snapshot.At(store).Hold(t.Context(), "run", want.held))
		held, err = snapshot.At(store).ReadHeld(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, want.held, held)
		require.Equal(t, want.other, held.OtherReasons())
	}
}
