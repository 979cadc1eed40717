package extract_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/extract"
)

// issuer is a token endpoint with a service that accepts only its newest token.
type issuer struct {
	mu     sync.Mutex
	issued int
	asked  int
	valid  string
	// refuse may refuse a request whose token is valid.
	refuse func(r *http.Request, issued int) bool
	body   func(token string) string
}

func (s *issuer) answer(r *http.Request) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, tokenPath) {
		s.issued++
		s.valid = "TOKEN-" + strconv.Itoa(s.issued)
		if s.body != nil {
			return http.StatusOK, s.body(s.valid)
		}
		return http.StatusOK, tokenBody(s.valid)
	}
	s.asked++
	if r.Header.Get("Authorization") != "Bearer "+s.valid || s.refuse != nil && s.refuse(r, s.issued) {
		return http.StatusUnauthorized, `{"fault": {"faultstring": "Invalid access token"}}`
	}
	return http.StatusOK, "[]"
}

func (s *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := s.answer(r)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (s *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := s.answer(r)
	return reply(status, body), nil
}

func (s *issuer) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = "revoked"
}

func (s *issuer) counts() (issued, asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued, s.asked
}

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

func TestAnswersOfTheTokenEndpoint(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, contentType string
		refused           bool
	}{
		"as observed":         {body: `{"access_token":"T","token_type":"BearerToken","expires_in":"3599","issued_at":"1"}`},
		"numbers":             {body: `{"access_token":"T","token_type":"Bearer","expires_in":3599}`},
		"the token alone":     {body: `{"access_token":"T"}`},
		"an odd type":         {body: `{"access_token":"T","token_type":"mac"}`},
		"null life":           {body: `{"access_token":"T","expires_in":null}`},
		"no life":             {body: `{"access_token":"T","expires_in":"0"}`},
		"called plain text":   {body: `{"access_token":"T","expires_in":"3599"}`, contentType: "text/plain"},
		"called a form":       {body: `{"access_token":"T"}`, contentType: "application/x-www-form-urlencoded"},
		"no token":            {body: `{"token_type":"Bearer"}`, refused: true},
		"empty token":         {body: `{"access_token":""}`, refused: true},
		"HTML":                {body: `<html>LEAKED</html>`, refused: true},
		"nothing":             {body: ``, refused: true},
		"a token of lines":    {body: `{"access_token":"LEAKED\r\nX-Evil: 1"}`, refused: true},
		"an error with a 200": {body: `{"access_token":"T","error":"LEAKED","error_description":"LEAKED"}`, refused: true},
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
			if !tt.refused {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, extract.ErrTokenEndpoint)
			require.ErrorContains(t, err, "token (/auth/v1/token): no token to be had from the token endpoint: the answer is no token")
			require.NotContains(t, err.Error(), "LEAKED")
		})
	}
}

// TestOneRefusalOneToken has 16 requests at a time meet a token that was revoked, again and again.
func TestOneRefusalOneToken(t *testing.T) {
	t.Parallel()
	service := &issuer{}
	c := connect(t, service.ServeHTTP, func(o *extract.Options) { o.Concurrency = 16 })
	const rounds = 5
	for round := range rounds {
		var g errgroup.Group
		for i := range 16 {
			g.Go(func() error {
				tally, err := c.Get(t.Context(), results(strconv.Itoa(i)), discard)
				if err == nil && tally.Retries != 0 {
					return errors.New("a renewal was taken for an attempt")
				}
				return err
			})
		}
		require.NoError(t, g.Wait())
		issued, _ := service.counts()
		require.Equal(t, round+1, issued)
		service.revoke()
	}
	stats := c.Stats()
	require.EqualValues(t, rounds-1, stats.TokenRefreshes)
	require.EqualValues(t, rounds, stats.TokenRequests)
	require.EqualValues(t, 16*rounds, stats.ByStatus["200"])
	require.Zero(t, stats.Retries)
	require.Zero(t, stats.InFlight)
}

func TestTokensAreRenewedAheadOfTheirEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		life    string
		renewed time.Duration // when at the latest and not much earlier
	}{
		"an hour":     {`"3599"`, 3599*time.Second - time.Minute},
		"ten seconds": {`10`, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &issuer{body: func(token string) string {
					return `{"access_token":"` + token + `","expires_in":` + tt.life + `}`
				}}
				c := dial(t, service)
				ask := func(want int) {
					_, err := c.Get(t.Context(), results("s1"), discard)
					require.NoError(t, err)
					issued, _ := service.counts()
					require.Equal(t, want, issued)
				}
				ask(1)
				after(t.Context(), tt.renewed-time.Second)
				ask(1)
				after(t.Context(), 2*time.Second)
				ask(2)
				_, asked := service.counts()
				require.Equal(t, 3, asked, "none was refused")
			})
		})
	}
}

func TestThreeNewTokensRefusedEndTheRun(t *testing.T) {
	t.Parallel()
	service := &issuer{refuse: func(*http.Request, int) bool { return true }}
	c := dial(t, service)
	_, err := c.Get(t.Context(), schools(), discard)
	require.ErrorIs(t, err, extract.ErrRefused)
	require.True(t, extract.EndsRun(err))
	require.EqualError(t, err, "token: the service refused our credentials: 3 new tokens in a row were refused by the service; check the app's access")
	issued, asked := service.counts()
	require.Equal(t, 3, issued)
	require.Equal(t, 3, asked)

	_, err = c.Get(t.Context(), schools(), discard)
	require.ErrorIs(t, err, extract.ErrRefused)
	issued, asked = service.counts()
	require.Equal(t, 3, issued, "nothing more is asked")
	require.Equal(t, 3, asked, "nothing more is asked")
}

// TestGivenTokenIsNotCountedAmongNewOnes gets three tokens after the one got elsewhere was refused.
func TestGivenTokenIsNotCountedAmongNewOnes(t *testing.T) {
	t.Parallel()
	service := &issuer{refuse: func(*http.Request, int) bool { return true }}
	c := dial(t, service, withToken)
	_, err := c.Get(t.Context(), schools(), discard)
	require.ErrorIs(t, err, extract.ErrRefused)
	issued, asked := service.counts()
	require.Equal(t, 3, issued)
	require.Equal(t, 4, asked)
}

// TestSuccessForgetsRefusals has two new tokens of every three refused.
func TestSuccessForgetsRefusals(t *testing.T) {
	t.Parallel()
	service := &issuer{refuse: func(_ *http.Request, issued int) bool { return issued%3 != 0 }}
	c := dial(t, service)
	for round := range 4 {
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.NoError(t, err)
		issued, _ := service.counts()
		require.Equal(t, 3*(round+1), issued)
		service.revoke()
	}
}

// TestLateRefusalOfAnOldToken has two requests refused with one token, the second when a new one is in use already.
func TestLateRefusalOfAnOldToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var issued atomic.Int64
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			switch {
			case strings.HasSuffix(r.URL.Path, tokenPath):
				return reply(200, tokenBody("T"+strconv.FormatInt(issued.Add(1), 10))), nil
			case r.Header.Get("Authorization") != "Bearer T1":
				return reply(200, "[]"), nil
			case schoolOf(r) == "1":
				after(r.Context(), time.Second)
			}
			return reply(401, ""), nil
		}))
		require.NoError(t, all(t, c, 2, discard))
		require.NoError(t, all(t, c, 1, discard))
		require.EqualValues(t, 2, issued.Load())
	})
}

// TestSuccessBetweenRefusals has every token refused after one success: no number of them ends the run.
func TestSuccessBetweenRefusals(t *testing.T) {
	t.Parallel()
	service := &issuer{}
	c := dial(t, service)
	for range 10 {
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.NoError(t, err)
		service.revoke()
	}
}

// TestOneRequestAlwaysRefused has a school for which no token will do, while others are served: it fails alone.
func TestOneRequestAlwaysRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &issuer{refuse: func(r *http.Request, _ int) bool { return schoolOf(r) == "bad" }}
		c := dial(t, service, func(o *extract.Options) { o.Retries = 2 })
		ctx, cancel := context.WithCancel(t.Context())
		var others sync.WaitGroup
		others.Go(func() {
			for ctx.Err() == nil {
				_, err := c.Get(ctx, results("good"), discard)
				if ctx.Err() == nil && err != nil {
					t.Error(err)
				}
				after(ctx, time.Millisecond)
			}
		})
		// A wait between refusals, in which the others succeed.
		service.mu.Lock()
		inner := service.refuse
		service.refuse = func(r *http.Request, n int) bool {
			refused := inner(r, n)
			if refused {
				service.mu.Unlock()
				after(ctx, 5*time.Millisecond)
				service.mu.Lock()
			}
			return refused
		}
		service.mu.Unlock()
		tally, err := c.Get(ctx, results("bad"), discard)
		cancel()
		others.Wait()
		require.False(t, extract.EndsRun(err))
		require.Equal(t, 401, asError(t, err).Status)
		require.Equal(t, 3, asError(t, err).Attempts)
		require.Equal(t, extract.Tally{Requests: 9, Retries: 2}, tally)
	})
}

func TestTokenEndpointThatRefuses(t *testing.T) {
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
				"token (/auth/v1/token): the service refused our credentials: no token for this key and secret; check both (status %d)", status))
		}
		require.EqualValues(t, 1, calls.Load(), "it is asked once and no more")
	}
}

func TestTokenEndpointThatIsDown(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]bare{
		"503":     func(*http.Request) (*http.Response, error) { return reply(503, `{"code": "DOWN"}`), nil },
		"400":     func(*http.Request) (*http.Response, error) { return reply(400, "LEAKED"), nil },
		"404":     func(*http.Request) (*http.Response, error) { return reply(404, ""), nil },
		"a reset": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"a stall": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// It is down in the first five requests, once for good and once not.
				for _, down := range []int64{1000, 5} {
					var calls atomic.Int64
					c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
						switch {
						case !strings.HasSuffix(r.URL.Path, tokenPath):
							return reply(200, "[]"), nil
						case calls.Add(1) > down:
							return reply(200, tokenBody("T")), nil
						default:
							return answer(r)
						}
					}), func(o *extract.Options) { o.GiveUpAfter = time.Second })
					var g errgroup.Group
					for i := range 4 {
						g.Go(func() error {
							_, err := c.Get(t.Context(), results(strconv.Itoa(i)), discard)
							return err
						})
					}
					err := g.Wait()
					if down == 5 {
						require.NoError(t, err)
						require.EqualValues(t, 6, calls.Load())
						continue
					}
					require.ErrorIs(t, err, extract.ErrTokenEndpoint)
					require.True(t, extract.EndsRun(err))
					require.Equal(t, 9, asError(t, err).Attempts)
					require.EqualValues(t, 9, calls.Load(), "all that waited fail together")
					require.NotContains(t, err.Error(), "LEAKED")
				}
			})
		})
	}
}

// TestTokenFetchOutlivesItsLeader cancels the request that fetches the token while others wait for it.
func TestTokenFetchOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, tokenPath) {
				return reply(200, "[]"), nil
			}
			calls.Add(1)
			after(r.Context(), 10*time.Second)
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			return reply(200, tokenBody("T")), nil
		}))
		reason := errors.New("the leader was told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		leader := make(chan error, 1)
		go func() {
			_, err := c.Get(ctx, results("s1"), discard)
			leader <- err
		}()
		synctest.Wait()
		var g errgroup.Group
		g.Go(func() error {
			_, err := c.Get(t.Context(), results("s2"), discard)
			return err
		})
		after(t.Context(), time.Second)
		cancel(reason)
		require.ErrorIs(t, <-leader, reason)
		require.NoError(t, g.Wait())
		require.EqualValues(t, 2, calls.Load())
	})
}

func TestTokenGotElsewhere(t *testing.T) {
	t.Parallel()
	// world accepts one token and may issue another.
	type world struct {
		accepts atomic.Value
		issued  atomic.Int64
	}
	start := func(t *testing.T, w *world, change func(*extract.Options)) *extract.Client {
		t.Helper()
		return dial(t, bare(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, tokenPath) {
				w.issued.Add(1)
				w.accepts.Store("issued")
				return reply(200, tokenBody("issued")), nil
			}
			if r.Header.Get("Authorization") != "Bearer "+w.accepts.Load().(string) {
				return reply(401, ""), nil
			}
			return reply(200, "[]"), nil
		}), change)
	}
	write := func(t *testing.T, path, token string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	}
	get := func(t *testing.T, c *extract.Client) error {
		t.Helper()
		_, err := c.Get(t.Context(), schools(), discard)
		return err
	}

	t.Run("used until a 401, then refused", func(t *testing.T) {
		t.Parallel()
		w := &world{}
		w.accepts.Store("given")
		c := start(t, w, func(o *extract.Options) {
			o.Credentials = extract.Credentials{APIKey: apiKey, AccessToken: "given"}
		})
		require.NoError(t, get(t, c))
		w.accepts.Store("another")
		for range 2 {
			err := get(t, c)
			require.ErrorIs(t, err, extract.ErrRefused)
			require.ErrorContains(t, err, "the access token is refused and there is no other")
		}
		require.Zero(t, w.issued.Load())
	})
	t.Run("then key and secret", func(t *testing.T) {
		t.Parallel()
		w := &world{}
		w.accepts.Store("given")
		c := start(t, w, func(o *extract.Options) { o.Credentials.AccessToken = "given" })
		require.NoError(t, get(t, c))
		require.Zero(t, w.issued.Load())
		w.accepts.Store("another")
		require.NoError(t, get(t, c))
		require.EqualValues(t, 1, w.issued.Load())
		require.EqualValues(t, 1, c.Stats().TokenRefreshes)
	})
	t.Run("then the file that changed", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "token")
		write(t, path, "one")
		w := &world{}
		w.accepts.Store("one")
		c := start(t, w, func(o *extract.Options) {
			o.Credentials = extract.Credentials{APIKey: apiKey, AccessTokenFile: path}
		})
		require.NoError(t, get(t, c))
		write(t, path, "two")
		require.NoError(t, get(t, c), "the file is read after a 401 alone")
		w.accepts.Store("two")
		require.NoError(t, get(t, c))
		w.accepts.Store("three")
		require.ErrorIs(t, get(t, c), extract.ErrRefused, "the file did not change")
	})
	t.Run("given with its file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "token")
		write(t, path, "one")
		w := &world{}
		w.accepts.Store("none of them")
		c := start(t, w, func(o *extract.Options) {
			o.Credentials = extract.Credentials{APIKey: apiKey, AccessToken: "one", AccessTokenFile: path}
		})
		require.ErrorIs(t, get(t, c), extract.ErrRefused)
		require.EqualValues(t, 1, c.Stats().Requests, "the same token is not sent again")
	})
	t.Run("then the file, then key and secret", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "token")
		write(t, path, "one")
		w := &world{}
		w.accepts.Store("none of them")
		c := start(t, w, func(o *extract.Options) { o.Credentials.AccessTokenFile = path })
		write(t, path, "two")
		require.NoError(t, get(t, c))
		require.EqualValues(t, 1, w.issued.Load())
		require.NoError(t, os.Remove(path))
		w.accepts.Store("something else")
		require.NoError(t, get(t, c), "without the file as without a change")
		require.EqualValues(t, 2, w.issued.Load())
	})
}
