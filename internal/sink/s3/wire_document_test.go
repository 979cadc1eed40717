package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3"
)

func TestConditionsOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	store := w.store(t, func(o *s3.Options) { o.SSE, o.KMSKeyID = "aws:kms", "the-key" })
	for _, test := range []struct {
		path                 string
		when                 sink.Condition
		ifNoneMatch, ifMatch string
	}{
		{"whatever", sink.Condition{}, "", ""},
		{"first", sink.Condition{Absent: true}, "*", ""},
		{"next", sink.Condition{Version: `"etag"`}, "", `"etag"`},
	} {
		require.NoError(t, store.Write(t.Context(), test.path, []byte("abc"), test.when))
		puts := w.of(http.MethodPut, "")
		put := puts[len(puts)-1]
		require.Equal(t, "pre/"+test.path, put.key)
		require.Equal(t, "abc", put.body)
		require.Equal(t, test.ifNoneMatch, put.header.Get("If-None-Match"))
		require.Equal(t, test.ifMatch, put.header.Get("If-Match"))
		require.Equal(t, "aws:kms", put.header.Get("X-Amz-Server-Side-Encryption"))
		require.Equal(t, "the-key", put.header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"))
		require.Equal(t, "NSRBwg==", put.header.Get("X-Amz-Checksum-Crc32"))
		require.Empty(t, put.header.Get("X-Amz-Trailer"), "some stores do not support trailers")
	}
}

// TestDocumentWithoutETag reads a document through a proxy that removes ETags. A write that expects the version that
// was read must not overwrite the document unconditionally.
func TestDocumentWithoutETag(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.answer = func(rw http.ResponseWriter, r sent) bool {
		if r.is(http.MethodGet, "") {
			fmt.Fprint(rw, "abc")
			return true
		}
		return false
	}
	store := w.store(t, nil)
	data, version, err := store.Read(t.Context(), "document")
	require.NoError(t, err)
	require.Equal(t, "abc", string(data))
	require.NoError(t, store.Write(t.Context(), "document", []byte("new"), sink.Condition{Version: version}))
	require.NotEmpty(t, w.of(http.MethodPut, "")[0].header.Get("If-Match"))
}

func TestChecksumsOnlyWhenRequired(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	store := w.store(t, func(o *s3.Options) { o.Checksums = s3.ChecksumsWhenRequired })
	require.NoError(t, store.Write(t.Context(), "document", []byte("abc"), sink.Condition{}))
	file := stage(t, store, "run", "file", []byte("abc"))
	require.NoError(t, store.Commit(t.Context(), "run", file))
	require.NotContains(t, string(file.Staged), "crc32")
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(t, w.requests)
	for _, r := range w.requests {
		for name := range r.header {
			require.NotContains(t, strings.ToLower(name), "checksum", "%s %s", r.method, r.query)
		}
		require.NotContains(t, r.body, "Checksum")
	}
}

// TestLostResponseToAConditionalWrite loses the response to a write. The SDK tries again, and the store refuses the
// condition because of the first attempt.
func TestLostResponseToAConditionalWrite(t *testing.T) {
	t.Parallel()
	for _, when := range []sink.Condition{{Absent: true}, {Version: `"before"`}} {
		for _, test := range []struct {
			name     string
			others   bool // another process was faster
			conflict bool
		}{
			{"it was this write", false, false},
			{"it was another write of the same bytes", true, true},
		} {
			w := newWire(t)
			w.answer = func(rw http.ResponseWriter, r sent) bool {
				if !r.is(http.MethodPut, "") {
					return false
				}
				if len(w.of(http.MethodPut, "")) > 1 {
					refuse(rw, http.StatusPreconditionFailed, "PreconditionFailed")
					return true
				}
				if test.others {
					r.header.Set("X-Amz-Meta-Growth-Export-Id", "another")
				}
				w.mu.Lock()
				w.metadata[r.key], w.sizes[r.key] = r.header, len(r.body)
				w.mu.Unlock()
				cut()
				return true
			}
			err := w.store(t, nil).Write(t.Context(), "document", []byte("abc"), when)
			if test.conflict {
				require.ErrorIs(t, err, sink.ErrConflict, test.name)
			} else {
				require.NoError(t, err, test.name)
			}
			require.Len(t, w.of(http.MethodPut, ""), 2)
		}
	}
}

// TestConditionOnARemovedObject answers with 404 rather than 412.
func TestConditionOnARemovedObject(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.answer = func(rw http.ResponseWriter, r sent) bool {
		if r.is(http.MethodPut, "") {
			refuse(rw, http.StatusNotFound, "NoSuchKey")
			return true
		}
		return false
	}
	err := w.store(t, nil).Write(t.Context(), "document", nil, sink.Condition{Version: `"before"`})
	require.ErrorIs(t, err, sink.ErrConflict)

	w.answer = func(rw http.ResponseWriter, _ sent) bool {
		refuse(rw, http.StatusNotFound, "NoSuchBucket")
		return true
	}
	err = w.store(t, nil).Write(t.Context(), "document", nil, sink.Condition{Version: `"before"`})
	require.NotErrorIs(t, err, sink.ErrConflict, "a missing bucket is not a conflict")
	require.ErrorContains(t, err, "NoSuchBucket")
	_, _, err = w.store(t, nil).Read(t.Context(), "document")
	require.NotErrorIs(t, err, sink.ErrNotFound, "a missing bucket is not a missing document")
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(http.ResponseWriter){
		"500":   func(rw http.ResponseWriter) { refuse(rw, http.StatusInternalServerError, "InternalError") },
		"503":   func(rw http.ResponseWriter) { refuse(rw, http.StatusServiceUnavailable, "SlowDown") },
		"409":   func(rw http.ResponseWriter) { refuse(rw, http.StatusConflict, "ConditionalRequestConflict") },
		"reset": func(http.ResponseWriter) { cut() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			var failing atomic.Int64
			w.answer = func(rw http.ResponseWriter, r sent) bool {
				if name == "409" && !r.is(http.MethodPut, "") || failing.Add(1)%4 == 0 {
					return false
				}
				fail(rw)
				return true
			}
			store := w.store(t, nil)
			require.NoError(t, store.Write(t.Context(), "document", []byte("abc"), sink.Condition{Absent: true}))
			file := stage(t, store, "run", "file", []byte("abc"))
			require.NoError(t, store.Commit(t.Context(), "run", file))
			require.Len(t, w.of(http.MethodPut, ""), 4)

			w.answer = func(rw http.ResponseWriter, _ sent) bool {
				fail(rw)
				return true
			}
			before := len(w.of(http.MethodPut, ""))
			err := store.Write(t.Context(), "document", []byte("abc"), sink.Condition{Absent: true})
			require.ErrorContains(t, err, "write s3://bucket/pre/document: ")
			require.ErrorContains(t, err, "(14 attempts)")
			require.NotContains(t, err.Error(), "EOF")
			require.Len(t, w.of(http.MethodPut, ""), before+14)
		})
	}
}

// TestCutResponses cuts the first response to every request short, after the status or before a document begins. The
// SDK does not retry either of these, and takes the latter for an empty list or an upload without an id.
func TestCutResponses(t *testing.T) {
	t.Parallel()
	for _, length := range []string{"0", "7"} {
		w := newWire(t)
		seen := make(map[string]bool)
		w.answer = func(rw http.ResponseWriter, r sent) bool {
			list := r.is(http.MethodGet, "list-type")
			if length == "0" && !list && r.method != http.MethodPost {
				return false // no document is missing
			}
			w.mu.Lock()
			first := !seen[r.method+r.query]
			seen[r.method+r.query] = true
			w.mu.Unlock()
			switch {
			case first:
				rw.Header().Set("Content-Length", length)
				rw.WriteHeader(http.StatusOK)
				if err := http.NewResponseController(rw).Flush(); err != nil || length != "0" {
					cut()
				}
			case list:
				fmt.Fprint(rw, "<ListBucketResult><Contents><Key>pre/document</Key></Contents></ListBucketResult>")
			}
			return first || list
		}
		store := w.store(t, nil)
		require.NoError(t, store.Write(t.Context(), "document", []byte("abc"), sink.Condition{}))
		file := stage(t, store, "run", "file", []byte("abc"))
		require.Contains(t, string(file.Staged), "upload-")
		require.NoError(t, store.Commit(t.Context(), "run", file))
		entries, err := sink.ListAll(t.Context(), store, "")
		require.NoError(t, err)
		require.Len(t, entries, 1, "the list is not empty")
	}
	w := newWire(t)
	w.answer = func(rw http.ResponseWriter, _ sent) bool {
		rw.WriteHeader(http.StatusOK)
		return true
	}
	_, err := sink.ListAll(t.Context(), w.store(t, func(o *s3.Options) { o.Attempts = 2 }), "")
	require.ErrorContains(t, err, "the response was cut short (status 200) (2 attempts)")
}

// TestErrorsAreShort expects errors to be one line without secrets, upload ids and request ids.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.answer = func(rw http.ResponseWriter, _ sent) bool {
		rw.WriteHeader(http.StatusForbidden)
		_, err := rw.Write([]byte("<Error><Code>AccessDenied</Code><Message>no\n" + strings.Repeat("x", 2000) + "</Message></Error>"))
		return err == nil
	}
	store := w.store(t, func(o *s3.Options) { o.Attempts = 1 })
	file := sink.File{Path: "file", Bytes: 3, Staged: []byte(`{"upload_id":"secret-upload","id":"x","bytes":3,"part_size":8388608,"parts":[{"etag":"e"}]}`)}
	answered := func() []error {
		_, holds := store.Holds(t.Context(), "run", file)
		_, _, read := store.Read(t.Context(), "file")
		_, opened := store.Open(t.Context(), "file")
		var listed error
		for _, err := range store.List(t.Context(), "") {
			listed = err
		}
		return []error{
			holds, read, opened, listed, store.Commit(t.Context(), "run", file), store.Abort(t.Context(), "run", file),
			store.Sweep(t.Context(), "run"), store.Remove(t.Context(), "file"), store.Check(t.Context()),
			store.Write(t.Context(), "file", nil, sink.Condition{}),
		}
	}
	errs := answered()
	w.answer = func(http.ResponseWriter, sent) bool {
		cut()
		return true
	}
	errs = append(errs, answered()...)
	for i, err := range errs {
		require.Error(t, err, "%d", i)
		require.Contains(t, err.Error(), "s3://bucket/pre")
		require.NotContains(t, err.Error(), "\n")
		require.Less(t, len(err.Error()), 500)
		for _, secret := range []string{"the-secret", "secret-upload", "Signature", "x-id", "RequestID"} {
			require.NotContains(t, err.Error(), secret)
		}
	}
}

// TestErrorsSayWhatToDo expects errors of all operations to be in an operator's words and to say what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status        int
		code, message string
		want          string
	}{
		{403, "AccessDenied", "no", "access denied at http://%s (AccessDenied: no): allow s3:PutObject to these credentials"},
		{403, "AccessDenied", "not authorized to perform: kms:GenerateDataKey", "allow kms:GenerateDataKey and kms:Decrypt on the KMS key"},
		{404, "NoSuchBucket", "no", "bucket bucket not found at http://%s (NoSuchBucket: no): check --dest"},
		{403, "RequestTimeTooSkewed", "no", "clock skew at http://%s (RequestTimeTooSkewed: no): set this machine's clock"},
		{400, "ExpiredToken", "no", "credentials expired at http://%s (ExpiredToken: no): renew them"},
		{400, "AuthorizationHeaderMalformed", "expecting 'eu-west-1'", "expecting 'eu-west-1'): the bucket is in another region: set --s3-region"},
		{503, "SlowDown", "no", "throttled by the store at http://%s (SlowDown: no): run fewer processes at once, or try again later (2 attempts)"},
	} {
		w := newWire(t)
		w.answer = func(rw http.ResponseWriter, _ sent) bool {
			rw.WriteHeader(test.status)
			fmt.Fprintf(rw, "<Error><Code>%s</Code><Message>%s</Message></Error>", test.code, test.message)
			return true
		}
		store := w.store(t, func(o *s3.Options) { o.Attempts = 2 })
		want := strings.ReplaceAll(test.want, "%s", strings.TrimPrefix(w.endpoint, "http://"))
		require.ErrorContains(t, store.Write(t.Context(), "file", nil, sink.Condition{}), "write s3://bucket/pre/file: ")
		require.ErrorContains(t, store.Write(t.Context(), "file", nil, sink.Condition{}), want)
		if test.message == "no" && test.code == "AccessDenied" {
			require.ErrorContains(t, store.Remove(t.Context(), "file"), "allow s3:DeleteObject to")
			require.ErrorContains(t, store.Sweep(t.Context(), "run"), "allow s3:ListBucketMultipartUploads to")
			_, _, err := store.Read(t.Context(), "file")
			require.ErrorContains(t, err, "allow s3:GetObject and s3:ListBucket to")
		}
	}
}

// TestStoreWithoutConditionalWrites expects emulated conditions and a warning.
func TestStoreWithoutConditionalWrites(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	w.answer = func(rw http.ResponseWriter, r sent) bool {
		if r.header.Get("If-Match")+r.header.Get("If-None-Match") == "" {
			return false
		}
		refuse(rw, http.StatusNotImplemented, "NotImplemented")
		return true
	}
	var log bytes.Buffer
	store := w.store(t, func(o *s3.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	ctx := t.Context()
	require.ErrorIs(t, store.Write(ctx, "document", []byte("x"), sink.Condition{Version: `"document"`}), sink.ErrConflict)
	require.NoError(t, store.Write(ctx, "document", []byte("abc"), sink.Condition{Absent: true}))
	require.ErrorIs(t, store.Write(ctx, "document", []byte("x"), sink.Condition{Absent: true}), sink.ErrConflict)
	require.ErrorIs(t, store.Write(ctx, "document", []byte("x"), sink.Condition{Version: `"other"`}), sink.ErrConflict)
	require.NoError(t, store.Write(ctx, "document", []byte("next"), sink.Condition{Version: `"document"`}))
	puts := w.of(http.MethodPut, "")
	require.Equal(t, "next", puts[len(puts)-1].body)
	require.Equal(t, 1, strings.Count(log.String(), "does not support conditional writes"), "it is logged once")
}

func TestCancelledRetries(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.answer = func(http.ResponseWriter, sent) bool {
		cancel()
		cut()
		return true
	}
	store := w.store(t, func(o *s3.Options) { o.MaxBackoff = 0 })
	err := store.Write(ctx, "document", nil, sink.Condition{})
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
}

// TestContentTypeOfDocuments expects types with which a browser shows a document.
func TestContentTypeOfDocuments(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	store := w.store(t, nil)
	require.NoError(t, store.Write(t.Context(), "_runs/r/plan.json", []byte("{}"), sink.Condition{}))
	require.NoError(t, store.Write(t.Context(), "_runs/r/report.html", []byte("<!DOCTYPE html>"), sink.Condition{}))
	puts := w.of(http.MethodPut, "")
	require.Len(t, puts, 2)
	require.Equal(t, "application/json", puts[0].header.Get("Content-Type"))
	require.Equal(t, "text/html; charset=utf-8", puts[1].header.Get("Content-Type"))
}
