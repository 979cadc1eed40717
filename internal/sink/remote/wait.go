package remote

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.org/growthexport/internal/sink"
)

// CheckAttempts and CheckMaxBackoff limit the attempts and the waits of checks that a user waits for.
const (
	CheckAttempts   = 10
	CheckMaxBackoff = time.Second
)

const (
	// CleanUpPatience bounds the time for removing the leftovers of a failed or cancelled upload.
	CleanUpPatience = 15 * time.Second
	// MaxIdleConnections is the maximum number of idle connections that are kept open to a host. It is enough for all
	// concurrent requests, because a new connection costs more than a request.
	MaxIdleConnections = sink.MaxConcurrency + 16
)

const (
	firstWait          = 100 * time.Millisecond
	firstThrottledWait = 500 * time.Millisecond
	maxDoublings       = 20
)

// Backoff returns the wait after an attempt; attempts are counted from 1. It starts with a short wait, or a longer one
// if the store is throttling, doubles it with each attempt up to maxWait, and subtracts a random part of up to half.
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

// Pause waits, or returns the cause if ctx is done first.
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

// Answer caches one aspect of a server's behaviour, which has to be determined by trying.
type Answer struct {
	known  atomic.Pointer[bool]
	trying sync.Mutex
}

// Known returns the behaviour and whether it is known.
func (a *Answer) Known() (does, known bool) {
	if answer := a.known.Load(); answer != nil {
		return *answer, true
	}
	return false, false
}

// Set records the behaviour, which is then known.
func (a *Answer) Set(does bool) { a.known.Store(&does) }

// Ask returns the behaviour. If it is not known yet, Ask calls try; only one caller tries at a time. After an error,
// the behaviour is still unknown.
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
