package activity

import (
	"sync"
	"time"
)

// Recorder records the activity of one process. It is safe for concurrent use; the zero value is ready to use.
type Recorder struct {
	mu  sync.Mutex
	log Log
}

// Request is a finished request.
type Request struct {
	Operation string
	Ended     time.Time
	Took      time.Duration
	Bytes     int64 // the size of its body, decompressed
	InFlight  int64 // concurrent requests when it started, including this one
	Limit     int64 // concurrency limit when it ended
}

// Requested records a request.
func (r *Recorder) Requested(request Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at(request.Ended, func(s *Step) {
		s.Requests++
		s.Bytes += request.Bytes
		s.Latency.observe(request.Took)
		s.InFlight = max(s.InFlight, request.InFlight)
		s.allow(request.Limit)
	})
	r.log.operation(request.Operation, func(o *Operation) {
		o.Requests++
		o.Bytes += request.Bytes
		o.Latency.observe(request.Took)
	})
}

// Retried records a retry. cause is the outcome of the previous attempt.
func (r *Recorder) Retried(at time.Time, operation, cause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := map[string]int64{cause: 1}
	r.at(at, func(s *Step) { s.Retries = addCounts(s.Retries, one) })
	r.log.operation(operation, func(o *Operation) { o.Retries = addCounts(o.Retries, one) })
}

// School records the time of a school's dataset.
func (r *Recorder) School(school SchoolTime) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.slow(school)
}

// Take returns the activity since the last Take.
func (r *Recorder) Take() *Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.log
	r.log = Log{}
	return &taken
}

// Return takes back a log that came from Take and could not be stored, so that the next Take includes it.
func (r *Recorder) Return(log *Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Add(log)
}

// at updates the step that includes a time. The caller holds mu.
func (r *Recorder) at(when time.Time, change func(*Step)) {
	if r.log.StepSeconds == 0 {
		r.log.StepSeconds = 1
	}
	change(r.log.step(when.Unix()))
	r.log.bound()
}
