package report

import (
	"math"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
)

// chart is a chart over time. The template draws its shapes as SVG that fills the width of the page, and its labels as
// HTML.
type chart struct {
	*timeline

	ID, Title, About string
	Low              bool // lower than the other charts
	Legend           []series
	Y                []mark
	Shapes           []shape
}

// series is a class of the style sheet, which sets a colour, and its label in the legend.
type series struct{ Class, Label string }

// shape is an SVG path: an "area" or a "line" of a series.
type shape struct{ Kind, Class, Path string }

// add adds a shape for a series of the legend.
func (c *chart) add(kind string, s series, path string) {
	c.Shapes = append(c.Shapes, shape{kind, s.Class, path})
}

// retrySeries returns the series of retries, in their order from the bottom of the chart to its top.
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

// seriesOf returns the class of the series for a cause of retries.
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

// requestsChart returns a chart of the completed requests, stacked by the cause for which they were retried. A retry
// counts in the interval in which it starts, which may be later than the interval of the request that it repeats.
func (t *timeline) requestsChart() chart {
	c := chart{
		timeline: t, ID: "plot-requests", Title: "Completed requests",
		About: "Per interval, including token requests. Colours show why a request was retried.",
	}
	seen := make(map[string]bool)
	for _, in := range t.Intervals {
		for cause := range in.Step.Retries {
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
	y, ticks := countTicks(t.largest(func(s *activity.Step) float64 { return height(s, len(retries)) }))
	c.Y = ticks
	for layers := len(retries); layers >= 0; layers-- { // each area covers the lower part of the previous one
		c.add("area", c.Legend[layers], t.area(y, func(s *activity.Step) float64 { return height(s, layers) }))
	}
	return c
}

// largest returns the largest value of all intervals, but at least 1.
func (t *timeline) largest(value func(*activity.Step) float64) float64 {
	largest := 1.0
	for _, in := range t.Intervals {
		largest = max(largest, value(in.Step))
	}
	return largest
}

func (t *timeline) responseTimeChart() chart {
	c := chart{
		timeline: t, ID: "plot-latency", Title: "Response time", About: "Percentiles per interval, on a logarithmic scale.",
		Legend: []series{{"s-p99", "p99"}, {"s-p90", "p90"}, {"s-p50", "p50"}},
	}
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for _, in := range t.Intervals {
		if in.Latency.Count() > 0 {
			low, high = min(low, in.Latency.Percentile(50)), max(high, in.Latency.Percentile(99))
		}
	}
	y, ticks := logarithmic(low, high)
	c.Y = ticks
	for i, percentage := range []float64{99, 90, 50} {
		c.add("line", c.Legend[i], t.line(y, func(s *activity.Step) float64 { return s.Latency.Percentile(percentage).Seconds() }))
	}
	return c
}

func (t *timeline) concurrencyChart() chart {
	c := chart{
		timeline: t, ID: "plot-concurrency", Title: "Concurrent requests", Low: true,
		About:  "Maximum per interval, and the lowest concurrency limit of a process.",
		Legend: []series{{"s-concurrent", "concurrent"}},
	}
	concurrent := func(s *activity.Step) float64 { return float64(s.InFlight) }
	limit := func(s *activity.Step) float64 { return float64(s.Limit) }
	y, ticks := countTicks(t.largest(func(s *activity.Step) float64 { return max(concurrent(s), limit(s)) }))
	c.Y = ticks
	c.add("area", c.Legend[0], t.area(y, concurrent))
	if path := t.steps(y, limit); path != "" {
		c.Legend = append(c.Legend, series{"s-limit", "limit"})
		c.add("line", c.Legend[1], path)
	}
	return c
}

// area returns a path around the area below the values, which are 0 in intervals without requests.
func (t *timeline) area(y scale, value func(*activity.Step) float64) string {
	var path strings.Builder
	path.WriteString("M0 100")
	for _, in := range t.Intervals {
		if in.idle {
			path.WriteString("V100H" + in.From.String())
		}
		path.WriteString("V" + y(value(in.Step)).String() + "H" + in.to.String())
	}
	return path.String() + "V100Z"
}

// line returns a path through the values of consecutive intervals. It leaves out intervals with the value 0.
func (t *timeline) line(y scale, value func(*activity.Step) float64) string {
	var path strings.Builder
	drawing := false
	for _, in := range t.Intervals {
		v := value(in.Step)
		if v <= 0 {
			drawing = false
			continue
		}
		if !drawing || in.idle {
			path.WriteString("M" + in.From.String() + " " + y(v).String())
		}
		path.WriteString("L" + ((in.From + in.to) / 2).String() + " " + y(v).String())
		drawing = true
	}
	return path.String()
}

// steps returns the path of a line that changes only between intervals. In intervals with the value 0, which means
// unknown, the line keeps the previous value.
func (t *timeline) steps(y scale, value func(*activity.Step) float64) string {
	var path strings.Builder
	last := 0.0
	for _, in := range t.Intervals {
		v := max(value(in.Step), 0)
		if v == 0 {
			v = last
		}
		switch {
		case v == 0:
			continue
		case last == 0 || in.gap:
			path.WriteString("M" + in.From.String() + " " + y(v).String())
		default:
			path.WriteString("H" + in.From.String() + "V" + y(v).String())
		}
		path.WriteString("H" + in.to.String())
		last = v
	}
	return path.String()
}
