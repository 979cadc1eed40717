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
		require.Equal(t, extract.Tally{Requests: 12, Retries: 2}, tally)
	})
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
