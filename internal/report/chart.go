package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/wording"
)

// chart is a chart over time, which the template draws: shapes as SVG that fills the width of the page, labels as HTML.
type chart struct {
	*timeline

	ID, Title, About string
	Low              bool // less high than the others
	Legend           []series
	Y                []mark
	Shapes           []shape
}

// series is a colour of the style sheet and its label.
type series struct{ Class, Label string }

// shape is an SVG path: an "area" or a "line" of a series.
type shape struct{ Kind, Class, Path string }

// add adds a shape for a series of the legend.
func (c *chart) add(kind string, s series, path string) {
	c.Shapes = append(c.Shapes, shape{kind, s.Class, path})
}

// mark is a labelled place on an axis. Narrow pages leave out minor ones.
type mark struct {
	At    percent
	Label string
	Minor bool
}

// percent is a place from the left or top of a chart. What is outside is moved to the edge.
type percent float64

// String returns the number as CSS and SVG write it. NaN becomes 0.
func (p percent) String() string {
	if p > 0 {
		return strconv.FormatFloat(math.Round(min(float64(p), 100)*100)/100, 'f', -1, 64)
	}
	return "0"
}

// thin removes marks that follow another by less than apart, and makes marks minor for which a narrow page has no room.
func thin(marks []mark, apart percent) []mark {
	var kept []mark
	next, nextMajor := percent(0), percent(0)
	for _, m := range marks {
		if m.At < next {
			continue
		}
		next = m.At + apart
		if m.Minor = m.At < nextMajor; !m.Minor {
			nextMajor = m.At + 2*apart
		}
		kept = append(kept, m)
	}
	return kept
}

// scale returns the distance of a value from the top of a chart.
type scale func(value float64) percent

// setLinear gives the chart a scale from zero to at least largest, with up to six round ticks.
func (c *chart) setLinear(largest float64) scale {
	step := roundStep(largest / 4)
	top := step * max(math.Ceil(largest/step), 1)
	y := func(value float64) percent { return percent((1 - max(value, 0)/top) * 100) }
	for value := 0.0; value <= top; value += step {
		c.Y = append(c.Y, mark{At: y(value), Label: wording.Count(int64(value))})
	}
	return y
}

// roundStep returns the least of 1, 2, 5, 10, 20, 50, ... that is not below atLeast.
func roundStep(atLeast float64) float64 {
	power := math.Pow10(int(math.Log10(max(atLeast, 1))))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= atLeast {
			return digit * power
		}
	}
	return 10 * power
}

// setLogarithmic gives the chart a scale of durations in seconds, between round ones around low and high.
func (c *chart) setLogarithmic(low, high time.Duration) scale {
	round := []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute,
		time.Hour, 10 * time.Hour,
	}
	for len(round) > 2 && round[1] <= low {
		round = round[1:]
	}
	for len(round) > 2 && round[len(round)-2] >= high {
		round = round[:len(round)-1]
	}
	bottom, top := math.Log(round[0].Seconds()), math.Log(max(round[len(round)-1], high).Seconds())
	y := func(value float64) percent { return percent((top - math.Log(value)) / (top - bottom) * 100) }
	for _, d := range round {
		c.Y = append(c.Y, mark{At: y(d.Seconds()), Label: duration(d)})
	}
	return y
}

// area returns a path that encloses a value per interval, 0 where there were no requests.
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
		x := ((in.From + in.to) / 2).String()
		if drawing && !in.idle {
			path.WriteString("L" + x + " " + y(v).String())
		} else {
			path.WriteString("M" + x + " " + y(v).String() + "H" + x) // a dot, if no line follows
		}
		drawing = true
	}
	return path.String()
}

// steps returns a line that keeps its value where it is 0, which means unknown.
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
