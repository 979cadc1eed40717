package report

import (
	"math"
	"strconv"
	"time"

	"example.org/growthexport/internal/wording"
)

// mark is a labelled position on an axis. Narrow pages leave out minor marks.
type mark struct {
	At    percent
	Label string
	Minor bool
}

// percent is a distance from the left or the top of a chart, in percent of its size. Positions outside the chart are
// drawn at its edge.
type percent float64

// String returns the number in the notation of CSS and SVG, limited to the range from 0 to 100. NaN becomes 0.
func (p percent) String() string {
	if p > 0 {
		return strconv.FormatFloat(math.Round(min(float64(p), 100)*100)/100, 'f', -1, 64)
	}
	return "0"
}

// thin leaves out marks whose distance from the previous mark is less than apart. Marks for which a narrow page has no
// room become minor.
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

// scale converts a value to its distance from the top of a chart.
type scale func(value float64) percent

// linear returns a scale from zero to at least largest, and ticks at the multiples of step.
func linear(largest, step float64, label func(float64) string) (y scale, ticks []mark) {
	top := step * max(math.Ceil(largest/step), 1)
	y = func(value float64) percent { return percent((1 - max(value, 0)/top) * 100) }
	for value := 0.0; value <= top; value += step {
		ticks = append(ticks, mark{At: y(value), Label: label(value)})
	}
	return y, ticks
}

// countTicks returns a scale for counts, and at most five ticks.
func countTicks(largest float64) (y scale, ticks []mark) {
	return linear(largest, roundStep(largest/4), func(value float64) string { return wording.Count(int64(value)) })
}

// shortTicks returns a scale for counts, and at most three ticks with short labels.
func shortTicks(largest float64) (y scale, ticks []mark) {
	return linear(largest, roundStep(largest/2), func(value float64) string {
		units := []string{"", "k", "M", "G"}
		for value >= 1000 && len(units) > 1 {
			value, units = value/1000, units[1:]
		}
		return strconv.FormatFloat(value, 'f', -1, 64) + units[0]
	})
}

// durationTicks returns a scale for durations in seconds, and at most three ticks.
func durationTicks(largest float64) (y scale, ticks []mark) {
	step := float64(roundSpan(largest / 2))
	if step < largest/2 {
		step = roundStep(largest / 2)
	}
	return linear(largest, step, func(value float64) string {
		if value == 0 {
			return "0"
		}
		return wording.Duration(time.Duration(min(value*float64(time.Second), math.MaxInt64/2)))
	})
}

// roundStep returns the smallest of 1, 2, 5, 10, 20, 50, ... that is not below atLeast.
func roundStep(atLeast float64) float64 {
	power := math.Pow10(int(math.Log10(max(atLeast, 1))))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= atLeast {
			return digit * power
		}
	}
	return 10 * power
}

// logarithmic returns a logarithmic scale for durations in seconds from low to high, extended to round values, and
// ticks at the round values.
func logarithmic(low, high time.Duration) (y scale, ticks []mark) {
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
	y = func(value float64) percent { return percent((top - math.Log(value)) / (top - bottom) * 100) }
	for _, d := range round {
		ticks = append(ticks, mark{At: y(d.Seconds()), Label: duration(d)})
	}
	return y, ticks
}

// roundSpan returns the smallest round length of time that is not below atLeast, both in seconds, but never more than a
// day.
func roundSpan(atLeast float64) int64 {
	for _, seconds := range []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200} {
		if float64(seconds) >= atLeast {
			return seconds
		}
	}
	return 86400
}
