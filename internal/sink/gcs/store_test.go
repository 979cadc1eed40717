package gcs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/storetest"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"gs://bucket":             {"bucket", ""},
		"gs://bucket/":            {"bucket", ""},
		"gs://my.bucket_1/a b/c/": {"my.bucket_1", "a b/c"},
	} {
		bucket, prefix, err := gcs.ParseURL(text)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{bucket, prefix})
	}
	for text, want := range map[string]string{
		"s3://bucket":       "does not start with gs://",
		"gs://":             "has no bucket",
		"gs:///prefix":      "has no bucket",
		"gs://Bucket":       "is not a valid bucket name",
		"gs://ab":           "is not a valid bucket name",
		"gs://bucket/a//b":  "is not a valid prefix",
		"gs://bucket/../b":  "is not a valid prefix",
		"gs://bucket/a\x01": "contains a control character",
	} {
		_, _, err := gcs.ParseURL(text)
		require.ErrorContains(t, err, want, text)
	}
	for want, opts := range map[string]gcs.Options{
		"has no bucket":                     {},
		"endpoint of Google Cloud Storage:": {Bucket: "bucket", Endpoint: "host:9000"},
		"must not be negative":              {Bucket: "bucket", Settings: remote.Settings{Attempts: -1}},
	} {
		_, err := gcs.New(t.Context(), opts)
		require.ErrorContains(t, err, want)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	info := open(t, gcs.Options{Bucket: "bucket", Prefix: "pre"}).Info()
	require.Equal(t, "gs://bucket/pre", info.URL)
	require.Equal(t, "gs://bucket/pre", info.HadoopURL)
	require.Equal(t, "INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE gcs, KEY_ID '<access ID of an HMAC key>', "+
		"SECRET '<secret of the HMAC key>');", info.Session)
	require.False(t, info.Locks)
	store := open(t, gcs.Options{Bucket: "bucket", Endpoint: "http://127.0.0.1:4443/"})
	require.Equal(t, "gs://bucket/", store.String())
	require.Contains(t, store.Info().Session, ", ENDPOINT '127.0.0.1:4443', URL_STYLE 'path', USE_SSL false);")
	require.Empty(t, info.PlainEndpoint+store.Info().PlainEndpoint)
	plain := open(t, gcs.Options{Bucket: "bucket", Endpoint: "http://192.0.2.1:4443"})
	require.Equal(t, "http://192.0.2.1:4443", plain.Info().PlainEndpoint)
}

// TestCheckClearsAway expects Check to remove the objects that a killed Check has left, and nothing else.
func TestCheckClearsAway(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	store := open(t, options(t, bucket, "pre"))
	root := open(t, options(t, bucket, ""))
	for _, path := range []string{"pre/_staging/~check/left", "elsewhere/_staging/~check/left", "pre/document"} {
		require.NoError(t, root.Write(t.Context(), path, []byte("x"), sink.Condition{}))
	}
	file := stage(t, store, "~check", "table/file", []byte("of an owner with that name"))
	staged, err := store.Staged(t.Context())
	require.NoError(t, err)
	require.Contains(t, staged, "%7Echeck")
	require.Len(t, staged, 1)
	require.NoError(t, store.Check(t.Context()))
	require.NoError(t, store.Commit(t.Context(), "~check", file))
	require.Equal(t, []string{"elsewhere/_staging/~check/left", "pre/document", "pre/table/file"}, server.Objects(t, bucket, ""))
}

func TestStagedAndSweep(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	store := open(t, options(t, bucket, "pre"))
	ctx := t.Context()
	kept := stage(t, store, "run-1", "table/kept", []byte("kept"))
	stage(t, store, "run-1", "table/dropped", []byte("dropped"))
	stage(t, store, "run-2", "table/other", []byte("other"))
	staged, err := open(t, options(t, bucket, "pre")).Staged(ctx)
	require.NoError(t, err)
	require.Len(t, staged, 2)
	for _, run := range []string{"run-1", "run-2"} {
		require.WithinDuration(t, time.Now(), staged[run], time.Minute)
	}
	require.NoError(t, store.Sweep(ctx, "run-1", kept))
	require.Len(t, server.Objects(t, bucket, "pre/_staging/run-1/"), 1)
	require.Len(t, server.Objects(t, bucket, "pre/_staging/run-2/"), 1)
	require.NoError(t, store.Commit(ctx, "run-1", kept))
	require.Equal(t, "kept", content(t, store, "table/kept"))
	require.Empty(t, server.Objects(t, bucket, "pre/_staging/run-1/"))
}

// TestOpenStaged expects that a file can be read before and after it is committed, but not after it was dropped.
func TestOpenStaged(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	store := open(t, options(t, bucket, "pre"))
	read := func(file sink.File) (string, error) {
		object, err := store.OpenStaged(t.Context(), "run", file)
		if err != nil {
			return "", err
		}
		data := make([]byte, object.Size())
		_, err = object.ReadAt(data, 0)
		return string(data), errors.Join(err, object.Close())
	}
	file := stage(t, store, "run", "file", []byte("rows"))
	for range 2 {
		data, err := read(file)
		require.NoError(t, err)
		require.Equal(t, "rows", data)
		require.NoError(t, store.Commit(t.Context(), "run", file))
	}
	other := stage(t, store, "run", "other", []byte("rows"))
	require.NoError(t, store.Abort(t.Context(), "run", other))
	_, err := read(other)
	require.ErrorIs(t, err, sink.ErrStagedLost)
}

// TestReplacedWhileOpen expects a read not to mix the data of two objects.
func TestReplacedWhileOpen(t *testing.T) {
	t.Parallel()
	store := open(t, options(t, server(t).Bucket(t), ""))
	require.NoError(t, store.Write(t.Context(), "document", []byte("first"), sink.Condition{}))
	object, err := store.Open(t.Context(), "document")
	require.NoError(t, err)
	require.NoError(t, store.Write(t.Context(), "document", []byte("other"), sink.Condition{}))
	_, err = object.ReadAt(make([]byte, 5), 0)
	require.ErrorIs(t, err, sink.ErrNotFound)
	require.NoError(t, object.Close())
}

// TestFortyPercent makes 40 % of all requests fail, in every possible way, and expects the same result as without
// failures.
func TestFortyPercent(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(7, 7))
	failed := 0
	f := newFront(t, func(w http.ResponseWriter, _ *http.Request, pass func() *httptest.ResponseRecorder) {
		mu.Lock()
		fault := random.IntN(10)
		if fault < 4 {
			failed++
		}
		mu.Unlock()
		switch fault {
		case 0: // The request does not arrive.
			cut()
		case 1: // The response does not arrive.
			pass()
			cut()
		case 2:
			fail(w, http.StatusServiceUnavailable, "backendError", "Try again.")
		case 3:
			fail(w, http.StatusTooManyRequests, "rateLimitExceeded", "Slow down.")
		default:
			answer(w, pass())
		}
	})
	opts := f.wired(t, bucket)
	opts.Attempts = 25 // so that no request gives up
	ctx := t.Context()
	var group errgroup.Group
	for worker := range 3 {
		store := open(t, opts)
		group.Go(func() error {
			document := fmt.Sprintf("_runs/run/journal/%d.json", worker)
			for i := range 4 {
				when := sink.Condition{Absent: true}
				if i > 0 {
					data, version, err := store.Read(ctx, document)
					if err != nil || string(data) != strconv.Itoa(i-1) {
						return fmt.Errorf("%s holds %s before %d is written: %w", document, data, i, err)
					}
					when = sink.Condition{Version: version}
				}
				if err := store.Write(ctx, document, []byte(strconv.Itoa(i)), when); err != nil {
					return err
				}
				if err := store.Write(ctx, document, []byte("again"), when); !errors.Is(err, sink.ErrConflict) {
					return fmt.Errorf("write %s under the same condition: %w", document, err)
				}
				path := fmt.Sprintf("table/part-%04d-run.parquet", 10*worker+i)
				file, err := storetest.Stage(ctx, store, "run", path, noise(1000*i))
				if err != nil {
					return err
				}
				if err := errors.Join(store.Commit(ctx, "run", file), store.Commit(ctx, "run", file)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Greater(t, failed, 50)
	quiet := open(t, options(t, bucket, "pre"))
	for worker := range 3 {
		for i := range 4 {
			require.Equal(t, string(noise(1000*i)), content(t, quiet, fmt.Sprintf("table/part-%04d-run.parquet", 10*worker+i)))
		}
	}
	require.Empty(t, server(t).Objects(t, bucket, "pre/_staging/"))
}
