package extract

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// troubleSchools is how many schools must have failed, with no success between, for the service to be in trouble.
const troubleSchools = 3

// gate holds back all requests while the service is in trouble and lets one at a time probe it (--give-up-after).
type gate struct {
	limit time.Duration // --give-up-after
	log   *slog.Logger

	mu      sync.Mutex
	failing map[string]struct{} // schools that failed since the last success
	trouble *trouble            // nil while the service is well
	// Of each operation the last call that succeeded, and the last before it that was for another school.
	witnesses map[string][]*Call
}

// trouble is one time of it.
type trouble struct {
	began    time.Time
	deadline time.Time
	reason   string        // how the request failed that began it, in a few words
	cause    error         // of those who still wait at the deadline
	over     chan struct{} // closed when the service is well again
	// turn holds one value, which whoever takes it gives back: only its holder probes. Those who wait get it in the order
	// they came.
	turn   chan struct{}
	probes int // that have failed; the holder's of turn
}

// pass is the gate's leave for one attempt.
type pass struct {
	exempt  bool     // the call has nothing to do with the gate
	trouble *trouble // not nil for a probe: the time of trouble that it is the one request of
}

// newGate makes a gate for a service that is well.
func newGate(limit time.Duration, log *slog.Logger) *gate {
	return &gate{limit: limit, log: log, failing: make(map[string]struct{}), witnesses: make(map[string][]*Call)}
}

// enter waits until call may be attempted. Each pass is handed back by exactly one of served, failed and left.
func (g *gate) enter(ctx context.Context, call *Call) (pass, error) {
	if call.Lookup || call.School == "" {
		return pass{exempt: true}, nil
	}
	for {
		g.mu.Lock()
		t := g.trouble
		g.mu.Unlock()
		if t == nil {
			return pass{}, nil
		}
		mine, err := t.await(ctx)
		if err != nil {
			return pass{}, err
		}
		if mine {
			return pass{trouble: t}, nil
		}
	}
}

// await waits for the turn and then for the time to probe. It returns false if the trouble is over.
func (t *trouble) await(ctx context.Context) (bool, error) {
	ctx, cancel := t.bound(ctx)
	defer cancel()
	select {
	case <-t.turn:
	case <-t.over:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	timer := time.NewTimer(backoff(t.probes))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-t.over:
		return false, nil
	case <-ctx.Done():
		t.turn <- struct{}{}
		return false, context.Cause(ctx)
	}
}

// bound ends a context when the trouble has lasted for too long.
func (t *trouble) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, t.deadline, t.cause)
}

// bound ends a probe's context at its trouble's deadline.
func (p pass) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.trouble == nil {
		return ctx, func() {}
	}
	return p.trouble.bound(ctx)
}

// holds tells whether an attempt with this pass may not be sent now.
func (g *gate) holds(p pass) bool {
	if p.exempt {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trouble != nil && g.trouble != p.trouble
}

// closed tells whether a call with this pass, handed back by now, has to wait at the gate.
func (g *gate) closed(p pass) bool {
	return g.holds(pass{exempt: p.exempt})
}

// served hands back the pass of an attempt that succeeded, which ends any trouble. A call that can be asked again is
// remembered as witness; nil is not.
func (g *gate) served(ctx context.Context, p pass, witness *Call) {
	if p.exempt {
		return
	}
	g.mu.Lock()
	t := g.trouble
	g.trouble = nil
	clear(g.failing)
	if witness != nil {
		g.remember(witness)
	}
	g.mu.Unlock()
	if t != nil {
		close(t.over)
		g.log.LogAttrs(ctx, slog.LevelInfo, "service answering again: resuming", slog.Duration("after", time.Since(t.began)))
	}
}

// failed hands back the pass of an attempt that failed for a reason that may pass. It tells whether the attempt counts against
// the retries: not if it was, or has just found, the service in trouble.
func (g *gate) failed(ctx context.Context, p pass, school string, f *failure) bool {
	if p.exempt {
		return true
	}
	if p.trouble != nil {
		p.trouble.probes++
		g.left(p)
	}
	g.mu.Lock()
	begins := false
	if g.trouble == nil {
		g.failing[school] = struct{}{}
		if begins = len(g.failing) >= troubleSchools; begins {
			g.begin(f.cause())
		}
	}
	counts := p.trouble == nil && g.trouble == nil
	g.mu.Unlock()
	if begins {
		message := "service failing (" + f.cause() + "): pausing all requests for up to " + shortDuration(g.limit)
		g.log.LogAttrs(ctx, slog.LevelWarn, message, //nolint:sloglint // a sentence that says it all
			slog.String("cause", f.cause()), slog.Duration("give_up_after", g.limit))
	}
	return counts
}

// left hands back the pass of an attempt that tells nothing of the service's health: cancelled, or denied.
func (g *gate) left(p pass) {
	if p.trouble != nil {
		p.trouble.turn <- struct{}{}
	}
}

// paused returns why requests are held back, and the latest time at which that ends; an empty text if they are not.
func (g *gate) paused() (why string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trouble == nil {
		return "", time.Time{}
	}
	return g.trouble.reason, g.trouble.deadline
}

// begin starts a time of trouble. The caller holds mu.
func (g *gate) begin(reason string) {
	now := time.Now()
	g.trouble = &trouble{
		began: now, deadline: now.Add(g.limit), reason: reason, cause: gaveUp(g.limit, reason),
		over: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	g.trouble.turn <- struct{}{}
}

// remember keeps two calls of different schools, so that there is one for whichever school probes. The caller holds mu.
func (g *gate) remember(call *Call) {
	kept := []*Call{call}
	for _, w := range g.witnesses[call.Operation] {
		if w.School != call.School && len(kept) < 2 {
			kept = append(kept, w)
		}
	}
	g.witnesses[call.Operation] = kept
}

// witness is a recent call of the same operation that succeeded for another school, nil if there is none.
func (g *gate) witness(call *Call) *Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.witnesses[call.Operation] {
		if w.School != call.School {
			return w
		}
	}
	return nil
}
