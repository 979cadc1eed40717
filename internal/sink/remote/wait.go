package remote

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// CleanUpPatience bounds the time to drop what a failed or cancelled upload has left.
const CleanUpPatience = 15 * time.Second

// Waits returns zero and then doubling waits up to maxWait that add up to total.
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

// Answer is the behaviour of a server, as a test has shown it.
type Answer struct {
	known  atomic.Pointer[bool]
	trying sync.Mutex
}

// Known returns what was found, or false if nothing was.
func (a *Answer) Known() (does, known bool) {
	if answer := a.known.Load(); answer != nil {
		return *answer, true
	}
	return false, false
}

// Set sets what was found.
func (a *Answer) Set(does bool) { a.known.Store(&does) }

// Ask returns what was found, or what try finds. Only one caller tries at a time.
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
