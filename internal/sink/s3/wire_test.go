package s3_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/s3"
)

// sent is a request as the store received it.
type sent struct {
	method, key, query string
	header             http.Header
	body               string
}

// is reports whether the request belongs to an operation, by its method and query.
func (r sent) is(method, query string) bool {
	return r.method == method && (query == "" && !strings.Contains(r.query, "upload") ||
		query != "" && strings.Contains(r.query, query))
}

// wire is a fake server that records requests. It responds as a real one does, unless the test responds.
type wire struct {
	endpoint string
	// answer may respond to a request. It reports whether it has done so.
	answer func(w http.ResponseWriter, r sent) bool

	mu       sync.Mutex
	requests []sent
	metadata map[string]http.Header // of objects, by key
	sizes    map[string]int
	uploads  map[string]http.Header // metadata of uploads
	uploaded map[string]int         // bytes of uploads
	started  int
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{
		metadata: make(map[string]http.Header), sizes: make(map[string]int),
		uploads: make(map[string]http.Header), uploaded: make(map[string]int),
	}
	listener := httptest.NewServer(w)
	t.Cleanup(listener.Close)
	w.endpoint = listener.URL
	return w
}

// store returns a store that sends its requests to the wire.
func (f *wire) store(t *testing.T, change func(*s3.Options)) *s3.Store {
	t.Helper()
	opts := s3.Options{
		Bucket: "bucket", Prefix: "pre", Endpoint: f.endpoint, PathStyle: true,
		AccessKeyID: "key", SecretAccessKey: "the-secret",
		Settings: remote.Settings{HTTPClient: &http.Client{}, Scratch: t.TempDir(), MaxBackoff: time.Millisecond},
	}
	if change != nil {
		change(&opts)
	}
	return open(t, opts)
}

// of returns the requests of an operation.
func (f *wire) of(method, query string) []sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []sent
	for _, r := range f.requests {
		if r.is(method, query) {
			found = append(found, r)
		}
	}
	return found
}

func (f *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request := sent{
		method: r.Method, key: strings.TrimPrefix(r.URL.Path, "/bucket/"), query: r.URL.RawQuery,
		header: r.Header.Clone(), body: string(body),
	}
	f.mu.Lock()
	f.requests = append(f.requests, request)
	f.mu.Unlock()
	if f.answer != nil && f.answer(w, request) {
		return
	}
	f.standard(w, request)
}

// standard responds as a real server does.
func (f *wire) standard(w http.ResponseWriter, r sent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := func(name string) string {
		for pair := range strings.SplitSeq(r.query, "&") {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
	id := query("uploadId")
	switch {
	case r.is(http.MethodPost, "uploads"):
		f.started++
		id := fmt.Sprintf("upload-%d", f.started)
		f.uploads[id] = r.header
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.is(http.MethodPut, "uploadId="):
		f.uploaded[id] += len(r.body)
		w.Header().Set("ETag", `"etag-`+query("partNumber")+`"`)
	case r.is(http.MethodPost, "uploadId="):
		if f.uploads[id] == nil {
			refuse(w, http.StatusNotFound, "NoSuchUpload")
			return
		}
		f.metadata[r.key], f.sizes[r.key] = f.uploads[id], f.uploaded[id]
		delete(f.uploads, id)
		fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
	case r.is(http.MethodDelete, "uploadId="):
		delete(f.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case r.is(http.MethodPut, ""):
		f.metadata[r.key], f.sizes[r.key] = r.header, len(r.body)
		w.Header().Set("ETag", `"document"`)
	case r.is(http.MethodGet, "uploads"):
		fmt.Fprint(w, `<ListMultipartUploadsResult></ListMultipartUploadsResult>`)
	case r.is(http.MethodHead, ""):
		header, ok := f.metadata[r.key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for name, values := range header {
			if strings.HasPrefix(name, "X-Amz-Meta-") {
				w.Header()[name] = values
			}
		}
		w.Header().Set("ETag", `"document"`)
		w.Header().Set("Content-Length", strconv.Itoa(f.sizes[r.key]))
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

// refuse responds with an error.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused by the test</Message></Error>", code)
}

// cut closes the connection without a response.
func cut() { panic(http.ErrAbortHandler) }
