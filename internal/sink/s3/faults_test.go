package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3/s3test"
	"example.org/growthexport/internal/sink/storetest"
)

// TestFortyPercent lets 40 % of all requests fail, in every way there is, and expects the same result as without.
func TestFortyPercent(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	opts := options(t, bucket, "pre")
	proxy := server.Proxy(t, s3test.Share(7, 0.4))
	opts.Endpoint = proxy.Endpoint
	opts.Attempts = 25 // so that none of about a thousand requests gives up
	ctx := t.Context()

	const workers, rounds = 3, 5
	var group errgroup.Group
	for worker := range workers {
		store := open(t, opts)
		group.Go(func() error {
			path := fmt.Sprintf("_runs/run/journal/%d.json", worker)
			for i := range rounds {
				// A counter in a document, with one writer.
				text := []byte(strconv.Itoa(i))
				when := sink.Condition{Absent: true}
				if i > 0 {
					data, version, err := store.Read(ctx, path)
					if err != nil {
						return err
					}
					if string(data) != strconv.Itoa(i-1) {
						return fmt.Errorf("%s holds %s before %d is written", path, data, i)
					}
					when = sink.Condition{Version: version}
				}
				if err := store.Write(ctx, path, text, when); err != nil {
					return err
				}
				if err := store.Write(ctx, path, text, when); !errors.Is(err, sink.ErrConflict) {
					return fmt.Errorf("write %s under the same condition: %w", path, err)
				}
				// A file in all its states.
				data := noise(1000 * (i + worker))
				if i == 1 {
					data = noise(eight + 1000)
				}
				path := fmt.Sprintf("table/snapshot_date=2026-11-20/part-%04d-run.parquet", worker*rounds+i)
				file, err := storetest.Stage(ctx, store, "run", path, data)
				if err != nil {
					return err
				}
				if holds, err := store.Holds(ctx, "run", file); !holds || err != nil {
					return fmt.Errorf("hold %s: %t, %w", file.Path, holds, err)
				}
				if i == 4 {
					if err := store.Abort(ctx, "run", file); err != nil {
						return err
					}
					continue
				}
				if err := store.Commit(ctx, "run", file); err != nil {
					return err
				}
				object, err := store.Open(ctx, file.Path)
				if err != nil {
					return err
				}
				back, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
				if err := errors.Join(err, object.Close()); err != nil {
					return err
				}
				if !bytes.Equal(data, back) {
					return fmt.Errorf("%s came back as other bytes", file.Path)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	store := open(t, opts)
	require.NoError(t, store.Sweep(ctx, "run"))
	require.NoError(t, store.Check(ctx))
	listed := 0
	for entry, err := range store.List(ctx, "table/") {
		require.NoError(t, err)
		require.NoError(t, store.Remove(ctx, entry.Path))
		listed++
	}
	require.Equal(t, workers*(rounds-1), listed)
	require.Empty(t, server.Uploads(t, bucket))
	require.Empty(t, scratchFiles(t, opts.Scratch))
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
	require.Empty(t, scratchFiles(t, opts.Scratch))
}
