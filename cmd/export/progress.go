package main

import (
	"cmp"
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
	barInterval  = 150 * time.Millisecond
	lineInterval = 10 * time.Second
	// maxLineInterval is the upper limit of the interval between lines, which grows during a run.
	maxLineInterval = 5 * time.Minute
	// rateWindow is the time over which the request rate is measured.
	rateWindow = 5 * time.Second
)

// showProgress shows the progress of a run until stop is called. stop returns after the last line has been written.
func (a *app) showProgress(o *general, logger *slog.Logger, progress *pipeline.Progress) (stop func()) {
	v := &progressView{read: func() pipeline.Reading { return progress.Read(a.now()) }}
	isBar := o.progress == progressBar || o.progress == progressAuto && a.stderr.isTerminal() && a.env["TERM"] != "dumb"
	switch {
	case o.progress == progressNone:
		v.interval, v.show = slowInterval, logSlowSchools(logger)
	case isBar:
		v.show = func(p pipeline.Reading) { a.stderr.draw(barLine(p, v.pace, a.stderr.width())) }
	case o.logFormat == "json":
		// --log-level does not apply to these lines, because --progress asks for them.
		lines := slog.New(identified{slog.NewJSONHandler(a.stderr, nil), &a.who})
		v.show = throttled(func(p pipeline.Reading) {
			lines.Info("progress", "phase", p.Phase, "retrying", longRetries(p), "paused", p.Paused, "dataset", p.Dataset,
				"schools_done", p.SchoolsDone, "schools_total", p.SchoolsTotal, "failed", p.Failed, "denied", p.Denied,
				"rows", p.Rows, "requests", p.Requests, "retries", p.Retries,
				"requests_per_second", v.pace.rate, "seconds", p.Elapsed.Seconds())
		})
	default:
		v.show = throttled(func(p pipeline.Reading) { fmt.Fprintln(a.stderr, plainLine(p, v.pace)) })
	}
	done := make(chan struct{})
	var owner sync.WaitGroup
	owner.Go(func() { v.refreshUntil(done) })
	return sync.OnceFunc(func() {
		close(done)
		owner.Wait()
		a.stderr.draw("")
	})
}

// progressView shows readings of a run's progress.
type progressView struct {
	read     func() pipeline.Reading
	show     func(p pipeline.Reading)
	pace     pace
	interval time.Duration // the time between readings; 0 means barInterval
}

func (v *progressView) refreshUntil(done <-chan struct{}) {
	ticker := time.NewTicker(cmp.Or(v.interval, barInterval))
	defer ticker.Stop()
	for {
		v.refresh()
		select {
		case <-ticker.C:
		case <-done:
			v.refresh()
			return
		}
	}
}

func (v *progressView) refresh() {
	p := v.read()
	v.pace.add(p)
	v.show(p)
}

// throttled returns a function that shows the first reading of each phase, and then at most one reading per interval.
// The interval is lineInterval at first. It grows as time passes, and grows faster while the service is failing.
func throttled(show func(p pipeline.Reading)) func(p pipeline.Reading) {
	phase, last := "", time.Duration(0)
	return func(p pipeline.Reading) {
		share := time.Duration(4)
		if p.Paused != "" {
			share = 2
		}
		if p.Phase == "" || p.Phase == phase && p.Elapsed < last+min(max(lineInterval, last/share), maxLineInterval) {
			return
		}
		phase, last = p.Phase, p.Elapsed
		show(p)
	}
}

const (
	// minSlow is how long a school must have been failing before it is logged, if no progress is shown.
	minSlow      = 30 * time.Second
	slowInterval = 5 * time.Second
	maxSlow      = 5 // the maximum number of schools that are logged
)

// logSlowSchools returns a function for runs that show no progress. The function logs a school once when it has been
// failing for minSlow, and logs at most maxSlow schools. It logs nothing while the service as a whole is failing.
func logSlowSchools(logger *slog.Logger) func(p pipeline.Reading) {
	logged := make(map[string]bool)
	return func(p pipeline.Reading) {
		for _, r := range p.Retrying {
			if p.Paused != "" || r.SchoolBid == "" || r.For < minSlow || logged[r.SchoolBid] || len(logged) >= maxSlow {
				continue
			}
			logged[r.SchoolBid] = true
			logger.Info("school is being retried", "dataset", r.Dataset, "school", r.SchoolBid,
				"name", wording.Cut(r.SchoolName, wording.MaxName), "cause", r.Cause, "attempt", r.Attempt)
		}
	}
}

// pace estimates the speed of a run.
type pace struct {
	rate float64       // requests per second over the last rateWindow
	left time.Duration // the estimated time until all schools are done; negative if unknown

	window   []pipeline.Reading // the readings of the last rateWindow
	fetching bool
	first    pipeline.Reading // the first reading of the fetch phase
	lastDone pipeline.Reading // the reading with the latest change of SchoolsDone
}

// add updates the estimate with a reading.
func (c *pace) add(p pipeline.Reading) {
	c.window = append(c.window, p)
	for len(c.window) > 2 && p.Elapsed-c.window[1].Elapsed >= rateWindow {
		c.window = c.window[1:]
	}
	c.rate = 0
	if oldest := c.window[0]; p.Elapsed > oldest.Elapsed {
		c.rate = float64(p.Requests-oldest.Requests) / (p.Elapsed - oldest.Elapsed).Seconds()
	}
	// Schools done by an earlier process are not counted, because their duration is unknown.
	if p.Phase == "fetch" && !c.fetching {
		c.fetching, c.first = true, p
	}
	if p.SchoolsDone != c.lastDone.SchoolsDone {
		c.lastDone = p
	}
	c.left = -1
	if done := p.SchoolsDone - c.first.SchoolsDone; c.fetching && done > 0 {
		each := (p.Elapsed - c.first.Elapsed).Seconds() / float64(done)
		c.left = time.Duration(each * float64(p.SchoolsTotal-p.SchoolsDone) * float64(time.Second))
		// The last schools may be the ones being retried, which take longer than the others.
		if stuck := p.Elapsed - c.lastDone.Elapsed; stuck > c.left && stuck > lineInterval {
			c.left = -1
		}
	}
}

// figures returns the parts of a progress line, the most important first, because a narrow terminal shows only as many
// as fit. A school counts once per dataset.
func figures(p pipeline.Reading, c pace) []string {
	if p.Phase == "publish" && p.FilesTotal > 0 {
		return []string{fmt.Sprintf("%s of %s files", wording.Count(p.FilesDone), wording.Count(p.FilesTotal))}
	}
	var parts []string
	if p.Phase == "fetch" {
		switch {
		case !p.EstimatedEnd.IsZero():
			parts = append(parts, "ends at about "+p.EstimatedEnd.Format("15:04 MST"))
		case c.left >= 0 && p.Paused == "":
			parts = append(parts, wording.Duration(c.left)+" left")
		}
		if p.Paused == "" {
			parts = append(parts, fmt.Sprintf("%.0f/s", c.rate))
		}
	}
	trouble := troubles(p)
	if trouble != "" {
		parts = append(parts, trouble)
	}
	if p.Paused == "" { // during an outage, lines should be short, and the percentage is enough
		parts = append(parts, fmt.Sprintf("%s of %s school datasets", wording.Count(p.SchoolsDone), wording.Count(p.SchoolsTotal)))
	}
	if p.Failed > 0 {
		parts = append(parts, wording.Count(p.Failed)+" failed")
	}
	if p.Denied > 0 {
		parts = append(parts, wording.Count(p.Denied)+" denied")
	}
	if trouble != "" {
		return parts // the line is long enough
	}
	parts = append(parts, wording.Count(p.Rows)+" rows", wording.Many(p.Requests, "request"))
	if p.Retries > 0 {
		parts = append(parts, wording.Retries(p.Retries))
	}
	return parts
}

const (
	// minRetryShown is how long a call must have been failing before it is shown, except while planning. Without this
	// limit, a large run would nearly always show a retry.
	minRetryShown = 5 * time.Second
	maxNamed      = 1
)

// troubles describes an outage of the service, or the schools that are being retried. It returns "" if there is
// neither.
func troubles(p pipeline.Reading) string {
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
		if len(named) < maxNamed {
			school := wording.Bid(r.SchoolBid)
			if r.SchoolName != "" {
				school = wording.Name(r.SchoolName)
			}
			named = append(named, fmt.Sprintf("%s (%s: %s, attempt %d)", school, r.Dataset, r.Cause, r.Attempt))
		} else if len(named) == maxNamed {
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

// longRetries returns the retries to show: all of them while planning, because planning waits for each of them, and
// after that only those that have lasted for minRetryShown.
func longRetries(p pipeline.Reading) []pipeline.Retry {
	return slices.DeleteFunc(slices.Clone(p.Retrying), func(r pipeline.Retry) bool { return p.Phase != "plan" && r.For < minRetryShown })
}

// planning describes the progress of planning: the number of requests, or the token request or lookup that is failing.
func planning(p pipeline.Reading) string {
	if len(p.Retrying) == 0 {
		return wording.Many(p.Requests, "request")
	}
	r := p.Retrying[0]
	return fmt.Sprintf("attempt %d, %s: %s", r.Attempt, r.Dataset, r.Cause)
}

// fraction returns the share of schools or, while publishing, of files that are done.
func fraction(p pipeline.Reading) float64 {
	done, total := p.SchoolsDone, p.SchoolsTotal
	if p.Phase == "publish" && p.FilesTotal > 0 {
		done, total = p.FilesDone, p.FilesTotal
	}
	if total == 0 {
		return 0
	}
	return min(1, float64(done)/float64(total))
}

// plainLine formats progress as a line for logs.
func plainLine(p pipeline.Reading, c pace) string {
	line := "progress: " + p.Phase
	if p.SchoolsTotal == 0 {
		return fmt.Sprintf("%s, %s, after %s", line, planning(p), wording.Duration(p.Elapsed))
	}
	if p.Phase == "fetch" {
		line += fmt.Sprintf(" %.0f%%", 100*fraction(p))
	}
	return line + ", " + strings.Join(append(figures(p, c), "after "+wording.Duration(p.Elapsed)), ", ")
}

// barLine formats progress as a bar with figures, at least one column narrower than the terminal. On a narrow terminal
// the bar is shorter, and the least important figures are dropped.
func barLine(p pipeline.Reading, c pace, width int) string {
	width = max(width-1, 0)
	line := fmt.Sprintf("%-7s", p.Phase)
	parts := []string{planning(p), wording.Duration(p.Elapsed)}
	if p.SchoolsTotal > 0 {
		cells := min(20, max(0, width/2-20))
		if cells > 0 {
			done := int(fraction(p) * float64(cells))
			line += " [" + strings.Repeat("=", done) + strings.Repeat(" ", cells-done) + "]"
		}
		line += fmt.Sprintf(" %3.0f%%", 100*fraction(p))
		parts = figures(p, c)
	}
	for _, part := range parts {
		longer := line + "  " + part
		if utf8.RuneCountInString(longer) > width {
			// A long figure, such as a retry, is cut to the remaining width.
			if room := width - utf8.RuneCountInString(line) - 2; room >= 20 {
				line += "  " + wording.Cut(part, room)
			}
			break
		}
		line = longer
	}
	return wording.Cut(line, max(width, 1))
}

func (o *general) defineProgress(g group) {
	choose(g, &o.progress, "progress", "FORM", "auto", []string{progressAuto, progressBar, progressPlain, progressNone},
		"progress on stderr: bar, plain (lines), none, or auto: a bar on a terminal, else lines")
}
