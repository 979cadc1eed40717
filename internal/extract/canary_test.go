package extract_test

import (
	"net/http"
	"strings"
	"sync"
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

// TestCanariesOfOtherSchoolsOnly has successes only of the probe's own school and of another operation: they are not
// sent again.
func TestCanariesOfOtherSchoolsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		var down atomic.Bool
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if down.Load() && strings.HasSuffix(r.URL.Path, growth) {
				return reply(500, ""), nil
			}
			served.Add(1)
			return reply(200, "[]"), nil
		}))
		_, err := c.Get(t.Context(), extract.Call{Operation: "students", Template: "/students", School: "other"}, discard)
		require.NoError(t, err)
		_, err = c.Get(t.Context(), results("a"), discard)
		require.NoError(t, err)
		down.Store(true)
		for _, o := range fetch(t.Context(), c, "a", "b", "c") {
			require.ErrorIs(t, o.err, extract.ErrGaveUp)
		}
		require.EqualValues(t, 2, served.Load())
	})
}

// TestLaterPagesAreNotCanaries fails all first pages: the cursor of a later one is not sent again.
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

// TestCanaryIsOfAnotherSchool fails one call of each school while another call of two of them succeeds: a school's own
// success is not its canary, and does not replace the other school's.
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
		}), func(o *extract.Options) { o.Concurrency = 1 })
		ask := func(school, student string) error {
			call := results(school)
			call.Query = append(call.Query, extract.Param{Name: "student", Value: student})
			_, err := c.Get(t.Context(), call, discard)
			return err
		}
		for _, school := range []string{"b", "a", "a"} {
			require.NoError(t, ask(school, "/good"))
		}
		var wg sync.WaitGroup
		for _, school := range []string{"a", "c", "d"} {
			wg.Go(func() {
				if err := ask(school, "/bad"); extract.EndsRun(err) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		requested := j.of("")[3:]
		for i, e := range requested {
			if strings.HasSuffix(e.school, "/good") {
				want := "a/good"
				if requested[i-1].school == "a/bad" {
					want = "b/good"
				}
				require.Equal(t, want, e.school)
			}
		}
		require.Greater(t, len(j.of("a/good")), 2)
		require.Greater(t, len(j.of("b/good")), 1)
	})
}
