package extract_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// TestBrokenSchoolsAreNotAnOutage has five schools that always fail and nothing else to fetch: a canary shows that the
// service is healthy.
func TestBrokenSchoolsAreNotAnOutage(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]bare{"500": failing(500), "404": failing(404), "HTML": func(*http.Request) (*http.Response, error) {
		return reply(200, "<html>"), nil
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j requestLog
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					j.add(schoolOf(r))
					if strings.HasPrefix(schoolOf(r), "bad") {
						return failure(r)
					}
					return reply(200, "[]"), nil
				}), func(o *extract.Options) { o.Retries = 3 })
				for _, o := range fetch(t.Context(), c, named("good", 3)...) {
					require.NoError(t, o.err)
				}
				sum := extract.Tally{Requests: 3, Pages: 3}
				for school, o := range fetch(t.Context(), c, named("bad", 5)...) {
					e := asError(t, o.err)
					require.NotErrorIs(t, o.err, extract.ErrGaveUp, school)
					require.GreaterOrEqual(t, e.Attempts, 4)
					require.Less(t, o.after, 5*time.Minute)
					sum.Requests += o.tally.Requests
					sum.Retries += o.tally.Retries
				}
				again := len(j.of("good0")) + len(j.of("good1")) + len(j.of("good2")) - 3
				require.Positive(t, again)
				require.Less(t, again, 15)
				require.Equal(t, c.Stats().Requests, sum.Requests, "every request is in a tally")
				require.Equal(t, c.Stats().Retries, sum.Retries)
			})
		})
	}
}

// TestOwnSuccessIsNotACanary has only the probe's own school succeed: that call is not sent again as a canary.
func TestOwnSuccessIsNotACanary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		var down atomic.Bool
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if !down.Load() {
				return reply(200, "[]"), nil
			}
			if schoolOf(r) == "a" {
				served.Add(1)
			}
			return reply(500, ""), nil
		}), noRetries)
		_, err := c.Get(t.Context(), results("a"), discard)
		require.NoError(t, err)
		down.Store(true)
		for _, school := range []string{"b", "c"} {
			_, err = c.Get(t.Context(), results(school), discard)
			require.Equal(t, 1, asError(t, err).Attempts)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond) // before the second probe
		defer cancel()
		_, err = c.Get(ctx, results("a"), discard)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 1, served.Load())
	})
}

// TestLaterPagesAreNotCanaries fails all first pages: a later page is not sent again as a canary.
func TestLaterPagesAreNotCanaries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var cursors atomic.Int64
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.URL.Query().Get("next-page") != "":
				cursors.Add(1)
				return reply(200, ""), nil
			case down.Load():
				return reply(500, ""), nil
			}
			return reply(200, "cursor"), nil
		}), func(o *extract.Options) { o.GiveUpAfter = time.Minute })
		_, err := c.List(t.Context(), results("good"), nextOf)
		require.NoError(t, err)
		down.Store(true)
		for _, o := range fetch(t.Context(), c, "a", "b", "c") {
			require.ErrorIs(t, o.err, extract.ErrGaveUp)
		}
		require.EqualValues(t, 1, cursors.Load())
	})
}

// TestCanaryIsOfAnotherSchool fails one call of each school while another call of two schools succeeds: a school's own
// success is not its canary, and does not replace the other school's canary.
func TestCanaryIsOfAnotherSchool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			j.add(schoolOf(r) + r.URL.Query().Get("student"))
			if r.URL.Query().Get("student") == "/bad" {
				return reply(500, ""), nil
			}
			return reply(200, "[]"), nil
		}), noRetries)
		ask := func(school, student string) error {
			call := results(school)
			call.Query = append(call.Query, extract.Param{Name: "student", Value: student})
			_, err := c.Get(t.Context(), call, discard)
			return err
		}
		for _, school := range []string{"b", "a", "a"} {
			require.NoError(t, ask(school, "/good"))
		}
		for _, school := range []string{"c", "d", "a", "a", "c", "d"} {
			require.Equal(t, 500, asError(t, ask(school, "/bad")).Status)
		}
		var requested []string
		for _, e := range j.of("")[3:] {
			requested = append(requested, e.school)
		}
		require.Equal(t, []string{"c/bad", "d/bad", "a/bad", "b/good", "a/bad", "c/bad", "d/bad", "a/good"}, requested)
	})
}

// TestDeadOperationPausesNothing has an operation fail for every school while others succeed, or would succeed: its
// schools fail after a few retries, without a pause.
func TestDeadOperationPausesNothing(t *testing.T) {
	t.Parallel()
	students := func(school string) extract.Call {
		return extract.Call{
			Operation: "students", Template: "/organizations/v1/schools/{school_bid}/students", School: school,
			Path: map[string]string{"school_bid": school},
		}
	}
	for name, test := range map[string]struct {
		status    int
		succeeded []extract.Call
		canaries  []extract.Call
	}{
		"404 while another operation succeeds":        {status: 404, succeeded: []extract.Call{students("other")}},
		"500 while another operation succeeds":        {status: 500, succeeded: []extract.Call{students("other")}},
		"404 before another operation is called":      {status: 404, canaries: []extract.Call{results("a"), students("a"), students("b")}},
		"503 before another operation is called":      {status: 503, canaries: []extract.Call{results("a"), students("a"), students("b")}},
		"404 while only the list of schools succeeds": {status: 404, succeeded: []extract.Call{schools()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lockedText
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, growth) {
						return reply(test.status, ""), nil
					}
					return reply(200, "[]"), nil
				}), func(o *extract.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				for _, call := range test.succeeded {
					_, err := c.Get(t.Context(), call, discard)
					require.NoError(t, err)
				}
				c.AddCanaries(test.canaries...)
				var first, later int64
				for range 50 {
					for _, o := range fetch(t.Context(), c, named("s", 10)...) {
						require.Equal(t, test.status, asError(t, o.err).Status)
						require.Less(t, o.after, 6*time.Minute)
						if first, later = max(first, o.tally.Requests), o.tally.Requests; later == 1 {
							require.ErrorContains(t, o.err, "not tried again, because this operation fails for every school")
							require.False(t, extract.NotFound(o.err), "it was not tried as often as a record that may be gone")
						}
					}
				}
				require.Greater(t, first, int64(9), "attempts of the first schools, with canaries")
				require.EqualValues(t, 1, later)
				require.Contains(t, log.String(), "operation test_results fails for every school (status ")
				if test.status != 503 { // a 503 may also come from an overloaded service
					require.NotContains(t, log.String(), "pausing")
				}
			})
		})
	}
}

// TestDeadOperationComesBack expects that calls are retried again as soon as one has succeeded.
func TestDeadOperationComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, growth) && (!up.Load() || schoolOf(r) == "broken") {
				return reply(404, ""), nil
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.Retries = 2 })
		_, err := c.Get(t.Context(), schools(), discard)
		require.NoError(t, err)
		fetch(t.Context(), c, named("s", 5)...)
		_, err = c.Get(t.Context(), results("dead"), discard)
		require.Equal(t, 1, asError(t, err).Attempts)
		up.Store(true)
		_, err = c.Get(t.Context(), results("good"), discard)
		require.NoError(t, err)
		_, err = c.Get(t.Context(), results("broken"), discard)
		require.Equal(t, 3, asError(t, err).Attempts)
	})
}

// TestServiceThatAnswersNothingIsAnOutage expects an outage no matter which calls succeeded before the service went
// down, even while the lists of schools and districts still succeed.
func TestServiceThatAnswersNothingIsAnOutage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		lists  bool // the lists still succeed
	}{"404": {404, false}, "503": {503, false}, "503 but for the lists": {503, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					if down.Load() && (!test.lists || !strings.HasSuffix(r.URL.Path, "/schools")) {
						return reply(test.status, ""), nil
					}
					return reply(200, "[]"), nil
				}))
				_, err := c.Get(t.Context(), schools(), discard)
				require.NoError(t, err)
				for _, o := range fetch(t.Context(), c, named("before", 3)...) {
					require.NoError(t, o.err)
				}
				down.Store(true)
				for _, o := range fetch(t.Context(), c, named("s", 5)...) {
					require.ErrorIs(t, o.err, extract.ErrGaveUp)
				}
			})
		})
	}
}
