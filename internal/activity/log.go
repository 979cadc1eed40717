package activity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// The limits of a log. When there are more than maxSteps steps, their length is doubled. maxSlowest is the maximum
// length of Slowest.
const (
	maxSteps   = 240
	maxSlowest = 20
)

// Log is the activity of one or several processes over time. The zero value is an empty log.
type Log struct {
	// StepSeconds is the length of each step. It is a power of two, or 0 if there has been no step.
	StepSeconds int64 `json:"step_seconds"`
	// Steps are the steps with activity, in chronological order.
	Steps []Step `json:"steps,omitempty"`
	// Operations holds the activity of each operation by name; "token" is the token endpoint.
	Operations map[string]Operation `json:"operations,omitempty"`
	// Slowest lists the schools' datasets that took the longest time, the slowest first.
	Slowest []SchoolTime `json:"slowest,omitempty"`
}

// Step is the activity in one interval. Requests and retries count in the interval in which they ended.
type Step struct {
	// At is the start of the step in seconds since 1970, a multiple of step_seconds.
	At       int64 `json:"at"`
	Requests int64 `json:"requests"` // requests that ended
	// Bytes is the size of the bodies, decompressed.
	Bytes int64 `json:"bytes"`
	// Retries counts the retries by the outcome of the previous attempt: a status code, or one of timeout, network,
	// unreadable and cancelled.
	Retries map[string]int64 `json:"retries,omitempty"`
	Latency Histogram        `json:"latency"`
	// InFlight is the maximum number of concurrent requests of one process.
	InFlight int64 `json:"in_flight"`
	// Limit is the lowest concurrency limit of a process, or 0 if it is unknown.
	Limit int64 `json:"limit"`
}

// Operation is the activity of one operation of the service.
type Operation struct {
	Requests int64            `json:"requests"`          // requests that ended
	Bytes    int64            `json:"bytes"`             // as in Step
	Retries  map[string]int64 `json:"retries,omitempty"` // as in Step
	Latency  Histogram        `json:"latency"`
}

// SchoolTime is the time that one school's dataset took, from its first request to its last page, including waits.
type SchoolTime struct {
	School   string  `json:"school_bid"`
	Dataset  string  `json:"dataset"`
	Seconds  float64 `json:"seconds"`  // the duration
	Requests int64   `json:"requests"` // requests sent
	Retries  int64   `json:"retries"`  // requests that repeated an earlier request
}

// Add adds other to l, and does not change other. If a step of other is malformed, Add ignores all steps of other,
// because they come from a file, and bad statistics must not fail a run.
func (l *Log) Add(other *Log) {
	if len(other.Steps) > 0 && other.Sound() {
		l.StepSeconds = cmp.Or(l.StepSeconds, other.StepSeconds)
		for l.StepSeconds < other.StepSeconds {
			l.coarsen()
		}
		for i := range other.Steps {
			l.step(other.Steps[i].At).add(&other.Steps[i])
		}
		l.bound()
	}
	for name, operation := range other.Operations {
		l.operation(name, func(o *Operation) {
			o.Requests += operation.Requests
			o.Bytes += operation.Bytes
			o.Retries = addCounts(o.Retries, operation.Retries)
			o.Latency = o.Latency.plus(operation.Latency)
		})
	}
	for _, school := range other.Slowest {
		l.slow(school)
	}
}

// Sound reports whether the steps of a log that was read from a file are well-formed: sorted, of one length, at
// reasonable times, and with possible latencies.
func (l *Log) Sound() bool {
	const longest, latest = 1 << 20, 1 << 40
	last := int64(-latest)
	for i := range l.Steps {
		s := &l.Steps[i]
		if l.StepSeconds < 1 || l.StepSeconds > longest || s.At%l.StepSeconds != 0 || s.At <= last || s.At > latest {
			return false
		}
		for bucket, n := range s.Latency {
			if bucket < 0 || bucket > perOctave*40 || n < 0 {
				return false
			}
		}
		last = s.At
	}
	return true
}

// step returns the step that includes a time, and inserts it if necessary. Times usually arrive in order.
func (l *Log) step(at int64) *Step {
	at -= at % l.StepSeconds
	i, found := slices.BinarySearchFunc(l.Steps, at, func(s Step, at int64) int { return cmp.Compare(s.At, at) })
	if !found {
		l.Steps = slices.Insert(l.Steps, i, Step{At: at})
	}
	return &l.Steps[i]
}

// bound doubles the length of steps until there are at most maxSteps.
func (l *Log) bound() {
	for len(l.Steps) > maxSteps {
		l.coarsen()
	}
}

// coarsen doubles the length of the steps.
func (l *Log) coarsen() {
	steps := l.Steps
	l.StepSeconds *= 2
	l.Steps = nil
	for i := range steps {
		l.step(steps[i].At).add(&steps[i])
	}
}

func (s *Step) add(other *Step) {
	s.Requests += other.Requests
	s.Bytes += other.Bytes
	s.Retries = addCounts(s.Retries, other.Retries)
	s.Latency = s.Latency.plus(other.Latency)
	s.InFlight = max(s.InFlight, other.InFlight)
	s.allow(other.Limit)
}

// allow records a concurrency limit if it is the lowest of the step.
func (s *Step) allow(limit int64) {
	if limit > 0 && (s.Limit == 0 || limit < s.Limit) {
		s.Limit = limit
	}
}

// operation updates the activity of an operation, which it creates if necessary.
func (l *Log) operation(name string, change func(*Operation)) {
	if l.Operations == nil {
		l.Operations = make(map[string]Operation)
	}
	o := l.Operations[name]
	change(&o)
	l.Operations[name] = o
}

// slow records a school's dataset if it is among the slowest. If a dataset was fetched several times, the longest time
// counts.
func (l *Log) slow(school SchoolTime) {
	same := func(s SchoolTime) bool { return s.School == school.School && s.Dataset == school.Dataset }
	if i := slices.IndexFunc(l.Slowest, same); i >= 0 {
		if l.Slowest[i].Seconds >= school.Seconds {
			return
		}
		l.Slowest = slices.Delete(l.Slowest, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(l.Slowest, school, func(a, b SchoolTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.School, b.School), strings.Compare(a.Dataset, b.Dataset))
	})
	if i < maxSlowest {
		l.Slowest = slices.Insert(l.Slowest, i, school)
		l.Slowest = l.Slowest[:min(len(l.Slowest), maxSlowest)]
	}
}

// addCounts adds counts to a map, which it creates if necessary, and returns the map.
func addCounts(to, counts map[string]int64) map[string]int64 {
	if to == nil {
		return maps.Clone(counts)
	}
	for name, n := range counts {
		to[name] += n
	}
	return to
}
