package report

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.org/growthexport/internal/wording"
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
	return wording.Count(int64(n))
}
