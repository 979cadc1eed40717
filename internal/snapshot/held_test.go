package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// shrunk returns a reason to hold a run.
func shrunk() []review.Reason {
	return []review.Reason{review.New(review.MaxShrink, "20%", []review.Finding{{Table: "students", N: 4, Of: 9}})}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	held, err := snapshot.At(store).ReadHeld(t.Context(), "run")
	require.NoError(t, err)
	require.Empty(t, held.Reasons)
	want := snapshot.Held{Reasons: shrunk()}
	require.NoError(t, snapshot.At(store).Hold(t.Context(), "run", want))
	held, err = snapshot.At(store).ReadHeld(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, want, held)

	// A sentence in place of a reason is not accepted.
	require.NoError(t, store.Write(t.Context(), snapshot.HeldPath("run"), []byte(`{"reasons": ["a table shrank"]}`), sink.Condition{}))
	_, err = snapshot.At(store).ReadHeld(t.Context(), "run")
	require.ErrorIs(t, err, sink.ErrDamaged)
	require.ErrorContains(t, err, "read _runs/run/held.json: ")
	require.ErrorContains(t, err, "reasons")
}
