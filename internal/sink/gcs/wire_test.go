package gcs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/remote"
)

// TestErrorsSayWhatIsWrong expects errors that stop every command to contain the cause and the remedy.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		status          int
		reason, message string
		want            []string
		readable        bool
	}{
		{
			"credentials", http.StatusUnauthorized, "required", "Anonymous caller does not have storage.objects.list access",
			[]string{"credentials rejected at http://", "renew them: the key of the service account"},
			false,
		},
		{
			"permission", http.StatusForbidden, "forbidden", "x@y.iam.gserviceaccount.com does not have storage.objects.list access to the bucket.",
			[]string{"access denied at http://", "allow storage.objects.list to these credentials", "roles/storage.objectUser"},
			true,
		},
		{"billing", http.StatusForbidden, "accountDisabled", "The billing account is disabled.", []string{"enable billing"}, false},
		{"scope", http.StatusForbidden, "insufficientPermissions", "Insufficient Permission", []string{"too few scopes"}, false},
		{"bucket", http.StatusNotFound, "notFound", "The specified bucket does not exist.", []string{"bucket bucket not found at http://", "check --dest"}, false},
		{"bucket of an emulator", http.StatusNotFound, "notFound", "Not Found", []string{"bucket bucket not found at http://", "check --dest"}, false},
		{"throttled", http.StatusTooManyRequests, "rateLimitExceeded", "Slow down.", []string{"throttled by the service", "run fewer processes", "(3 attempts)"}, false},
		{"outage", http.StatusInternalServerError, "backendError", "We encountered an internal error.", []string{"backendError: We enc", "(3 attempts)"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, func(w http.ResponseWriter, _ *http.Request, _ func() *httptest.ResponseRecorder) {
				fail(w, test.status, test.reason, test.message)
			})
			store := open(t, f.wired(t, "bucket"))
			err := store.Check(t.Context())
			for _, want := range append(test.want, "destination gs://bucket/pre: ") {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "\n")
			if err = store.CheckReading(t.Context()); test.readable {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want[0])
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for endpoint, want := range map[string]string{
		closed.URL:                    "connection failed at http://",
		"http://no-such-host.invalid": "host not found at http://no-such-host.invalid",
	} {
		opts := gcs.Options{Bucket: "bucket", Endpoint: endpoint, Settings: remote.Settings{Attempts: 2, MaxBackoff: time.Millisecond}}
		err := open(t, opts).Check(t.Context())
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "check --gcs-endpoint and the network (2 attempts)")
		require.NotContains(t, err.Error(), "/storage/v1", "the URL is not repeated")
	}
}

// TestThrottlingWaits expects the store to wait exactly as long as the service asks for.
func TestThrottlingWaits(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	for status, header := range map[int]string{
		http.StatusTooManyRequests: "1", http.StatusServiceUnavailable: "", http.StatusRequestTimeout: "", http.StatusBadGateway: "",
	} {
		var refused atomic.Bool
		f := newFront(t, func(w http.ResponseWriter, _ *http.Request, pass func() *httptest.ResponseRecorder) {
			if refused.Swap(true) {
				answer(w, pass())
				return
			}
			w.Header().Set("Retry-After", header)
			fail(w, status, "rateLimitExceeded", "Slow down.")
		})
		began := time.Now()
		require.NoError(t, open(t, f.wired(t, bucket)).Write(t.Context(), strconv.Itoa(status), []byte("x"), sink.Condition{}))
		if header != "" {
			require.GreaterOrEqual(t, time.Since(began), time.Second)
		}
		require.Len(t, f.requests("multipart POST"), 2)
	}
}

// TestStalledAttempt expects that an attempt that transfers nothing is cancelled and tried again.
func TestStalledAttempt(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	var stalled atomic.Bool
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
		if !stalled.Swap(true) {
			_, _ = io.Copy(io.Discard, r.Body) // So that the server notices that the client has gone.
			<-r.Context().Done()
			return
		}
		answer(w, pass())
	})
	opts := f.wired(t, bucket)
	opts.StallTimeout = 200 * time.Millisecond
	store := open(t, opts)
	require.NoError(t, store.Write(t.Context(), "document", []byte("x"), sink.Condition{Absent: true}))
	stalled.Store(false)
	opts.Attempts = 1
	require.ErrorContains(t, open(t, opts).Remove(t.Context(), "document"), "timeout: no data transferred for 200ms")
}

// TestCutBodies expects that documents, lists and files are read again if a body is cut short.
func TestCutBodies(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	var cuts sync.Map
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
		got := pass()
		if _, again := cuts.LoadOrStore(kindOf(r)+r.Header.Get("Range"), true); !again && kindOf(r) != "delete" {
			w.Header().Set("Content-Length", strconv.Itoa(got.Body.Len()))
			w.WriteHeader(got.Code)
			_, _ = w.Write(got.Body.Bytes()[:got.Body.Len()/2]) // The connection is closed next.
			if flusher, ok := w.(http.Flusher); ok {
				flusher.Flush()
			}
			cut()
		}
		answer(w, got)
	})
	store := open(t, f.wired(t, bucket))
	data := noise(300_000)
	require.NoError(t, store.Commit(t.Context(), "run", stage(t, store, "run", "file", data)))
	require.True(t, bytes.Equal(data, []byte(content(t, store, "file"))))
	require.NoError(t, store.Write(t.Context(), "document", []byte("some text"), sink.Condition{Absent: true}))
	got, _, err := store.Read(t.Context(), "document")
	require.NoError(t, err)
	require.Equal(t, "some text", string(got))
	entries, err := sink.ListAll(t.Context(), store, "")
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Empty(t, server(t).Objects(t, bucket, "pre/_staging/"))
}

// TestDamagedDownload expects that a document whose checksum differs is read again.
func TestDamagedDownload(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	var damaged atomic.Bool
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
		got := pass()
		if kindOf(r) == "download" && !damaged.Swap(true) {
			got.Body.Bytes()[0] ^= 1
		}
		answer(w, got)
	})
	store := open(t, f.wired(t, bucket))
	require.NoError(t, store.Write(t.Context(), "document", []byte("some text"), sink.Condition{}))
	got, _, err := store.Read(t.Context(), "document")
	require.NoError(t, err)
	require.Equal(t, "some text", string(got))
	require.Len(t, f.requests("download"), 2)
}

// TestLostResponses expects the store to notice that a request was carried out although its response was lost.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	var lost sync.Map
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
		got := pass()
		if _, again := lost.LoadOrStore(kindOf(r), true); !again {
			cut()
		}
		answer(w, got)
	})
	store := open(t, f.wired(t, bucket))
	require.NoError(t, store.Write(t.Context(), "document", []byte("first"), sink.Condition{Absent: true}))
	require.ErrorIs(t, store.Write(t.Context(), "document", []byte("second"), sink.Condition{Absent: true}), sink.ErrConflict)
	_, version, err := store.Read(t.Context(), "document")
	require.NoError(t, err)
	lost.Clear()
	require.NoError(t, store.Write(t.Context(), "document", []byte("third"), sink.Condition{Version: version}))
	require.Equal(t, "third", content(t, store, "document"))
	lost.Clear()
	file := stage(t, store, "run", "file", []byte("rows"))
	require.NoError(t, store.Commit(t.Context(), "run", file))
	require.Len(t, f.requests("rewrite"), 2)
	require.Equal(t, "rows", content(t, store, "file"))
	require.Empty(t, server(t).Objects(t, bucket, "pre/_staging/"))
	lost.Clear()
	require.NoError(t, store.Remove(t.Context(), "file"))
	require.Equal(t, []string{"pre/document"}, server(t).Objects(t, bucket, ""))
}

// TestInterruptedCommit stops a commit between the copy and the removal of the staged object. The next commit, by
// another process, removes the staged object.
func TestInterruptedCommit(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
		if kindOf(r) == "delete" {
			fail(w, http.StatusForbidden, "forbidden", "x does not have storage.objects.delete access to the object.")
			return
		}
		answer(w, pass())
	})
	store := open(t, f.wired(t, bucket))
	file := stage(t, store, "run", "table/file", []byte("rows"))
	require.ErrorContains(t, store.Commit(t.Context(), "run", file), "allow storage.objects.delete to these credentials")
	require.Equal(t, "rows", content(t, store, "table/file"))
	require.Len(t, server(t).Objects(t, bucket, "pre/_staging/"), 1)

	other := open(t, options(t, bucket, "pre"))
	holds, err := other.Holds(t.Context(), "run", file)
	require.NoError(t, err)
	require.True(t, holds)
	require.NoError(t, other.Commit(t.Context(), "run", file))
	require.Empty(t, server(t).Objects(t, bucket, "pre/_staging/"))
	require.NoError(t, other.Commit(t.Context(), "run", file))
	require.Equal(t, "rows", content(t, other, "table/file"))
}

// TestCommitReplaces commits a file at a path where another process of the owner has committed its own. The condition
// is the generation of that object, so that nothing unknown is overwritten.
func TestCommitReplaces(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	f := newFront(t, func(w http.ResponseWriter, _ *http.Request, pass func() *httptest.ResponseRecorder) {
		answer(w, pass())
	})
	store := open(t, f.wired(t, bucket))
	first, second := stage(t, store, "run", "file", []byte("first")), stage(t, store, "run", "file", []byte("other"))
	require.NoError(t, store.Commit(t.Context(), "run", first))
	_, version, err := store.Read(t.Context(), "file")
	require.NoError(t, err)
	require.NoError(t, store.Commit(t.Context(), "run", second))
	require.Equal(t, "other", content(t, store, "file"))
	var conditions []string
	for _, r := range f.requests("rewrite") {
		conditions = append(conditions, r.URL.Query().Get("ifGenerationMatch"))
	}
	require.Equal(t, []string{"0", "0", version}, conditions)
	require.Empty(t, server(t).Objects(t, bucket, "pre/_staging/"))
}

// TestLongRewrite copies a file in several requests, as the service may require.
func TestLongRewrite(t *testing.T) {
	t.Parallel()
	bucket := server(t).Bucket(t)
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder) {
		if kindOf(r) == "rewrite" && r.URL.Query().Get("rewriteToken") != "second" {
			next := "first"
			if r.URL.Query().Get("rewriteToken") == "first" {
				next = "second"
			}
			fmt.Fprintf(w, `{"done": false, "rewriteToken": %q}`, next)
			return
		}
		answer(w, pass())
	})
	store := open(t, f.wired(t, bucket))
	require.NoError(t, store.Commit(t.Context(), "run", stage(t, store, "run", "file", []byte("rows"))))
	require.Len(t, f.requests("rewrite"), 3)
	require.Equal(t, "rows", content(t, store, "file"))
}

// TestWritesOnTheWire checks the requests that are sent: conditions, checksum, type and id.
func TestWritesOnTheWire(t *testing.T) {
	t.Parallel()
	type object struct {
		Name         string            `json:"name"`
		ContentType  string            `json:"contentType"`
		CacheControl string            `json:"cacheControl"`
		CRC32C       string            `json:"crc32c"`
		Metadata     map[string]string `json:"metadata"`
	}
	var sent object
	var body []byte
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			cut()
		}
		parts := multipart.NewReader(r.Body, params["boundary"])
		description, err := parts.NextPart()
		if err != nil || json.NewDecoder(description).Decode(&sent) != nil {
			cut()
		}
		data, err := parts.NextPart()
		if err != nil {
			cut()
		}
		body, _ = io.ReadAll(data)
		fmt.Fprintf(w, `{"name": %q, "generation": "7", "size": "%d", "crc32c": %q}`, sent.Name, len(body), sent.CRC32C)
	})
	store := open(t, f.wired(t, "bucket"))
	for _, test := range []struct {
		path      string
		when      sink.Condition
		condition []string
	}{
		{"any.json", sink.Condition{}, nil},
		{"first.json", sink.Condition{Absent: true}, []string{"0"}},
		{"next.html", sink.Condition{Version: "1700000000000000"}, []string{"1700000000000000"}},
		{"zero is not absent", sink.Condition{Version: "0"}, []string{"1"}},
		{"unknown", sink.Condition{Version: "none"}, []string{"1"}},
	} {
		require.NoError(t, store.Write(t.Context(), test.path, []byte("abc"), test.when))
		posts := f.requests("multipart POST")
		last := posts[len(posts)-1]
		require.Equal(t, test.condition, last.URL.Query()["ifGenerationMatch"], test.path)
		require.Equal(t, "/upload/storage/v1/b/bucket/o", last.URL.Path)
		require.Equal(t, "pre/"+test.path, sent.Name)
		require.Equal(t, "abc", string(body))
		require.Equal(t, "Nks/tw==", sent.CRC32C)
		require.Equal(t, "no-cache", sent.CacheControl)
		require.NotEmpty(t, sent.Metadata["growth-export-id"])
		require.Equal(t, strings.HasSuffix(test.path, ".html"), strings.HasPrefix(sent.ContentType, "text/html"))
		require.Empty(t, last.Header.Get("Authorization"), "no credentials go to an endpoint without TLS")
	}
}

// TestStoredOtherwise expects an error if the service reports that it has stored different data.
func TestStoredOtherwise(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"generation": "7", "size": "3", "crc32c": "AAAAAA=="}`)
	})
	err := open(t, f.wired(t, "bucket")).Write(t.Context(), "document", []byte("abc"), sink.Condition{})
	require.ErrorContains(t, err, "the service has stored 3 bytes with the checksum AAAAAA==, but 3 bytes with Nks/tw== were sent")
}

const chunk = 8 << 20

// session is an upload in chunks, as the service keeps it.
type session struct {
	mu       sync.Mutex
	received []byte
	crc      string
	starts   int
}

// TestUploadInChunks sends a file to a service that loses responses, keeps parts of chunks, and drops the upload once.
func TestUploadInChunks(t *testing.T) {
	t.Parallel()
	data := noise(2*chunk + 1000)
	var s session
	var requests atomic.Int64
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodPost {
			var object struct {
				CRC32C string `json:"crc32c"`
			}
			if json.Unmarshal(body, &object) != nil || r.URL.Query().Get("ifGenerationMatch") != "0" {
				cut()
			}
			s.crc, s.received, s.starts = object.CRC32C, nil, s.starts+1
			w.Header().Set("Location", "http://another.name.invalid/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=secret")
			return
		}
		if r.URL.Query().Get("upload_id") != "secret" {
			cut()
		}
		var from, to, total int
		asks := strings.HasPrefix(r.Header.Get("Content-Range"), "bytes */")
		if !asks {
			if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total); err != nil ||
				from != len(s.received) || to-from+1 != len(body) || total != len(data) {
				cut()
			}
		}
		switch n := requests.Add(1); {
		case n == 1: // A third of the chunk is kept, and the response lost.
			s.received = append(s.received, body[:chunk/3]...)
			cut()
		case n == 4: // The session is gone.
			fail(w, http.StatusGone, "gone", "The upload is gone.")
			return
		case n == 6: // The chunk is kept, but the response says that the service fails.
			s.received = append(s.received, body...)
			fail(w, http.StatusServiceUnavailable, "backendError", "Try again.")
			return
		case !asks:
			s.received = append(s.received, body...)
		}
		if len(s.received) == len(data) {
			fmt.Fprintf(w, `{"generation": "9", "size": "%d", "crc32c": %q}`, len(data), s.crc)
			return
		}
		if len(s.received) > 0 {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(s.received)-1))
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	file := stage(t, open(t, f.wired(t, "bucket")), "run", "file", data)
	require.True(t, bytes.Equal(data, s.received))
	require.Equal(t, 2, s.starts)
	require.NotContains(t, string(file.Staged), "secret")
	sum, err := base64.StdEncoding.DecodeString(s.crc)
	require.NoError(t, err)
	require.Len(t, sum, 4)
}

// TestFailedUpload expects an upload in chunks that fails to drop its session and to leave no object.
func TestFailedUpload(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch kindOf(r) {
		case "resumable POST":
			w.Header().Set("Location", "/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=secret")
		case "resumable PUT":
			fail(w, http.StatusForbidden, "forbidden", "x does not have storage.objects.create access to the object.")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	store := open(t, f.wired(t, "bucket"))
	draft, err := store.Draft(t.Context(), "run", "table/file")
	require.NoError(t, err)
	_, err = draft.Write(noise(chunk + 1))
	require.NoError(t, err)
	_, err = draft.Finish()
	require.NoError(t, err)
	_, err = draft.Stage(t.Context())
	require.ErrorContains(t, err, "upload gs://bucket/pre/table/file: access denied at ")
	require.ErrorContains(t, err, "allow storage.objects.create to these credentials")
	require.NotContains(t, err.Error(), "secret")
	require.Len(t, f.requests("resumable DELETE"), 1)
	require.Len(t, f.requests("delete"), 1)
	require.NoError(t, draft.Abort())
}

// TestUploadNotKept expects an upload to end if the service confirms chunks but does not keep them.
func TestUploadNotKept(t *testing.T) {
	t.Parallel()
	f := newFront(t, func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch kindOf(r) {
		case "resumable POST":
			w.Header().Set("Location", "/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=secret")
		case "resumable PUT":
			w.WriteHeader(http.StatusPermanentRedirect)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	draft, err := open(t, f.wired(t, "bucket")).Draft(t.Context(), "run", "table/file")
	require.NoError(t, err)
	_, err = draft.Write(noise(chunk + 1))
	require.NoError(t, err)
	_, err = draft.Finish()
	require.NoError(t, err)
	_, err = draft.Stage(t.Context())
	require.ErrorContains(t, err, "the service did not keep the data that was sent (3 attempts)")
	require.Len(t, f.requests("resumable PUT"), 3)
	require.NoError(t, draft.Abort())
}

func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(data) // It never fails.
	return data
}
