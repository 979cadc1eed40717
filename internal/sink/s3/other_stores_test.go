package s3_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/sink/storetest"
)

const partOfRun = "table/snapshot_date=2026-11-20/part-0000-run.parquet"

// TestAbortsThatRemoveObjects expects that no committed or staged file is lost on a store that removes a file when
// another upload with its key is aborted.
func TestAbortsThatRemoveObjects(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	opts := options(t, bucket, "pre")
	opts.Endpoint = server.Proxy(t, nil, server.AbortedObjects).Endpoint
	var log bytes.Buffer
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	store, ctx := open(t, opts), t.Context()

	other := stage(t, open(t, opts), "run", partOfRun, []byte("of another process"))
	file := stage(t, store, "run", partOfRun, []byte("abc"))
	require.NoError(t, store.Sweep(ctx, "run", file))
	require.NoError(t, store.SweepAt(ctx, []string{partOfRun}, file))
	require.NoError(t, store.Abort(ctx, "run", other))
	require.Len(t, server.Uploads(t, bucket), 2)
	require.NoError(t, store.Commit(ctx, "run", file))
	require.NoError(t, store.Sweep(ctx, "run"))
	require.NoError(t, store.Abort(ctx, "run", other))
	data, _, err := store.Read(ctx, partOfRun)
	require.NoError(t, err)
	require.Equal(t, "abc", string(data))
	require.Equal(t, 1, strings.Count(log.String(), "when an upload is aborted, the store also removes the file at its path"))

	// An upload can be aborted if there is nothing else with its key.
	const ledger = "_runs/run/ledger.parquet"
	stage(t, open(t, opts), "run", ledger, []byte("of a killed process"))
	require.NoError(t, store.Sweep(ctx, "run"))
	require.Equal(t, []string{"pre/" + partOfRun}, server.Uploads(t, bucket))
	alone := stage(t, store, "run", ledger, []byte("abc"))
	require.NoError(t, store.Abort(ctx, "run", alone))
	require.Equal(t, []string{"pre/" + partOfRun}, server.Uploads(t, bucket))

	// Other stores lose nothing, so all uploads are aborted.
	safe := open(t, options(t, bucket, "pre"))
	require.NoError(t, safe.Sweep(ctx, "run"))
	require.Empty(t, server.Uploads(t, bucket))
	removes, err := safe.AbortRemoves(ctx)
	require.NoError(t, err)
	require.False(t, removes)
	_, _, err = safe.Read(ctx, partOfRun)
	require.NoError(t, err)
	require.Empty(t, storetest.FilesIn(t, opts.Scratch))
}

// TestExactListing finds uploads by their keys on a store that lists them by exact key only. A Store knows the uploads
// that it has started itself.
func TestExactListing(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	opts := options(t, bucket, "pre")
	opts.Endpoint = server.Proxy(t, nil, s3test.ExactListing).Endpoint
	store, killed, ctx := open(t, opts), open(t, opts), t.Context()
	listed, err := store.ListsStaged(ctx)
	require.NoError(t, err)
	require.False(t, listed)

	stage(t, killed, "run", partOfRun, []byte("abc"))
	stage(t, store, "run", "_runs/run/ledger.parquet", []byte("abc"))
	stage(t, store, "other", "_runs/other/ledger.parquet", []byte("abc"))
	require.NoError(t, store.Sweep(ctx, "run"))
	require.ElementsMatch(t, []string{"pre/" + partOfRun, "pre/_runs/other/ledger.parquet"}, server.Uploads(t, bucket))

	paths := []string{"_runs/run/ledger.parquet", partOfRun}
	newest, err := store.StagedAt(ctx, paths)
	require.NoError(t, err)
	require.False(t, newest.IsZero())
	file := stage(t, killed, "run", partOfRun, []byte("abcd"))
	require.NoError(t, store.SweepAt(ctx, paths, file))
	holds, err := store.Holds(ctx, "run", file)
	require.NoError(t, err)
	require.True(t, holds)
	require.Len(t, server.Uploads(t, bucket), 2)
	require.NoError(t, store.SweepAt(ctx, paths))
	require.Equal(t, []string{"pre/_runs/other/ledger.parquet"}, server.Uploads(t, bucket))
	newest, err = store.StagedAt(ctx, paths)
	require.NoError(t, err)
	require.True(t, newest.IsZero())
}

// TestRefusedChecksums expects the store to distinguish a server that does not implement checksums from one that does
// not implement conditional writes.
func TestRefusedChecksums(t *testing.T) {
	t.Parallel()
	server := server(t)
	opts := options(t, server.Bucket(t), "pre")
	opts.Endpoint = server.Proxy(t, nil, s3test.RefusedChecksums).Endpoint
	var log bytes.Buffer
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	store, ctx := open(t, opts), t.Context()
	absent := sink.Condition{Absent: true}
	require.NoError(t, store.Write(ctx, "document", []byte("1"), absent))
	require.ErrorIs(t, store.Write(ctx, "document", []byte("2"), absent), sink.ErrConflict)
	require.Equal(t, sink.StandardConditions, store.Conditions())
	require.Contains(t, log.String(), "the store does not support checksums of uploads")
	require.Contains(t, log.String(), "--s3-checksums when-required")
	require.NotContains(t, log.String(), "conditional")

	log.Reset()
	other := open(t, opts)
	file := stage(t, other, "run", partOfRun, noise(eight+1))
	require.NoError(t, other.Commit(ctx, "run", file))
	require.Equal(t, 1, strings.Count(log.String(), "checksums of uploads"))
}

// TestListingIsNotTriedOut expects no upload to be started to test the listing if an upload was listed before.
func TestListingIsNotTriedOut(t *testing.T) {
	t.Parallel()
	server := server(t)
	opts := options(t, server.Bucket(t), "pre")
	var started atomic.Int64
	opts.Endpoint = server.Proxy(t, func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploads") {
			started.Add(1)
		}
		return s3test.NoFault
	}).Endpoint
	store, ctx := open(t, opts), t.Context()
	file := stage(t, store, "run", partOfRun, []byte("abc"))
	require.NoError(t, store.Sweep(ctx, "run", file))
	listed, err := store.ListsStaged(ctx)
	require.NoError(t, err)
	require.True(t, listed)
	require.EqualValues(t, 1, started.Load())
}

// TestManyUploads expects all uploads to be found on a server that lists them in pages, but accepts only keys as
// markers. The first page ends between two uploads of a key.
func TestManyUploads(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	keys := make([]string, 0, 1002)
	for i := range 998 {
		keys = append(keys, fmt.Sprintf("pre/_runs/run/%03d", i))
	}
	keys = append(keys, "pre/_runs/run/998", "pre/_runs/run/998", "pre/_runs/run/998", "pre/_runs/same/0")
	require.NoError(t, sink.ForEach(t.Context(), keys, func(ctx context.Context, key string) error {
		_, err := server.Client().CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
		return err
	}))
	store := open(t, options(t, bucket, "pre"))
	staged, err := store.Staged(t.Context())
	require.NoError(t, err)
	require.Contains(t, staged, "run")
	require.Contains(t, staged, "same")
	require.NoError(t, store.Sweep(t.Context(), "run"))
	require.Equal(t, []string{"pre/_runs/same/0"}, server.Uploads(t, bucket))
}
