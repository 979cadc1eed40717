package report

import (
	"math"
	"slices"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/wording"
)

// newCharts draws a log that is sound and not empty.
func newCharts(log *activity.Log, lines []intervalLine) []chart {
	t := newTimeline(log)
	charts := []chart{t.requests(), t.responseTimes(), t.concurrency()}
	for i := range charts {
		c := &charts[i]
		c.X, c.Gaps, c.GapLabels = t.ticks, t.gaps, thin(t.gaps, 100.0/maxTicks)
		text := []func(*intervalLine) string{requestsTip, responseTimesTip, concurrencyTip}[i]
		for j := range t.intervals {
			c.Tips = append(c.Tips, tip{
				From: t.intervals[j].from, Width: t.intervals[j].to - t.intervals[j].from, Text: lines[j].At + ": " + text(&lines[j]),
			})
		}
	}
	return slices.DeleteFunc(charts, func(c chart) bool { return len(c.Shapes) == 0 })
}

// retrySeries returns the series of retries from the bottom of the chart to its top.
func retrySeries() []series {
	return []series{
		{"s-429", "429 too many requests"},
		{"s-5xx", "5xx server error"},
		{"s-timeout", "no response in time"},
		{"s-network", "connection failed"},
		{"s-unreadable", "malformed response"},
		{"s-other", "other"},
	}
}

// seriesOf returns the series of a cause of retries.
func seriesOf(cause string) string {
	switch {
	case cause == "429", cause == "timeout", cause == "network", cause == "unreadable":
		return "s-" + cause
	case len(cause) == 3 && cause[0] == '5':
		return "s-5xx"
	default:
		return "s-other"
	}
}

// requests stacks requests by why they were retried. A retry counts when it starts, which may be an interval later than the
// request it repeats.
func (t *timeline) requests() chart {
	c := chart{
		ID: "plot-requests", Title: "Completed requests",
		About: "Per interval, token requests included. Colours show why a request was retried.",
	}
	seen := make(map[string]bool)
	for _, in := range t.intervals {
		for cause := range in.Retries {
			seen[seriesOf(cause)] = true
		}
	}
	retries := slices.DeleteFunc(retrySeries(), func(s series) bool { return !seen[s.Class] })
	c.Legend = append([]series{{"s-answered", "not retried"}}, retries...)
	height := func(s *activity.Step, layers int) float64 {
		n := max(s.Requests-sum(s.Retries), 0)
		for cause, count := range s.Retries {
			if slices.IndexFunc(retries, func(r series) bool { return r.Class == seriesOf(cause) }) < layers {
				n += count
			}
		}
		return float64(n)
	}
	scale := t.upTo(func(s *activity.Step) float64 { return height(s, len(retries)) })
	c.Y = scale.ticks
	for layers := len(retries); layers >= 0; layers-- { // each covers the lower part of the one before
		path := t.area(scale, func(s *activity.Step) float64 { return height(s, layers) })
		c.Shapes = append(c.Shapes, shape{"area", c.Legend[layers].Class, path})
	}
	return c
}

func requestsTip(l *intervalLine) string {
	if l.Retries == 0 {
		return wording.Many(l.Requests, "request")
	}
	return wording.Many(l.Requests, "request") + ", " + wording.Count(l.Retries) + " retried"
}

// upTo returns a scale for the largest value of all intervals.
func (t *timeline) upTo(value func(*activity.Step) float64) scale {
	largest := 1.0
	for _, in := range t.intervals {
		largest = max(largest, value(in.Step))
	}
	return linear(largest)
}

func (t *timeline) responseTimes() chart {
	c := chart{
		ID: "plot-latency", Title: "Response time", About: "Percentiles per interval, on a logarithmic scale.",
		Legend: []series{{"s-p99", "p99"}, {"s-p90", "p90"}, {"s-p50", "p50"}},
	}
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for _, in := range t.intervals {
		if in.Latency.Count() > 0 {
			low, high = min(low, in.Latency.Percentile(50)), max(high, in.Latency.Percentile(99))
		}
	}
	if high == 0 {
		return c
	}
	scale := logarithmic(low, high)
	c.Y = scale.ticks
	for i, percentage := range []float64{99, 90, 50} {
		path := t.line(scale, func(s *activity.Step) float64 { return s.Latency.Percentile(percentage).Seconds() })
		c.Shapes = append(c.Shapes, shape{"line", c.Legend[i].Class, path})
	}
	return c
}

func responseTimesTip(l *intervalLine) string {
	if l.P50 == "" {
		return "no requests"
	}
	return "p50 " + l.P50 + ", p90 " + l.P90 + ", p99 " + l.P99
}

func (t *timeline) concurrency() chart {
	c := chart{
		ID: "plot-concurrency", Title: "Concurrent requests", About: "Maximum per interval, and the lowest concurrency limit of a process.", Low: true,
		Legend: []series{{"s-concurrent", "concurrent"}},
	}
	concurrent := func(s *activity.Step) float64 { return float64(s.InFlight) }
	limit := func(s *activity.Step) float64 { return float64(s.Limit) }
	scale := t.upTo(func(s *activity.Step) float64 { return max(concurrent(s), limit(s)) })
	c.Y = scale.ticks
	c.Shapes = []shape{{"area", "s-concurrent", t.area(scale, concurrent)}}
	if path := t.steps(scale, limit); path != "" {
		c.Shapes = append(c.Shapes, shape{"line", "s-limit", path})
		c.Legend = append(c.Legend, series{"s-limit", "limit"})
	}
	return c
}

func concurrencyTip(l *intervalLine) string {
	text := wording.Count(l.InFlight) + " concurrent"
	if l.Limit > 0 {
		text += ", limit " + wording.Count(l.Limit)
	}
	return text
}
