package extract

import "time"

const (
	// initialLimit is the first limit, which keeps the first burst small while the service's capacity is unknown.
	initialLimit = 8
	// successesPerIncrease is the number of successes that raises the limit by one if backoff is 0. If rejections do not
	// begin at a fixed concurrency, for example because the service limits the request rate, about one request in
	// successesPerIncrease is rejected. Rejections unrelated to concurrency lower the limit only if they are more frequent
	// than that.
	successesPerIncrease = 16
	// minBackoff and maxBackoff are the bounds of the backoff exponent. At the minimum, every success raises the limit, so
	// the limit doubles with each round trip. At the maximum, there is one probe per 256 successes, which costs little and
	// finds new capacity within seconds.
	minBackoff, maxBackoff = -4, 4
	// minBackoffAfterRejection is the minimum exponent after a rejection. It slows growth to at least four successes per
	// increase.
	minBackoffAfterRejection = -2
	// After a rejection with Retry-After, which pauses all requests, the limit does not rise for holdPerRetryAfter
	// times that pause, but at most maxHold. Backoff multiplies this time.
	holdPerRetryAfter = 8
	maxHold           = time.Minute
)

// aimd finds how many concurrent requests the service accepts, up to --concurrency, by additive increase and
// multiplicative decrease. It has neither a clock nor a lock. Its owner reports how each request ended.
//
// A certain number of successes (see successesNeeded) raises the limit by one. Each rejection lowers the limit by one,
// so that a burst that was partly rejected shrinks to the part that was accepted. Rejections of requests that were in
// flight together count as one congestion event, which at most halves the limit.
//
// The first request sent at a new concurrency after the limit has risen is a probe. Probes change the backoff. If a
// probe above the proven concurrency is rejected, at least twice as many successes are needed per increase. If it
// succeeds, half as many are needed. A service with a fixed capacity is therefore probed less and less often, while
// rejections unrelated to concurrency, such as errors of one broken school, lower the limit only briefly.
type aimd struct {
	max         int // --concurrency
	limit       int
	proven      int       // the concurrency known to work; below it, backoff does not slow growth
	probed      int       // the highest concurrency that was probed since the limit was last lowered
	successes   int       // the number of successes since the last increase or failed probe
	backoff     int       // the exponent of the power of two that multiplies successesPerIncrease
	holdUntil   time.Time // no increase before this time
	events      int       // the number of congestion events
	failedProbe int       // the last event in which a probe was rejected
	floor       int       // the last event does not lower the limit below this
}

// sample is the state in which a request was sent.
type sample struct {
	inFlight    int  // concurrent requests, including this one and those sent at the same moment
	probe       bool // the request is a probe, or was sent together with a probe: any of these requests may be the rejected one
	last        bool // the request is the last of those sent at the same moment
	events      int  // aimd.events at that moment
	failedProbe int  // aimd.failedProbe at that moment
}

func newAIMD(concurrency int) aimd {
	return aimd{max: concurrency, limit: min(concurrency, initialLimit), backoff: minBackoff}
}

// sample records that requests are being sent, and returns their sample. inFlight includes these requests.
func (a *aimd) sample(inFlight int) sample {
	s := sample{inFlight: inFlight, probe: inFlight > a.probed, events: a.events, failedProbe: a.failedProbe}
	a.probed = max(a.probed, inFlight)
	return s
}

// succeeded adjusts the limit after a success. If no requests are waiting, the success does not count towards an
// increase, because a higher limit would not be tested.
func (a *aimd) succeeded(s sample, waiting bool, now time.Time) {
	if s.probe && s.last && s.inFlight > a.proven && s.failedProbe == a.failedProbe {
		a.proven = s.inFlight
		a.backoff = max(a.backoff-1, minBackoff)
	}
	if !waiting || a.limit == a.max {
		return
	}
	if a.successes++; a.successes >= a.successesNeeded() && !now.Before(a.holdUntil) {
		a.limit++
		a.successes = 0
	}
}

// successesNeeded returns the number of successes that currently raises the limit by one.
func (a *aimd) successesNeeded() int {
	switch {
	case a.backoff < 0:
		return successesPerIncrease >> -a.backoff
	case a.limit < a.proven:
		return successesPerIncrease
	default:
		return successesPerIncrease << a.backoff
	}
}

// rejected lowers the limit after the service has rejected a request for lack of capacity.
func (a *aimd) rejected(s sample, retryAfter time.Duration, now time.Time) {
	switch {
	case s.inFlight == 1:
		return // the limit cannot be lower
	case s.events == a.events: // the request was sent after the last event, so this is a new event
		a.events++
		a.floor = max(1, a.limit/2)
		a.limit = min(a.limit, s.inFlight)
		a.backoff = max(a.backoff, minBackoffAfterRejection)
	case s.events < a.events-1:
		return // the request was sent before the last event, so its rejection is outdated
	}
	a.limit = max(a.floor, a.limit-1)
	a.probed = a.limit
	if s.probe {
		a.probeRejected(s)
		a.proven = a.limit
	}
	if retryAfter > 0 {
		a.holdUntil = now.Add(min(holdPerRetryAfter*retryAfter, maxHold) << max(a.backoff, 0))
	}
}

// probeRejected increases backoff after the rejection of a probe, once per event. If the concurrency was already
// proven, the service's capacity has fallen to an unknown level, so backoff starts over.
func (a *aimd) probeRejected(s sample) {
	if a.failedProbe == a.events {
		return
	}
	a.failedProbe = a.events
	a.successes = 0
	if s.inFlight <= a.proven {
		a.backoff = 0
		return
	}
	a.backoff = min(max(a.backoff+1, 0), maxBackoff)
}
