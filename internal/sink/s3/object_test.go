package s3_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
)

// gets counts the GET requests with a range.
func gets(n *atomic.Int64) func(*http.Request) s3test.Fault {
	return func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
			n.Add(1)
		}
		return s3test.NoFault
	}
}

func openedObject(t *testing.T, data []byte, choose func(*http.Request) s3test.Fault) (sink.Object, *s3.Store) {
	t.Helper()
	server := server(t)
	opts := options(t, server.Bucket(t), "")
	store := open(t, opts)
	require.NoError(t, store.Commit(t.Context(), "run", stage(t, store, "run", "file", data)))
	opts.Endpoint = server.Proxy(t, choose).Endpoint
	object, err := open(t, opts).Open(t.Context(), "file")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, object.Close()) })
	require.EqualValues(t, len(data), object.Size())
	return object, store
}

func TestReadingIsFewRequests(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	data := noise(3 << 20)
	object, _ := openedObject(t, data, gets(&requests))
	for range 2 {
		var back bytes.Buffer
		section := struct{ io.Reader }{io.NewSectionReader(object, 0, object.Size())}
		_, err := io.CopyBuffer(struct{ io.Writer }{&back}, section, make([]byte, 256<<10))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, back.Bytes()))
	}
	require.EqualValues(t, 3, requests.Load(), "one to open it, and one each time")

	// A Parquet footer is read from the last bytes, then back and forth.
	requests.Store(0)
	for _, at := range []int{8, 5000, 4000, 4500, 200_000, 100} {
		part := make([]byte, min(at, 3000))
		n, err := object.ReadAt(part, object.Size()-int64(at))
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
		}
		require.Equal(t, len(part), n)
		require.True(t, bytes.Equal(data[len(data)-at:][:n], part))
	}
	require.Zero(t, requests.Load(), "they were read when it was opened")
}

// TestSmallObjectsAreOneRequest expects a small object to be read completely when it is opened.
func TestSmallObjectsAreOneRequest(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	for size, want := range map[int]int64{0: 1, 1: 1, remote.Window: 1, remote.Window + 1: 2} {
		requests.Store(0)
		data := noise(size)
		object, _ := openedObject(t, data, gets(&requests))
		back, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, back))
		require.Equal(t, want, requests.Load(), size)
	}
}

func TestReadAtEverywhere(t *testing.T) {
	t.Parallel()
	data := noise(700_000)
	object, _ := openedObject(t, data, nil)
	var group errgroup.Group
	for worker := range 4 {
		group.Go(func() error {
			for i := range 25 {
				offset := (i*i*7919 + worker*331_001) % (len(data) + 10)
				p := make([]byte, (i*104_729)%300_000)
				n, err := object.ReadAt(p, int64(offset))
				want := data[min(offset, len(data)):]
				want = want[:min(len(want), len(p))]
				if !bytes.Equal(want, p[:n]) {
					return errors.New("other bytes")
				}
				if (err == nil) != (n == len(p) && offset < len(data)) && !errors.Is(err, io.EOF) {
					return errors.Join(errors.New("a short read without an error"), err)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	_, err := object.ReadAt(make([]byte, 1), -1)
	require.Error(t, err)
}

// TestBrokenBodies expects Open to be repeated, and reading to continue, where a body broke off.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	data := noise(3 << 20)
	var opens, requests atomic.Int64
	object, _ := openedObject(t, data, func(r *http.Request) s3test.Fault {
		switch {
		case r.Method != http.MethodGet:
		case strings.HasPrefix(r.Header.Get("Range"), "bytes=-"):
			if opens.Add(1) < 3 {
				return s3test.CutAnswer
			}
		case requests.Add(1) < 12:
			return s3test.CutAnswer
		}
		return s3test.NoFault
	})
	require.EqualValues(t, 3, opens.Load())
	back, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
	require.EqualValues(t, 12, requests.Load())
}

// TestReplacedWhileRead expects an error rather than a mixture of two objects.
func TestReplacedWhileRead(t *testing.T) {
	t.Parallel()
	object, store := openedObject(t, noise(600_000), nil)
	p := make([]byte, 10)
	_, err := object.ReadAt(p, 599_000)
	require.NoError(t, err)
	require.NoError(t, store.Write(t.Context(), "file", bytes.Repeat([]byte("x"), 600_000), sink.Condition{}))
	_, err = object.ReadAt(p, 1000)
	require.ErrorContains(t, err, "read s3://")
	require.ErrorContains(t, err, "PreconditionFailed")
}
