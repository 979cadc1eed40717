package main

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/wording"
)

// The forms of progress.
const (
	progressAuto  = "auto"
	progressBar   = "bar"
	progressPlain = "plain"
	progressNone  = "none"
)

const (
	barEvery   = 150 * time.Millisecond
	linesEvery = 10 * time.Second
	// rateSpan is the time over which the rate of requests is taken.
	rateSpan = 5 * time.Second
)

// watch shows how a run gets on until stop is called, which waits for the last
// word.
func (a *app) watch(o *general, meter *pipeline.Meter) (stop func()) {
	form := o.progress
	if form == progressAuto {
		form = progressPlain
		if a.stderr.isTerminal() && a.env["TERM"] != "dumb" {
			form = progressBar
		}
	}
	w := &watcher{read: func() pipeline.Progress { return meter.Read(a.now()) }}
	switch {
	case form == progressNone:
		return func() {}
	case form == progressBar:
		w.show = func(p pipeline.Progress) { a.stderr.draw(barLine(p, w.pace, a.stderr.width())) }
	case o.logFormat == "json":
		// Progress is asked for by --progress, whatever --log-level says.
		logger := slog.New(slog.NewJSONHandler(a.stderr, nil))
		w.show = w.nowAndThen(func(p pipeline.Progress) {
			logger.Info("progress", "phase", p.Phase, "dataset", p.Dataset,
				"schools_done", p.SchoolsDone, "schools_total", p.SchoolsTotal, "failed", p.Failed, "denied", p.Denied,
				"rows", p.Rows, "requests", p.Requests, "retries", p.Retries,
				"requests_per_second", w.pace.rate, "seconds", p.Elapsed.Seconds())
		})
	default:
		w.show = w.nowAndThen(func(p pipeline.Progress) { fmt.Fprintln(a.stderr, plainLine(p, w.pace)) })
	}
	done := make(chan struct{})
	var owner sync.WaitGroup
	owner.Go(func() { w.watch(done) })
	return sync.OnceFunc(func() {
		close(done)
		owner.Wait()
		a.stderr.draw("")
	})
}

// watcher reads the meter again and again.
type watcher struct {
	read func() pipeline.Progress
	show func(p pipeline.Progress)
	pace pace
}

func (w *watcher) watch(done <-chan struct{}) {
	ticker := time.NewTicker(barEvery)
	defer ticker.Stop()
	for {
		w.look()
		select {
		case <-ticker.C:
		case <-done:
			w.look() // what happened since
			return
		}
	}
}

func (w *watcher) look() {
	p := w.read()
	w.pace.note(p)
	w.show(p)
}

// nowAndThen shows some readings only: the first of each phase, and one now and
// then.
func (w *watcher) nowAndThen(show func(p pipeline.Progress)) func(p pipeline.Progress) {
	phase, next := "", time.Duration(0)
	return func(p pipeline.Progress) {
		if p.Phase == "" || p.Phase == phase && p.Elapsed < next {
			return
		}
		phase, next = p.Phase, p.Elapsed+linesEvery
		show(p)
	}
}

// pace is how fast a run gets on.
type pace struct {
	rate float64       // requests per second, lately
	left time.Duration // until all schools are done; negative if nothing tells

	span      []pipeline.Progress // the readings of the last rateSpan
	fetching  bool
	fetchFrom pipeline.Progress // the first reading of the phase
	lastDone  pipeline.Progress // the reading in which schools were done last
}

// note takes one more reading into account.
func (c *pace) note(p pipeline.Progress) {
	c.span = append(c.span, p)
	for len(c.span) > 2 && p.Elapsed-c.span[1].Elapsed >= rateSpan {
		c.span = c.span[1:]
	}
	c.rate = 0
	if first := c.span[0]; p.Elapsed > first.Elapsed {
		c.rate = float64(p.Requests-first.Requests) / (p.Elapsed - first.Elapsed).Seconds()
	}
	// What an earlier process had done tells nothing of the time it takes.
	if p.Phase == "fetch" && !c.fetching {
		c.fetching, c.fetchFrom = true, p
	}
	if p.SchoolsDone != c.lastDone.SchoolsDone {
		c.lastDone = p
	}
	c.left = -1
	if done := p.SchoolsDone - c.fetchFrom.SchoolsDone; c.fetching && done > 0 {
		each := (p.Elapsed - c.fetchFrom.Elapsed).Seconds() / float64(done)
		c.left = time.Duration(each * float64(p.SchoolsTotal-p.SchoolsDone) * float64(time.Second))
		// The last schools may be those in trouble, of which the others tell nothing.
		if stuck := p.Elapsed - c.lastDone.Elapsed; stuck > c.left && stuck > linesEvery {
			c.left = -1
		}
	}
}

// figures are the parts of a line of progress that both forms show. A school
// counts once in every dataset.
func figures(p pipeline.Progress, c pace) []string {
	if p.Phase == "publish" && p.FilesTotal > 0 {
		return []string{fmt.Sprintf("%s of %s files", wording.Count(p.FilesDone), wording.Count(p.FilesTotal))}
	}
	parts := []string{
		fmt.Sprintf("%s of %s school datasets", wording.Count(p.SchoolsDone), wording.Count(p.SchoolsTotal)),
		wording.Count(p.Rows) + " rows",
		wording.Count(p.Requests) + " requests",
	}
	if p.Retries > 0 {
		parts = append(parts, wording.Count(p.Retries)+" retries")
	}
	if p.Failed > 0 {
		parts = append(parts, wording.Count(p.Failed)+" failed")
	}
	if p.Denied > 0 {
		parts = append(parts, wording.Count(p.Denied)+" denied")
	}
	if p.Phase == "fetch" {
		parts = append(parts, fmt.Sprintf("%.0f/s", c.rate))
		if c.left >= 0 {
			parts = append(parts, shortTime(c.left)+" left")
		}
	}
	return parts
}

// part is how much of the schools is done, or of the files while they are
// published, from 0 to 1.
func part(p pipeline.Progress) float64 {
	done, total := p.SchoolsDone, p.SchoolsTotal
	if p.Phase == "publish" && p.FilesTotal > 0 {
		done, total = p.FilesDone, p.FilesTotal
	}
	if total == 0 {
		return 0
	}
	return min(1, float64(done)/float64(total))
}

// plainLine is a line of progress for logs.
func plainLine(p pipeline.Progress, c pace) string {
	line := "progress: " + p.Phase
	if p.SchoolsTotal == 0 {
		return fmt.Sprintf("%s, %s, after %s", line, wording.Many(p.Requests, "request"), shortTime(p.Elapsed))
	}
	if p.Phase == "fetch" {
		line += fmt.Sprintf(" %.0f%%", 100*part(p))
	}
	return line + ", " + strings.Join(append(figures(p, c), "after "+shortTime(p.Elapsed)), ", ")
}

// barLine is the bar, one column narrower than the terminal at most.
func barLine(p pipeline.Progress, c pace, width int) string {
	const cells = 20
	line := fmt.Sprintf("%-7s  %s requests  %s", p.Phase, wording.Count(p.Requests), shortTime(p.Elapsed))
	if p.SchoolsTotal > 0 {
		done := int(part(p) * cells)
		line = fmt.Sprintf("%-7s [%s%s] %3.0f%%  %s", p.Phase,
			strings.Repeat("=", done), strings.Repeat(" ", cells-done), 100*part(p), strings.Join(figures(p, c), "  "))
	}
	return line[:min(len(line), max(width-1, 0))]
}

// shortTime is a time as one says it: to the second below an hour.
func shortTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	default:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
}
