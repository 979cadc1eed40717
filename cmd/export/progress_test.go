package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// TestScreenKeepsLogLinesWhole writes log lines while a bar is drawn.
func TestScreenKeepsLogLinesWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := newScreen(&out)
	fmt.Fprintln(s, "before")
	s.draw("bar 1")
	fmt.Fprintln(s, "log line")
	s.draw("bar 1")
	s.draw("bar 2")
	s.draw("")
	fmt.Fprintln(s, "after")
	want := "before\n" +
		clearLine + "bar 1" +
		clearLine + "log line\nbar 1" +
		clearLine + "bar 2" +
		clearLine + "after\n"
	require.Equal(t, want, out.String())
}

// TestPlainLines expects a line at each phase and one every ten seconds.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var shown []string
		w := &progressView{read: func() pipeline.Reading {
			p := pipeline.Reading{Elapsed: time.Since(started), Phase: "plan"}
			if p.Elapsed > 3*time.Second {
				p.Phase, p.SchoolsTotal = "fetch", 100
				p.SchoolsDone, p.Requests = int64(p.Elapsed.Seconds()), int64(20*p.Elapsed.Seconds())
			}
			return p
		}}
		w.show = throttled(func(p pipeline.Reading) { shown = append(shown, plainLine(p, w.pace)) })
		done := make(chan struct{})
		go func() {
			<-time.After(24 * time.Second)
			close(done)
		}()
		w.refreshUntil(done)
		require.Len(t, shown, 4, strings.Join(shown, "\n"))
		require.Equal(t, "progress: plan, 0 requests, after 0.0s", shown[0])
		require.Contains(t, shown[1], "progress: fetch 3%, ")
		require.Contains(t, shown[1], "3 of 100 school datasets, 0 rows, 63 requests, after 3s")
		require.Equal(t, "progress: fetch 23%, 1m17s left, 20/s, 23 of 100 school datasets, 0 rows, 465 requests, after 23s", shown[3])
	})
}

// TestOutageFitsAScreen counts the lines of an outage of 440 seconds. The log and the rest of the run have some more, and all
// of them fit on one screen. Once the service answers again, lines come as often as without the outage.
func TestOutageFitsAScreen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var during, after int
		w := &progressView{read: func() pipeline.Reading {
			p := pipeline.Reading{Elapsed: time.Since(began), Phase: "fetch", SchoolsTotal: 100, SchoolsDone: 50}
			if p.Elapsed > 5*time.Second && p.Elapsed < 445*time.Second {
				p.Paused, p.GivesUpIn = "connection refused", 30*time.Minute-p.Elapsed
			}
			return p
		}}
		w.show = throttled(func(p pipeline.Reading) {
			line := plainLine(p, w.pace)
			require.LessOrEqual(t, utf8.RuneCountInString(line), 120, line)
			if p.Paused != "" {
				during++
			} else if p.Elapsed >= 445*time.Second {
				after++
			}
		})
		done := make(chan struct{})
		go func() {
			<-time.After(446 * time.Second)
			close(done)
		}()
		w.refreshUntil(done)
		require.Equal(t, 9, during)
		require.Equal(t, 1, after)
	})
}

// TestProgressIsCleared draws a bar and clears it.
func TestProgressIsCleared(t *testing.T) {
	t.Parallel()
	a, _, stderr := testApp(nil)
	a.now = time.Now
	stop := a.showProgress(&general{progress: progressBar}, slog.New(slog.DiscardHandler), &pipeline.Progress{})
	stop()
	stop()
	require.True(t, strings.HasSuffix(stderr.String(), clearLine), "%q", stderr)
	stderr.Reset()
	a.showProgress(&general{progress: progressNone}, slog.New(slog.DiscardHandler), &pipeline.Progress{})()
	require.Empty(t, stderr.String())
}

// TestBarFitsTheTerminal expects the most important figures to come first.
func TestBarFitsTheTerminal(t *testing.T) {
	t.Parallel()
	p := pipeline.Reading{Phase: "fetch", SchoolsDone: 50, SchoolsTotal: 100, Rows: 1234567, Requests: 99, Retries: 3, Failed: 1, Denied: 2}
	c := pace{left: 77 * time.Second, rate: 20}
	for width, want := range map[int]string{
		30:  "fetch    50%  1m17s left",
		60:  "fetch   [====     ]  50%  1m17s left  20/s",
		80:  "fetch   [=========          ]  50%  1m17s left  20/s  50 of 100 school datasets",
		100: "fetch   [==========          ]  50%  1m17s left  20/s  50 of 100 school datasets  1 failed",
		140: "fetch   [==========          ]  50%  1m17s left  20/s  50 of 100 school datasets  1 failed  2 denied  1,234,567 rows  99 requests",
	} {
		require.Equal(t, want, barLine(p, c, width), width)
	}
	p.Retrying = []pipeline.Retry{
		{Dataset: "test_results", SchoolBid: "17", SchoolName: "École Lincoln", Attempt: 4, Cause: "status 503", For: time.Minute},
	}
	require.Equal(t, "fetch   [=========          ]  50%  1m17s left  20/s  1 school is being retrie…", barLine(p, c, 80))
	for width := range 200 {
		require.LessOrEqual(t, utf8.RuneCountInString(barLine(p, c, width)), max(width-1, 1), width)
	}
}

// TestTroublesAreNamed expects progress to list the calls that are being retried, and to say why there is no progress.
func TestTroublesAreNamed(t *testing.T) {
	t.Parallel()
	p := pipeline.Reading{Phase: "plan", Elapsed: 12 * time.Second, Retrying: []pipeline.Retry{
		{Dataset: "token", Attempt: 3, Cause: "host not found", For: time.Second},
	}}
	require.Equal(t, "progress: plan, attempt 3, token: host not found, after 12s", plainLine(p, pace{}))
	require.Equal(t, "plan     attempt 3, token: host not found  12s", barLine(p, pace{}, 80))

	p = pipeline.Reading{Phase: "fetch", SchoolsDone: 178, SchoolsTotal: 180, Elapsed: time.Minute, Retrying: []pipeline.Retry{
		{Dataset: "test_results", SchoolBid: "17", SchoolName: "Lincoln Elementary", Attempt: 6, Cause: "status 503", For: time.Minute},
		{Dataset: "students", SchoolBid: "18", SchoolName: "a\x1b[31m\n", Attempt: 4, Cause: "connection reset", For: 10 * time.Second},
		{Dataset: "students", SchoolBid: "19", Attempt: 2, Cause: "status 500", For: time.Second},
	}}
	require.Equal(t, `progress: fetch 99%, 0/s, 2 schools are being retried: Lincoln Elementary (test_results: status 503, attempt 6), ..., `+
		`178 of 180 school datasets, after 1m`, plainLine(p, pace{left: -1}))
	p.Retrying = p.Retrying[2:]
	require.NotContains(t, plainLine(p, pace{left: -1}), "retried", "it has just begun")

	p.Paused, p.GivesUpIn = "status 503", 28*time.Minute
	require.Equal(t, "progress: fetch 99%, paused: service failing (status 503), giving up in 28m, after 1m", plainLine(p, pace{left: -1}))
	for i := range 7 {
		p.Paused = ""
		p.Retrying = append(p.Retrying, pipeline.Retry{Dataset: "students", SchoolBid: fmt.Sprint("s", i), Attempt: 3, Cause: "status 500", For: time.Minute})
	}
	require.Contains(t, plainLine(p, pace{left: -1}), "7 schools are being retried: s0 (students: status 500, attempt 3), ..., ")
	require.NotContains(t, plainLine(p, pace{left: -1}), "s1")
	p.Retrying[0].SchoolName = "a\x1b[31m\n"
	p.Retrying[0].For = time.Minute
	require.Contains(t, plainLine(p, pace{left: -1}), `8 schools are being retried: "a\x1b[31m\n" (students: `)
}

// TestSlowSchoolsAreLogged expects a run without progress to log a school once if it is retried for half a minute.
func TestSlowSchoolsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	show := logSlowSchools(slog.New(slog.NewTextHandler(&out, nil)))
	p := pipeline.Reading{Phase: "fetch", Retrying: []pipeline.Retry{
		{Dataset: "token", Attempt: 3, Cause: "status 503", For: time.Hour},
		{Dataset: "students", SchoolBid: "17", SchoolName: "Lincoln Elementary", Attempt: 3, Cause: "status 500", For: 29 * time.Second},
	}}
	show(p)
	require.Empty(t, out.String())
	p.Retrying[1].For = 30 * time.Second
	p.Paused = "status 503"
	show(p)
	require.Empty(t, out.String(), "the pause is logged")
	p.Paused = ""
	show(p)
	show(p)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), `level=INFO msg="school is being retried" dataset=students school=17 name="Lincoln Elementary" cause="status 500" attempt=3`)
	for i := range 20 {
		p.Retrying = append(p.Retrying, pipeline.Retry{Dataset: "students", SchoolBid: fmt.Sprint("s", i), For: time.Minute})
	}
	show(p)
	require.Equal(t, maxSlow, strings.Count(out.String(), "\n"))
}

// TestLinesBecomeRare expects a line every ten seconds at first, and one every five minutes in the end.
func TestLinesBecomeRare(t *testing.T) {
	t.Parallel()
	var shown []time.Duration
	show := throttled(func(p pipeline.Reading) { shown = append(shown, p.Elapsed) })
	for elapsed := range 12000 {
		show(pipeline.Reading{Phase: "fetch", Elapsed: time.Duration(elapsed) * time.Second})
	}
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, shown[:3])
	last := shown[len(shown)-2:]
	require.Equal(t, 5*time.Minute, last[1]-last[0])
	require.Less(t, len(shown), 60)
}

// TestWrapLines breaks lines at spaces, loses nothing, and leaves JSON unchanged.
func TestWrapLines(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short\nlevel=WARN msg=\"the\n    service is\n    failing\"\nanswer? ", wrapLines("short\nlevel=WARN msg=\"the service is failing\"\nanswer? ", 20))
	require.Equal(t, "a "+strings.Repeat("b", 30)+"\n    c\n", wrapLines("a "+strings.Repeat("b", 30)+" c\n", 20))
	json := `{"level":"INFO","msg":"a long line of JSON"}` + "\n"
	require.Equal(t, json, wrapLines(json, 20))
}

func TestPublishingCountsFiles(t *testing.T) {
	t.Parallel()
	p := pipeline.Reading{Phase: "publish", SchoolsDone: 50, SchoolsTotal: 50, FilesDone: 1000, FilesTotal: 4000, Elapsed: time.Minute}
	require.Equal(t, "progress: publish, 1,000 of 4,000 files, after 1m", plainLine(p, pace{}))
	require.Contains(t, barLine(p, pace{}, 200), "[=====               ]  25%  1,000 of 4,000 files")
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return fmt.Errorf("do something: %w", err) }
	for want, errs := range map[int][]error{
		exitOK:          {nil},
		exitFailed:      {errors.New("x"), wrap(extract.ErrGaveUp), wrap(extract.ErrTokenEndpoint), wrap(pipeline.ErrIncomplete)},
		exitUsage:       {usagef("x"), wrap(pipeline.Usagef("x")), errors.Join(errInterrupted, usagef("x"))},
		exitRefused:     {wrap(extract.ErrRefused), errors.Join(errors.New("x"), extract.ErrRefused)},
		exitInterrupted: {wrap(errInterrupted), errors.Join(extract.ErrRefused, errInterrupted)},
	} {
		for _, err := range errs {
			require.Equal(t, want, exitCode(err), "%v", err)
		}
	}
	failed := snapshot.ManifestSchools{Failed: 1}
	require.Equal(t, exitOK, outcomeCode(&pipeline.Summary{Outcome: pipeline.Published}))
	require.Equal(t, exitPartial, outcomeCode(&pipeline.Summary{Outcome: pipeline.Published, Schools: failed}))
	require.Equal(t, exitHeld, outcomeCode(&pipeline.Summary{Outcome: pipeline.HeldBack, Schools: failed}))
	require.Equal(t, exitOK, outcomeCode(&pipeline.Summary{Outcome: pipeline.Staged, Schools: failed}), "publish judges a shard's failures")
}

func TestErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a; b", wording.OneLine(errors.Join(errors.New("a"), errors.New("b"))))
}
