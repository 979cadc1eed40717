package extract

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// minFailingSchools is the number of schools that must fail, with no success in between, to open the breaker. The
	// breaker also opens if all schools that have calls fail, and each of them has failed minFailingAttempts times.
	minFailingSchools  = 3
	minFailingAttempts = 3
	// minWarnedPause is the minimum duration of a pause that is logged as a warning. A shorter pause does no harm.
	minWarnedPause = time.Minute
)

// breaker is the circuit breaker. While it is closed, every attempt passes. When the service fails, the breaker opens.
// It then holds back all requests for schools and lets only one probe at a time through (half-open), with growing
// delays, until a probe succeeds or --give-up-after has passed.
//
// A few schools that always fail look like a failing service once nothing else is left to fetch. So does an operation
// that always fails while nothing else is being fetched. The breaker therefore keeps canaries, which are calls that
// have succeeded or will probably succeed. After a failed probe, a canary of the same operation for another school is
// sent, then a canary of another operation. If a canary succeeds, the breaker closes, and attempts count against
// --retries again.
type breaker struct {
	giveUpAfter time.Duration
	throttle    *throttle
	log         *slog.Logger

	mu         sync.Mutex
	active     map[string]int      // the number of calls, by school
	failing    map[string]*failing // schools that failed since the last success
	outage     *outage             // nil while closed
	operations []*operation        // the operation that succeeded last comes first
	answered   time.Time           // when a call last succeeded
}

// failing is a school that failed since the last success.
type failing struct {
	attempts int       // the number of attempts of calls that have not ended
	since    time.Time // when the first of these attempts was made
}

// operation is the state of one operation in the breaker.
type operation struct {
	name     string
	answered bool
	// lost is the set of schools whose calls failed in every attempt before any call of the operation had succeeded.
	lost     map[string]struct{}
	canaries []*Call // at most two, of different schools, the latest first
}

// dead reports whether the operation probably fails for every school.
func (o *operation) dead() bool { return !o.answered && len(o.lost) >= minFailingSchools }

// outage is a period during which the breaker is open.
type outage struct {
	began    time.Time
	deadline time.Time
	cause    string        // the cause of the failure that opened the breaker
	gaveUp   error         // the error of requests that are still waiting at the deadline
	over     chan struct{} // closed when the breaker closes
	logged   bool          // guarded by the breaker's mu, like warned
	warned   bool
	// turn contains one value unless a request is probing. The request that receives the value is the probe, and puts the
	// value back. Waiting requests receive it in the order in which they began to wait.
	turn   chan struct{}
	failed int // the number of failed probes; guarded by turn
}

// permit allows one attempt.
type permit struct {
	exempt bool    // the breaker ignores the attempt
	outage *outage // the outage that the attempt probes; nil if the attempt is not a probe
}

// observes reports whether the breaker applies to the attempts of a call. It ignores calls that are not for a school,
// such as lookups, which have their own time limit.
func (b *breaker) observes(call *Call) bool { return !call.Lookup && call.School != "" }

// countCall counts a call as active until end is called.
func (b *breaker) countCall(call *Call) (end func()) {
	if !b.observes(call) {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active[call.School]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.active[call.School]--; b.active[call.School] > 0 {
			return
		}
		delete(b.active, call.School)
		if f := b.failing[call.School]; f != nil {
			*f = failing{}
		}
	}
}

// acquire waits until call may be attempted. The permit must be passed to succeeded, failed or release. If the request
// has the permit of a probe after failed has returned, this permit must then be passed to succeeded, probeFailed or
// release.
func (b *breaker) acquire(ctx context.Context, call *Call) (permit, error) {
	if !b.observes(call) {
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

// awaitTurn waits for its turn and then for the delay before the next probe. It returns true if the caller may probe,
// false if the outage is over, and an error if ctx or the outage's deadline ends the wait.
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

// bound returns a context that is cancelled at the deadline of the outage. If the attempt is not a probe, it returns
// ctx unchanged.
func (p permit) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.outage == nil {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, p.outage.deadline, p.outage.gaveUp)
}

// blocks reports whether an attempt with this permit must not be sent now, because the breaker has opened.
func (b *breaker) blocks(p permit) bool {
	if p.exempt {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outage != nil && b.outage != p.outage
}

// succeeded records that the service answered a call and, unless the permit is exempt, closes the breaker. again is
// true if the call succeeded and can be sent again at any time, as a canary.
func (b *breaker) succeeded(ctx context.Context, p permit, call *Call, again bool) {
	b.mu.Lock()
	o := b.operation(call.Operation, true)
	o.answered, b.answered = true, time.Now()
	if again {
		o.addCanary(call)
	}
	if p.exempt {
		b.mu.Unlock()
		return
	}
	ended := b.outage
	b.outage = nil
	clear(b.failing)
	logged := ended != nil && ended.logged
	b.mu.Unlock()
	if ended != nil {
		close(ended.over)
	}
	if logged {
		b.log.LogAttrs(ctx, slog.LevelInfo, "service answering again: resuming",
			slog.Duration("after", time.Since(ended.began).Round(time.Millisecond)))
	}
}

// answeredSince reports whether a call has succeeded since the given time.
func (b *breaker) answeredSince(since time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered.After(since)
}

// failed records a failure that may be due to the service. If there are now too many failures, it opens the breaker and
// makes the request the first probe, which has just failed. counts reports whether the attempt counts against the
// retries if the breaker is closed afterwards.
func (b *breaker) failed(req *request, f *failure) (counts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case req.permit.exempt:
		return true
	case req.permit.outage != nil:
		if req.permit.outage != b.outage { // another request has closed the breaker in the meantime
			req.permit = permit{}
		}
		return false
	case b.outage != nil:
		return false
	case b.operation(req.call.Operation, false).dead(), b.throttle.explains(f.status, time.Now()):
		return true
	}
	school := b.failing[req.call.School]
	if school == nil {
		school = new(failing)
		b.failing[req.call.School] = school
	}
	if school.attempts++; school.attempts == 1 {
		school.since = time.Now()
	}
	if since, all := b.allFail(); all || len(b.failing) >= minFailingSchools {
		b.outage = newOutage(since, b.giveUpAfter, f.cause())
		req.permit = permit{outage: b.outage}
	}
	return true
}

// allFail reports whether all schools that have calls keep failing. It also returns the time since which the first of
// these schools has been failing. The caller holds mu.
func (b *breaker) allFail() (since time.Time, all bool) {
	since, all = time.Now(), true
	for school := range b.active {
		f := b.failing[school]
		if f == nil || f.attempts < minFailingAttempts {
			all = false
		}
		if f != nil && f.attempts > 0 && f.since.Before(since) {
			since = f.since
		}
	}
	return since, all
}

// probeFailed lets the next request probe after a probe and its canaries have failed. opening is true if the failed
// attempt has opened the breaker.
func (b *breaker) probeFailed(ctx context.Context, p permit, opening bool) {
	if !opening {
		p.outage.failed++
	}
	b.logPause(ctx, p.outage)
	b.release(p)
}

// logPause logs a pause once it is long enough.
func (b *breaker) logPause(ctx context.Context, o *outage) {
	b.mu.Lock()
	lasts := time.Since(o.began)
	inform, warn := !o.logged && lasts >= minLoggedPause, !o.warned && lasts >= minWarnedPause
	o.logged, o.warned = o.logged || inform, o.warned || warn
	b.mu.Unlock()
	level := slog.LevelInfo
	switch {
	case warn:
		level = slog.LevelWarn
	case !inform:
		return
	}
	b.log.LogAttrs(ctx, level, "service failing: pausing all requests",
		slog.String("cause", o.cause), slog.String("give_up_after", shortDuration(b.giveUpAfter)))
}

// gaveUpOn records a call that failed in every attempt.
func (b *breaker) gaveUpOn(ctx context.Context, call *Call, f *failure) {
	if !b.observes(call) {
		return
	}
	b.mu.Lock()
	o := b.operation(call.Operation, false)
	before := o.dead()
	if !o.answered {
		o.lost[call.School] = struct{}{}
	}
	dies := o.dead() && !before
	b.mu.Unlock()
	if dies {
		message := "operation " + o.name + " fails for every school (" + f.cause() + "): its calls are not retried until one succeeds"
		b.log.LogAttrs(ctx, slog.LevelWarn, message, //nolint:sloglint // a complete sentence
			slog.String("operation", o.name), slog.String("cause", f.cause()))
	}
}

// hasAnswered reports whether a call of an operation has succeeded.
func (b *breaker) hasAnswered(operation string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.operation(operation, false).answered
}

// isDead reports whether the operation of a call probably fails for every school.
func (b *breaker) isDead(call *Call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.operation(call.Operation, false).dead()
}

func newOutage(began time.Time, giveUpAfter time.Duration, cause string) *outage {
	return &outage{
		began: began, deadline: began.Add(giveUpAfter), cause: cause, gaveUp: gaveUp(giveUpAfter, cause),
		over: make(chan struct{}), turn: make(chan struct{}, 1),
	}
}

// release releases the permit of an attempt that shows nothing about the service's health, for example because it was
// cancelled or denied.
func (*breaker) release(p permit) {
	if p.outage != nil {
		p.outage.turn <- struct{}{}
	}
}

// status returns why requests are held back, and the time at which the client gives up. While the breaker is closed, it
// returns zero values.
func (b *breaker) status() (cause string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outage == nil {
		return "", time.Time{}
	}
	return b.outage.cause, b.outage.deadline
}

// operation returns the entry of an operation, which it creates if necessary. If the operation has just succeeded, its
// entry moves to the front. The caller holds mu.
func (b *breaker) operation(name string, succeeded bool) *operation {
	i := slices.IndexFunc(b.operations, func(o *operation) bool { return o.name == name })
	if i < 0 {
		i = len(b.operations)
		b.operations = append(b.operations, &operation{name: name, lost: make(map[string]struct{})})
	}
	found := b.operations[i]
	if succeeded {
		copy(b.operations[1:i+1], b.operations[:i])
		b.operations[0] = found
	}
	return found
}

// addCanary adds a canary. It keeps at most two canaries, of different schools, so that there is a canary of another
// school for every probe.
func (o *operation) addCanary(call *Call) {
	kept := []*Call{call}
	for _, c := range o.canaries {
		if c.School != call.School && len(kept) < 2 {
			kept = append(kept, c)
		}
	}
	o.canaries = kept
}

// canary returns a canary of a school other than the given one, or nil if there is none.
func (o *operation) canary(school string) *Call {
	for _, c := range o.canaries {
		if c.School != school {
			return c
		}
	}
	return nil
}

// canariesFor returns the calls to send after a probe has failed: a canary of the same operation, and a canary of
// another operation, which changes after every failed probe. Both are for other schools. If there are no such canaries,
// a canary of another operation for the same school is used. Lookups are canaries only for each other and for calls
// that got 404, because the run has to wait anyway if the service answers only lookups.
func (b *breaker) canariesFor(p permit, probe *Call, f *failure) []*Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found, others, own []*Call
	for _, o := range b.operations {
		c := o.canary(probe.School)
		switch {
		case c == nil && o.name != probe.Operation && len(o.canaries) > 0:
			own = append(own, o.canaries[0])
		case c == nil || c.Lookup && f.status != http.StatusNotFound:
		case o.name == probe.Operation:
			found = append(found, c)
		default:
			others = append(others, c)
		}
	}
	if len(found)+len(others) == 0 {
		others = own
	}
	if len(others) > 0 {
		next := 0
		if p.outage != nil { // the outage is nil for a lookup, which can be a probe without an outage
			next = p.outage.failed
		}
		found = append(found, others[next%len(others)])
	}
	return found
}
