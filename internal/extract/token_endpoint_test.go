package extract_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/extract"
)

func TestHeadersOfReadsAndTokenRequests(t *testing.T) {
	t.Parallel()
	var token, read *http.Request
	var form string
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == tokenPath {
			body, _ := io.ReadAll(r.Body)
			token, form = r, string(body)
			_, _ = io.WriteString(w, tokenBody("opaque28"))
			return
		}
		read = r
		_, _ = io.WriteString(w, "[]")
	}, func(o *extract.Options) { o.UserAgent = "growth-export/1.2" })
	_, err := c.Get(t.Context(), results("s1"), discard)
	require.NoError(t, err)

	require.Equal(t, http.MethodPost, token.Method)
	require.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte(apiKey+":"+apiSecret)), token.Header.Get("Authorization"))
	require.Equal(t, apiKey, token.Header.Get("apikey"))
	require.Equal(t, "client_credentials", token.Header.Get("grant_type"))
	require.Equal(t, "application/x-www-form-urlencoded", token.Header.Get("Content-Type"))
	require.Equal(t, "growth-export/1.2", token.Header.Get("User-Agent"))
	require.Equal(t, "grant_type=client_credentials", form)
	require.Empty(t, token.URL.RawQuery)

	require.Equal(t, http.MethodGet, read.Method)
	require.Equal(t, []string{"Bearer opaque28"}, read.Header["Authorization"])
	require.Equal(t, apiKey, read.Header.Get("apikey"))
	require.Equal(t, "application/json", read.Header.Get("Content-Type"))
	require.Equal(t, "application/json", read.Header.Get("Accept"))
	require.Equal(t, "gzip", read.Header.Get("Accept-Encoding"))
	require.Equal(t, "growth-export/1.2", read.Header.Get("User-Agent"))
	require.Zero(t, read.ContentLength)
	require.Empty(t, read.TransferEncoding)
}

func TestTokenResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, contentType string
		rejected          bool
		says              string
	}{
		"as observed":         {body: `{"access_token":"T","token_type":"BearerToken","expires_in":"3599","issued_at":"1"}`},
		"numbers":             {body: `{"access_token":"T","token_type":"Bearer","expires_in":3599}`},
		"the token alone":     {body: `{"access_token":"T"}`},
		"an odd type":         {body: `{"access_token":"T","token_type":"mac"}`},
		"null life":           {body: `{"access_token":"T","expires_in":null}`},
		"no life":             {body: `{"access_token":"T","expires_in":"0"}`},
		"negative life":       {body: `{"access_token":"T","expires_in":-5}`},
		"huge life":           {body: `{"access_token":"T","expires_in":99999999999999}`},
		"fractional life":     {body: `{"access_token":"T","expires_in":3599.5}`},
		"life beyond int64":   {body: `{"access_token":"T","expires_in":"1e30"}`},
		"unreadable life":     {body: `{"access_token":"T","expires_in":"soon"}`},
		"empty life":          {body: `{"access_token":"T","expires_in":""}`},
		"a numeric type":      {body: `{"access_token":"T","token_type":7}`},
		"declared plain text": {body: `{"access_token":"T","expires_in":"3599"}`, contentType: "text/plain"},
		"declared a form":     {body: `{"access_token":"T"}`, contentType: "application/x-www-form-urlencoded"},
		"no token":            {body: `{"token_type":"Bearer"}`, rejected: true},
		"empty token":         {body: `{"access_token":""}`, rejected: true},
		"HTML":                {body: ` <html>LEAKED</html>`, contentType: "text/plain", rejected: true, says: ", but a web page of a proxy"},
		"declared HTML":       {body: `LEAKED`, contentType: "Text/HTML; charset=utf-8", rejected: true, says: ", but a web page of a proxy"},
		"nothing":             {body: ``, rejected: true},
		"a multi-line token":  {body: `{"access_token":"LEAKED\r\nX-Evil: 1"}`, rejected: true},
		"an error with a 200": {body: `{"access_token":"T","error":"LEAKED","error_description":"LEAKED"}`, rejected: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tokenPath {
					if got := r.Header.Get("Authorization"); got != "Bearer T" {
						w.WriteHeader(http.StatusBadRequest)
					}
					return
				}
				if tt.contentType != "" {
					w.Header().Set("Content-Type", tt.contentType)
				}
				_, _ = io.WriteString(w, tt.body)
			}, noRetries)
			_, err := c.Get(t.Context(), results("s1"), discard)
			if !tt.rejected {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, extract.ErrTokenEndpoint)
			require.ErrorContains(t, err, "token (/auth/v1/token): cannot get an access token: the response is not a token"+cmp.Or(tt.says, "; check --base-url"))
			require.Regexp(t, `\(host 127\.0\.0\.1:[0-9]+, status 200\)$`, err.Error())
			require.NotContains(t, err.Error(), "LEAKED")
		})
	}
}

func TestTokenEndpointRejectsCredentials(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		var calls atomic.Int64
		c := dial(t, bare(func(*http.Request) (*http.Response, error) {
			calls.Add(1)
			return reply(status, `{"error": "invalid_client", "error_description": "LEAKED"}`), nil
		}))
		for range 2 {
			_, err := c.Get(t.Context(), schools(), discard)
			require.ErrorIs(t, err, extract.ErrRefused)
			require.EqualError(t, err, fmt.Sprintf(
				"token (/auth/v1/token): credentials rejected by the service: no access token for this API key and secret; check both, and --base-url (host service.example, status %d, code invalid_client)", status))
		}
		require.EqualValues(t, 1, calls.Load(), "the token is requested only once")
	}
}

func TestTokenEndpointSendsTooMuch(t *testing.T) {
	t.Parallel()
	c := dial(t, bare(func(*http.Request) (*http.Response, error) { return reply(200, strings.Repeat(" ", 2<<20)), nil }), noRetries)
	_, err := c.Get(t.Context(), schools(), discard)
	require.ErrorContains(t, err, "larger than 1048576 bytes; check --base-url")
}

func TestTokenEndpointRepeatsSecrets(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"invalid_client": "invalid_client", "key": "unlisted code", "invalid.secret": "unlisted code", "second-token": "unlisted code",
	} {
		var issued atomic.Bool
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			switch {
			case !strings.HasSuffix(r.URL.Path, tokenPath):
				return reply(401, ""), nil
			case issued.CompareAndSwap(false, true):
				return reply(200, tokenBody("second-token")), nil
			}
			return reply(400, `{"code": "`+sent+`"}`), nil
		}), func(o *extract.Options) {
			o.Credentials = extract.Credentials{APIKey: "key", APISecret: "secret", AccessToken: "first-token"}
			o.Retries = 0
		})
		_, err := c.Get(t.Context(), schools(), discard)
		require.ErrorIs(t, err, extract.ErrTokenEndpoint)
		require.Equal(t, want, asError(t, err).Code)
	}
}

func TestTokenEndpointDown(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]bare{
		"503":     func(*http.Request) (*http.Response, error) { return reply(503, `{"code": "DOWN"}`), nil },
		"400":     func(*http.Request) (*http.Response, error) { return reply(400, "LEAKED"), nil },
		"404":     func(*http.Request) (*http.Response, error) { return reply(404, ""), nil },
		"a reset": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"a stall": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// The token endpoint always fails, or only for the first requests. A 404 means a wrong base URL, which ends the run
				// sooner.
				few, wrong := int64(5), name == "404"
				if wrong {
					few = 2
				}
				for _, down := range []int64{1000, few} {
					var calls atomic.Int64
					c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
						switch {
						case !strings.HasSuffix(r.URL.Path, tokenPath):
							return reply(200, "[]"), nil
						case calls.Add(1) > down:
							return reply(200, tokenBody("T")), nil
						default:
							return response(r)
						}
					}))
					var g errgroup.Group
					for i := range 4 {
						g.Go(func() error {
							_, err := c.Get(t.Context(), results(strconv.Itoa(i)), discard)
							return err
						})
					}
					began := time.Now()
					err := g.Wait()
					if down == few {
						require.NoError(t, err)
						require.Equal(t, few+1, calls.Load())
						continue
					}
					require.ErrorIs(t, err, extract.ErrTokenEndpoint)
					require.True(t, extract.EndsRun(err))
					attempts := asError(t, err).Attempts
					switch name {
					case "404": // a wrong base URL
						require.Less(t, attempts, 9)
					case "400":
						require.Equal(t, 9, attempts)
					default: // an outage
						require.Equal(t, 30*time.Minute, time.Since(began))
						require.Greater(t, attempts, 20)
					}
					require.EqualValues(t, attempts, calls.Load(), "all waiting requests fail together")
					require.NotContains(t, err.Error(), "LEAKED")
				}
			})
		})
	}
}

// TestWrongAddress expects a wrong base URL to be reported after ten seconds, unless a token was received before.
func TestWrongAddress(t *testing.T) {
	t.Parallel()
	failures := planningFailures()
	for name, service := range map[string]bare{
		"not found": func(*http.Request) (*http.Response, error) { return reply(404, ""), nil },
		"refused":   failures["connection refused"],
		"no host":   failures["host not found"],
		"no proxy":  failures["the proxy cannot be reached"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := dial(t, service)
				began := time.Now()
				_, err := c.Get(t.Context(), schools(), discard)
				require.ErrorIs(t, err, extract.ErrTokenEndpoint)
				require.ErrorContains(t, err, "growth-export doctor checks the settings")
				require.Less(t, time.Since(began), 11*time.Second)
				require.GreaterOrEqual(t, time.Since(began), 10*time.Second)
			})
		})
	}
}
