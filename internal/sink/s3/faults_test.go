package s3_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/sink/storetest"
)

// TestFortyPercent makes 40 % of all requests fail, in every possible way, and expects the same result as without
// failures.
func TestFortyPercent(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	opts := options(t, bucket, "pre")
	proxy := server.Proxy(t, s3test.Share(7, 0.4))
	opts.Endpoint = proxy.Endpoint
	opts.Attempts = 25 // so that none of about a thousand requests gives up
	storetest.Insist(t, func() sink.Store { return open(t, opts) })
	require.Empty(t, server.Uploads(t, bucket))
	require.Empty(t, storetest.FilesIn(t, opts.Scratch))
	require.Greater(t, proxy.Failed.Load(), proxy.Requests.Load()*3/10)
}

// TestLostAnswers loses responses of a real store.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]func(*http.Request) bool{
		"complete": func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") },
		"write":    func(r *http.Request) bool { return r.Method == http.MethodPut && !r.URL.Query().Has("uploadId") },
		"part":     func(r *http.Request) bool { return r.Method == http.MethodPut && r.URL.Query().Has("uploadId") },
		"create":   func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploads") },
		"abort":    func(r *http.Request) bool { return r.Method == http.MethodDelete && r.URL.Query().Has("uploadId") },
		"remove":   func(r *http.Request) bool { return r.Method == http.MethodDelete && !r.URL.Query().Has("uploadId") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := server(t)
			bucket := server.Bucket(t)
			opts := options(t, bucket, "pre")
			var lost atomic.Int64
			opts.Endpoint = server.Proxy(t, func(r *http.Request) s3test.Fault {
				if is(r) && lost.Add(1)%3 != 0 {
					return s3test.LostAnswer
				}
				return s3test.NoFault
			}).Endpoint
			store := open(t, opts)
			ctx := t.Context()
			const path = "table/snapshot_date=2026-11-20/part-0000-run.parquet"
			dropped := stage(t, store, "run", path, []byte("abc"))
			require.NoError(t, store.Abort(ctx, "run", dropped))
			file := stage(t, store, "run", path, []byte("abc"))
			require.NoError(t, store.Commit(ctx, "run", file))
			require.NoError(t, store.Write(ctx, "document", []byte("1"), sink.Condition{Absent: true}))
			_, version, err := store.Read(ctx, "document")
			require.NoError(t, err)
			require.NoError(t, store.Write(ctx, "document", []byte("2"), sink.Condition{Version: version}))
			require.ErrorIs(t, store.Write(ctx, "document", []byte("3"), sink.Condition{Version: version}), sink.ErrConflict)
			require.NoError(t, store.Remove(ctx, path))
			require.NoError(t, store.Sweep(ctx, "run"))
			require.Empty(t, server.Uploads(t, bucket))
			require.GreaterOrEqual(t, lost.Load(), int64(3), strings.ToUpper(name))
		})
	}
}

// TestSweptWhileStaged sweeps the run from another process while a file is being uploaded.
func TestSweptWhileStaged(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	opts := options(t, bucket, "pre")
	other := open(t, opts)
	opts.Endpoint = server.Proxy(t, func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPut {
			_ = other.Sweep(r.Context(), "run") // Leftovers are found below.
		}
		return s3test.NoFault
	}).Endpoint
	_, err := storetest.Stage(t.Context(), open(t, opts), "run", "_runs/run/ledger.parquet", nil)
	require.ErrorIs(t, err, sink.ErrStagedLost)
	require.Empty(t, server.Uploads(t, bucket))
	require.Empty(t, storetest.FilesIn(t, opts.Scratch))
}
