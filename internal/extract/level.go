package extract

import "time"

const (
	// firstLevel is how many requests are in flight at most until the first are answered. How many the service takes is not
	// known then, and what a first burst has too many is wasted.
	firstLevel = 8
	// successesForMore is how many successes it takes to try one request more, before caution. It bounds the waste at a service
	// whose rejections begin at no clear level, such as one that counts requests per second: one in so many. Rejections that
	// have nothing to do with the level lower it only if they are more than that.
	successesForMore = 16
	// minCaution and maxCaution are the bounds of caution. At the lower one each success makes room for one request more, so
	// that the level doubles with every round trip. At the upper one a trial comes after 256 successes, which costs next to
	// nothing and still finds room that was given back within seconds.
	minCaution, maxCaution = -4, 4
	// afterRejection is the least caution after any rejection: it takes four successes to try one request more.
	afterRejection = -2
	// restPerWait is for how long nothing more is tried after a rejection with a Retry-After, which makes all requests wait: so
	// many times its wait, but at most mostRest, before caution.
	restPerWait = 8
	mostRest    = time.Minute
)

// level finds how many requests the service takes at a time, up to --concurrency. It has no clock and no lock: its owner tells
// it how each request ended.
//
// Each rejection takes one away, so that a burst that was rejected in part shrinks to the part that was not. The rejections of
// requests that were in flight together are one signal, which at most halves the level. A number of successes gives one back.
//
// The first request that is sent at a level, since it was last below it, is a trial. Caution is what trials teach: it doubles
// the number of successes when a trial is rejected above what is known to work, and halves it when one succeeds there. So a
// service with a bound of its own is tried more and more rarely, while rejections that have nothing to do with the level, such
// as those of one broken school, cost a place for a moment.
type level struct {
	most    int       // --concurrency
	limit   int       // the level now
	trusted int       // the level that is known to work; up to it caution does not count
	tried   int       // there were trials up to here since the limit was last lowered
	credit  int       // successes since the last rise or setback
	caution int       // the exponent of two by which successesForMore is multiplied
	rest    time.Time // nothing more is tried before
	signals int       // so far
	setback int       // the last signal in which a trial was rejected
	floor   int       // the last signal does not lower the limit further
}

// mark is what is remembered of a request that is sent.
type mark struct {
	inFlight int  // how many, it and those sent at the same moment included
	trial    bool // it is one, or was sent at the same moment: which of them is one too many is up to the service
	last     bool // of those sent at the same moment
	signals  int  // the level's at that moment, as is setback
	setback  int
}

func newLevel(most int) level {
	return level{most: most, limit: min(most, firstLevel), caution: minCaution}
}

// mark marks requests that are sent now, as the last of inFlight.
func (l *level) mark(inFlight int) mark {
	m := mark{inFlight: inFlight, trial: inFlight > l.tried, signals: l.signals, setback: l.setback}
	l.tried = max(l.tried, inFlight)
	return m
}

// succeeded learns from a success. It counts towards a rise only if a request waits, so that the rise is put to the test.
func (l *level) succeeded(m mark, waits bool, now time.Time) {
	if m.trial && m.last && m.inFlight > l.trusted && m.setback == l.setback {
		l.trusted = m.inFlight
		l.caution = max(l.caution-1, minCaution)
	}
	if !waits || l.limit == l.most {
		return
	}
	if l.credit++; l.credit >= l.patience() && !now.Before(l.rest) {
		l.limit++
		l.credit = 0
	}
}

// patience is how many successes it takes to try one request more.
func (l *level) patience() int {
	switch {
	case l.caution < 0:
		return successesForMore >> -l.caution
	case l.limit < l.trusted:
		return successesForMore
	default:
		return successesForMore << l.caution
	}
}

// rejected learns from a request that the service had no room for. wait is the Retry-After.
func (l *level) rejected(m mark, wait time.Duration, now time.Time) {
	switch {
	case m.inFlight == 1:
		return // it was alone, so that there are no fewer to try
	case m.signals == l.signals: // it was sent after the last signal, so this is the next
		l.signals++
		l.floor = max(1, l.limit/2)
		l.limit = min(l.limit, m.inFlight)
		l.caution = max(l.caution, afterRejection)
	case m.signals < l.signals-1:
		return // what it tells is known since
	}
	l.limit = max(l.floor, l.limit-1)
	l.tried = l.limit
	if m.trial {
		l.learn(m)
		l.trusted = l.limit
	}
	if wait > 0 {
		l.rest = now.Add(min(restPerWait*wait, mostRest) << max(l.caution, 0))
	}
}

// learn sets caution after a trial that was rejected, once in a signal. If the level was known to work, the service takes less
// than it did, and of that nothing is known yet.
func (l *level) learn(m mark) {
	if l.setback == l.signals {
		return
	}
	l.setback = l.signals
	l.credit = 0
	if m.inFlight <= l.trusted {
		l.caution = 0
		return
	}
	l.caution = min(max(l.caution+1, 0), maxCaution)
}
