package storetest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

// Destination is an empty destination under test.
type Destination struct {
	// Open returns another handle on the destination, as another process has.
	Open func(t *testing.T) sink.Store
	// Lose makes the store drop a staged file, as a careless hand or an expiry
	// rule does.
	Lose func(t *testing.T, run string, file sink.File)
	// Leftovers returns what is left at the destination that List does not show.
	Leftovers func(t *testing.T) []string
	// Locks tells whether Lock keeps others out.
	Locks bool
	// LargeFile is the size of the largest file that is staged.
	LargeFile int
}

const run = "run-1"

// Run runs the suite. Each test gets a destination of its own.
func Run(t *testing.T, destination func(t *testing.T) Destination) {
	t.Helper()
	tests := []struct {
		name string
		test func(t *testing.T, d Destination)
	}{
		{"a file is invisible until it is committed", invisible},
		{"files of every size come back whole", whole},
		{"a draft is read back", readBack},
		{"what is aborted leaves nothing", aborted},
		{"committing twice is committing once", committedTwice},
		{"a lost staged file is told", lost},
		{"of two files staged for a path the chosen one is committed", stagedTwice},
		{"sweeping drops what a run has staged", swept},
		{"a document is written under its condition", conditions},
		{"of many first writers one wins", firstWriter},
		{"no conditional write is lost", counter},
		{"listing is in order and by prefix", listing},
		{"odd names are names", oddNames},
		{"a path cannot leave the destination", badPaths},
		{"removing is idempotent", removing},
		{"many use it at once", concurrent},
		{"checking leaves nothing", check},
		{"a lock keeps others out", locks},
		{"a shared lock lets others share and keeps an exclusive one out", sharedLocks},
		{"a cancelled context stops everything", cancelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(t, destination(t))
		})
	}
}

// stage stages bytes for a path.
func stage(t *testing.T, store sink.Store, run, path string, data []byte) sink.File {
	t.Helper()
	draft, err := store.Draft(t.Context(), run, path)
	require.NoError(t, err)
	n, err := draft.Write(data)
	require.NoError(t, err)
	require.Equal(t, len(data), n)
	size, err := draft.Finish()
	require.NoError(t, err)
	require.EqualValues(t, len(data), size)
	staged, err := draft.Stage(t.Context())
	require.NoError(t, err)
	return sink.File{Path: path, Bytes: size, Staged: staged}
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
	holds, err := store.Holds(t.Context(), run, file)
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
	_, _ = source.Read(data) // It never fails.
	return data
}

func requireSame(t *testing.T, want, got []byte) {
	t.Helper()
	require.True(t, bytes.Equal(want, got), "%d bytes came back as %d others", len(want), len(got))
}
