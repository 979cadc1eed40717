package activity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// How much a log keeps at most: steps double in length beyond so many, and of the schools the slowest stay.
const (
	mostSteps   = 240
	mostSlowest = 20
)

// Log is what was done over time. The zero value is nothing done.
type Log struct {
	// StepSeconds is how long each step is: a power of two.
	StepSeconds int64 `json:"step_seconds"`
	// Steps are those in which something happened, by time.
	Steps []Step `json:"steps,omitempty"`
	// Operations are by name; "token" is that of the token endpoint.
	Operations map[string]Operation `json:"operations,omitempty"`
	// Slowest are the schools' datasets that took longest, the slowest first.
	Slowest []SchoolTime `json:"slowest,omitempty"`
}

// Step is what happened in one step of time. Requests and retries count where they ended.
type Step struct {
	// At is when the step began, in seconds since 1970, a multiple of StepSeconds.
	At       int64 `json:"at"`
	Requests int64 `json:"requests"`
	// Bytes are those of the bodies, decompressed.
	Bytes int64 `json:"bytes"`
	// Retries are by how the attempt before had ended: a status code, or timeout, network, unreadable, cancelled.
	Retries map[string]int64 `json:"retries,omitempty"`
	Latency Histogram        `json:"latency"`
	// InFlight is the most requests of one process at work at a time.
	InFlight int64 `json:"in_flight"`
	// Limit is the fewest that were allowed in a process, 0 if that is not known.
	Limit int64 `json:"limit"`
}

// Operation is what was asked of one operation of the service.
type Operation struct {
	Requests int64            `json:"requests"`
	Bytes    int64            `json:"bytes"`
	Retries  map[string]int64 `json:"retries,omitempty"`
	Latency  Histogram        `json:"latency"`
}

// SchoolTime is how long one school's dataset took, from its first request to its last page, waits included.
type SchoolTime struct {
	School   string  `json:"school_bid"`
	Dataset  string  `json:"dataset"`
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	Retries  int64   `json:"retries"`
}

// Add adds what another log holds, which stays as it is. The steps of one that is not sound are left out: it was read from a file,
// and a run does not end for what is told of it.
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

// Sound tells whether a log that was read is one that adding makes, so that its steps can be walked through: in order, of one
// length, and within the times that there are.
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

// step is the step of a time, made if there is none. Steps mostly come in order.
func (l *Log) step(at int64) *Step {
	at -= at % l.StepSeconds
	i, found := slices.BinarySearchFunc(l.Steps, at, func(s Step, at int64) int { return cmp.Compare(s.At, at) })
	if !found {
		l.Steps = slices.Insert(l.Steps, i, Step{At: at})
	}
	return &l.Steps[i]
}

// bound makes steps longer until there are few enough.
func (l *Log) bound() {
	for len(l.Steps) > mostSteps {
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

// allow notes that so many requests were allowed at a time.
func (s *Step) allow(limit int64) {
	if limit > 0 && (s.Limit == 0 || limit < s.Limit) {
		s.Limit = limit
	}
}

// operation changes what is known of an operation.
func (l *Log) operation(name string, change func(*Operation)) {
	if l.Operations == nil {
		l.Operations = make(map[string]Operation)
	}
	o := l.Operations[name]
	change(&o)
	l.Operations[name] = o
}

// slow notes how long a school's dataset took, if that is among the longest. One that was fetched again counts by its longest.
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
	if i < mostSlowest {
		l.Slowest = slices.Insert(l.Slowest, i, school)
		l.Slowest = l.Slowest[:min(len(l.Slowest), mostSlowest)]
	}
}

// addCounts adds counts to those of a map, which it makes if there is none and something to count.
func addCounts(to, counts map[string]int64) map[string]int64 {
	if to == nil {
		return maps.Clone(counts)
	}
	for name, n := range counts {
		to[name] += n
	}
	return to
}
