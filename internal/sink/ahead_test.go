package sink_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

// opened counts objects that are opened and closed.
type opened struct {
	mu     sync.Mutex
	paths  []string
	closed int
}

// handle is an object that counts how often it is closed.
type handle struct {
	sink.Object

	of *opened
}

// Close counts.
func (h handle) Close() error {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.closed++
	return nil
}

func (o *opened) open(_ context.Context, path string) (sink.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paths = append(o.paths, path)
	if path == "missing" {
		return nil, sink.ErrNotFound
	}
	return handle{of: o}, nil
}

// TestAhead expects each object to be opened once, the next ones ahead, and all of them to be closed.
func TestAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := new(opened)
		a := sink.NewAhead(o.open, []string{"a", "b", "missing", "d", "e"}, 2)
		object, err := a.Open(t.Context(), "a")
		require.NoError(t, err)
		require.NoError(t, object.Close())
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "missing"}, slices.Sorted(slices.Values(o.paths)))
		object, err = a.Open(t.Context(), "b")
		require.NoError(t, err)
		require.NoError(t, object.Close())
		_, err = a.Open(t.Context(), "missing")
		require.ErrorIs(t, err, sink.ErrNotFound)
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "d", "e", "missing"}, slices.Sorted(slices.Values(o.paths)))
		require.NoError(t, a.Close())
		require.Equal(t, 4, o.closed, "d and e were never asked for")

		object, err = a.Open(t.Context(), "other")
		require.NoError(t, err)
		require.NoError(t, object.Close())
		require.NoError(t, a.Close())
	})
}
