package main

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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
		logger := slog.New(identified{slog.NewJSONHandler(a.stderr, nil), &a.who})
		w.show = w.nowAndThen(func(p pipeline.Progress) {
			logger.Info("progress", "phase", p.Phase, "retrying", longRetries(p), "paused", p.Paused, "dataset", p.Dataset,
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

// figures are the parts of a line of progress that both forms show, the most
// important first: a narrow terminal shows as many as fit. A school counts once
// in every dataset.
func figures(p pipeline.Progress, c pace) []string {
	if p.Phase == "publish" && p.FilesTotal > 0 {
		return []string{fmt.Sprintf("%s of %s files", wording.Count(p.FilesDone), wording.Count(p.FilesTotal))}
	}
	var parts []string
	if p.Phase == "fetch" {
		if c.left >= 0 {
			parts = append(parts, wording.Duration(c.left)+" left")
		}
		if p.Paused == "" {
			parts = append(parts, fmt.Sprintf("%.0f/s", c.rate))
		}
	}
	if text := troubles(p); text != "" {
		parts = append(parts, text)
	}
	parts = append(parts, fmt.Sprintf("%s of %s school datasets", wording.Count(p.SchoolsDone), wording.Count(p.SchoolsTotal)))
	if p.Failed > 0 {
		parts = append(parts, wording.Count(p.Failed)+" failed")
	}
	if p.Denied > 0 {
		parts = append(parts, wording.Count(p.Denied)+" denied")
	}
	parts = append(parts, wording.Count(p.Rows)+" rows", wording.Many(p.Requests, "request"))
	if p.Retries > 0 {
		parts = append(parts, retries(p.Retries))
	}
	return parts
}

const (
	// longRetry is how long a call must have been failing before progress names
	// it: in a large run some call is always being retried.
	longRetry = 5 * time.Second
	// mostNamed is how many of them are named.
	mostNamed = 3
)

// troubles returns what keeps a run from making progress; empty if nothing
// does.
func troubles(p pipeline.Progress) string {
	if p.Paused != "" {
		return fmt.Sprintf("paused: service failing (%s), giving up in %s", p.Paused, wording.Duration(max(0, p.GivesUpIn)))
	}
	var named []string
	schools := make(map[string]bool)
	for _, r := range longRetries(p) {
		if r.SchoolBid == "" {
			continue
		}
		schools[r.SchoolBid] = true
		if len(named) < mostNamed {
			school := wording.Bid(r.SchoolBid)
			if r.SchoolName != "" {
				school = wording.Name(r.SchoolName)
			}
			named = append(named, fmt.Sprintf("%s (%s: %s, attempt %d)", school, r.Dataset, r.Cause, r.Attempt))
		} else if len(named) == mostNamed {
			named = append(named, "...")
		}
	}
	switch len(schools) {
	case 0:
		return ""
	case 1:
		return "1 school is being retried: " + strings.Join(named, ", ")
	default:
		return wording.Count(len(schools)) + " schools are being retried: " + strings.Join(named, ", ")
	}
}

// longRetries returns the retries worth mentioning: any while planning, which
// waits for each, and later only long ones.
func longRetries(p pipeline.Progress) []pipeline.Retry {
	return slices.DeleteFunc(slices.Clone(p.Retrying), func(r pipeline.Retry) bool { return p.Phase != "plan" && r.For < longRetry })
}

// planning returns how far planning has got: only a failing token request or
// lookup is worth reporting.
func planning(p pipeline.Progress) string {
	if len(p.Retrying) == 0 {
		return wording.Many(p.Requests, "request")
	}
	r := p.Retrying[0]
	return fmt.Sprintf("attempt %d, %s: %s", r.Attempt, r.Dataset, r.Cause)
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
		return fmt.Sprintf("%s, %s, after %s", line, planning(p), wording.Duration(p.Elapsed))
	}
	if p.Phase == "fetch" {
		line += fmt.Sprintf(" %.0f%%", 100*part(p))
	}
	return line + ", " + strings.Join(append(figures(p, c), "after "+wording.Duration(p.Elapsed)), ", ")
}

// barLine returns the bar, at most one column narrower than the terminal. On a
// narrow terminal the bar is shorter and the least important figures are
// dropped first.
func barLine(p pipeline.Progress, c pace, width int) string {
	width = max(width-1, 0)
	line := fmt.Sprintf("%-7s", p.Phase)
	parts := []string{planning(p), wording.Duration(p.Elapsed)}
	if p.SchoolsTotal > 0 {
		cells := min(20, max(0, width/2-20))
		if cells > 0 {
			done := int(part(p) * float64(cells))
			line += " [" + strings.Repeat("=", done) + strings.Repeat(" ", cells-done) + "]"
		}
		line += fmt.Sprintf(" %3.0f%%", 100*part(p))
		parts = figures(p, c)
	}
	for _, part := range parts {
		longer := line + "  " + part
		if utf8.RuneCountInString(longer) > width {
			// A retry may take up part of the bar.
			if room := width - utf8.RuneCountInString(line) - 2; room >= 20 {
				line += "  " + wording.Cut(part, room)
			}
			break
		}
		line = longer
	}
	return wording.Cut(line, max(width, 1))
}
