package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// course is how the run went over time.
type course struct {
	StepLength string
	Days       string
	Steps      []courseStep
	Brief      bool // too few steps to be drawn
	Operations []operationLine
	Statuses   []fact
	Causes     []causeLine

	RequestsPlot, LatencyPlot, FlightPlot figure
}

// fewestSteps is what is drawn over time: less is a block of colour.
const fewestSteps = 3

// courseStep is a step of time in figures.
type courseStep struct {
	At                string
	Requests, Retries int64
	P50, P90, P99     string
	InFlight, Limit   int64
	Bytes             int64
}

type operationLine struct {
	Name              string
	Requests, Retries int64
	Bytes             int64
	P50, P90, P99     string
	slowest           time.Duration
}

type causeLine struct {
	Cause, Meaning, Series string
	N                      int64
}

func newCourse(m *sink.Manifest) (course, error) {
	log := &m.Activity
	c := course{Causes: causes(log), Statuses: statuses(&m.Requests), Operations: operations(log)}
	if len(log.Steps) == 0 || !log.Sound() {
		return c, nil
	}
	c.StepLength = wording.Count(log.StepSeconds) + " s"
	if log.StepSeconds >= 60 {
		c.StepLength = short(time.Duration(log.StepSeconds) * time.Second)
	}
	from, to := time.Unix(log.Steps[0].At, 0).UTC(), time.Unix(log.Steps[len(log.Steps)-1].At, 0).UTC()
	c.Days = day(from.Format(time.DateOnly))
	layout := time.TimeOnly
	if last := day(to.Format(time.DateOnly)); last != c.Days {
		c.Days += " to " + last
		layout = "2 Jan " + layout
	}
	for i := range log.Steps {
		s := &log.Steps[i]
		c.Steps = append(c.Steps, courseStep{
			At:       time.Unix(s.At, 0).UTC().Format(layout),
			Requests: s.Requests, Retries: sumOf(s.Retries),
			P50: percentile(s.Latency, 50), P90: percentile(s.Latency, 90), P99: percentile(s.Latency, 99),
			InFlight: s.InFlight, Limit: s.Limit, Bytes: s.Bytes,
		})
	}
	if c.Brief = len(log.Steps) < fewestSteps; c.Brief {
		return c, nil
	}
	return c, c.draw(log)
}

func sumOf(counts map[string]int64) int64 {
	var n int64
	for _, count := range counts {
		n += count
	}
	return n
}

// percentile is empty where nothing was observed.
func percentile(h activity.Histogram, percentage float64) string {
	if h.Count() == 0 {
		return ""
	}
	return short(h.Percentile(percentage))
}

// operations are those with retries first, then the slowest.
func operations(log *activity.Log) []operationLine {
	var lines []operationLine
	for _, name := range slices.Sorted(maps.Keys(log.Operations)) {
		o := log.Operations[name]
		lines = append(lines, operationLine{
			Name: name, Requests: o.Requests, Retries: sumOf(o.Retries), Bytes: o.Bytes,
			P50: percentile(o.Latency, 50), P90: percentile(o.Latency, 90), P99: percentile(o.Latency, 99),
			slowest: o.Latency.Percentile(99),
		})
	}
	slices.SortStableFunc(lines, func(a, b operationLine) int {
		return cmp.Or(cmp.Compare(b.Retries, a.Retries), cmp.Compare(b.slowest, a.slowest))
	})
	return lines
}

// statuses are how requests ended, the most first.
func statuses(r *sink.Requests) []fact {
	var facts []fact
	byCount := slices.SortedFunc(maps.Keys(r.ByStatus), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.ByStatus[b], r.ByStatus[a]), strings.Compare(a, b))
	})
	for _, status := range byCount {
		facts = append(facts, fact{Name: status, Value: wording.Count(r.ByStatus[status]), Note: meaning(status)})
	}
	return facts
}

// causes are why requests were made again, the most first.
func causes(log *activity.Log) []causeLine {
	all := make(map[string]int64)
	for i := range log.Steps {
		for cause, n := range log.Steps[i].Retries {
			all[cause] += n
		}
	}
	var lines []causeLine
	for _, cause := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, causeLine{Cause: clip(cause, mostField), Meaning: meaning(cause), Series: seriesOf(cause), N: all[cause]})
	}
	slices.SortStableFunc(lines, func(a, b causeLine) int { return cmp.Compare(b.N, a.N) })
	return lines
}

// meaning says in words what a status or a cause is.
func meaning(status string) string {
	known := map[string]string{
		"200": "answered", "401": "token refused, a new one was got", "403": "denied", "404": "not found", "408": "the service waited too long",
		"429": "too many requests", "500": "error of the service", "502": "bad gateway", "503": "unavailable", "504": "gateway waited too long",
		"timeout": "no answer in time", "network": "connection lost or refused", "unreadable": "cut short or not as it should be",
		"cancelled": "the run ended", "error": "no answer",
	}
	return known[status]
}
