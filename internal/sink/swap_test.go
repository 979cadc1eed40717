package sink_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

func TestSwapIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, attempts := time.Now(), 0
		err := sink.Swap(t.Context(), "_latest.json", func() error { attempts++; return sink.ErrConflict })
		require.ErrorIs(t, err, sink.ErrVersionRefused)
		require.NotErrorIs(t, err, sink.ErrConflict)
		require.ErrorContains(t, err, "replace _latest.json: ")
		require.ErrorContains(t, err, "run growth-export doctor (10 attempts)")
		require.Equal(t, 10, attempts)
		require.Less(t, time.Since(began), 10*time.Second)
		require.Greater(t, time.Since(began), 3*time.Second)
	})
}

func TestSwapEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		interrupted := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := sink.Swap(ctx, "_latest.json", func() error { cancel(interrupted); return sink.ErrConflict })
		require.ErrorIs(t, err, interrupted)
	})
}

func TestSwapRetriesConflictsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := []error{sink.ErrConflict, sink.ErrConflict, nil}
		require.NoError(t, sink.Swap(t.Context(), "x", func() (err error) { err, answers = answers[0], answers[1:]; return err }))
		require.Empty(t, answers)
		began := time.Now()
		require.ErrorIs(t, sink.Swap(t.Context(), "x", func() error { return sink.ErrDamaged }), sink.ErrDamaged)
		require.Zero(t, time.Since(began))
	})
}
