package report

import (
	"fmt"
	"time"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/wording"
)

// timeline is the time axis of a log. Long pauses are cut short, so that the axis of a run that was resumed the next
// morning shows the work of the run, not the night in between.
type timeline struct {
	Intervals []interval
	X         []mark
	Gaps      []mark // in the middle of each pause that is cut short
	GapLabels []mark
	Tips      []tip
}

// tip is the text that is shown when the user points at a part of the chart.
type tip struct {
	From, Width percent
	Text        string
}

// interval is a step of the log with its position on the axis and its figures.
type interval struct {
	*activity.Step
	percentiles

	At       string
	Retries  int64
	From, to percent
	// idle is true if there is a pause before the interval, and gap is true if that pause is cut short. Both are true for
	// the first interval.
	idle, gap bool
}

// tip returns the text that is shown for the interval.
func (i *interval) tip() tip {
	text := fmt.Sprintf("%s: %s, %s", i.At, wording.Many(i.Requests, "request"), wording.Retries(i.Retries))
	if i.P50 != "" {
		text += fmt.Sprintf("; %s (p50), %s (p90), %s (p99)", i.P50, i.P90, i.P99)
	}
	text += fmt.Sprintf("; %s concurrent", wording.Count(i.InFlight))
	if i.Limit != 0 {
		text += ", limit " + wording.Count(i.Limit)
	}
	return tip{From: i.From, Width: i.to - i.From, Text: text}
}

// span is a part of the axis that is drawn to scale, in seconds. x is its distance from the left end of the axis.
type span struct {
	start, end int64
	x          float64
}

const (
	// Pauses of up to maxIdleSteps steps or minIdleSeconds, whichever is longer, are drawn to scale. Longer pauses are cut
	// short.
	maxIdleSteps   = 12
	minIdleSeconds = 60
	maxTicks       = 8
)

// newTimeline returns the axis of a log, which must be sound and not empty. layout formats the times of the intervals.
func newTimeline(log *activity.Log, layout string) *timeline {
	t := &timeline{Intervals: make([]interval, len(log.Steps))}
	var spans []span
	length := 0.0
	for i := range log.Steps {
		s, in := &log.Steps[i], &t.Intervals[i]
		*in = interval{Step: s, At: time.Unix(s.At, 0).UTC().Format(layout), Retries: sum(s.Retries), percentiles: percentilesOf(s.Latency)}
		last := len(spans) - 1
		switch {
		case last < 0 || s.At-spans[last].end > max(maxIdleSteps*log.StepSeconds, minIdleSeconds):
			in.idle, in.gap = true, true
			spans = append(spans, span{start: s.At, end: s.At})
			last++
		case s.At > spans[last].end:
			in.idle = true
		}
		length += float64(s.At + log.StepSeconds - spans[last].end)
		spans[last].end = s.At + log.StepSeconds
	}
	gaps := float64(len(spans) - 1)
	gap := min(length/12, length/2/max(gaps, 1)) // all gaps together take at most a third of the axis
	length += gap * gaps
	at := func(s *span, moment int64) percent { return percent((s.x + float64(moment-s.start)) / length * 100) }
	for i := 1; i < len(spans); i++ {
		before, after := &spans[i-1], &spans[i]
		after.x = before.x + float64(before.end-before.start) + gap
		t.Gaps = append(t.Gaps, mark{
			At:    percent((after.x - gap/2) / length * 100),
			Label: duration(time.Duration(after.start-before.end)*time.Second) + " later",
		})
	}
	current := -1
	for i := range t.Intervals {
		in := &t.Intervals[i]
		if in.gap {
			current++
		}
		in.From, in.to = at(&spans[current], in.Step.At), at(&spans[current], in.Step.At+log.StepSeconds)
		t.Tips = append(t.Tips, in.tip())
	}
	every := roundSpan(length / maxTicks)
	layout = time.TimeOnly
	if every >= 60 {
		layout = "15:04"
	}
	for i := range spans {
		s := &spans[i]
		moment := (s.start + every - 1) / every * every
		if moment >= s.end {
			moment = s.start
		}
		for ; moment < s.end; moment += every {
			t.X = append(t.X, mark{At: at(s, moment), Label: time.Unix(moment, 0).UTC().Format(layout)})
		}
	}
	t.X, t.GapLabels = thin(t.X, 75.0/maxTicks), thin(t.Gaps, 100.0/maxTicks)
	return t
}
