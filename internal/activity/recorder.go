package activity

import (
	"sync"
	"time"
)

// Recorder takes down what one process does. It is safe for use by many goroutines; its zero value is ready.
type Recorder struct {
	mu  sync.Mutex
	log Log
}

// Request is a request that has ended.
type Request struct {
	Operation string
	Ended     time.Time
	Took      time.Duration
	Bytes     int64 // of its body, decompressed
	InFlight  int64 // at work when it began, itself included
	Limit     int64 // allowed at a time when it ended
}

// Requested takes down a request.
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

// Retried takes down that an attempt was made again after one that ended as cause says.
func (r *Recorder) Retried(at time.Time, operation, cause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := map[string]int64{cause: 1}
	r.at(at, func(s *Step) { s.Retries = addCounts(s.Retries, one) })
	r.log.operation(operation, func(o *Operation) { o.Retries = addCounts(o.Retries, one) })
}

// School takes down how long a school's dataset took.
func (r *Recorder) School(school SchoolTime) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.slow(school)
}

// Take hands over what was taken down since the last time.
func (r *Recorder) Take() *Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.log
	r.log = Log{}
	return &taken
}

// Return takes back what Take handed over and could not be kept.
func (r *Recorder) Return(log *Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Add(log)
}

// at changes the step of a time. The caller holds mu.
func (r *Recorder) at(when time.Time, change func(*Step)) {
	if r.log.StepSeconds == 0 {
		r.log.StepSeconds = 1
	}
	change(r.log.step(when.Unix()))
	r.log.bound()
}
