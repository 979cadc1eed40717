package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

// Destination is an empty destination under test.
type Destination struct {
	// Open returns a new Store for the destination, as another process would open it.
	Open func(t *testing.T) sink.Store
	// Lose makes the store drop a staged file, as an expiry rule would.
	Lose func(t *testing.T, owner string, file sink.File)
	// Leftovers returns everything that List does not yield, such as staged files, temporary files and empty folders.
	Leftovers func(t *testing.T) []string
	// LargeFile is the size in bytes of the largest file that the suite stages.
	LargeFile int
}

// owner is the owner of most files of the suite.
const owner = "run-1"

// Stage stages data for a path. It does not set File.SHA256.
func Stage(ctx context.Context, store sink.Store, owner, path string, data []byte) (sink.File, error) {
	draft, err := store.Draft(ctx, owner, path)
	if err != nil {
		return sink.File{}, err
	}
	_, err = draft.Write(data)
	if err != nil {
		return sink.File{}, errors.Join(err, draft.Abort())
	}
	size, err := draft.Finish()
	if err != nil {
		return sink.File{}, errors.Join(err, draft.Abort())
	}
	staged, err := draft.Stage(ctx)
	return sink.File{Path: path, Bytes: size, Staged: staged}, errors.Join(err, draft.Abort())
}

// stage stages data for a path, for the owner of the suite.
func stage(t *testing.T, store sink.Store, path string, data []byte) sink.File {
	t.Helper()
	file, err := Stage(t.Context(), store, owner, path, data)
	require.NoError(t, err)
	require.EqualValues(t, len(data), file.Bytes)
	return file
}

// dataPath returns the path of a file that belongs to the owner; see sink.Owner.
func dataPath(owner string, number int) string {
	return fmt.Sprintf("table/date=2026-11-20/part-%04d-%s.parquet", number, sink.Escape(owner))
}

func requireInvisible(t *testing.T, store sink.Store, path string) {
	t.Helper()
	_, err := store.Open(t.Context(), path)
	require.ErrorIs(t, err, sink.ErrNotFound)
	_, _, err = store.Read(t.Context(), path)
	require.ErrorIs(t, err, sink.ErrNotFound)
	require.Empty(t, paths(t, store, ""))
}

func requireHolds(t *testing.T, store sink.Store, file sink.File, want bool) {
	t.Helper()
	holds, err := store.Holds(t.Context(), owner, file)
	require.NoError(t, err)
	require.Equal(t, want, holds)
}

func content(t *testing.T, store sink.Store, path string) []byte {
	t.Helper()
	object, err := store.Open(t.Context(), path)
	require.NoError(t, err)
	data, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
	require.NoError(t, err)
	require.NoError(t, object.Close())
	return data
}

func paths(t *testing.T, store sink.Store, prefix string) []string {
	t.Helper()
	var found []string
	for entry, err := range store.List(t.Context(), prefix) {
		require.NoError(t, err)
		found = append(found, entry.Path)
	}
	return found
}

func noise(n int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = source.Read(data) // Read never fails.
	return data
}

func requireSame(t *testing.T, want, got []byte) {
	t.Helper()
	require.True(t, bytes.Equal(want, got), "%d bytes were written, and %d different ones read", len(want), len(got))
}
