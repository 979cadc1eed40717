package extract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// outcome is the result of a school's call, and when it ended.
type outcome struct {
	tally extract.Tally
	err   error
	after time.Duration
}

// fetch gets the results of all schools concurrently.
func fetch(ctx context.Context, c *extract.Client, schools ...string) map[string]outcome {
	var mu sync.Mutex
	var wg sync.WaitGroup
	outcomes := make(map[string]outcome)
	start := time.Now()
	for _, school := range schools {
		wg.Go(func() {
			tally, err := c.Get(ctx, results(school), wantJSON)
			mu.Lock()
			defer mu.Unlock()
			outcomes[school] = outcome{tally, err, time.Since(start)}
		})
	}
	wg.Wait()
	return outcomes
}

func named(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}

// outageBetween responds with 200 except between two times.
func outageBetween(j *requestLog, began time.Time, from, to time.Duration, failure bare) fake {
	return func(r *http.Request) (*http.Response, error) {
		j.add(schoolOf(r))
		if now := time.Since(began); now >= from && now < to {
			return failure(r)
		}
		return reply(200, "[]"), nil
	}
}

func failing(status int) bare {
	return func(*http.Request) (*http.Response, error) { return reply(status, ""), nil }
}

func TestOutagePausesAllUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]bare{
		"503":   failing(503),
		"429":   failing(429),
		"404":   failing(404),
		"reset": func(*http.Request) (*http.Response, error) { return nil, errors.New("reset") },
		"HTML":  func(*http.Request) (*http.Response, error) { return reply(200, "<html>"), nil },
		"stall": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const lasts = 20 * time.Minute
				began, known := time.Now(), time.Duration(0)
				if name == "stall" {
					known = 10 * time.Second
				}
				var j requestLog
				c := dial(t, outageBetween(&j, began, 0, lasts, failure), func(o *extract.Options) {
					o.Retries, o.RequestTimeout = 1, 10*time.Second
				})
				schools := named("s", 20)
				for school, o := range fetch(t.Context(), c, schools...) {
					require.NoError(t, o.err, school)
					require.Less(t, o.after, lasts+time.Minute)
				}
				// A few requests are sent before the breaker opens. From then on there is one at a time, with delays of up to half
				// a minute.
				probes := slices.DeleteFunc(j.of(""), func(e entry) bool { return e.at.Sub(began) <= known })
				require.LessOrEqual(t, len(j.of(""))-len(probes), 16)
				waits := gaps(probes[:len(probes)-len(schools)+1])
				require.Greater(t, len(waits), 25)
				require.Less(t, len(waits), 90)
				for i, wait := range waits[:len(waits)-1] {
					require.GreaterOrEqual(t, wait, min(30*time.Second, time.Second<<i)/2, "wait %d", i)
					require.LessOrEqual(t, wait, 40*time.Second)
				}
			})
		})
	}
}

// TestSchoolsProbeInTurn checks that a school that always fails cannot keep the others from probing.
func TestSchoolsProbeInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		schools := named("broken", 5)
		c := dial(t, outageBetween(&j, time.Now(), 0, time.Hour, failing(500)), func(o *extract.Options) { o.Retries = 1 })
		for school, o := range fetch(t.Context(), c, schools...) {
			require.ErrorIs(t, o.err, extract.ErrGaveUp)
			require.Greater(t, len(j.of(school)), 10)
		}
		probes := j.of("")[5:]
		for i := range probes[5:] {
			require.Equal(t, probes[i].school, probes[i+5].school)
		}
	})
}

func TestLastingOutageIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]bare{
		"503":   failing(503),
		"stall": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"rest": func(*http.Request) (*http.Response, error) {
			// Virtual time begins with the year 2000. All schools have failed once before the first Retry-After.
			if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < time.Second/4 {
				return reply(503, ""), nil
			}
			return reply(503, "", "Retry-After", "290"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j requestLog
				// The stalled first attempts end together after 50 seconds, when the breaker opens.
				c := dial(t, outageBetween(&j, time.Now(), 0, time.Hour, failure), func(o *extract.Options) {
					o.GiveUpAfter, o.RequestTimeout = 5*time.Minute, 50*time.Second
				})
				for school, o := range fetch(t.Context(), c, named("s", 6)...) {
					require.ErrorIs(t, o.err, extract.ErrGaveUp, school)
					require.True(t, extract.EndsRun(o.err))
					require.GreaterOrEqual(t, o.after, 5*time.Minute)
					require.LessOrEqual(t, o.after, 5*time.Minute+51*time.Second)
					e := asError(t, o.err)
					require.Equal(t, school, e.School)
					require.ErrorContains(t, o.err, "gave up on the service: no request succeeded for 5m (--give-up-after), last failure: ")
					if name == "503" {
						require.Equal(t, 503, e.Status)
					}
				}
				requested := len(j.of(""))
				_, err := c.Get(t.Context(), results("late"), discard)
				require.ErrorIs(t, err, extract.ErrGaveUp)
				require.Len(t, j.of(""), requested, "no further requests")
			})
		})
	}
}

// TestAttemptsInAnOutageDoNotCount has eight requests in flight when the service goes down, and no retries: only the
// two calls that fail before the breaker opens are lost.
func TestAttemptsInAnOutageDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		c := dial(t, outageBetween(&j, time.Now(), 0, 5*time.Minute, failing(500)), noRetries)
		lost := 0
		for _, o := range fetch(t.Context(), c, named("s", 30)...) {
			if o.err != nil {
				require.Equal(t, 500, asError(t, o.err).Status)
				lost++
			}
		}
		require.Equal(t, 2, lost)
	})
}

func TestNoOutageBelowThreeSchools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		c := dial(t, outageBetween(&j, time.Now(), 0, 24*time.Hour, failing(500)))
		defer c.Beside()()
		for _, o := range fetch(t.Context(), c, "a", "b") {
			require.Equal(t, 500, asError(t, o.err).Status)
			require.Equal(t, 9, asError(t, o.err).Attempts)
		}
		// Many calls of two schools are still two schools.
		for _, o := range fetch(t.Context(), c, "a", "a", "a", "b", "b") {
			require.Equal(t, 9, asError(t, o.err).Attempts)
		}
	})
}

// TestOutageWithFewRequestsInFlight begins while one or two schools are left to fetch, or one request is sent at a
// time. No school fails, and the time until the client gives up is exact.
func TestOutageWithFewRequestsInFlight(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]bare{
		"503": failing(503), "404": failing(404), "reset": func(*http.Request) (*http.Response, error) { return nil, errors.New("reset") },
	} {
		for concurrency, schools := range map[int]int{1: 6, 2: 1, 8: 2} {
			for _, lasts := range []time.Duration{10 * time.Minute, 24 * time.Hour} {
				t.Run(fmt.Sprintf("%s %d %s", name, concurrency, lasts), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						began := time.Now()
						c := dial(t, outageBetween(new(requestLog), began, 0, lasts, failure), func(o *extract.Options) { o.Concurrency = concurrency })
						for school, o := range fetch(t.Context(), c, named("s", schools)...) {
							if lasts < 30*time.Minute {
								require.NoError(t, o.err, school)
								require.Less(t, o.after, lasts+40*time.Second)
								continue
							}
							require.ErrorIs(t, o.err, extract.ErrGaveUp, school)
							require.Equal(t, 30*time.Minute, o.after)
						}
					})
				})
			}
		}
	}
}

// TestLastBrokenSchool expects the client to give up on a school that always fails, even if nothing else is being
// fetched, because a canary succeeds. The canary may be another operation of the same school.
func TestLastBrokenSchool(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 500, 503, 504} {
		for _, other := range []string{"good", "broken"} {
			t.Run(fmt.Sprint(status, other), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
						if strings.HasSuffix(r.URL.Path, growth) && schoolOf(r) == "broken" {
							return reply(status, ""), nil
						}
						return reply(200, "[]"), nil
					}))
					call := results(other)
					if other == "broken" {
						call.Operation, call.Template = "students", "/students"
					}
					_, err := c.Get(t.Context(), call, discard)
					require.NoError(t, err)
					o := fetch(t.Context(), c, "broken")["broken"]
					require.Equal(t, status, asError(t, o.err).Status)
					require.NotErrorIs(t, o.err, extract.ErrGaveUp)
					require.Less(t, o.after, 5*time.Minute)
				})
			})
		}
	}
}

func TestNoOutageWithSuccessesBetween(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(schoolOf(r), "bad") {
				return reply(500, ""), nil
			}
			return reply(200, "[]"), nil
		}), noRetries)
		for _, school := range []string{"bad1", "bad2", "good", "bad3", "bad4", "good", "bad5"} {
			_, err := c.Get(t.Context(), results(school), discard)
			if school == "good" {
				require.NoError(t, err)
				continue
			}
			require.Equal(t, 1, asError(t, err).Attempts, school)
			require.Equal(t, 500, asError(t, err).Status, school)
		}
	})
}

// TestProbeThatFailsAfterTheOutage expects that a failed probe does not count if an older request has closed the
// breaker since the probe was sent.
func TestProbeThatFailsAfterTheOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var probed atomic.Bool
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			switch {
			case schoolOf(r) == "slow":
				wait(r.Context(), 10*time.Second)
			case time.Since(began) == 0:
				return reply(500, ""), nil
			case probed.CompareAndSwap(false, true):
				wait(r.Context(), 20*time.Second)
				return reply(500, ""), nil
			}
			return reply(200, "[]"), nil
		}), func(o *extract.Options) { o.Retries = 1 })
		for school, o := range fetch(t.Context(), c, "slow", "a", "b", "c") {
			require.NoError(t, o.err, school)
		}
		require.True(t, probed.Load())
	})
}

func TestBreakerIgnoresLookups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lookupsFail atomic.Bool
		lookupsFail.Store(true)
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if schoolOf(r) == "" && !lookupsFail.Load() {
				return reply(200, "[]"), nil
			}
			return reply(500, ""), nil
		}), func(o *extract.Options) { o.Retries, o.GiveUpAfter = 2, time.Minute })
		lookup := func() error {
			_, err := c.Get(t.Context(), schools(), discard)
			return err
		}
		for range 4 {
			require.Equal(t, 3, asError(t, lookup()).Attempts)
		}
		// The same applies to a lookup with a school.
		for _, school := range []string{"a", "b", "c", "d"} {
			call := results(school)
			call.Lookup = true
			_, err := c.Get(t.Context(), call, discard)
			require.Equal(t, 3, asError(t, err).Attempts)
		}
		lookupsFail.Store(false)
		done := make(chan map[string]outcome, 1)
		go func() { done <- fetch(t.Context(), c, "a", "b", "c") }()
		wait(t.Context(), 20*time.Second)
		start := time.Now()
		require.NoError(t, lookup())
		require.Zero(t, time.Since(start), "during the outage")
		for _, o := range <-done {
			require.ErrorIs(t, o.err, extract.ErrGaveUp, "a successful lookup does not close the breaker")
		}
	})
}

// TestLookupsWaitInAnOutage expects that attempts of a lookup do not count against the retries while nothing succeeds, unless only few
// retries are allowed or the service answers other requests.
func TestLookupsWaitInAnOutage(t *testing.T) {
	t.Parallel()
	districts := func(district string) extract.Call {
		return extract.Call{Operation: "districts", Template: "/organizations/v1/districts/", District: district, Lookup: true}
	}
	for name, test := range map[string]struct {
		outage    time.Duration // of all requests
		status    int           // of schools, also after the outage
		answering bool          // districts were read before
		change    func(o *extract.Options)
		after     time.Duration // when the client gives up
		attempts  int           // of another error
	}{
		"ends":              {outage: 10 * time.Minute, status: 200},
		"does not end":      {outage: time.Hour, after: 30 * time.Minute},
		"not found":         {status: 404, attempts: 9},
		"answering others":  {status: 500, answering: true, attempts: 9},
		"answering nothing": {status: 500, after: 30 * time.Minute},
		"few retries":       {status: 500, change: func(o *extract.Options) { o.Retries = 2 }, attempts: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var began time.Time
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					switch {
					case !began.IsZero() && time.Since(began) < test.outage:
						return reply(503, ""), nil
					case strings.HasSuffix(r.URL.Path, "/schools"):
						return reply(test.status, "[]"), nil
					}
					return reply(200, "[]"), nil
				}), func(o *extract.Options) {
					if test.change != nil {
						test.change(o)
					}
				})
				if test.answering {
					_, err := c.Get(t.Context(), districts(""), discard)
					require.NoError(t, err)
				}
				began = time.Now()
				_, err := c.Get(t.Context(), schools(), discard)
				after := time.Since(began)
				switch {
				case test.after > 0:
					require.ErrorIs(t, err, extract.ErrGaveUp)
					require.Equal(t, test.after, after)
				case test.attempts == 0:
					require.NoError(t, err)
					require.InDelta(t, test.outage, after, float64(30*time.Second))
				default:
					require.Equal(t, test.attempts, asError(t, err).Attempts)
					require.Less(t, after, 2*time.Minute)
				}
			})
		})
	}
}

// TestDenialsInAnOutage expects that denied calls neither wait nor close the breaker.
func TestDenialsInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(schoolOf(r), "denied") {
				wait(r.Context(), time.Second)
				return reply(403, ""), nil
			}
			return reply(500, ""), nil
		}), func(o *extract.Options) { o.GiveUpAfter, o.Concurrency = time.Minute, 3 })
		done := make(chan map[string]outcome, 1)
		go func() { done <- fetch(t.Context(), c, "a", "b", "c") }()
		wait(t.Context(), time.Second/4)
		for school, o := range fetch(t.Context(), c, named("denied", 5)...) {
			require.ErrorIs(t, o.err, extract.ErrDenied, school)
		}
		for school, o := range <-done {
			require.ErrorIs(t, o.err, extract.ErrGaveUp, school)
			require.LessOrEqual(t, o.after, time.Minute+time.Second)
		}
	})
}

// TestCancelledProbe expects that a cancelled probe leaves its turn to the next request.
func TestCancelledProbe(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]time.Duration{"waiting": 10 * time.Millisecond, "asking": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
					switch {
					case time.Since(began) == 0:
						return reply(500, ""), nil
					case strings.HasPrefix(schoolOf(r), "a"):
						wait(r.Context(), 55*time.Second)
						return nil, errors.New("reset")
					}
					return reply(200, "[]"), nil
				}))
				ctx, cancel := context.WithCancel(t.Context())
				first := make(chan map[string]outcome, 1)
				go func() { first <- fetch(ctx, c, "a1", "a2", "a3") }()
				wait(t.Context(), 5*time.Millisecond)
				second := make(chan map[string]outcome, 1)
				go func() { second <- fetch(t.Context(), c, "b") }()
				wait(t.Context(), moment)
				stopped := time.Now()
				cancel()
				for _, o := range <-first {
					require.ErrorIs(t, o.err, context.Canceled)
				}
				require.Zero(t, time.Since(stopped))
				require.NoError(t, (<-second)["b"].err)
				require.LessOrEqual(t, time.Since(stopped), 2*time.Second)
			})
		})
	}
}

// TestRequestsWaitingForTheRateAreHeld expects that requests waiting for the rate are held back like all others when
// the breaker opens.
func TestRequestsWaitingForTheRateAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j requestLog
		c := dial(t, outageBetween(&j, time.Now(), 0, 10*time.Minute, failing(500)), func(o *extract.Options) {
			o.RatePerSecond, o.Concurrency, o.Retries = 1, 16, 2
			o.Credentials.AccessToken = "T"
		})
		outcomes := fetch(t.Context(), c, named("s", 30)...)
		for _, o := range outcomes {
			require.NoError(t, o.err)
		}
		// The first three open the breaker; from then on the delays between probes grow.
		entries := j.of("")
		require.GreaterOrEqual(t, entries[8].at.Sub(entries[0].at), 60*time.Second)
		require.Less(t, len(entries), 30+50)
		require.EqualValues(t, len(entries), c.Stats().Requests, "held requests are not sent")
	})
}
