package extract_test

import (
	"context"
	"errors"
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

// issuer is a service that accepts only the newest token of its token endpoint.
type issuer struct {
	mu        sync.Mutex
	issued    int
	requested int
	valid     string
	// reject may reject a request with a valid token.
	reject func(r *http.Request, issued int) bool
	body   func(token string) string
}

func (s *issuer) response(r *http.Request) (int, string) {
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
	s.requested++
	if r.Header.Get("Authorization") != "Bearer "+s.valid || s.reject != nil && s.reject(r, s.issued) {
		return http.StatusUnauthorized, `{"fault": {"faultstring": "Invalid access token"}}`
	}
	return http.StatusOK, "[]"
}

func (s *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := s.response(r)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (s *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := s.response(r)
	return reply(status, body), nil
}

func (s *issuer) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = "revoked"
}

func (s *issuer) counts() (issued, requested int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued, s.requested
}

// TestRejectedTokenIsRenewedOnce sends 16 requests at a time with a revoked token, in several rounds.
func TestRejectedTokenIsRenewedOnce(t *testing.T) {
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
					return errors.New("a renewal was counted as a retry")
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

func TestTokensAreRenewedBeforeExpiry(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		life    string
		renewed time.Duration // a few seconds before
	}{
		"an hour":     {`"3599"`, 3599*time.Second - time.Minute},
		"ten seconds": {`10`, 8 * time.Second},
		"a fraction":  {`"10.5"`, 8 * time.Second},
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
				wait(t.Context(), tt.renewed-time.Second)
				ask(1)
				wait(t.Context(), 2*time.Second)
				ask(2)
				_, requested := service.counts()
				require.Equal(t, 3, requested, "none was rejected")
			})
		})
	}
}

func TestThreeRejectedTokensEndTheRun(t *testing.T) {
	t.Parallel()
	service := &issuer{reject: func(*http.Request, int) bool { return true }}
	c := dial(t, service)
	_, err := c.Get(t.Context(), schools(), discard)
	require.ErrorIs(t, err, extract.ErrRefused)
	require.True(t, extract.EndsRun(err))
	require.EqualError(t, err, "token: credentials rejected by the service: 3 new access tokens in a row got 401; check the app's permissions")
	issued, requested := service.counts()
	require.Equal(t, 3, issued)
	require.Equal(t, 3, requested)

	_, err = c.Get(t.Context(), schools(), discard)
	require.ErrorIs(t, err, extract.ErrRefused)
	issued, requested = service.counts()
	require.Equal(t, 3, issued, "no further requests")
	require.Equal(t, 3, requested, "no further requests")
}

// TestGivenTokenDoesNotCountAsNew gets three tokens after the given one was rejected.
func TestGivenTokenDoesNotCountAsNew(t *testing.T) {
	t.Parallel()
	service := &issuer{reject: func(*http.Request, int) bool { return true }}
	c := dial(t, service, withToken)
	_, err := c.Get(t.Context(), schools(), discard)
	require.ErrorIs(t, err, extract.ErrRefused)
	issued, requested := service.counts()
	require.Equal(t, 3, issued)
	require.Equal(t, 4, requested)
}

// TestSuccessResetsRejections rejects two of every three new tokens.
func TestSuccessResetsRejections(t *testing.T) {
	t.Parallel()
	service := &issuer{reject: func(_ *http.Request, issued int) bool { return issued%3 != 0 }}
	c := dial(t, service)
	for round := range 4 {
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.NoError(t, err)
		issued, _ := service.counts()
		require.Equal(t, 3*(round+1), issued)
		service.revoke()
	}
}

// TestLateRejectionOfAnOldToken rejects the same token for two requests, the second time when a new token is already in
// use.
func TestLateRejectionOfAnOldToken(t *testing.T) {
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
				wait(r.Context(), time.Second)
			}
			return reply(401, ""), nil
		}))
		require.NoError(t, all(t, c, 2, discard))
		require.NoError(t, all(t, c, 1, discard))
		require.EqualValues(t, 2, issued.Load())
	})
}

// TestSuccessBetweenRejections rejects every token after one success, which never ends the run.
func TestSuccessBetweenRejections(t *testing.T) {
	t.Parallel()
	service := &issuer{}
	c := dial(t, service)
	for range 10 {
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.NoError(t, err)
		service.revoke()
	}
}

// TestOneRequestAlwaysRejected rejects all tokens for one school only, which fails alone.
func TestOneRequestAlwaysRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if schoolOf(r) == "bad" {
				wait(r.Context(), 5*time.Millisecond) // others succeed in between
				return reply(401, ""), nil
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.Retries = 2 })
		ctx, cancel := context.WithCancel(t.Context())
		var others sync.WaitGroup
		others.Go(func() {
			for ctx.Err() == nil {
				_, err := c.Get(ctx, results("good"), discard)
				if ctx.Err() == nil && err != nil {
					t.Error(err)
				}
				wait(ctx, time.Millisecond)
			}
		})
		tally, err := c.Get(ctx, results("bad"), discard)
		cancel()
		others.Wait()
		require.False(t, extract.EndsRun(err))
		require.Equal(t, 401, asError(t, err).Status)
		require.Equal(t, 3, asError(t, err).Attempts)
		require.Equal(t, extract.Tally{Requests: 12, Retries: 2}, tally)
	})
}

// TestTokenFetchSurvivesCancellation cancels the request that fetches the token while another one waits for it.
func TestTokenFetchSurvivesCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		c := dial(t, bare(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, tokenPath) {
				return reply(200, "[]"), nil
			}
			calls.Add(1)
			wait(r.Context(), 10*time.Second)
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			return reply(200, tokenBody("T")), nil
		}))
		reason := errors.New("cancelled by the test")
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
		wait(t.Context(), time.Second)
		cancel(reason)
		require.ErrorIs(t, <-leader, reason)
		require.NoError(t, g.Wait())
		require.EqualValues(t, 2, calls.Load())
	})
}

func TestGivenToken(t *testing.T) {
	t.Parallel()
	// world accepts one token and can issue another.
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

	t.Run("used until a 401", func(t *testing.T) {
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
			require.ErrorContains(t, err, "the access token got 401, and there is no API secret to get another")
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
		require.NoError(t, get(t, c), "the file is only read after a 401")
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
		require.NoError(t, get(t, c), "a missing file counts as unchanged")
		require.EqualValues(t, 2, w.issued.Load())
	})
}
