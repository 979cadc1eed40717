package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"example.org/growthexport/internal/wording"
)

// plotRows shows the rows of each table beside those of the time before.
func plotRows(tables []tableLine, compared bool) (figure, error) {
	f := figure{ID: "plot-rows", Title: "Rows of each table"}
	if len(tables) == 0 {
		return f, nil
	}
	f.Legend = []legend{{"s-now", "this run"}}
	if compared {
		f.Legend = append(f.Legend, legend{"s-was", "the previous run"})
	}
	b := tableBars{compared: compared}
	for i := range tables {
		line := &tables[len(tables)-1-i] // the first is above
		b.names = append(b.names, line.Name)
		b.now, b.was = append(b.now, float64(line.Rows)), append(b.was, float64(line.Was))
		b.largest = max(b.largest, float64(line.Rows), float64(line.Was))
	}
	if b.largest == 0 {
		return figure{}, nil
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
		rows[i] = wording.Count(int64(n))
		// The label is beside the longer bar.
		if b.compared && b.now[i] != b.was[i] {
			rows[i] += " (was " + wording.Count(int64(b.was[i])) + ")"
		}
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
