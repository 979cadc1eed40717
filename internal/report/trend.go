package report

import (
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// MaxNights is the maximum number of earlier snapshots that the trend shows. Together with the run itself, the trend
// shows 30.
const MaxNights = 29

// minSlots is the minimum number of bars for which a chart of the trend has room.
const minSlots = 10

// trend is the section about the last nights, which end with this run.
type trend struct {
	nights []snapshot.RunState
	// last is the class of the style sheet that sets the colour of this run.
	last string
}

// newTrend returns a trend. It has no nights if the run cannot be compared with earlier runs.
func newTrend(p *Page, v *view) trend {
	m := p.Manifest
	if len(p.Nights) == 0 || !v.Complete || m.Kind != snapshot.Full {
		return trend{}
	}
	t := trend{last: "s-now"}
	if p.State == Held {
		t.last = "s-bad"
	}
	took, _ := runTime(m)
	t.nights = append(slices.Clone(p.Nights), snapshot.RunState{
		RunID: m.RunID, SnapshotDate: m.SnapshotDate, Rows: v.AllTables.Rows, Failed: m.Schools.Failed, Duration: took,
	})
	return t
}

// Nights returns the number of nights.
func (t trend) Nights() int { return len(t.nights) }

// SomeFailed reports whether schools failed in one of the nights.
func (t trend) SomeFailed() bool {
	return slices.ContainsFunc(t.nights, func(n snapshot.RunState) bool { return n.Failed > 0 })
}

// Charts returns charts of the rows and of the duration, and one of the failed schools if there were any.
func (t trend) Charts() []chart {
	charts := []chart{
		t.chart("trend-rows", "Rows", func(n *snapshot.RunState) float64 { return float64(n.Rows) }, shortTicks),
		t.chart("trend-duration", "Duration", func(n *snapshot.RunState) float64 { return max(n.Duration.Seconds(), 1) }, durationTicks),
	}
	if t.SomeFailed() {
		failed := t.chart("trend-failed", "Failed schools", func(n *snapshot.RunState) float64 { return float64(n.Failed) }, shortTicks)
		charts = slices.Insert(charts, 1, failed)
	}
	return charts
}

func (t trend) chart(id, title string, value func(*snapshot.RunState) float64, ticks func(float64) (scale, []mark)) chart {
	largest := 1.0
	for i := range t.nights {
		largest = max(largest, value(&t.nights[i]))
	}
	y, marks := ticks(largest)
	c := chart{timeline: t.axis(), ID: id, Title: title, Low: true, Y: marks}
	var path strings.Builder
	for i, tip := range c.Tips {
		from, to := tip.From+tip.Width/10, tip.From+tip.Width*9/10
		if i == len(c.Tips)-1 {
			c.add("area", series{Class: "s-was"}, path.String())
			path.Reset()
		}
		path.WriteString("M" + from.String() + " 100V" + y(value(&t.nights[i])).String() + "H" + to.String() + "V100Z")
	}
	c.add("area", series{Class: t.last}, path.String())
	return c
}

// axis returns a time axis on which all nights have the same width.
func (t trend) axis() *timeline {
	width := percent(100 / float64(max(len(t.nights), minSlots)))
	axis := &timeline{}
	for i := range t.nights {
		n, from := &t.nights[i], percent(i)*width
		axis.Tips = append(axis.Tips, tip{From: from, Width: width, Text: clip(day(n.SnapshotDate), maxName) + ": " + wording.Many(n.Rows, "row") + ", " +
			wording.Many(n.Failed, "failed school") + ", " + runDuration(n.Duration)})
		date, err := time.Parse(time.DateOnly, n.SnapshotDate)
		if last := len(t.nights) - 1; err == nil && (i == last || i == 0 && last > 1) { // the labels of adjacent bars would touch
			axis.X = append(axis.X, mark{At: from + width/2, Label: date.Format("2 Jan")})
		}
	}
	return axis
}
