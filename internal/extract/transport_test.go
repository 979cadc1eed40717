package extract_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

func zip(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// hijack sends raw bytes and then closes the connection, optionally with a reset.
func hijack(w http.ResponseWriter, raw string, reset bool) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_, _ = io.WriteString(conn, raw)
}

func TestBodies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 300_000)
	for name, tt := range map[string]struct {
		body   string
		header []string
		want   string
	}{
		"empty":             {"", nil, ""},
		"short":             {`[1]`, nil, `[1]`},
		"long":              {long, nil, long},
		"compressed":        {zip(t, long), []string{"Content-Encoding", "gzip"}, long},
		"compressed empty":  {zip(t, ""), []string{"Content-Encoding", "GZIP"}, ""},
		"compressed pieces": {zip(t, "a") + zip(t, "b"), []string{"Content-Encoding", "x-gzip"}, "ab"},
		"identity":          {`[1]`, []string{"Content-Encoding", "identity"}, `[1]`},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked %t", name, chunked), func(t *testing.T) {
				t.Parallel()
				c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					for i := 0; i < len(tt.header); i += 2 {
						w.Header().Set(tt.header[i], tt.header[i+1])
					}
					if !chunked {
						w.Header().Set("Content-Length", strconv.Itoa(len(tt.body)))
					}
					_ = http.NewResponseController(w).Flush()
					_, _ = io.WriteString(w, tt.body)
				})
				var got string
				tally, err := c.Get(t.Context(), results("s1"), keep(&got))
				require.NoError(t, err)
				require.Equal(t, tt.want, got)
				require.Equal(t, extract.Tally{Requests: 1, Pages: 1}, tally)
			})
		}
	}
}

// TestReusedBuffersKeepNothing gets bodies of decreasing length, so that each buffer has held a longer body before.
func TestReusedBuffersKeepNothing(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(schoolOf(r))
		_, _ = io.WriteString(w, strings.Repeat(strconv.Itoa(n%10), n))
	})
	for n := 3000; n >= 0; n -= 13 {
		var got string
		_, err := c.Get(t.Context(), results(strconv.Itoa(n)), keep(&got))
		require.NoError(t, err)
		require.Equal(t, strings.Repeat(strconv.Itoa(n%10), n), got)
	}
}

func TestMaxBody(t *testing.T) {
	t.Parallel()
	const limit = 1000
	bomb := zip(t, strings.Repeat("\x00", 20<<20))
	require.Less(t, len(bomb), 30_000)
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		fits  bool
	}{
		"exactly": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", limit))
		}, true},
		"exactly, chunked": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", limit/2))
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, strings.Repeat("x", limit/2))
		}, true},
		"exactly, compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zip(t, strings.Repeat("x", limit)))
		}, true},
		"one more": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", limit+1))
		}, false},
		"one more, chunked": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, strings.Repeat("x", limit+1))
		}, false},
		"without end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
			}
		}, false},
		"gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, bomb)
		}, false},
		"announced only": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", false)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, tt.serve, func(o *extract.Options) { o.MaxBody = limit })
			var got string
			tally, err := c.Get(t.Context(), results("s1"), keep(&got))
			require.EqualValues(t, 1, tally.Requests, "a body that is too large is not retried")
			if tt.fits {
				require.NoError(t, err)
				require.Len(t, got, limit)
				return
			}
			require.Equal(t, 200, asError(t, err).Status)
			require.ErrorContains(t, err, "larger than 1000 bytes; raise --max-body")
			require.Equal(t, map[string]int64{"200": 1}, c.Stats().ByStatus)
		})
	}
}

func TestBrokenResponsesAreRetried(t *testing.T) {
	t.Parallel()
	squeezed := zip(t, strings.Repeat(`{"a":1}`, 100))
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		class string
		want  string
	}{
		"cut before the Content-Length": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{\"a\":", false)
		}, "network", "cut short"},
		"cut before the last chunk": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1,2\r\n", false)
		}, "network", "cut short"},
		"cut inside gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, squeezed[:len(squeezed)/2])
		}, "network", "cut short"},
		"gzip of nothing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
		}, "network", "cut short"},
		"no gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "[1, 2, 3, 4, 5, 6]")
		}, "network", "corrupt (gzip)"},
		"gzip with a wrong checksum": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, squeezed[:len(squeezed)-8]+"\x00\x00\x00\x00"+squeezed[len(squeezed)-4:])
		}, "network", "corrupt (gzip)"},
		"reset in the body": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[", true)
		}, "network", ""},
		"reset before a response": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "", true)
		}, "network", ""},
		"closed before a response": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "", false)
		}, "network", "connection closed before the response"},
		"not HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "student Ann Lee\r\n\r\n", false)
		}, "network", "connection closed before the response"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Pad: "+strings.Repeat("p", 1000)+"\r\n", 400), false)
		}, "network", "connection closed before the response"},
		"another encoding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "xx")
		}, "unreadable", "unsupported Content-Encoding"},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>Ann Lee</html>")
		}, "unreadable", "not JSON, but a web page of a proxy, or of a site that is not the service; check --base-url"},
		"an empty JSON string": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `""`)
		}, "unreadable", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, tt.serve, noRetries, withToken)
			_, err := c.Get(t.Context(), results("s1"), wantJSON)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "Ann")
			require.NotContains(t, err.Error(), "http")
			require.Equal(t, 1, asError(t, err).Attempts)
			require.Equal(t, map[string]int64{tt.class: 1}, c.Stats().ByStatus)

			var calls atomic.Int64
			c = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					tt.serve(w, r)
					return
				}
				_, _ = io.WriteString(w, "[]")
			}, withToken)
			tally, err := c.Get(t.Context(), results("s1"), wantJSON)
			require.NoError(t, err)
			require.Equal(t, extract.Tally{Requests: 2, Retries: 1, Pages: 1}, tally)
			require.Equal(t, map[string]int64{tt.class: 1, "200": 1}, c.Stats().ByStatus)
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := extract.New(options(t, server.URL, noRetries, func(o *extract.Options) {
		o.Credentials.AccessToken = "T"
	}))
	require.NoError(t, err)
	_, err = c.Get(t.Context(), schools(), discard)
	require.ErrorContains(t, err, "schools (/organizations/v1/schools): connection refused; check --base-url")
}

func TestUntrustedCertificateIsFinal(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := extract.New(options(t, server.URL))
	require.NoError(t, err)
	_, err = c.Get(t.Context(), schools(), discard)
	require.ErrorContains(t, err, "TLS: certificate not trusted; check --base-url, or set SSL_CERT_FILE")
	require.ErrorIs(t, err, extract.ErrTokenEndpoint)
	require.Equal(t, 1, asError(t, err).Attempts)

	plain, err := extract.New(options(t, strings.Replace(newPlain(t), "http://", "https://", 1), func(o *extract.Options) {
		o.Credentials.AccessToken = "T"
	}))
	require.NoError(t, err)
	_, err = plain.Get(t.Context(), schools(), discard)
	require.ErrorContains(t, err, "the server does not speak TLS; check --base-url")
	require.Equal(t, 1, asError(t, err).Attempts)
}

func newPlain(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

// TestAnswersOfCaches checks that requests tell caches not to answer, and that a call fails if a cache answers anyway.
func TestAnswersOfCaches(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	for age, fails := range map[string]bool{"": false, "0": false, "soon": false, "1": true, "864000": true} {
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Cache-Control") == "no-cache" {
				sent.Add(1)
			}
			if strings.HasSuffix(r.URL.Path, tokenPath) {
				return reply(http.StatusOK, tokenBody("TOKEN-1")), nil
			}
			return reply(http.StatusOK, "{}", "Age", age), nil
		}))
		_, err := c.Get(t.Context(), results("s1"), discard)
		if !fails {
			require.NoError(t, err, age)
			continue
		}
		require.ErrorContains(t, err, "a cache answered with a copy that is "+age+" s old")
		require.Equal(t, 1, asError(t, err).Attempts)
	}
	require.EqualValues(t, 10, sent.Load())
}

// TestWrongProxyPassword expects one attempt, and an error that says where the password goes but not what it is.
func TestWrongProxyPassword(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts.Add(1)
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(strings.Replace(proxy.URL, "http://", "http://alice:wrong@", 1))
	require.NoError(t, err)
	for _, base := range []string{"https://service.example", "http://service.example"} {
		attempts.Store(0)
		transport := extract.NewHTTPTransport(8)
		transport.Proxy = http.ProxyURL(address)
		c, err := extract.New(options(t, base, func(o *extract.Options) { o.Transport = transport }))
		require.NoError(t, err)
		_, err = c.Get(t.Context(), schools(), discard)
		require.ErrorContains(t, err, "the proxy rejected the user or password")
		require.ErrorContains(t, err, "_PROXY: http://user:password@host:port")
		require.NotContains(t, err.Error(), "wrong")
		require.EqualValues(t, 1, attempts.Load())
	}
}

// TestRedirectsAreNotFollowed checks that redirects of reads and token requests are not followed: nothing reaches the
// other host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		redirect := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL+"/stolen")
			w.WriteHeader(status)
		}
		c := serve(t, redirect)
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.ErrorContains(t, err, "redirects are not followed; check --base-url")
		require.Equal(t, status, asError(t, err).Status)
		require.Equal(t, 1, asError(t, err).Attempts)
		require.NotContains(t, err.Error(), "stolen")

		c = connect(t, redirect)
		_, err = c.Get(t.Context(), results("s1"), discard)
		require.ErrorIs(t, err, extract.ErrTokenEndpoint)
		require.Equal(t, status, asError(t, err).Status)
		require.Equal(t, 1, asError(t, err).Attempts)
	}
	require.Zero(t, reached.Load())
}

func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]fake{
		"no response": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"body that trickles": func(r *http.Request) (*http.Response, error) {
			out, in := io.Pipe()
			go func() {
				for r.Context().Err() == nil {
					wait(r.Context(), time.Second)
					_, _ = in.Write([]byte(" "))
				}
				_ = in.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: out, ContentLength: -1}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := dial(t, hang, noRetries, func(o *extract.Options) { o.RequestTimeout = 7 * time.Second })
				start := time.Now()
				_, err := c.Get(t.Context(), results("s1"), discard)
				require.ErrorContains(t, err, "timeout: no complete response within 7s (--request-timeout)")
				require.Equal(t, 7*time.Second, time.Since(start).Round(time.Second))
				require.Equal(t, map[string]int64{"timeout": 1}, c.Stats().ByStatus)

				c = dial(t, hang, func(o *extract.Options) { o.RequestTimeout, o.Retries = 7*time.Second, 1 })
				tally, err := c.Get(t.Context(), results("s1"), discard)
				require.Equal(t, 2, asError(t, err).Attempts)
				require.Equal(t, extract.Tally{Requests: 2, Retries: 1}, tally)
			})
		})
	}
}
