package extract_test

import (
	"errors"
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

	"example.org/growthexport/internal/extract"
)

// TestNotFoundWithoutASchool expects the error to say that the address is probably wrong if even the school list is
// missing.
func TestNotFoundWithoutASchool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(*http.Request) (*http.Response, error) { return reply(404, ""), nil }))
		call := results("")
		_, err := c.Get(t.Context(), call, discard)
		require.ErrorContains(t, err, ": not found; check --base-url, or run again later")
	})
}

func TestRetriedStatuses(t *testing.T) {
	t.Parallel()
	for status, advice := range map[int]string{
		404: "not found; run again later", 408: "the service is failing", 429: "throttled by the service; lower --rate or --concurrency",
		500: "the service is failing", 502: "the service is failing", 503: "the service is failing", 504: "the service is failing", 599: "the service is failing",
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j requestLog
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					j.add(schoolOf(r))
					if len(j.of(schoolOf(r))) > 4 && schoolOf(r) == "heals" {
						return reply(200, "[]"), nil
					}
					return reply(status, `{"fault": {"faultstring": "LEAKED", "detail": {"errorcode": "ServiceUnavailable"}}}`), nil
				}))
				defer c.Beside()()
				tally, err := c.Get(t.Context(), results("broken"), discard)
				e := asError(t, err)
				require.Equal(t, extract.Error{
					Operation: "test_results", Template: growth, School: "broken",
					Status: status, Code: "ServiceUnavailable", Attempts: 9, Err: e.Err,
				}, *e)
				require.ErrorContains(t, err, advice)
				require.ErrorContains(t, err, fmt.Sprintf("(status %d, code ServiceUnavailable, 9 attempts)", status))
				require.NotContains(t, err.Error(), "LEAKED")
				require.False(t, extract.EndsRun(err))
				require.Equal(t, extract.Tally{Requests: 9, Retries: 8}, tally)

				tally, err = c.Get(t.Context(), results("heals"), discard)
				require.NoError(t, err)
				require.Equal(t, extract.Tally{Requests: 5, Retries: 4, Pages: 1}, tally)
				require.Equal(t, map[string]int64{strconv.Itoa(status): 13, "200": 1}, c.Stats().ByStatus)

				for i, gap := range gaps(j.of("broken")) {
					top := min(30*time.Second, time.Second<<i)
					require.GreaterOrEqual(t, gap, top/2, "wait %d", i)
					require.LessOrEqual(t, gap, top, "wait %d", i)
				}
			})
		})
	}
}

func TestFinalStatuses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{201, 204, 206, 400, 402, 405, 406, 409, 410, 413, 414, 422, 451, 600} {
		c := dial(t, fake(func(*http.Request) (*http.Response, error) { return reply(status, "LEAKED"), nil }))
		tally, err := c.Get(t.Context(), results("s1"), discard)
		require.Equal(t, status, asError(t, err).Status)
		require.ErrorContains(t, err, "test_results of school s1 (/test-results/v1/growth): the service rejected the request")
		require.NotErrorIs(t, err, extract.ErrDenied)
		require.False(t, extract.EndsRun(err))
		require.Equal(t, extract.Tally{Requests: 1}, tally)
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	c := dial(t, fake(func(*http.Request) (*http.Response, error) { return reply(403, `{"message": "LEAKED"}`), nil }))
	for _, call := range []extract.Call{results("s1"), schools()} {
		tally, err := c.Get(t.Context(), call, discard)
		require.ErrorIs(t, err, extract.ErrDenied)
		require.False(t, extract.EndsRun(err))
		require.NotContains(t, err.Error(), "LEAKED")
		require.Equal(t, extract.Tally{Requests: 1}, tally)
	}
	call := extract.Call{
		Operation: "district_schools", Template: "/organizations/v1/districts/{district_bid}/schools",
		Path: map[string]string{"district_bid": "d 1\n"}, District: "d 1\n", Lookup: true,
	}
	_, err := c.Get(t.Context(), call, discard)
	require.EqualError(t, err, `district_schools of district "d 1\n" (/organizations/v1/districts/{district_bid}/schools): `+
		`access denied: no current agreement covers it (status 403)`)
}

// TestErrorCodes expects errors to show known codes only, because a code can be a student's name or identifier.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	const unlisted = "unlisted code"
	for body, want := range map[string]string{
		`{"fault": {"faultstring": "x", "detail": {"errorcode": "oauth.v2.InvalidToken"}}}`: "oauth.v2.InvalidToken",
		`{"code": "NOT_FOUND"}`:                            "NOT_FOUND",
		`{"ErrorCode": "InternalServerError"}`:             "InternalServerError",
		`{"status": 404, "error": "Not Found"}`:            "Not Found",
		`{"code": "Ann", "error": "invalid_client"}`:       "invalid_client",
		`{"error": {"code": 7}}`:                           unlisted,
		`{"errorCode": "E-12_x"}`:                          unlisted,
		`{"code": 404}`:                                    unlisted,
		`{"code": "Ann Lee"}`:                              unlisted,
		`{"code": "Doe.Jane"}`:                             unlisted,
		`{"code": "jane_doe_2010"}`:                        unlisted,
		`{"code": "dob-2010-07-19"}`:                       unlisted,
		`{"code": "S-1234567"}`:                            unlisted,
		`{"code": "e5f10fad5bd9cb469fa1657086772895"}`:     unlisted,
		`{"code": "0b6d4a5e-9a3c-4c47-8f5e-7a1d2c3b4a59"}`: unlisted,
		`{"code": "NotFound.s1"}`:                          unlisted,
		`{"code": "invalid_client invalid_grant"}`:         unlisted,
		`{"code": "_"}`:                                    unlisted,
		`{"code": "` + apiKey + `"}`:                       unlisted,
		`{"code": ""}`:                                     "",
		`{"message": "Secret"}`:                            "",
		`Secret`:                                           "",
		``:                                                 "",
		`[]`:                                               "",
	} {
		c := dial(t, fake(func(*http.Request) (*http.Response, error) { return reply(400, body), nil }))
		_, err := c.Get(t.Context(), results("s1"), discard)
		require.Equal(t, want, asError(t, err).Code, body)
		if want == unlisted {
			require.ErrorContains(t, err, "(status 400, unlisted code)")
		}
		c = dial(t, fake(func(*http.Request) (*http.Response, error) { return reply(400, body), nil }),
			func(o *extract.Options) { o.HideErrorCodes = true })
		_, err = c.Get(t.Context(), results("s1"), discard)
		require.Empty(t, asError(t, err).Code, body)
	}
}

// TestErrorCodesOfCompressedBodies checks that codes are found in compressed bodies: reads accept gzip, so errors may
// be compressed too.
func TestErrorCodesOfCompressedBodies(t *testing.T) {
	t.Parallel()
	c := dial(t, fake(func(*http.Request) (*http.Response, error) {
		return reply(400, zip(t, `{"code": "NOT_FOUND"}`), "Content-Encoding", "gzip"), nil
	}))
	_, err := c.Get(t.Context(), results("s1"), discard)
	require.Equal(t, "NOT_FOUND", asError(t, err).Code)
}

func TestUnreadableBodiesAreRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		c := dial(t, fake(func(*http.Request) (*http.Response, error) {
			return reply(200, []string{`""`, "<html>", "", "[]"}[min(3, len(bodies))]), nil
		}))
		tally, err := c.Get(t.Context(), results("s1"), func(body io.Reader) error {
			var content string
			if err := keep(&content)(body); err != nil {
				return err
			}
			bodies = append(bodies, content)
			if err := wantJSON(strings.NewReader(content)); err != nil {
				return fmt.Errorf("read page: %w", err)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []string{`""`, "<html>", "", "[]"}, bodies)
		require.Equal(t, extract.Tally{Requests: 4, Retries: 3, Pages: 1}, tally)
		require.Equal(t, map[string]int64{"unreadable": 3, "200": 1}, c.Stats().ByStatus)

		defer c.Beside()()
		_, err = c.Get(t.Context(), results("s1"), func(io.Reader) error { return extract.Unreadable(errNotJSON) })
		require.ErrorIs(t, err, errNotJSON)
		require.EqualError(t, err, "test_results of school s1 (/test-results/v1/growth): the body is not JSON (status 200, 9 attempts)")
	})
	require.NoError(t, extract.Unreadable(nil))
}

func TestOtherErrorsOfAcceptAreFinal(t *testing.T) {
	t.Parallel()
	shape := errors.New("the body is a number, neither a list nor an object")
	c := dial(t, fake(func(*http.Request) (*http.Response, error) { return reply(200, "1"), nil }))
	tally, err := c.Get(t.Context(), results("s1"), func(io.Reader) error { return shape })
	require.ErrorIs(t, err, shape)
	require.Equal(t, extract.Tally{Requests: 1}, tally)
	require.Equal(t, map[string]int64{"200": 1}, c.Stats().ByStatus)
}

func TestRetryAfterPausesAll(t *testing.T) {
	t.Parallel()
	const requested = 100 * time.Second
	for name, header := range map[string]func(now time.Time) []string{
		"seconds": func(time.Time) []string { return []string{"Retry-After", "100"} },
		"date": func(now time.Time) []string {
			return []string{"Retry-After", now.Add(requested).UTC().Format(http.TimeFormat)}
		},
		"date of a clock that is wrong": func(now time.Time) []string {
			then := now.Add(-5 * time.Hour).UTC()
			return []string{"Retry-After", then.Add(requested).Format(http.TimeFormat), "Date", then.Format(http.TimeFormat)}
		},
	} {
		for _, status := range []int{404, 408, 429, 500, 503} {
			t.Run(fmt.Sprintf("%s/%d", name, status), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var first atomic.Bool
					var j requestLog
					c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
						j.add(schoolOf(r))
						if first.CompareAndSwap(false, true) {
							return reply(status, "", header(time.Now())...), nil
						}
						return reply(200, "[]"), nil
					}))
					start := time.Now()
					done := make(chan error, 2)
					go func() {
						_, err := c.Get(t.Context(), results("s1"), discard)
						done <- err
					}()
					wait(t.Context(), time.Second)
					go func() {
						_, err := c.Get(t.Context(), results("s2"), discard)
						done <- err
					}()
					require.NoError(t, <-done)
					require.NoError(t, <-done)
					for _, e := range j.of("")[1:] {
						require.Equal(t, requested, e.at.Sub(start), "school %s", e.school)
					}
					require.Len(t, j.of(""), 3)
				})
			})
		}
	}
}

// TestRetryAfterIsNeverShortened checks that a second response does not shorten the pause.
func TestRetryAfterIsNeverShortened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			j.add(schoolOf(r))
			switch len(j.of("")) {
			case 1:
				wait(r.Context(), time.Second)
				return reply(429, "", "Retry-After", "100"), nil
			case 2:
				wait(r.Context(), 2*time.Second)
				return reply(429, "", "Retry-After", "5"), nil
			}
			return reply(200, "[]"), nil
		}))
		start := time.Now()
		require.NoError(t, all(t, c, 2, discard))
		require.Equal(t, 101*time.Second, j.of("")[2].at.Sub(start))
	})
}

func TestInvalidRetryAfter(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "soon", "-5", "1.5", "0", "Sat, 01 Jan 2000 00:00:00 GMT", "1999-01-01"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j requestLog
				c := dial(t, fake(func(*http.Request) (*http.Response, error) {
					j.add("")
					return reply(429, "", "Retry-After", value), nil
				}), func(o *extract.Options) { o.Retries = 1 })
				_, err := c.Get(t.Context(), results("s1"), discard)
				require.Equal(t, 429, asError(t, err).Status)
				require.LessOrEqual(t, gaps(j.of(""))[0], time.Second)
				require.GreaterOrEqual(t, gaps(j.of(""))[0], time.Second/2)
			})
		})
	}
}

// TestRetryAfterOverGiveUpAfter checks that no further request is sent if the pause would be too long.
func TestRetryAfterOverGiveUpAfter(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"601", "99999999999999999999", "Sat, 01 Jan 2050 00:00:00 GMT"} {
		for _, call := range []extract.Call{results("s1"), schools()} {
			t.Run(value+"/"+call.Operation, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var requested atomic.Int64
					c := dial(t, fake(func(*http.Request) (*http.Response, error) {
						requested.Add(1)
						return reply(503, "", "Retry-After", value), nil
					}), func(o *extract.Options) { o.GiveUpAfter = 10 * time.Minute })
					for range 2 {
						_, err := c.Get(t.Context(), call, discard)
						require.ErrorIs(t, err, extract.ErrGaveUp)
						require.True(t, extract.EndsRun(err))
						require.ErrorContains(t, err, "(Retry-After), longer than 10m (--give-up-after)")
					}
					require.EqualValues(t, 1, requested.Load())
				})
			})
		}
	}
}

// TestRetryAfterOfTheTokenEndpoint checks that Retry-After applies to token requests too.
func TestRetryAfterOfTheTokenEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var requested time.Duration
		wait := "40"
		c := dial(t, bare(func(*http.Request) (*http.Response, error) {
			if time.Since(start) < 40*time.Second || wait == "9999" {
				return reply(429, "", "Retry-After", wait), nil
			}
			requested = time.Since(start)
			wait = "9999"
			return reply(200, tokenBody("T")), nil
		}))
		_, err := c.Get(t.Context(), schools(), discard)
		require.Equal(t, 40*time.Second, requested)
		require.ErrorIs(t, err, extract.ErrGaveUp)
		require.Equal(t, "schools", asError(t, err).Operation)

		c = dial(t, bare(func(*http.Request) (*http.Response, error) { return reply(429, "", "Retry-After", "9999"), nil }))
		_, err = c.Get(t.Context(), schools(), discard)
		require.ErrorIs(t, err, extract.ErrGaveUp)
		require.ErrorContains(t, err, "cannot get an access token: gave up on the service: it asks for a pause of 2h46m39s")
		require.Equal(t, "token", asError(t, err).Operation)
	})
}

// TestRetriesAtARealServer uses a server that fails in several ways.
func TestRetriesAtARealServer(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
		case 2:
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[", false)
		default:
			_, _ = io.WriteString(w, "[]")
		}
	})
	var got string
	tally, err := c.Get(t.Context(), results("s1"), keep(&got))
	require.NoError(t, err)
	require.Equal(t, "[]", got)
	require.Equal(t, extract.Tally{Requests: 3, Retries: 2, Pages: 1}, tally)
	require.Equal(t, map[string]int64{"502": 1, "network": 1, "200": 1}, c.Stats().ByStatus)
}
