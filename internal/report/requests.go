package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// requestsView is the section about the run's requests.
type requestsView struct {
	Days, IntervalLength string
	Intervals            []interval
	Brief                bool // too few intervals for a chart
	Charts               []chart
	Operations           []operationLine
	Statuses             []fact
	Causes               []causeLine
}

// minIntervals is the minimum number of intervals for a chart.
const minIntervals = 3

type operationLine struct {
	activity.Operation
	percentiles

	Name    string
	Retries int64
}

type causeLine struct {
	Cause, Meaning, Series string
	Count                  int64
}

func newRequestsView(m *snapshot.Manifest) requestsView {
	log := &m.Activity
	v := requestsView{Causes: causes(log), Statuses: statuses(&m.Requests), Operations: operations(log)}
	if len(log.Steps) == 0 || !log.Sound() {
		return v
	}
	v.IntervalLength = duration(time.Duration(log.StepSeconds) * time.Second)
	first, last := time.Unix(log.Steps[0].At, 0).UTC(), time.Unix(log.Steps[len(log.Steps)-1].At, 0).UTC()
	v.Days = first.Format(dayLayout)
	layout := time.TimeOnly
	if lastDay := last.Format(dayLayout); lastDay != v.Days {
		v.Days += " to " + lastDay
		layout = "2 Jan " + layout
	}
	t := newTimeline(log, layout)
	v.Intervals = t.Intervals
	if v.Brief = len(t.Intervals) < minIntervals; !v.Brief {
		v.Charts = []chart{t.requestsChart(), t.responseTimeChart(), t.concurrencyChart()}
	}
	return v
}

// operations lists the operations by the number of their retries and then by their p99, the highest first.
func operations(log *activity.Log) []operationLine {
	var lines []operationLine
	for _, name := range slices.Sorted(maps.Keys(log.Operations)) {
		o := log.Operations[name]
		lines = append(lines, operationLine{Operation: o, Name: clip(name, maxName), Retries: sum(o.Retries), percentiles: percentilesOf(o.Latency)})
	}
	slices.SortStableFunc(lines, func(a, b operationLine) int {
		return cmp.Or(cmp.Compare(b.Retries, a.Retries), cmp.Compare(b.Latency.Percentile(99), a.Latency.Percentile(99)))
	})
	return lines
}

// statuses counts requests by their outcome, the most frequent first.
func statuses(r *snapshot.Requests) []fact {
	var facts []fact
	for _, status := range byCount(r.ByStatus) {
		facts = append(facts, fact{Name: clip(status, maxName), Value: wording.Count(r.ByStatus[status]), Note: meaning(status)})
	}
	return facts
}

// causes counts retries by cause, the most frequent first.
func causes(log *activity.Log) []causeLine {
	all := make(map[string]int64)
	for i := range log.Steps {
		for cause, n := range log.Steps[i].Retries {
			all[cause] += n
		}
	}
	var lines []causeLine
	for _, cause := range byCount(all) {
		lines = append(lines, causeLine{Cause: clip(cause, maxName), Meaning: meaning(cause), Series: seriesOf(cause), Count: all[cause]})
	}
	return lines
}

// byCount returns the names sorted by their counts, the largest first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// meaning explains the outcome of a request: a status or the cause of a retry.
func meaning(outcome string) string {
	return map[string]string{
		"200": "OK", "401": "access token rejected and renewed", "403": "access denied", "404": "not found", "408": "request timeout",
		"429": "too many requests", "500": "internal server error", "502": "bad gateway", "503": "service unavailable", "504": "gateway timeout",
		"timeout": "no response in time", "network": "connection failed or lost", "unreadable": "truncated or malformed response",
		"cancelled": "the run was stopped", "error": "no response",
	}[outcome]
}
