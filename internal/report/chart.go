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
	ID, Title, About string
	Low              bool // half as high as the others
	Legend           []series
	X, Y             []mark
	Gaps, GapLabels  []mark
	Shapes           []shape
	Tips             []tip
}

// series is a colour of the style sheet and its label.
type series struct{ Class, Label string }

// shape is an SVG path. Kind is "area" or "line", Class its series.
type shape struct{ Kind, Class, Path string }

// mark is a labelled place on an axis. Narrow pages leave out minor ones.
type mark struct {
	At    percent
	Label string
	Minor bool
}

// tip is the text shown for an interval of a chart.
type tip struct {
	From, Width percent
	Text        string
}

// percent is a place from the left or top of a chart. Values outside the chart are moved to its edge.
type percent float64

// String returns the number as CSS and SVG write it.
func (p percent) String() string {
	if !(p > 0) { //nolint:staticcheck // NaN as well
		return "0"
	}
	return strconv.FormatFloat(math.Round(min(float64(p), 100)*100)/100, 'f', -1, 64)
}

// thin removes marks that follow another by less than apart, and makes every mark minor that needs more room on a narrow page.
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

// scale is a y axis. Ticks are from bottom to top.
type scale struct {
	ticks  []mark
	height func(float64) percent
}

// y returns the distance of a value from the top.
func (s scale) y(value float64) percent { return 100 - min(max(s.height(value), 0), 100) }

// linear returns a scale from zero to at least largest, with up to six round ticks.
func linear(largest float64) scale {
	step := roundStep(largest / 4)
	top := step * max(math.Ceil(largest/step), 1)
	s := scale{height: func(value float64) percent { return percent(value / top * 100) }}
	for value := 0.0; value <= top; value += step {
		s.ticks = append(s.ticks, mark{At: s.y(value), Label: abbreviated(value)})
	}
	return s
}

// roundStep returns the least of 1, 2, 5, 10, 20, 50, ... that is not below atLeast.
func roundStep(atLeast float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(max(atLeast, 1)))))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= atLeast {
			return digit * power
		}
	}
	return 10 * power
}

// abbreviated formats a tick's whole number: 2,500, 25k, 2.5 M.
func abbreviated(n float64) string {
	for _, unit := range []struct {
		from, size float64
		name       string
	}{{1e12, 1e12, " tn"}, {1e9, 1e9, " bn"}, {1e6, 1e6, " M"}, {1e4, 1e3, "k"}} {
		if n >= unit.from {
			return strconv.FormatFloat(n/unit.size, 'f', -1, 64) + unit.name
		}
	}
	return wording.Count(int64(n))
}

// logarithmic returns a scale of durations, in seconds, with ticks at round ones: the least range of ticks around low and high.
func logarithmic(low, high time.Duration) scale {
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
	s := scale{height: func(value float64) percent { return percent((math.Log(value) - bottom) / (top - bottom) * 100) }}
	for _, d := range round {
		s.ticks = append(s.ticks, mark{At: s.y(d.Seconds()), Label: duration(d)})
	}
	return s
}

// area returns a path that encloses one value per interval, 0 where there were no requests.
func (t *timeline) area(s scale, value func(*activity.Step) float64) string {
	var path strings.Builder
	path.WriteString("M0 100")
	for _, in := range t.intervals {
		if in.idle {
			path.WriteString("V100H" + in.from.String())
		}
		path.WriteString("V" + s.y(value(in.Step)).String() + "H" + in.to.String())
	}
	return path.String() + "V100Z"
}

// line returns a path through the values of consecutive intervals, without intervals of which it is 0.
func (t *timeline) line(s scale, value func(*activity.Step) float64) string {
	var path strings.Builder
	drawing := false
	for _, in := range t.intervals {
		v := value(in.Step)
		if v <= 0 {
			drawing = false
			continue
		}
		x, y := ((in.from + in.to) / 2).String(), s.y(v).String()
		if drawing && !in.idle {
			path.WriteString("L" + x + " " + y)
		} else {
			path.WriteString("M" + x + " " + y + "H" + x) // a dot, if no line follows
		}
		drawing = true
	}
	return path.String()
}

// steps returns a line that keeps its value until another is known.
func (t *timeline) steps(s scale, value func(*activity.Step) float64) string {
	var path strings.Builder
	known := 0.0
	for _, in := range t.intervals {
		started := known > 0
		if v := value(in.Step); v > 0 {
			known = v
		}
		if known <= 0 {
			continue
		}
		x, y := in.from.String(), s.y(known).String()
		if started && !in.gap {
			path.WriteString("H" + x + "V" + y)
		} else {
			path.WriteString("M" + x + " " + y)
		}
		path.WriteString("H" + in.to.String())
	}
	return path.String()
}
