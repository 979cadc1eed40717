package azure_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/azure/azuretest"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/storetest"
)

const (
	path     = "table/snapshot_date=2026-11-20/part-0000-run.parquet"
	document = "_runs/run/plan.json"
)

// service starts a service that answers with the handler, and returns the options of a store there.
func service(t *testing.T, handler http.HandlerFunc) azure.Options {
	t.Helper()
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	return azure.Options{
		Place:    azure.Place{Container: "rosters", Host: azuretest.Host, Prefix: "growth"},
		Endpoint: listener.URL + "/" + azuretest.Account, SASToken: "?sv=2026-02-06&sp=racwdl&sig=c2VjcmV0LXNpZ25hdHVyZQ%3D%3D",
		Settings: remote.Settings{Scratch: t.TempDir(), Attempts: 3, MaxBackoff: 2 * time.Millisecond},
	}
}

// refuse responds with an error in the service's format.
func refuse(w http.ResponseWriter, status int, code, message, detail string) {
	w.Header().Set("X-Ms-Error-Code", code)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>%s\nRequestId:1-2\nTime:now</Message>"+
		"<AuthenticationErrorDetail>%s</AuthenticationErrorDetail></Error>", code, message, detail)
}

// TestErrorsSayWhatToDo expects errors to be one line with the cause and the remedy, without request ids and
// signatures.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status       int
		code, detail string
		want         string
	}{
		{403, "AuthenticationFailed", "Signature not valid in the specified time frame: Start [a] - Expiry [b]", "credentials expired at http://127.0.0.1:"},
		{403, "AuthenticationFailed", "Signature did not match. String to sign used was racwdl", "credentials rejected"},
		{403, "AuthenticationFailed", "Request date header too old", "clock skew"},
		{401, "InvalidAuthenticationInfo", "", "credentials rejected"},
		{403, "AuthorizationPermissionMismatch", "", "give the role Storage Blob Data Contributor"},
		{403, "AuthorizationFailure", "", "network rules of the account"},
		{403, "KeyBasedAuthenticationNotPermitted", "", "the account accepts no keys"},
		{403, "AccountIsDisabled", "", "account districtdata is disabled"},
		{404, "ContainerNotFound", "", "container rosters not found"},
		{429, "TooManyRequests", "", "throttled by the store"},
		{503, "ServerBusy", "", "throttled by the store"},
		{500, "InternalError", "", "InternalError: a message"},
		{400, "InvalidHeaderValue", "", "InvalidHeaderValue: a message"},
	} {
		t.Run(test.code+" "+test.detail, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			store := open(t, service(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				refuse(w, test.status, test.code, "a message", test.detail)
			}))
			_, _, err := store.Read(t.Context(), document)
			attempts := int64(1)
			if test.status == 429 || test.status >= 500 {
				attempts = 3
			}
			require.Equal(t, attempts, requests.Load())
			_, staged := storetest.Stage(t.Context(), store, "run", path, []byte("rows"))
			for _, err := range []error{err, store.Check(t.Context()), staged} {
				require.ErrorContains(t, err, test.want)
				require.ErrorContains(t, err, "abfss://rosters@districtdata.dfs.core.windows.net/growth")
				require.Contains(t, err.Error(), "a message")
				for _, not := range []string{"\n", "sig=", "c2VjcmV0", "RequestId", "String to sign"} {
					require.NotContains(t, err.Error(), not)
				}
			}
			_, head := store.Open(t.Context(), path)
			require.ErrorContains(t, head, fmt.Sprintf("%s (status %d)", test.code, test.status), "the answer has no body")
			if err := store.CheckReading(t.Context()); test.code == "AuthorizationPermissionMismatch" {
				require.NoError(t, err, "reading may be allowed")
			} else {
				require.ErrorContains(t, err, test.want)
			}
		})
	}
}

// TestConnectionErrors expects errors without URLs, because a URL would reveal the signature.
func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		endpoint, want string
	}{
		"refused":      {"http://127.0.0.1:1/districtdata", "connection failed at http://127.0.0.1:1"},
		"unknown host": {"https://host.invalid/districtdata", "check --azure-endpoint and the network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := service(t, func(http.ResponseWriter, *http.Request) {})
			opts.Endpoint = test.endpoint
			_, _, err := open(t, opts).Read(t.Context(), document)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "sig=")
			require.NotContains(t, err.Error(), "sp=")
		})
	}
	opts := service(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.ErrorContains(t, open(t, opts).Check(t.Context()), "the store closed the connection")
}

// TestWaitsForTheService expects the store to wait as long as the service asks for, but not longer than the maximum.
func TestWaitsForTheService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		retryAfter string
		maxBackoff time.Duration
		least      time.Duration
	}{
		"as asked":     {"1", 5 * time.Second, time.Second},
		"the maximum":  {"3600", 300 * time.Millisecond, 300 * time.Millisecond},
		"not a number": {"soon", time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			opts := service(t, func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) == 1 {
					w.Header().Set("Retry-After", test.retryAfter)
					refuse(w, 503, "ServerBusy", "busy", "")
					return
				}
				w.Header().Set("ETag", `"0x1"`)
				_, _ = io.WriteString(w, "{}")
			})
			opts.MaxBackoff = test.maxBackoff
			store, began := open(t, opts), time.Now()
			data, version, err := store.Read(t.Context(), document)
			require.NoError(t, err)
			require.Equal(t, "{}", string(data))
			require.Equal(t, `"0x1"`, version)
			require.GreaterOrEqual(t, time.Since(began), test.least)
			require.Less(t, time.Since(began), 30*time.Second)
		})
	}
}

// TestStalledAttempt expects an attempt that transfers nothing to be given up and repeated.
func TestStalledAttempt(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	release := make(chan struct{})
	opts := service(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) < 3 {
			<-release
			return
		}
		w.Header().Set("ETag", `"0x1"`)
		_, _ = io.WriteString(w, "{}")
	})
	t.Cleanup(func() { close(release) }) // before the server waits for its handlers
	opts.StallTimeout = 500 * time.Millisecond
	store := open(t, opts)
	data, _, err := store.Read(t.Context(), document)
	require.NoError(t, err)
	require.Equal(t, "{}", string(data))
	requests.Store(-10)
	_, _, err = store.Read(t.Context(), document)
	require.ErrorContains(t, err, "timeout: no data transferred for 500ms")
}

// blockList reports whether a request commits blocks.
func blockList(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Get("comp") == "blocklist"
}

// proxied returns a store behind a proxy, and one that is not.
func proxied(t *testing.T, handle func(e *azuretest.Exchange)) (behind, direct *azure.Store) {
	t.Helper()
	server := server(t)
	opts := options(t, server.Container(t), "growth")
	direct = open(t, opts)
	opts.Endpoint = server.Proxy(t, handle)
	return open(t, opts), direct
}

// TestLostResponses expects a request that was carried out to count as done even if its response is lost.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	var lost atomic.Int64
	store, _ := proxied(t, func(e *azuretest.Exchange) {
		e.Forward()
		if e.Request.Method != http.MethodGet && e.Request.Method != http.MethodHead && lost.Add(1)%2 == 1 {
			e.Lose()
		}
		e.Answer(len(e.Body))
	})
	data := noise(100_000)
	file := stage(t, store, path, data)
	require.NoError(t, store.Commit(t.Context(), "run", file))
	requireContent(t, store, path, data)
	require.NoError(t, store.Write(t.Context(), document, []byte("1"), sink.Condition{Absent: true}))
	_, version, err := store.Read(t.Context(), document)
	require.NoError(t, err)
	require.NoError(t, store.Write(t.Context(), document, []byte("2"), sink.Condition{Version: version}))
	require.ErrorIs(t, store.Write(t.Context(), document, []byte("3"), sink.Condition{Version: version}), sink.ErrConflict)
	require.ErrorIs(t, store.Write(t.Context(), document, []byte("3"), sink.Condition{Absent: true}), sink.ErrConflict)
	requireContent(t, store, document, []byte("2"))
	require.NoError(t, store.Remove(t.Context(), document))
	require.NoError(t, store.Check(t.Context()))
	require.Greater(t, lost.Load(), int64(10))
}

// TestBrokenBodies expects reading to continue where a body broke off, and a list that was cut short to be requested
// again.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	store, direct := proxied(t, func(e *azuretest.Exchange) {
		if e.Request.Method != http.MethodGet || requests.Add(1)%3 == 0 {
			e.Pass()
			return
		}
		e.Forward()
		e.Answer(len(e.Body) / 2)
	})
	data := noise(3 << 20)
	require.NoError(t, direct.Commit(t.Context(), "run", stage(t, direct, path, data)))
	requireContent(t, store, path, data)
	back, _, err := store.Read(t.Context(), path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
	entries, err := sink.ListAll(t.Context(), store, "")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Greater(t, requests.Load(), int64(8))
}

// TestCorruptedUpload expects the service to refuse a block or a document that was changed in transit.
func TestCorruptedUpload(t *testing.T) {
	t.Parallel()
	var changed atomic.Int64
	store, _ := proxied(t, func(e *azuretest.Exchange) {
		body, _ := io.ReadAll(e.Request.Body)
		if bytes.Contains(body, []byte("rows")) {
			changed.Add(1)
			body = bytes.Replace(body, []byte("rows"), []byte("ruin"), 1)
		}
		e.Request.Body = io.NopCloser(bytes.NewReader(body))
		e.Pass()
	})
	_, err := storetest.Stage(t.Context(), store, "run", path, []byte("some rows"))
	require.ErrorContains(t, err, "Crc64Mismatch")
	require.ErrorContains(t, store.Write(t.Context(), document, []byte("rows"), sink.Condition{}), "Crc64Mismatch")
	require.EqualValues(t, 2, changed.Load())
}

// TestDroppedDuringCommit drops a file between the check of its blocks and their commit. The file must not stay
// visible.
func TestDroppedDuringCommit(t *testing.T) {
	t.Parallel()
	var file sink.File
	var direct *azure.Store
	drop := func() error { return direct.Abort(t.Context(), "run", file) }
	store, direct := proxied(t, func(e *azuretest.Exchange) {
		if blockList(e.Request) {
			if err := drop(); err != nil {
				t.Error(err)
			}
		}
		e.Pass()
	})
	for _, size := range []int{1, 2, 9 << 20} {
		file = stage(t, store, path, noise(size))
		require.ErrorIs(t, store.Commit(t.Context(), "run", file), sink.ErrStagedLost)
		_, err := store.Open(t.Context(), path)
		require.ErrorIs(t, err, sink.ErrNotFound)
		held, err := store.Intact(t.Context(), "run", file)
		require.NoError(t, err)
		require.False(t, held, "the store does not rely on its memory any more")
	}
}

// TestExpiredDuringCommit loses the blocks between the check and the commit.
func TestExpiredDuringCommit(t *testing.T) {
	t.Parallel()
	server := server(t)
	container := server.Container(t)
	opts := options(t, container, "")
	opts.Endpoint = server.Proxy(t, func(e *azuretest.Exchange) {
		if blockList(e.Request) {
			server.Expire(t, container, path)
		}
		e.Pass()
	})
	store := open(t, opts)
	require.ErrorIs(t, store.Commit(t.Context(), "run", stage(t, store, path, noise(10))), sink.ErrStagedLost)
}

// hierarchy lists the blobs of a hierarchical namespace, which has its own order and contains folders.
const hierarchy = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>` +
	`<Blob><Name>growth</Name>FOLDER</Blob>` +
	`<Blob><Name>growth/a</Name>FOLDER</Blob>` +
	`<Blob><Name>growth/a/c</Name><Properties><Content-Length>7</Content-Length></Properties></Blob>` +
	`<Blob><Name>growth/a-b</Name><Properties><Content-Length>0</Content-Length></Properties></Blob>` +
	`</Blobs><NextMarker /></EnumerationResults>`

// TestHierarchicalNamespace expects paths in order and no folders.
func TestHierarchicalNamespace(t *testing.T) {
	t.Parallel()
	const folder = `<Properties><Content-Length>0</Content-Length></Properties><Metadata><Hdi_isfolder>true</Hdi_isfolder></Metadata>`
	store := open(t, service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("comp") == "list" {
			_, _ = io.WriteString(w, strings.ReplaceAll(hierarchy, "FOLDER", folder))
			return
		}
		w.Header().Set("X-Ms-Meta-Hdi_isfolder", "true")
		w.Header().Set("ETag", `"0x1"`)
		if r.Method == http.MethodPut {
			refuse(w, 409, "BlobAlreadyExists", "it exists", "")
		}
	}))
	entries, err := sink.ListAll(t.Context(), store, "")
	require.NoError(t, err)
	require.Equal(t, []sink.Entry{{Path: "a-b"}, {Path: "a/c", Bytes: 7}}, entries)
	_, _, err = store.Read(t.Context(), "a")
	require.ErrorIs(t, err, sink.ErrNotFound)
	_, err = store.Open(t.Context(), "a")
	require.ErrorIs(t, err, sink.ErrNotFound)
	require.ErrorIs(t, store.Write(t.Context(), "a", nil, sink.Condition{Absent: true}), sink.ErrConflict)
}

// TestUnlistedBlocks uses a service that does not list blobs with only uncommitted blocks. They are found by their
// paths.
func TestUnlistedBlocks(t *testing.T) {
	t.Parallel()
	store, direct := proxied(t, func(e *azuretest.Exchange) {
		if strings.Contains(e.Request.URL.Query().Get("include"), "uncommittedblobs") {
			e.Write(strings.ReplaceAll(hierarchy, "FOLDER", "<Properties></Properties>"))
			return
		}
		e.Pass()
	})
	own, other := stage(t, store, path, noise(10)), stage(t, direct, "table/part-0001-run.parquet", noise(10))
	listed, err := store.ListsStaged(t.Context())
	require.NoError(t, err)
	require.False(t, listed)
	paths := []string{own.Path, other.Path, "table/part-0002-run.parquet"}
	newest, err := store.StagedAt(t.Context(), paths)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), newest, time.Minute)

	require.NoError(t, store.Sweep(t.Context(), "run"))
	requireHolds(t, direct, own, false)
	requireHolds(t, direct, other, true)
	require.NoError(t, store.SweepAt(t.Context(), paths, other))
	requireHolds(t, direct, other, true)
	require.NoError(t, store.SweepAt(t.Context(), paths))
	requireHolds(t, direct, other, false)
	newest, err = store.StagedAt(t.Context(), paths)
	require.NoError(t, err)
	require.True(t, newest.IsZero())
}

func requireHolds(t *testing.T, store *azure.Store, file sink.File, want bool) {
	t.Helper()
	held, err := store.Holds(t.Context(), "run", file)
	require.NoError(t, err)
	require.Equal(t, want, held)
}

func requireContent(t *testing.T, store *azure.Store, path string, want []byte) {
	t.Helper()
	object, err := store.Open(t.Context(), path)
	require.NoError(t, err)
	data, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
	require.NoError(t, errors.Join(err, object.Close()))
	require.True(t, bytes.Equal(want, data))
}

// TestConditions expects a file to be committed on condition that there is no blob at its path, or that the blob it
// replaces still has its ETag. A file that a store has staged itself is checked only when it is committed.
func TestConditions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var conditions []string
	var requests atomic.Int64
	store, direct := proxied(t, func(e *azuretest.Exchange) {
		requests.Add(1)
		mu.Lock()
		if blockList(e.Request) {
			header := e.Request.Header
			conditions = append(conditions, header.Get("If-None-Match")+header.Get("If-Match"))
		}
		mu.Unlock()
		e.Pass()
	})
	for range 2 {
		file := stage(t, store, path, noise(10))
		before := requests.Load()
		intact, err := store.Intact(t.Context(), "run", file)
		require.NoError(t, err)
		require.True(t, intact)
		require.Equal(t, before, requests.Load())
		require.NoError(t, store.Commit(t.Context(), "run", file))
	}
	require.Len(t, conditions, 3)
	require.Equal(t, []string{"*", "*"}, conditions[:2])
	require.NotEqual(t, "*", conditions[2])
	_, version, err := direct.Read(t.Context(), path)
	require.NoError(t, err)
	require.NotEqual(t, version, conditions[2], "it was replaced")
}

// TestFortyPercent makes 40 % of all requests fail, before or after the service has carried them out.
func TestFortyPercent(t *testing.T) {
	t.Parallel()
	server := server(t)
	container := server.Container(t)
	opts := options(t, container, "pre")
	opts.Attempts = 25
	var requests, failed atomic.Int64
	opts.Endpoint = server.Proxy(t, func(e *azuretest.Exchange) {
		requests.Add(1)
		fault := rand.IntN(10)
		if fault < 4 {
			failed.Add(1)
		}
		switch fault {
		case 0:
			e.Lose()
		case 1:
			e.Refuse(http.StatusServiceUnavailable, "ServerBusy")
		case 2:
			e.Forward()
			e.Lose()
		case 3:
			e.Forward()
			e.Answer(len(e.Body) / 2)
		default:
			e.Pass()
		}
	})
	storetest.Insist(t, func() sink.Store { return open(t, opts) })
	require.Empty(t, server.Staged(t, container))
	require.Empty(t, storetest.FilesIn(t, opts.Scratch))
	require.Greater(t, failed.Load(), requests.Load()*3/10)
}
