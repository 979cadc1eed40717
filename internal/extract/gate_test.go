package extract_test

import (
	"context"
	"errors"
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

// outcome is how a school's call ended.
type outcome struct {
	tally extract.Tally
	err   error
	after time.Duration
}

// fetch asks for the results of every school at once.
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

// outage answers 200 but for a time.
func outage(j *journal, began time.Time, from, to time.Duration, failure bare) fake {
	return func(r *http.Request) (*http.Response, error) {
		j.note(schoolOf(r))
		if now := time.Since(began); now >= from && now < to {
			return failure(r)
		}
		return reply(200, "[]"), nil
	}
}

func failing(status int) bare {
	return func(*http.Request) (*http.Response, error) { return reply(status, ""), nil }
}

func TestTroublePausesAllUntilOneSucceeds(t *testing.T) {
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
				var j journal
				c := dial(t, outage(&j, began, 0, lasts, failure), func(o *extract.Options) {
					o.Retries, o.RequestTimeout = 1, 10*time.Second
				})
				schools := named("s", 20)
				for school, o := range fetch(t.Context(), c, schools...) {
					require.NoError(t, o.err, school)
					require.Less(t, o.after, lasts+time.Minute)
				}
				// Some are sent before the trouble is known. From then on one at a time, with waits that grow to half a minute.
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

// TestProbesGoRound has schools take turns, so that one that is broken for ever cannot keep the others from probing.
func TestProbesGoRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		schools := named("broken", 5)
		c := dial(t, outage(&j, time.Now(), 0, time.Hour, failing(500)), func(o *extract.Options) { o.Retries = 1 })
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

func TestTroubleThatLastsIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]bare{
		"503":   failing(503),
		"stall": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"rest": func(*http.Request) (*http.Response, error) {
			// Virtual time begins with the year 2000. All have failed once when the service first asks for a rest.
			if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < time.Second/4 {
				return reply(503, ""), nil
			}
			return reply(503, "", "Retry-After", "290"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j journal
				// The stall's first attempts end together after 50 seconds, which is when the trouble begins.
				c := dial(t, outage(&j, time.Now(), 0, time.Hour, failure), func(o *extract.Options) {
					o.GiveUpAfter, o.RequestTimeout = 5*time.Minute, 50*time.Second
				})
				for school, o := range fetch(t.Context(), c, named("s", 6)...) {
					require.ErrorIs(t, o.err, extract.ErrGaveUp, school)
					require.True(t, extract.EndsRun(o.err))
					require.GreaterOrEqual(t, o.after, 5*time.Minute)
					require.LessOrEqual(t, o.after, 5*time.Minute+51*time.Second)
					e := asError(t, o.err)
					require.Equal(t, school, e.School)
					require.ErrorContains(t, o.err, "gave up on the service: nothing succeeded for 5m (--give-up-after), last failure: ")
					if name == "503" {
						require.Equal(t, 503, e.Status)
					}
				}
				asked := len(j.of(""))
				_, err := c.Get(t.Context(), results("late"), discard)
				require.ErrorIs(t, err, extract.ErrGaveUp)
				require.Len(t, j.of(""), asked, "nothing more is asked")
			})
		})
	}
}

// TestAttemptsInTroubleDoNotCount has eight requests in flight when the service goes down, and no retries: the two that fail
// before it is known to be in trouble are lost, the others are not.
func TestAttemptsInTroubleDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		c := dial(t, outage(&j, time.Now(), 0, 5*time.Minute, failing(500)), noRetries)
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

func TestNoTroubleBelowThreeSchools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		c := dial(t, outage(&j, time.Now(), 0, 24*time.Hour, failing(500)))
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

func TestSuccessBetweenFailuresIsNoTrouble(t *testing.T) {
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

// TestProbeThatFailsAfterTheTrouble was sent in it, so it does not count, though a request from before has ended it meanwhile.
func TestProbeThatFailsAfterTheTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var probed atomic.Bool
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			switch {
			case schoolOf(r) == "slow":
				after(r.Context(), 10*time.Second)
			case time.Since(began) == 0:
				return reply(500, ""), nil
			case probed.CompareAndSwap(false, true):
				after(r.Context(), 20*time.Second)
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

func TestLookupsHaveNothingToDoWithTrouble(t *testing.T) {
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
		// A lookup that names a school does not either.
		for _, school := range []string{"a", "b", "c", "d"} {
			call := results(school)
			call.Lookup = true
			_, err := c.Get(t.Context(), call, discard)
			require.Equal(t, 3, asError(t, err).Attempts)
		}
		lookupsFail.Store(false)
		done := make(chan map[string]outcome, 1)
		go func() { done <- fetch(t.Context(), c, "a", "b", "c") }()
		after(t.Context(), 20*time.Second)
		start := time.Now()
		require.NoError(t, lookup())
		require.Zero(t, time.Since(start), "in the middle of the trouble")
		for _, o := range <-done {
			require.ErrorIs(t, o.err, extract.ErrGaveUp, "a lookup's success does not end it")
		}
	})
}

// TestDenialsInTrouble has denied schools pass through without a wait and without ending the trouble.
func TestDenialsInTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(schoolOf(r), "denied") {
				after(r.Context(), time.Second)
				return reply(403, ""), nil
			}
			return reply(500, ""), nil
		}), func(o *extract.Options) { o.GiveUpAfter, o.Concurrency = time.Minute, 3 })
		done := make(chan map[string]outcome, 1)
		go func() { done <- fetch(t.Context(), c, "a", "b", "c") }()
		after(t.Context(), time.Second/4)
		for school, o := range fetch(t.Context(), c, named("denied", 5)...) {
			require.ErrorIs(t, o.err, extract.ErrDenied, school)
		}
		for school, o := range <-done {
			require.ErrorIs(t, o.err, extract.ErrGaveUp, school)
			require.LessOrEqual(t, o.after, time.Minute+time.Second)
		}
	})
}

// TestProberThatIsCancelled leaves its turn to the next.
func TestProberThatIsCancelled(t *testing.T) {
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
						after(r.Context(), 55*time.Second)
						return nil, errors.New("reset")
					}
					return reply(200, "[]"), nil
				}))
				ctx, cancel := context.WithCancel(t.Context())
				first := make(chan map[string]outcome, 1)
				go func() { first <- fetch(ctx, c, "a1", "a2", "a3") }()
				after(t.Context(), 5*time.Millisecond)
				second := make(chan map[string]outcome, 1)
				go func() { second <- fetch(t.Context(), c, "b") }()
				after(t.Context(), moment)
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

// TestRequestsOnTheirWayAreHeld has requests wait for the rate when the trouble begins: they go back and wait with the others.
func TestRequestsOnTheirWayAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		c := dial(t, outage(&j, time.Now(), 0, 10*time.Minute, failing(500)), func(o *extract.Options) {
			o.RatePerSecond, o.Concurrency, o.Retries = 1, 16, 2
			o.Credentials.AccessToken = "T"
		})
		outcomes := fetch(t.Context(), c, named("s", 30)...)
		for _, o := range outcomes {
			require.NoError(t, o.err)
		}
		// The first three begin the trouble; the waits between probes grow from there on.
		entries := j.of("")
		require.GreaterOrEqual(t, entries[8].at.Sub(entries[0].at), 60*time.Second)
		require.Less(t, len(entries), 30+50)
		require.EqualValues(t, len(entries), c.Stats().Requests, "what is held back is no request")
	})
}
