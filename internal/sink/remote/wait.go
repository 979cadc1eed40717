package remote

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.org/growthexport/internal/sink"
)

// CheckAttempts and CheckMaxBackoff limit the attempts and the waits of checks whose result a user is waiting for.
const (
	CheckAttempts   = 10
	CheckMaxBackoff = time.Second
)

const (
	// CleanUpPatience is the maximum time for removing the leftovers of a failed or cancelled upload.
	CleanUpPatience = 15 * time.Second
	// MaxIdleConnections is the maximum number of idle connections that are kept open to a host. It is large enough for
	// all concurrent requests, because opening a connection takes longer than a request.
	MaxIdleConnections = sink.MaxConcurrency + 16
)

const (
	firstWait          = 100 * time.Millisecond
	firstThrottledWait = 500 * time.Millisecond
	maxDoublings       = 20
)

// Backoff returns the wait after an attempt. Attempts are counted from 1. The wait is short after the first attempt, or
// longer if the store is throttling, and doubles with each attempt up to maxWait. A random part of up to half is then
// subtracted.
func Backoff(attempt int, throttled bool, maxWait time.Duration) time.Duration {
	wait := firstWait
	if throttled {
		wait = firstThrottledWait
	}
	wait = min(wait<<min(attempt-1, maxDoublings), maxWait)
	return wait - rand.N(wait/2+1)
}

// Waits returns zero, followed by doubling waits of up to maxWait that add up to at least total.
func Waits(first, maxWait, total time.Duration) []time.Duration {
	list := []time.Duration{0}
	for wait, sum := first, time.Duration(0); sum < total; wait = min(2*wait, maxWait) {
		list = append(list, wait)
		sum += wait
	}
	return list
}

// Pause waits for the given time. If ctx is done first, it returns the cause.
func Pause(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Answer caches whether a server has a certain behaviour that can only be determined by trying.
type Answer struct {
	known  atomic.Pointer[bool]
	trying sync.Mutex
}

// Known returns whether the server has the behaviour, and whether that is known.
func (a *Answer) Known() (does, known bool) {
	if answer := a.known.Load(); answer != nil {
		return *answer, true
	}
	return false, false
}

// Set records whether the server has the behaviour.
func (a *Answer) Set(does bool) { a.known.Store(&does) }

// Ask returns whether the server has the behaviour. If that is not known yet, Ask calls try, in one goroutine at a
// time. If try fails, the behaviour remains unknown.
func (a *Answer) Ask(try func() (bool, error)) (does bool, err error) {
	if does, known := a.Known(); known {
		return does, nil
	}
	a.trying.Lock()
	defer a.trying.Unlock()
	if does, known := a.Known(); known {
		return does, nil
	}
	if does, err = try(); err == nil {
		a.Set(does)
	}
	return does, err
}
