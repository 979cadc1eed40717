package extract

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bounds of the delay between attempts.
const (
	minRetryDelay = 500 * time.Millisecond
	maxRetryDelay = 30 * time.Second
)

// retryDelay returns the delay before the next attempt, after n retries. The delay doubles up to half a minute. Half of
// it is random, so that requests that failed together are not retried together.
func retryDelay(n int) time.Duration {
	limit := min(maxRetryDelay, minRetryDelay<<min(n+1, 16))
	return limit/2 + rand.N(limit-limit/2+1)
}

// sleep waits for d. If ctx is cancelled first, it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// budget limits the time for a lookup or a token request, counted from its first attempt (--give-up-after). A nil
// budget is unlimited.
type budget struct {
	limit   time.Duration
	started time.Time // zero before the first attempt
	last    *failure  // nil until an attempt has failed
}

// start records an attempt and returns the maximum duration of the attempt, which is at most timeout.
func (b *budget) start(timeout time.Duration) time.Duration {
	if b == nil {
		return timeout
	}
	if b.started.IsZero() {
		b.started = time.Now()
	}
	return min(timeout, b.limit)
}

// bound returns a context that is cancelled when the budget is used up. Before the first failure it returns ctx
// unchanged, because start limits the first attempt.
func (b *budget) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if b == nil || b.last == nil {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, b.started.Add(b.limit), gaveUp(b.limit, b.last.cause()))
}

// sleep waits before the next attempt. f is the failure of the last attempt. It returns an error if ctx is cancelled or
// the budget is used up first.
func (b *budget) sleep(ctx context.Context, f *failure, delay time.Duration) error {
	if b != nil {
		b.last = f
	}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	return sleep(ctx, delay)
}
