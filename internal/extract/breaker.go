package extract

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// minFailingSchools is how many schools must fail, with no success between, to open the breaker.
const minFailingSchools = 3

// breaker is the circuit breaker. Closed, it lets every attempt pass. It opens when the service fails, holds back all
// requests and lets one probe at a time through (half-open), with growing delays, until one succeeds or --give-up-after
// has passed.
//
// A few schools that always fail look like a failing service once nothing else is left to fetch. So the breaker keeps
// canaries: recent calls that succeeded. A failed probe sends the canary of another school; if that succeeds, the
// breaker closes and attempts count against --retries again.
type breaker struct {
	giveUpAfter time.Duration
	log         *slog.Logger

	mu       sync.Mutex
	failing  map[string]struct{} // schools that failed since the last success
	outage   *outage             // nil while closed
	canaries map[string][]*Call  // by operation, at most two of different schools, the latest first
}

// outage is a time during which the breaker is open.
type outage struct {
	began    time.Time
	deadline time.Time
	cause    string        // of the failure that opened the breaker
	gaveUp   error         // for requests that still wait at the deadline
	over     chan struct{} // closed when the breaker closes
	// turn holds one value. The request that receives it is the probe and puts it back; requests receive it in the order
	// in which they began to wait.
	turn   chan struct{}
	failed int // probes; guarded by turn
}

// permit allows one attempt.
type permit struct {
	exempt bool    // the breaker ignores the attempt
	outage *outage // the outage that the attempt probes, nil if it is not a probe
}

// acquire waits until call may be attempted. The permit must be passed to exactly one of succeeded, failed and release.
func (b *breaker) acquire(ctx context.Context, call *Call) (permit, error) {
	if call.Lookup || call.School == "" {
		return permit{exempt: true}, nil
	}
	for {
		b.mu.Lock()
		o := b.outage
		b.mu.Unlock()
		if o == nil {
			return permit{}, nil
		}
		probe, err := o.awaitTurn(ctx)
		if err != nil {
			return permit{}, err
		}
		if probe {
			return permit{outage: o}, nil
		}
	}
}

// awaitTurn waits for the turn and then for the delay before the next probe. It returns false if the outage is over.
func (o *outage) awaitTurn(ctx context.Context) (bool, error) {
	ctx, cancel := permit{outage: o}.bound(ctx)
	defer cancel()
	select {
	case <-o.turn:
	case <-o.over:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	timer := time.NewTimer(retryDelay(o.failed))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-o.over:
		return false, nil
	case <-ctx.Done():
		o.turn <- struct{}{}
		return false, context.Cause(ctx)
	}
}

// bound cancels the context of a probe at the deadline of its outage.
func (p permit) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.outage == nil {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, p.outage.deadline, p.outage.gaveUp)
}

// blocks reports whether an attempt with this permit must not be sent now.
func (b *breaker) blocks(p permit) bool {
	if p.exempt {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outage != nil && b.outage != p.outage
}

// succeeded closes the breaker. canary is the call if it can be sent again at any time, otherwise nil.
func (b *breaker) succeeded(ctx context.Context, p permit, canary *Call) {
	if p.exempt {
		return
	}
	b.mu.Lock()
	o := b.outage
	b.outage = nil
	clear(b.failing)
	if canary != nil {
		b.addCanary(canary)
	}
	b.mu.Unlock()
	if o != nil {
		close(o.over)
		b.log.LogAttrs(ctx, slog.LevelInfo, "service answering again: resuming", slog.Duration("after", time.Since(o.began).Round(time.Millisecond)))
	}
}

// failed records a failure that may be the service's, and opens the breaker if it is one too many. It reports whether
// the attempt counts against the retries: not if the breaker is open.
func (b *breaker) failed(ctx context.Context, p permit, school string, f *failure) bool {
	if p.exempt {
		return true
	}
	if p.outage != nil {
		p.outage.failed++
		b.release(p)
	}
	b.mu.Lock()
	opens := false
	if b.outage == nil {
		b.failing[school] = struct{}{}
		if opens = len(b.failing) >= minFailingSchools; opens {
			b.outage = newOutage(b.giveUpAfter, f.cause())
		}
	}
	counts := p.outage == nil && b.outage == nil
	b.mu.Unlock()
	if opens {
		message := "service failing (" + f.cause() + "): pausing all requests for up to " + shortDuration(b.giveUpAfter)
		b.log.LogAttrs(ctx, slog.LevelWarn, message, //nolint:sloglint // a complete sentence
			slog.String("cause", f.cause()), slog.Duration("give_up_after", b.giveUpAfter))
	}
	return counts
}

func newOutage(giveUpAfter time.Duration, cause string) *outage {
	now := time.Now()
	o := &outage{
		began: now, deadline: now.Add(giveUpAfter), cause: cause, gaveUp: gaveUp(giveUpAfter, cause),
		over: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	o.turn <- struct{}{}
	return o
}

// release returns the permit of an attempt that shows nothing about the service's health: cancelled, or denied.
func (*breaker) release(p permit) {
	if p.outage != nil {
		p.outage.turn <- struct{}{}
	}
}

// status returns why requests are held back and until when at most, or an empty cause while the breaker is closed.
func (b *breaker) status() (cause string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outage == nil {
		return "", time.Time{}
	}
	return b.outage.cause, b.outage.deadline
}

// addCanary keeps two calls of different schools, so that one is left whichever school probes. The caller holds mu.
func (b *breaker) addCanary(call *Call) {
	kept := []*Call{call}
	for _, c := range b.canaries[call.Operation] {
		if c.School != call.School && len(kept) < 2 {
			kept = append(kept, c)
		}
	}
	b.canaries[call.Operation] = kept
}

// canary returns a recent call of the same operation that succeeded for another school, or nil.
func (b *breaker) canary(call *Call) *Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.canaries[call.Operation] {
		if c.School != call.School {
			return c
		}
	}
	return nil
}
