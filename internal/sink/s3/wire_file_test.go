package s3_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/storetest"
)

// stage stages data for a path.
func stage(t testing.TB, store sink.Store, run, path string, data []byte) sink.File {
	t.Helper()
	file, err := storetest.Stage(t.Context(), store, run, path, data)
	require.NoError(t, err)
	return file
}

func finished(t testing.TB, store sink.Store, run, path string, data []byte) (sink.Draft, int64) {
	t.Helper()
	draft, err := store.Draft(t.Context(), run, path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, draft.Abort()) })
	_, err = draft.Write(data)
	require.NoError(t, err)
	size, err := draft.Finish()
	require.NoError(t, err)
	return draft, size
}

func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(data) // It never fails.
	return data
}

func crcOf(data []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data)))
}

const eight = 8 << 20

func TestUploadOnTheWire(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, eight, eight + 1, 2*eight + eight/2} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			store := w.store(t, func(o *s3.Options) { o.SSE = "AES256" })
			data := noise(size)
			file := stage(t, store, "run", "table/file", data)
			require.NoError(t, store.Commit(t.Context(), "run", file))

			created := w.of(http.MethodPost, "uploads")
			require.Len(t, created, 1)
			require.Equal(t, "pre/table/file", created[0].key)
			require.Equal(t, "CRC32", created[0].header.Get("X-Amz-Checksum-Algorithm"))
			require.Equal(t, "AES256", created[0].header.Get("X-Amz-Server-Side-Encryption"))
			require.NotEmpty(t, created[0].header.Get("X-Amz-Meta-Growth-Export-Id"))

			var wanted [][]byte
			for part := range slices.Chunk(data, eight) {
				wanted = append(wanted, part)
			}
			if size == 0 {
				wanted = [][]byte{nil}
			}
			parts := w.of(http.MethodPut, "uploadId=upload-1")
			require.Len(t, parts, len(wanted))
			complete := w.of(http.MethodPost, "uploadId=upload-1")
			require.Len(t, complete, 1)
			rest := complete[0].body
			for i, want := range wanted {
				number := fmt.Sprintf("partNumber=%d&", i+1)
				at := slices.IndexFunc(parts, func(r sent) bool { return strings.Contains(r.query, number) })
				require.GreaterOrEqual(t, at, 0, number)
				require.True(t, bytes.Equal(want, []byte(parts[at].body)), number)
				require.Equal(t, crcOf(want), parts[at].header.Get("X-Amz-Checksum-Crc32"))
				require.Empty(t, parts[at].header.Get("X-Amz-Trailer"))
				// All parts, in order, each with its checksum.
				_, part, found := strings.Cut(rest, "<Part>")
				require.True(t, found)
				part, rest, found = strings.Cut(part, "</Part>")
				require.True(t, found)
				require.Contains(t, part, "<ChecksumCRC32>"+crcOf(want)+"</ChecksumCRC32>")
				require.Contains(t, part, fmt.Sprintf("etag-%d", i+1))
				require.Contains(t, part, fmt.Sprintf("<PartNumber>%d</PartNumber>", i+1))
			}
			require.NotContains(t, rest, "<Part>")
		})
	}
}

func TestStagedToken(t *testing.T) {
	t.Parallel()
	store := newWire(t).store(t, nil)
	file := stage(t, store, "run", "file", noise(eight+1))
	var token struct {
		UploadID string `json:"upload_id"`
		PartSize int64  `json:"part_size"`
		Parts    []struct{ ETag, CRC32 string }
	}
	require.NoError(t, json.Unmarshal(file.Staged, &token))
	require.Equal(t, "upload-1", token.UploadID)
	require.EqualValues(t, eight, token.PartSize)
	require.Len(t, token.Parts, 2)
	require.Equal(t, crcOf(noise(eight + 1)[eight:]), token.Parts[1].CRC32)

	for _, damaged := range []string{`{`, `{}`, `{"upload_id":"u"}`, `[]`} {
		file.Staged = []byte(damaged)
		require.ErrorIs(t, store.Commit(t.Context(), "run", file), sink.ErrDamaged, damaged)
		_, err := store.Holds(t.Context(), "run", file)
		require.ErrorIs(t, err, sink.ErrDamaged, damaged)
		require.ErrorIs(t, store.Abort(t.Context(), "run", file), sink.ErrDamaged, damaged)
	}
}

// TestUploadsAtOnce uploads several files within one limit.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	var now, most atomic.Int64
	w.answer = func(_ http.ResponseWriter, r sent) bool {
		if !r.is(http.MethodPut, "uploadId=") {
			return false
		}
		n := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); n > seen; seen = most.Load() {
			if most.CompareAndSwap(seen, n) {
				break
			}
		}
		timer := time.NewTimer(50 * time.Millisecond)
		<-timer.C
		return false
	}
	store := w.store(t, func(o *s3.Options) { o.Uploads = 3 })
	done := make(chan error)
	const files = 9
	for i := range files {
		draft, _ := finished(t, store, "run", fmt.Sprint("file-", i), []byte("abc"))
		go func() {
			_, err := draft.Stage(t.Context())
			done <- err
		}()
	}
	for range files {
		require.NoError(t, <-done)
	}
	require.EqualValues(t, 3, most.Load())
}

// TestUploadThatEndsEarly expects that failed and cancelled uploads leave nothing behind.
func TestUploadThatEndsEarly(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(rw http.ResponseWriter, cancel func()){
		"cancelled": func(_ http.ResponseWriter, cancel func()) {
			cancel()
			cut()
		},
		"refused": func(rw http.ResponseWriter, _ func()) { refuse(rw, http.StatusForbidden, "AccessDenied") },
		"failing all the time": func(rw http.ResponseWriter, _ func()) {
			refuse(rw, http.StatusServiceUnavailable, "SlowDown")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var failing atomic.Bool
			failing.Store(true)
			w.answer = func(rw http.ResponseWriter, r sent) bool {
				if !failing.Load() || !r.is(http.MethodPut, "partNumber=2") {
					return false
				}
				end(rw, cancel)
				return true
			}
			store := w.store(t, nil)
			draft, size := finished(t, store, "run", "file", noise(3*eight))
			_, err := draft.Stage(ctx)
			require.Error(t, err)
			if name == "cancelled" {
				require.ErrorIs(t, err, context.Canceled)
			}
			require.Len(t, w.of(http.MethodDelete, "uploadId=upload-1"), 1)
			w.mu.Lock()
			require.Empty(t, w.uploads)
			w.mu.Unlock()

			failing.Store(false)
			staged, err := draft.Stage(t.Context())
			require.NoError(t, err, "the draft is still there")
			require.NoError(t, store.Commit(t.Context(), "run", sink.File{Path: "file", Bytes: size, Staged: staged}))
		})
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(w *wire, rw http.ResponseWriter, r sent) bool
		lost   bool
		fails  string // the file is still staged
	}{
		"it is denied": {fails: "AccessDenied", answer: func(_ *wire, rw http.ResponseWriter, _ sent) bool {
			refuse(rw, http.StatusForbidden, "AccessDenied")
			return true
		}},
		"the answer is lost": {answer: func(w *wire, _ http.ResponseWriter, r sent) bool {
			if len(w.of(http.MethodPost, "uploadId=")) > 1 {
				return false // the upload no longer exists
			}
			w.standard(discard{}, r)
			cut()
			return true
		}},
		"an error in an answer that began well": {answer: func(w *wire, rw http.ResponseWriter, _ sent) bool {
			if len(w.of(http.MethodPost, "uploadId=")) > 1 {
				return false
			}
			refuse(rw, http.StatusOK, "InternalError")
			return true
		}},
		"it is confirmed before it is done": {answer: func(w *wire, rw http.ResponseWriter, r sent) bool {
			time.AfterFunc(50*time.Millisecond, func() { w.standard(discard{}, r) })
			fmt.Fprint(rw, `<CompleteMultipartUploadResult></CompleteMultipartUploadResult>`)
			return true
		}},
		"another process does it": {answer: func(w *wire, rw http.ResponseWriter, r sent) bool {
			time.AfterFunc(50*time.Millisecond, func() { w.standard(discard{}, r) })
			refuse(rw, http.StatusNotFound, "NoSuchUpload")
			return true
		}},
		"a part is not the one that was uploaded": {lost: true, answer: func(_ *wire, rw http.ResponseWriter, _ sent) bool {
			refuse(rw, http.StatusBadRequest, "InvalidPart")
			return true
		}},
		"the upload is gone": {lost: true, answer: func(_ *wire, rw http.ResponseWriter, _ sent) bool {
			refuse(rw, http.StatusNotFound, "NoSuchUpload")
			return true
		}},
		"the upload is gone, with another error code": {lost: true, answer: func(_ *wire, rw http.ResponseWriter, _ sent) bool {
			refuse(rw, http.StatusNotFound, "NoSuchKey")
			return true
		}},
		"the bucket is gone": {fails: "bucket bucket not found", answer: func(_ *wire, rw http.ResponseWriter, _ sent) bool {
			refuse(rw, http.StatusNotFound, "NoSuchBucket")
			return true
		}},
		"the upload is gone, and another file is there": {lost: true, answer: func(w *wire, rw http.ResponseWriter, r sent) bool {
			w.mu.Lock()
			w.metadata[r.key] = http.Header{"X-Amz-Meta-Growth-Export-Id": {"another"}}
			w.sizes[r.key] = 3
			w.mu.Unlock()
			refuse(rw, http.StatusNotFound, "NoSuchUpload")
			return true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			w.answer = func(rw http.ResponseWriter, r sent) bool {
				return r.is(http.MethodPost, "uploadId=") && test.answer(w, rw, r)
			}
			store := w.store(t, nil)
			file := stage(t, store, "run", "file", []byte("abc"))
			err := store.Commit(t.Context(), "run", file)
			if test.lost {
				require.ErrorIs(t, err, sink.ErrStagedLost)
				return
			}
			if test.fails != "" {
				require.ErrorContains(t, err, test.fails)
				require.NotErrorIs(t, err, sink.ErrStagedLost)
				return
			}
			require.NoError(t, err)
			w.mu.Lock()
			defer w.mu.Unlock()
			require.Equal(t, 3, w.sizes["pre/file"])
		})
	}
}

// discard is a ResponseWriter for a response that is lost.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// TestStalledAttempts expects an attempt that transfers nothing to be cancelled and repeated.
func TestStalledAttempts(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var stalled atomic.Bool
	w.answer = func(http.ResponseWriter, sent) bool {
		if stalled.Swap(true) {
			return false
		}
		<-release
		return true
	}
	store := w.store(t, func(o *s3.Options) { o.StallTimeout = time.Second })
	require.NoError(t, store.Write(t.Context(), "document", nil, sink.Condition{}))
	require.Len(t, w.of(http.MethodPut, ""), 2)

	stalled.Store(false)
	store = w.store(t, func(o *s3.Options) { o.StallTimeout, o.Attempts = 50*time.Millisecond, 1 })
	require.ErrorContains(t, store.Write(t.Context(), "document", nil, sink.Condition{}),
		"timeout: no data transferred for 50ms")
}

func TestScratch(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	folder := t.TempDir()
	store := w.store(t, func(o *s3.Options) { o.Scratch = folder })
	draft, err := store.Draft(t.Context(), "run", "file")
	require.NoError(t, err)
	_, err = draft.Write(noise(1000))
	require.NoError(t, err)
	require.Empty(t, storetest.FilesIn(t, folder), "a killed process leaves nothing behind")
	require.NoError(t, draft.Abort())

	store = w.store(t, func(o *s3.Options) { o.Scratch = folder + "/none" })
	_, err = store.Draft(t.Context(), "run", "file")
	require.ErrorContains(t, err, "scratch")
}

// TestHoldsUploadedParts expects Holds to return true if exactly the parts of the file are uploaded.
func TestHoldsUploadedParts(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	type part struct {
		number, size int
		etag         string
	}
	var parts []part
	w.answer = func(rw http.ResponseWriter, r sent) bool {
		if !r.is(http.MethodGet, "uploadId=") {
			return false
		}
		fmt.Fprint(rw, "<ListPartsResult>")
		for _, p := range parts {
			fmt.Fprintf(rw, "<Part><PartNumber>%d</PartNumber><Size>%d</Size><ETag>%s</ETag></Part>", p.number, p.size, p.etag)
		}
		fmt.Fprint(rw, "</ListPartsResult>")
		return true
	}
	store := w.store(t, nil)
	file := stage(t, store, "run", "file", noise(eight+1))
	for _, test := range []struct {
		name  string
		parts []part
		want  bool
	}{
		{"all", []part{{1, eight, `"etag-1"`}, {2, 1, "etag-2"}}, true},
		{"one is missing", []part{{1, eight, `"etag-1"`}}, false},
		{"none", nil, false},
		{"one differs", []part{{1, eight, `"etag-1"`}, {2, 1, `"etag-3"`}}, false},
		{"one is shorter", []part{{1, eight - 1, `"etag-1"`}, {2, 1, `"etag-2"`}}, false},
		{"one too many", []part{{1, eight, `"etag-1"`}, {2, 1, `"etag-2"`}, {3, 1, `"etag-3"`}}, false},
	} {
		parts = test.parts
		holds, err := store.Holds(t.Context(), "run", file)
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, holds, test.name)
	}
}

// TestIntactWithoutRequests expects a file that the store has staged itself not to be checked again until it is
// committed, or until a file turns out to be lost.
func TestIntactWithoutRequests(t *testing.T) {
	t.Parallel()
	server := newWire(t)
	var lost atomic.Bool
	server.answer = func(w http.ResponseWriter, r sent) bool {
		completes := r.is(http.MethodPost, "uploadId")
		if !lost.Load() || !completes && !r.is(http.MethodGet, "uploadId") {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchUpload</Code></Error>")
		return true
	}
	store, other := server.store(t, nil), server.store(t, nil)
	requireIntact := func(store *s3.Store, file sink.File, want bool) {
		intact, err := store.Intact(t.Context(), "run", file)
		require.NoError(t, err)
		require.Equal(t, want, intact)
	}
	first, second := stage(t, store, "run", "a", []byte("a")), stage(t, store, "run", "b", []byte("b"))
	requests := len(server.of(http.MethodGet, "uploadId"))
	requireIntact(store, first, true)
	requireIntact(store, second, true)
	require.Len(t, server.of(http.MethodGet, "uploadId"), requests)
	lost.Store(true)
	requireIntact(other, second, false)
	requireIntact(store, second, true)
	require.ErrorIs(t, store.Commit(t.Context(), "run", first), sink.ErrStagedLost)
	requireIntact(store, first, false)
	requireIntact(store, second, false)
}
