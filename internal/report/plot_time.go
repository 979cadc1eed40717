package report

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/wording"
)

// series of retries, in the order in which they are stacked.
func retrySeries() []legend {
	return []legend{
		{"s-429", "429, too many requests"},
		{"s-5xx", "500 to 599"},
		{"s-timeout", "no answer in time"},
		{"s-network", "connection lost"},
		{"s-unreadable", "unreadable"},
		{"s-other", "others"},
	}
}

// seriesOf is the series that a cause is shown in.
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

// draw draws the plots over time.
func (c *course) draw(log *activity.Log) error {
	t := newTimeline(log)
	var err error
	if c.RequestsPlot, err = plotRequests(log, t); err != nil {
		return err
	}
	if c.LatencyPlot, err = plotLatency(t); err != nil {
		return err
	}
	c.FlightPlot, err = plotFlight(t)
	return err
}

// timeAxis lays out the axis of time, and what was left out of it.
func timeAxis(p *plot.Plot, form format, t *timeline) error {
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, t.length, t.ticks(form.ticks)
	p.X.Padding, p.Y.Padding = 4, 4
	p.X.Tick.Label.XAlign, p.X.Tick.Width = text.XLeft, hairline // so that the first stays within the plot
	p.Add(grid())
	free := 0.0
	for _, gap := range t.gaps() {
		if gap.Value < free {
			gap.Label = ""
		} else {
			free = gap.Value + t.length/float64(form.ticks)
		}
		line, err := plotter.NewLine(plotter.XYs{{X: gap.Value, Y: p.Y.Min}, {X: gap.Value, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: paint("gap"), Width: hairline, Dashes: []vg.Length{2, 3}}
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: gap.Value, Y: p.Y.Max}}, Labels: []string{gap.Label}})
		if err != nil {
			return err
		}
		label.TextStyle[0] = p.X.Tick.Label
		label.TextStyle[0].YAlign = text.YTop
		label.Offset.X = 4
		p.Add(line, label)
	}
	return nil
}

// steps draws values of the steps of a segment.
func steps(p *plot.Plot, s *segment, values []float64, style func(*plotter.Line)) error {
	points := make(plotter.XYs, 0, len(values)+1)
	for i, value := range values {
		points = append(points, plotter.XY{X: s.offset + float64(i), Y: value})
	}
	points = append(points, plotter.XY{X: s.offset + float64(len(values)), Y: values[len(values)-1]})
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.StepStyle = plotter.PostStep
	line.Width = 0
	style(line)
	p.Add(line)
	return nil
}

func plotRequests(log *activity.Log, t *timeline) (figure, error) {
	f := figure{
		ID: "plot-requests", Title: "Requests", About: "Requests completed per interval, token requests included. Colours show why a request was retried.",
		Legend: []legend{{"s-answered", "not retried"}},
	}
	seen := make(map[string]bool)
	for _, cause := range causes(log) {
		seen[cause.Series] = true
	}
	shown := slices.DeleteFunc(retrySeries(), func(l legend) bool { return !seen[l.Class] })
	f.Legend = append(f.Legend, shown...)
	// The last series of stack is on top. A retry is counted when it begins, which may be a step later than the request it repeats.
	stack := func(s *activity.Step, upTo int) float64 {
		retries := sumOf(s.Retries)
		height := max(s.Requests-retries, 0)
		for cause, n := range s.Retries {
			if slices.IndexFunc(shown, func(l legend) bool { return l.Class == seriesOf(cause) }) < upTo {
				height += n
			}
		}
		return float64(height)
	}
	largest := 1.0
	for i := range log.Steps {
		largest = max(largest, stack(&log.Steps[i], len(shown)))
	}
	return f, f.draw(overTime(190), func(p *plot.Plot, form format) error {
		upTo(&p.Y, largest)
		if err := timeAxis(p, form, t); err != nil {
			return err
		}
		for i := range t.segments {
			for layer := len(shown); layer >= 0; layer-- {
				values := t.values(&t.segments[i], func(s *activity.Step) float64 { return stack(s, layer) })
				err := steps(p, &t.segments[i], values, func(l *plotter.Line) { l.FillColor = paint(f.Legend[layer].Class) })
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func plotLatency(t *timeline) (figure, error) {
	percentiles := []struct {
		percentage float64
		legend
	}{{99, legend{"s-p99", "p99"}}, {90, legend{"s-p90", "p90"}}, {50, legend{"s-p50", "p50"}}}
	f := figure{
		ID: "plot-latency", Title: "Response time",
		About: "Percentiles per interval, on a logarithmic scale.",
	}
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for i := range percentiles {
		f.Legend = append(f.Legend, percentiles[i].legend)
	}
	for i := range t.segments {
		for j := range t.segments[i].steps {
			h := t.segments[i].steps[j].Latency
			if h.Count() > 0 {
				low, high = min(low, h.Percentile(50)), max(high, h.Percentile(99))
			}
		}
	}
	if high == 0 {
		return figure{}, nil
	}
	return f, f.draw(overTime(190), func(p *plot.Plot, form format) error {
		p.Y.Scale = plot.LogScale{}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = durations(low, high)
		if err := timeAxis(p, form, t); err != nil {
			return err
		}
		for _, percentile := range percentiles {
			for i := range t.segments {
				for _, points := range latencies(t, &t.segments[i], percentile.percentage) {
					line, err := plotter.NewLine(points)
					if err != nil {
						return err
					}
					line.LineStyle = draw.LineStyle{Color: paint(percentile.Class), Width: 2}
					p.Add(line)
				}
			}
		}
		return nil
	})
}

// latencies are the points of a segment, in seconds, cut where there was no request. A point alone is a dash of its step.
func latencies(t *timeline, s *segment, percentage float64) []plotter.XYs {
	var runs []plotter.XYs
	var points plotter.XYs
	end := func() {
		if len(points) == 1 {
			points = plotter.XYs{{X: points[0].X - 0.4, Y: points[0].Y}, {X: points[0].X + 0.4, Y: points[0].Y}}
		}
		if len(points) > 0 {
			runs = append(runs, points)
		}
		points = nil
	}
	values := t.values(s, func(step *activity.Step) float64 { return step.Latency.Percentile(percentage).Seconds() })
	for i, value := range values {
		if value <= 0 {
			end()
			continue
		}
		points = append(points, plotter.XY{X: s.offset + float64(i) + 0.5, Y: value})
	}
	end()
	return runs
}

// durations are the ends and the ticks of a logarithmic scale of time that holds both, in seconds.
func durations(low, high time.Duration) (first, last float64, ticks plot.ConstantTicks) {
	round := []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour,
	}
	from, to := 0, len(round)-1
	for from+1 < len(round) && round[from+1] <= low {
		from++
	}
	for to-1 > from && round[to-1] >= high {
		to--
	}
	for _, d := range round[from : to+1] {
		ticks = append(ticks, plot.Tick{Value: d.Seconds(), Label: roundTime(d)})
	}
	return round[from].Seconds(), max(round[to], high).Seconds(), ticks
}

// roundTime writes one of the times of durations.
func roundTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return wording.Count(d.Milliseconds()) + " ms"
	case d < time.Minute:
		return wording.Count(int64(d/time.Second)) + " s"
	default:
		return wording.Count(int64(d/time.Minute)) + " min"
	}
}

func plotFlight(t *timeline) (figure, error) {
	f := figure{
		ID: "plot-flight", Title: "Concurrent requests", About: "Maximum per interval, and the limit of a process at its lowest.",
		Legend: []legend{{"s-flight", "concurrent"}},
	}
	largest, limited := 1.0, false
	for i := range t.segments {
		for j := range t.segments[i].steps {
			s := &t.segments[i].steps[j]
			largest = max(largest, float64(s.InFlight), float64(s.Limit))
			limited = limited || s.Limit > 0
		}
	}
	if limited {
		f.Legend = append(f.Legend, legend{"s-limit", "limit"})
	}
	return f, f.draw(overTime(130), func(p *plot.Plot, form format) error {
		upTo(&p.Y, largest)
		if err := timeAxis(p, form, t); err != nil {
			return err
		}
		for i := range t.segments {
			s := &t.segments[i]
			flying := t.values(s, func(step *activity.Step) float64 { return float64(step.InFlight) })
			if err := steps(p, s, flying, func(l *plotter.Line) { l.FillColor = paint("s-flight") }); err != nil {
				return err
			}
			if !limited {
				continue
			}
			allowed := t.values(s, func(step *activity.Step) float64 { return float64(step.Limit) })
			carry(allowed)
			if err := steps(p, s, allowed, func(l *plotter.Line) { l.LineStyle = draw.LineStyle{Color: paint("s-limit"), Width: 2} }); err != nil {
				return err
			}
		}
		return nil
	})
}

// carry gives steps of which nothing is known the value of the one before, or else after.
func carry(values []float64) {
	for i := 1; i < len(values); i++ {
		if values[i] == 0 {
			values[i] = values[i-1]
		}
	}
	for i := len(values) - 2; i >= 0; i-- {
		if values[i] == 0 {
			values[i] = values[i+1]
		}
	}
}
