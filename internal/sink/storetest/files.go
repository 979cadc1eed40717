package storetest

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

func invisible(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	const path = "table/date/part.parquet"
	draft, err := store.Draft(t.Context(), owner, path)
	require.NoError(t, err)
	_, err = draft.Write([]byte("some rows"))
	require.NoError(t, err)
	requireInvisible(t, store, path)
	size, err := draft.Finish()
	require.NoError(t, err)
	requireInvisible(t, store, path)
	staged, err := draft.Stage(t.Context())
	require.NoError(t, err)
	requireInvisible(t, store, path)

	file := sink.File{Path: path, Bytes: size, Staged: staged}
	requireHolds(t, store, file, true)
	other := d.Open(t)
	requireHolds(t, other, file, true)
	require.NoError(t, other.Commit(t.Context(), owner, file))
	for _, store := range []sink.Store{store, other} {
		requireSame(t, []byte("some rows"), content(t, store, path))
		requireHolds(t, store, file, true)
		require.Equal(t, []string{path}, paths(t, store, ""))
	}
	wrong := file
	wrong.Bytes++
	requireHolds(t, store, wrong, false)
	require.NoError(t, store.Sweep(t.Context(), owner))
	require.Empty(t, d.Leftovers(t))
}

func whole(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	for name, data := range map[string][]byte{
		"empty": {}, "one": {7}, "some": noise(100_000), "large": noise(d.LargeFile),
	} {
		draft, err := store.Draft(t.Context(), owner, name)
		require.NoError(t, err)
		for part := range slices.Chunk(data, 70_001) {
			_, err := draft.Write(part)
			require.NoError(t, err)
		}
		size, err := draft.Finish()
		require.NoError(t, err)
		staged, err := draft.Stage(t.Context())
		require.NoError(t, err)
		require.NoError(t, store.Commit(t.Context(), owner, sink.File{Path: name, Bytes: size, Staged: staged}))
		requireSame(t, data, content(t, store, name))
	}
	require.NoError(t, store.Sweep(t.Context(), owner))
	require.Empty(t, d.Leftovers(t))
}

func readBack(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	data := noise(10_000)
	draft, err := store.Draft(t.Context(), owner, "file")
	require.NoError(t, err)
	_, err = draft.Write(data)
	require.NoError(t, err)
	_, err = draft.Stage(t.Context())
	require.Error(t, err, "a draft must be finished before it is staged")
	size, err := draft.Finish()
	require.NoError(t, err)
	_, err = draft.Write([]byte("more"))
	require.Error(t, err)
	back, err := io.ReadAll(io.NewSectionReader(draft, 0, size))
	require.NoError(t, err)
	requireSame(t, data, back)
	_, err = draft.ReadAt(make([]byte, 10), size)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, draft.Abort())
	require.Empty(t, d.Leftovers(t))
}

func aborted(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	draft, err := store.Draft(t.Context(), owner, "given-up")
	require.NoError(t, err)
	_, err = draft.Write(noise(1000))
	require.NoError(t, err)
	require.NoError(t, draft.Abort())
	require.NoError(t, draft.Abort())
	_, err = draft.Stage(t.Context())
	require.Error(t, err)
	require.Empty(t, d.Leftovers(t))

	file := stage(t, store, "given-up-later", noise(1000))
	require.NoError(t, store.Abort(t.Context(), owner, file))
	require.NoError(t, store.Abort(t.Context(), owner, file))
	requireHolds(t, store, file, false)
	require.ErrorIs(t, store.Commit(t.Context(), owner, file), sink.ErrStagedLost)
	require.Empty(t, paths(t, store, ""))
	require.Empty(t, d.Leftovers(t))

	draft, err = store.Draft(t.Context(), owner, "kept")
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	staged, err := draft.Stage(t.Context())
	require.NoError(t, err)
	require.NoError(t, draft.Abort(), "a deferred Abort after Stage does nothing")
	again, err := draft.Stage(t.Context())
	require.NoError(t, err)
	require.Equal(t, staged, again)
	requireHolds(t, store, sink.File{Path: "kept", Bytes: size, Staged: staged}, true)
}

func committedTwice(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	data := noise(5000)
	file := stage(t, store, "a/b", data)
	require.NoError(t, store.Commit(t.Context(), owner, file))
	require.NoError(t, store.Commit(t.Context(), owner, file))
	require.NoError(t, d.Open(t).Commit(t.Context(), owner, file))
	requireSame(t, data, content(t, store, "a/b"))
	file.Bytes++
	require.ErrorIs(t, store.Commit(t.Context(), owner, file), sink.ErrStagedLost, "a file with a different size is a different file")
}

func lost(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	file := stage(t, store, "a/b", noise(5000))
	d.Lose(t, owner, file)
	requireHolds(t, store, file, false)
	require.ErrorIs(t, store.Commit(t.Context(), owner, file), sink.ErrStagedLost)
	requireInvisible(t, store, "a/b")
	require.NoError(t, store.Abort(t.Context(), owner, file))
}

func stagedTwice(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	first := stage(t, store, "file", bytes.Repeat([]byte{1}, 100))
	second := stage(t, store, "file", bytes.Repeat([]byte{2}, 100))
	third := stage(t, store, "file", bytes.Repeat([]byte{3}, 100))
	require.NoError(t, store.Abort(t.Context(), owner, third))
	requireHolds(t, store, first, true)
	requireHolds(t, store, second, true)
	require.NoError(t, store.Commit(t.Context(), owner, second))
	requireSame(t, bytes.Repeat([]byte{2}, 100), content(t, store, "file"))
	require.NoError(t, store.Abort(t.Context(), owner, first))
	requireSame(t, bytes.Repeat([]byte{2}, 100), content(t, store, "file"))
	require.Empty(t, d.Leftovers(t))
}

func swept(t *testing.T, d Destination) {
	t.Helper()
	store := d.Open(t)
	committed := stage(t, store, dataPath(owner, 0), noise(10))
	require.NoError(t, store.Commit(t.Context(), owner, committed))
	dropped := stage(t, store, dataPath(owner, 1), noise(10))
	abandoned, err := store.Draft(t.Context(), owner, dataPath(owner, 2))
	require.NoError(t, err)
	_, err = abandoned.Write(noise(10))
	require.NoError(t, err)
	others := map[string]sink.File{"run-10": {}, "1": {}} // These names contain "run-1" or are contained in it.
	for other := range others {
		others[other], err = Stage(t.Context(), store, other, dataPath(other, 2), noise(10))
		require.NoError(t, err)
	}

	require.NoError(t, d.Open(t).Sweep(t.Context(), owner))
	requireHolds(t, store, dropped, false)
	requireSame(t, noise(10), content(t, store, committed.Path))
	for other, file := range others {
		require.NoError(t, store.Commit(t.Context(), other, file))
		require.NoError(t, store.Sweep(t.Context(), other))
	}
	require.NoError(t, store.Sweep(t.Context(), owner))
	require.NoError(t, abandoned.Abort())
	require.Empty(t, d.Leftovers(t))
}
