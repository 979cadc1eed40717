package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.org/growthexport/internal/activity"
)

// figure is a plot in two sizes, of which the style sheet shows one.
type figure struct {
	ID, Title, About string
	Plots            template.HTML
	Legend           []legend
}

// legend says what a colour is.
type legend struct{ Class, Text string }

// format is a size that a plot is drawn in.
type format struct {
	class         string
	width, height float64
	ticks         int     // along the time
	labels        float64 // least width of those of values
}

// overTime are the formats of plots over time.
func overTime(height float64) []format {
	return []format{{"wide", 960, height, 8, 56}, {"narrow", 400, height, 4, 48}}
}

const (
	textSize = 12
	hairline = 1
)

// draw draws a figure in each format.
func (f *figure) draw(formats []format, layOut func(*plot.Plot, format) error) error {
	for _, form := range formats {
		c := newCanvas(form.width, form.height)
		p := plot.New()
		p.BackgroundColor = nil
		style := text.Style{Color: paint("t"), Handler: lettering{c}}
		style.Font.Size = textSize
		for _, axis := range []*plot.Axis{&p.X, &p.Y} {
			x, y := axis.Tick.Label.XAlign, axis.Tick.Label.YAlign
			axis.Tick.Label, axis.Label.TextStyle = style, style
			axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = x, y
			axis.Tick.Length = 4
			axis.Tick.LineStyle = draw.LineStyle{Color: paint("g"), Width: 0}
			axis.LineStyle = draw.LineStyle{Color: paint("g"), Width: 0}
			axis.Padding = 2
		}
		p.Legend.TextStyle = style
		p.Title.TextStyle = style
		if err := layOut(p, form); err != nil {
			return fmt.Errorf("plot %s: %w", f.ID, err)
		}
		// Half a line of text stands above the highest tick.
		p.Draw(draw.Crop(draw.NewCanvas(c, vg.Length(form.width), vg.Length(form.height)), gutter(p, form), 0, 2, -textSize))
		f.Plots += template.HTML(c.svg(form.class, f.ID)) //nolint:gosec // the canvas escapes
	}
	return nil
}

// gutter is what is to be left free beside the labels of the values, so that plots above one another begin at the same place.
func gutter(p *plot.Plot, form format) vg.Length {
	var widest vg.Length
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		widest = max(widest, p.Y.Tick.Label.Width(tick.Label))
	}
	return max(vg.Length(form.labels)-widest, 0)
}

// grid is of horizontal lines alone.
func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color = nil
	g.Horizontal = draw.LineStyle{Color: paint("g"), Width: hairline}
	return g
}

// upTo makes the axis of values reach from 0 to the largest, with some round ticks.
func upTo(axis *plot.Axis, largest float64) {
	step := roundStep(largest / 4)
	axis.Min, axis.Max = 0, math.Max(step*math.Ceil(largest/step), step)
	var ticks plot.ConstantTicks
	for value := 0.0; value <= axis.Max; value += step {
		ticks = append(ticks, plot.Tick{Value: value, Label: abbreviated(value)})
	}
	axis.Tick.Marker = ticks
}

// roundStep is the next of 1, 2, 5, 10, 20 and so on.
func roundStep(atLeast float64) float64 {
	power := 1.0
	for {
		for _, digit := range []float64{1, 2, 5} {
			if digit*power >= atLeast {
				return digit * power
			}
		}
		power *= 10
	}
}

// abbreviated writes a whole number in few letters.
func abbreviated(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " bn"}, {1e6, " M"}, {1e4, "k"}} {
		if n >= unit.size {
			divisor := unit.size
			if unit.name == "k" {
				divisor = 1e3
			}
			return fmt.Sprintf("%.3g", n/divisor) + unit.name
		}
	}
	return count(int64(n))
}

// plotRows shows the rows of each table beside those of the time before.
func plotRows(tables []tableLine, compared bool) (figure, error) {
	f := figure{ID: "plot-rows", Title: "Rows of each table"}
	if len(tables) == 0 {
		return f, nil
	}
	f.Legend = []legend{{"s-now", "this run"}}
	if compared {
		f.Legend = append(f.Legend, legend{"s-was", "the run before"})
	}
	b := tableBars{compared: compared, largest: 1}
	for i := range tables {
		line := &tables[len(tables)-1-i] // the first is above
		b.names = append(b.names, line.Name)
		b.now, b.was = append(b.now, float64(line.Rows)), append(b.was, float64(line.Was))
		b.largest = max(b.largest, float64(line.Rows), float64(line.Was))
	}
	n := float64(len(tables))
	return f, f.draw([]format{{class: "wide", width: 960, height: n * 26}, {class: "narrow", width: 400, height: n * 40}}, b.layOut)
}

// tableBars are the bars of tables, the last table first.
type tableBars struct {
	names    []string
	now, was plotter.Values
	largest  float64
	compared bool
}

func (b *tableBars) layOut(p *plot.Plot, form format) error {
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = -0.5, float64(len(b.names))-0.5, plot.ConstantTicks{}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, b.largest, plot.ConstantTicks{}
	wide := form.class == "wide"
	width, at := 12.0, 0.0
	if !wide {
		at = -8 // below its name
	}
	if b.compared {
		width = 8
		if err := b.bars(p, b.was, "s-was", 4, at-6.5); err != nil {
			return err
		}
	}
	if err := b.bars(p, b.now, "s-now", width, at); err != nil {
		return err
	}
	rows := make([]string, len(b.now))
	for i, n := range b.now {
		rows[i] = count(int64(n))
	}
	ends := make(plotter.Values, len(b.now))
	for i := range ends {
		ends[i] = max(b.now[i], b.was[i])
	}
	if err := b.labels(p, rows, ends, vg.Point{X: 6, Y: vg.Length(at)}); err != nil {
		return err
	}
	if wide {
		var names plot.ConstantTicks
		for i, name := range b.names {
			names = append(names, plot.Tick{Value: float64(i), Label: name})
		}
		p.Y.Tick.Marker = names
		return nil
	}
	return b.labels(p, b.names, make(plotter.Values, len(b.names)), vg.Point{Y: 8})
}

// bars draws values as bars so much above the middle of each table's place.
func (*tableBars) bars(p *plot.Plot, values plotter.Values, class paint, width, above float64) error {
	chart, err := plotter.NewBarChart(values, vg.Length(width))
	if err != nil {
		return err
	}
	chart.Horizontal, chart.Color, chart.LineStyle.Width, chart.Offset = true, class, 0, vg.Length(above)
	p.Add(chart)
	return nil
}

// labels writes a text for each table, beside a value.
func (*tableBars) labels(p *plot.Plot, texts []string, beside plotter.Values, offset vg.Point) error {
	labels := plotter.XYLabels{Labels: texts}
	for i, value := range beside {
		labels.XYs = append(labels.XYs, plotter.XY{X: value, Y: float64(i)})
	}
	drawn, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range drawn.TextStyle {
		drawn.TextStyle[i] = p.X.Tick.Label
		drawn.TextStyle[i].XAlign, drawn.TextStyle[i].YAlign = text.XLeft, text.YCenter
	}
	drawn.Offset = offset
	p.Add(drawn)
	return nil
}

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
	for _, gap := range t.gaps() {
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
		ID: "plot-requests", Title: "Requests", About: "So many ended in each step. Those in colour had to be made again, because of how they ended.",
		Legend: []legend{{"s-answered", "done with"}},
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
	}{{99, legend{"s-p99", "99 % of them"}}, {90, legend{"s-p90", "90 %"}}, {50, legend{"s-p50", "half"}}}
	f := figure{
		ID: "plot-latency", Title: "Time to answer",
		About: "Within what time the requests of each step had ended; the scale is logarithmic.",
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
		return count(d.Milliseconds()) + " ms"
	case d < time.Minute:
		return count(int64(d/time.Second)) + " s"
	default:
		return count(int64(d/time.Minute)) + " min"
	}
}

func plotFlight(t *timeline) (figure, error) {
	f := figure{
		ID: "plot-flight", Title: "Requests at a time", About: "The most in flight at once in each step, and the fewest allowed, in one process.",
		Legend: []legend{{"s-flight", "in flight"}},
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
		f.Legend = append(f.Legend, legend{"s-limit", "allowed"})
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
