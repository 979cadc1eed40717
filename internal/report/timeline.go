package report

import (
	"time"

	"gonum.org/v1/plot"

	"example.org/growthexport/internal/activity"
)

// timeline is an axis of time on which long spans without any request are short: a run that was resumed the next morning shows
// what it did, not the night between. Its unit is a step of the log.
type timeline struct {
	step     int64 // seconds
	segments []segment
	length   float64
}

// segment is a span of time that is shown at its length.
type segment struct {
	first, end int64 // seconds since 1970, end exclusive
	offset     float64
	steps      []activity.Step
}

// idleSteps is how many steps without a request are shown as they are.
const idleSteps = 12

func newTimeline(log *activity.Log) *timeline {
	t := &timeline{step: max(log.StepSeconds, 1)}
	for i := range log.Steps {
		s := &log.Steps[i]
		last := len(t.segments) - 1
		if last < 0 || s.At-t.segments[last].end > max(idleSteps*t.step, 60) {
			t.segments = append(t.segments, segment{first: s.At})
			last++
		}
		t.segments[last].end = s.At + t.step
		t.segments[last].steps = append(t.segments[last].steps, *s)
	}
	shown := 0.0
	for i := range t.segments {
		shown += t.segments[i].length(t.step)
	}
	gap := min(shown/12, shown/2/float64(max(len(t.segments)-1, 1))) // all of them are at most a third of the axis
	for i := range t.segments {
		if i > 0 {
			t.length += gap
		}
		t.segments[i].offset = t.length
		t.length += t.segments[i].length(t.step)
	}
	return t
}

func (s *segment) length(step int64) float64 { return float64(s.end-s.first) / float64(step) }

// at is where a moment of a segment is.
func (t *timeline) at(s *segment, moment int64) float64 {
	return s.offset + float64(moment-s.first)/float64(t.step)
}

// values is a value for each step of a segment, those without any request included, which get that of none.
func (t *timeline) values(s *segment, of func(*activity.Step) float64) []float64 {
	all := make([]float64, (s.end-s.first)/t.step)
	for i := range s.steps {
		all[(s.steps[i].At-s.first)/t.step] = of(&s.steps[i])
	}
	return all
}

// ticks are about so many round moments, and the beginning of each segment that has none.
func (t *timeline) ticks(most int) plot.ConstantTicks {
	apart := t.length / float64(most)
	every := roundSpan(int64(apart * float64(t.step)))
	layout := time.TimeOnly
	if every >= 60 {
		layout = "15:04"
	}
	var ticks plot.ConstantTicks
	free := 0.0
	mark := func(s *segment, moment int64) {
		if at := t.at(s, moment); at >= free {
			ticks = append(ticks, plot.Tick{Value: at, Label: time.Unix(moment, 0).UTC().Format(layout)})
			free = at + apart*0.75
		}
	}
	for i := range t.segments {
		s := &t.segments[i]
		before := len(ticks)
		for moment := (s.first + every - 1) / every * every; moment < s.end; moment += every {
			mark(s, moment)
		}
		if len(ticks) == before {
			mark(s, s.first)
		}
	}
	return ticks
}

// roundSpan is the next span, in seconds, that clocks are read by.
func roundSpan(atLeast int64) int64 {
	spans := []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200}
	for _, span := range spans {
		if span >= atLeast {
			return span
		}
	}
	return 86400
}

// gaps are the middles of the spans that are not shown, with how long they were.
func (t *timeline) gaps() []plot.Tick {
	var gaps []plot.Tick
	for i := 1; i < len(t.segments); i++ {
		before, after := &t.segments[i-1], &t.segments[i]
		gaps = append(gaps, plot.Tick{
			Value: (t.at(before, before.end) + after.offset) / 2,
			Label: short(time.Duration(after.first-before.end)*time.Second) + " later",
		})
	}
	return gaps
}
