package azure_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/azure/azuretest"
	"example.org/growthexport/internal/sink/storetest"
)

func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // It never fails.
	return data
}

func stage(t *testing.T, store *azure.Store, path string, data []byte) sink.File {
	t.Helper()
	file, err := storetest.Stage(t.Context(), store, "run", path, data)
	require.NoError(t, err)
	return file
}

// TestDroppedRowsAreGone expects the blocks of a dropped file to hold none of its content, even for someone who commits
// them, and the service to remove them with the next commit at the path.
func TestDroppedRowsAreGone(t *testing.T) {
	t.Parallel()
	server := server(t)
	container := server.Container(t)
	store := open(t, options(t, container, ""))
	client := server.Client(t, container).NewBlockBlobClient(path)
	blocks := func() (ids []string, size int64) {
		list, err := client.GetBlockList(t.Context(), blockblob.BlockListTypeUncommitted, nil)
		require.NoError(t, err)
		for _, block := range list.UncommittedBlocks {
			ids, size = append(ids, *block.Name), size+*block.Size
		}
		return ids, size
	}
	kept := stage(t, store, path, []byte("rows that are kept"))
	dropped := stage(t, store, path, noise(20<<20))
	one := stage(t, store, path, []byte("1"))
	require.NoError(t, store.Abort(t.Context(), "run", dropped))
	require.NoError(t, store.Abort(t.Context(), "run", one))
	ids, size := blocks()
	require.Len(t, ids, 1+3+1)
	require.EqualValues(t, kept.Bytes+3+2, size)

	require.NoError(t, store.Commit(t.Context(), "run", kept))
	ids, _ = blocks()
	require.Empty(t, ids)
	require.ErrorIs(t, store.Commit(t.Context(), "run", dropped), sink.ErrStagedLost)
	requireContent(t, store, path, []byte("rows that are kept"))
}

// TestCommitReplaces expects a file to replace another one at its path, and a second commit of the first file to fail.
func TestCommitReplaces(t *testing.T) {
	t.Parallel()
	store := open(t, options(t, server(t).Container(t), ""))
	old := stage(t, store, path, []byte("the old rows"))
	require.NoError(t, store.Commit(t.Context(), "run", old))
	file := stage(t, store, path, []byte("the new rows"))
	requireContent(t, store, path, []byte("the old rows"))
	require.NoError(t, store.Commit(t.Context(), "run", file))
	requireContent(t, store, path, []byte("the new rows"))
	require.ErrorIs(t, store.Commit(t.Context(), "run", old), sink.ErrStagedLost)
	require.NoError(t, store.Commit(t.Context(), "run", sink.File{Path: path, Bytes: file.Bytes}), "the size is all that is known")
}

// TestCommittedAtOnce lets several processes commit a file: all of them succeed.
func TestCommittedAtOnce(t *testing.T) {
	t.Parallel()
	opts := options(t, server(t).Container(t), "")
	for range 5 {
		data := noise(1000)
		file := stage(t, open(t, opts), path, data)
		var group errgroup.Group
		for range 4 {
			store := open(t, opts)
			group.Go(func() error { return store.Commit(t.Context(), "run", file) })
		}
		require.NoError(t, group.Wait())
		requireContent(t, open(t, opts), path, data)
		require.NoError(t, open(t, opts).Remove(t.Context(), path))
	}
}

// TestStagedOwners expects the owners of staged files, but not the owners of committed or dropped files.
func TestStagedOwners(t *testing.T) {
	t.Parallel()
	store := open(t, options(t, server(t).Container(t), "pre"))
	of := func(owner string) sink.File { return stage(t, store, "table/"+sink.PartName(1, owner), noise(10)) }
	of("staged")
	require.NoError(t, store.Commit(t.Context(), "", of("committed")))
	require.NoError(t, store.Abort(t.Context(), "", of("dropped")))
	require.NoError(t, store.Write(t.Context(), "_runs/empty/x", nil, sink.Condition{}))
	stage(t, store, "no-owner", noise(10))
	staged, err := store.Staged(t.Context())
	require.NoError(t, err)
	require.Len(t, staged, 1)
	require.WithinDuration(t, time.Now(), staged["staged"], time.Minute)
}

// TestFailedUpload expects an upload that fails or is cancelled to leave nothing staged, and Stage to be repeatable.
func TestFailedUpload(t *testing.T) {
	t.Parallel()
	server := server(t)
	container := server.Container(t)
	store := open(t, options(t, container, ""))
	draft, err := store.Draft(t.Context(), "run", path)
	require.NoError(t, err)
	data := bytes.Repeat([]byte("rows"), 5<<20)
	_, err = draft.Write(data)
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	cancelled, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = draft.Stage(cancelled)
	require.Error(t, err)
	require.Empty(t, server.Staged(t, container))
	staged, err := draft.Stage(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Commit(t.Context(), "run", sink.File{Path: path, Bytes: size, Staged: staged}))
	requireContent(t, store, path, data)
	require.ErrorIs(t, store.Commit(t.Context(), "run", sink.File{Path: path, Staged: []byte(`{"id":1}`)}), sink.ErrDamaged)
}

// TestKilledChecks expects checks whose last requests are not sent to leave nothing staged, and nothing visible once
// the next check has run.
func TestKilledChecks(t *testing.T) {
	t.Parallel()
	server := server(t)
	container := server.Container(t)
	opts := options(t, container, "growth")
	direct := open(t, opts)
	killedAt := func(killed func(r *http.Request) bool) *azure.Store {
		opts := opts
		opts.Attempts = 1
		opts.Endpoint = server.Proxy(t, func(e *azuretest.Exchange) {
			if killed(e.Request) {
				e.Lose()
			}
			e.Pass()
		})
		return open(t, opts)
	}
	_, err := killedAt(func(r *http.Request) bool { return r.URL.Query().Get("comp") != "block" }).ListsStaged(t.Context())
	require.Error(t, err)
	require.Empty(t, server.Staged(t, container))
	require.Error(t, killedAt(func(r *http.Request) bool { return r.Method == http.MethodDelete }).Check(t.Context()))
	left, err := sink.ListAll(t.Context(), direct, "_check/")
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, direct.Check(t.Context()))
	entries, err := sink.ListAll(t.Context(), direct, "")
	require.NoError(t, err)
	require.Empty(t, entries)
}
