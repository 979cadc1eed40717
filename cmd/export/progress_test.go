package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
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

// TestPlainLines shows a line at each phase and one every ten seconds.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var shown []string
		w := &watcher{read: func() pipeline.Progress {
			p := pipeline.Progress{Elapsed: time.Since(started), Phase: "plan"}
			if p.Elapsed > 3*time.Second {
				p.Phase, p.SchoolsTotal = "fetch", 100
				p.SchoolsDone, p.Requests = int64(p.Elapsed.Seconds()), int64(20*p.Elapsed.Seconds())
			}
			return p
		}}
		w.show = w.nowAndThen(func(p pipeline.Progress) { shown = append(shown, plainLine(p, w.pace)) })
		done := make(chan struct{})
		go func() {
			<-time.After(24 * time.Second)
			close(done)
		}()
		w.watch(done)
		require.Len(t, shown, 4, strings.Join(shown, "\n"))
		require.Equal(t, "progress: plan, 0 requests, after 0.0s", shown[0])
		require.Contains(t, shown[1], "progress: fetch 3%, ")
		require.Contains(t, shown[1], "3 of 100 school datasets, 0 rows, 63 requests, after 3s")
		require.Equal(t, "progress: fetch 23%, 1m17s left, 20/s, 23 of 100 school datasets, 0 rows, 465 requests, after 23s", shown[3])
	})
}

// TestWatchEndsWithItsLastWord draws a bar and takes it away.
func TestWatchEndsWithItsLastWord(t *testing.T) {
	t.Parallel()
	a, _, stderr := testApp(nil)
	a.now = time.Now
	stop := a.watch(&general{progress: progressBar}, &pipeline.Meter{})
	stop()
	stop()
	require.True(t, strings.HasSuffix(stderr.String(), clearLine), "%q", stderr)
	stderr.Reset()
	a.watch(&general{progress: progressNone}, &pipeline.Meter{})()
	require.Empty(t, stderr.String())
}

// TestBarFitsTheTerminal expects the most important figures to come first.
func TestBarFitsTheTerminal(t *testing.T) {
	t.Parallel()
	p := pipeline.Progress{Phase: "fetch", SchoolsDone: 50, SchoolsTotal: 100, Rows: 1234567, Requests: 99, Retries: 3, Failed: 1, Denied: 2}
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

// TestTroublesAreNamed expects progress to say what is being retried, and why
// nothing moves.
func TestTroublesAreNamed(t *testing.T) {
	t.Parallel()
	p := pipeline.Progress{Phase: "plan", Elapsed: 12 * time.Second, Retrying: []pipeline.Retry{
		{Dataset: "token", Attempt: 3, Cause: "host not found", For: time.Second},
	}}
	require.Equal(t, "progress: plan, attempt 3, token: host not found, after 12s", plainLine(p, pace{}))
	require.Equal(t, "plan     attempt 3, token: host not found  12s", barLine(p, pace{}, 80))

	p = pipeline.Progress{Phase: "fetch", SchoolsDone: 178, SchoolsTotal: 180, Elapsed: time.Minute, Retrying: []pipeline.Retry{
		{Dataset: "test_results", SchoolBid: "17", SchoolName: "Lincoln Elementary", Attempt: 6, Cause: "status 503", For: time.Minute},
		{Dataset: "students", SchoolBid: "18", SchoolName: "a\x1b[31m\n", Attempt: 4, Cause: "connection reset", For: 10 * time.Second},
		{Dataset: "students", SchoolBid: "19", Attempt: 2, Cause: "status 500", For: time.Second},
	}}
	require.Equal(t, `progress: fetch 99%, 0/s, 2 schools are being retried: Lincoln Elementary (test_results: status 503, attempt 6), `+
		`"a\x1b[31m\n" (students: connection reset, attempt 4), 178 of 180 school datasets, 0 rows, 0 requests, after 1m0s`, plainLine(p, pace{left: -1}))
	p.Retrying = p.Retrying[2:]
	require.NotContains(t, plainLine(p, pace{left: -1}), "retried", "it has just begun")

	p.Paused, p.GivesUpIn = "status 503", 28*time.Minute
	require.Contains(t, plainLine(p, pace{left: -1}), "fetch 99%, paused: service failing (status 503), giving up in 28m0s, 178 of 180")
	for i := range 7 {
		p.Paused = ""
		p.Retrying = append(p.Retrying, pipeline.Retry{Dataset: "students", SchoolBid: fmt.Sprint("s", i), Attempt: 3, Cause: "status 500", For: time.Minute})
	}
	require.Contains(t, plainLine(p, pace{left: -1}), "7 schools are being retried: s0 (students: status 500, attempt 3), s1 (")
	require.NotContains(t, plainLine(p, pace{left: -1}), "s3")
}

func TestPublishingCountsFiles(t *testing.T) {
	t.Parallel()
	p := pipeline.Progress{Phase: "publish", SchoolsDone: 50, SchoolsTotal: 50, FilesDone: 1000, FilesTotal: 4000, Elapsed: time.Minute}
	require.Equal(t, "progress: publish, 1,000 of 4,000 files, after 1m0s", plainLine(p, pace{}))
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
	failed := sink.ManifestSchools{Failed: 1}
	require.Equal(t, exitOK, outcomeCode(&pipeline.Summary{Outcome: pipeline.Published}))
	require.Equal(t, exitPartial, outcomeCode(&pipeline.Summary{Outcome: pipeline.Published, Schools: failed}))
	require.Equal(t, exitHeld, outcomeCode(&pipeline.Summary{Outcome: pipeline.HeldBack, Schools: failed}))
	require.Equal(t, exitOK, outcomeCode(&pipeline.Summary{Outcome: pipeline.Staged, Schools: failed}), "publish judges a shard's failures")
}

func TestErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a; b", oneLine(errors.Join(errors.New("a"), errors.New("b"))))
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s := &pipeline.Summary{
		Outcome: pipeline.Published, RunID: "r1", SnapshotDate: "2026-11-20", Destination: "it's here", Duration: 1500 * time.Millisecond,
		Tables: []pipeline.TableSummary{
			{Table: "schools", Rows: 3, Files: 1, Bytes: 500},
			{Table: "test_results", Rows: 1234, Files: 2, Bytes: 123456},
		},
		Datasets: []pipeline.DatasetSummary{{Dataset: "test_results", ManifestDataset: sink.ManifestDataset{OK: 1, Denied: 2, Failed: 1}}},
		Schools: sink.ManifestSchools{Total: 3, OK: 1, Denied: 1, Failed: 1, Failures: []sink.SchoolFailure{
			{SchoolBid: "bid\n1", Dataset: "test_results", Error: "status 500"},
			{SchoolBid: "bid2", Dataset: "students", Error: "students of school bid2: status 404"},
			{SchoolBid: "bid3", SchoolName: "Lincoln Elementary", Dataset: "students", Error: "students of school bid3: status 404"},
			{SchoolBid: "bid4", SchoolName: "Oak\u202e\n" + strings.Repeat("k", 200), Dataset: "students", Error: "more than 3 records"},
			{SchoolName: "Elm", Error: "it has no bid"},
		}},
		Denials:  []pipeline.Denial{{SchoolBid: "bid9", SchoolName: "Pine Middle", Datasets: []string{"students", "test_results"}}},
		Requests: sink.Requests{Total: 1010, Retries: 8, TokenRefreshes: 1, ByStatus: map[string]int64{"500": 9, "200": 1001}},
		Drift: []sink.Drift{
			{Table: "test_results", Field: "", Kind: "unknown_field", Count: 1},
			{Table: "test_results", Field: "a: b", Kind: "unknown_field", Count: 1},
			{Table: "test_results", Field: "x", Kind: "unknown_field", Count: 12},
		},
	}
	var out bytes.Buffer
	require.NoError(t, writeSummary(&out, s))
	require.Equal(t, `Published: snapshot 2026-11-20, run r1, at it's here (2s)

  table          rows  files      size
  schools           3      1     500 B
  test_results  1,234      2  123.5 kB
  all           1,237      3  124.0 kB

schools   3: 1 ok, 1 denied, 1 failed
  failed  "bid\n1" test_results: status 500
  failed  students of school bid2: status 404
  failed  Lincoln Elementary: students of school bid3: status 404
  failed  "Oak\u202e\n`+strings.Repeat("k", 54)+`…" (bid4) students: more than 3 records
  failed  Elm (no bid): it has no bid
  denied  Pine Middle (bid9): students, test_results
  denied  test_results: 1, see the ledger
requests  1,010, 8 retries, 1 new token (200: 1,001, 500: 9)
drift     test_results "": unknown_field, 1
          test_results "a: b": unknown_field, 1
          test_results x: unknown_field, 12
          values that do not match the schema; originals kept in _extra

next      see _runs/r1/ledger.parquet for what failed
          in DuckDB: SELECT count(*) FROM read_parquet('it''s here/test_results/snapshot_date=2026-11-20/**/*.parquet', hive_partitioning = true);
`, out.String())

	s.Outcome, s.Held = pipeline.HeldBack, []string{"1 of 3 schools failed"}
	s.Next = []wording.Step{{Say: "Run it again."}, {Say: "Publish it:", Command: "growth-export publish"}}
	out.Reset()
	require.NoError(t, writeSummary(&out, s))
	require.Contains(t, out.String(), "Held back: snapshot 2026-11-20, run r1, at it's here (2s)\n  because 1 of 3 schools failed\n")
	require.True(t, strings.HasSuffix(out.String(), "\nnext      Run it again.\nor        Publish it: growth-export publish\n"), out.String())
}

// TestSummaryNamesPlaces: the kinds of run have their words, and the query of
// each reads where its files are.
func TestSummaryNamesPlaces(t *testing.T) {
	t.Parallel()
	for destination, kinds := range map[string]map[sink.Kind][2]string{
		"out": {
			sink.Full:  {"snapshot 2026-11-20", "out/students/snapshot_date=2026-11-20/**/*.parquet"},
			sink.AsOf:  {"enrollment as of 2026-11-20", "out/as_of/students/snapshot_date=2026-11-20/**/*.parquet"},
			sink.Delta: {"changes of 2026-11-20", "out/changes/students/snapshot_date=2026-11-20/**/part-????-r1.parquet"},
		},
		"s3://bucket/prefix": {sink.Full: {"snapshot", "s3://bucket/prefix/students/snapshot_date="}},
		"s3://bucket/":       {sink.Full: {"snapshot", "s3://bucket/students/snapshot_date="}},
	} {
		for kind, want := range kinds {
			var out bytes.Buffer
			require.NoError(t, writeSummary(&out, &pipeline.Summary{
				Outcome: pipeline.Published, RunID: "r1", Kind: kind, SnapshotDate: "2026-11-20", Destination: destination,
				Tables: []pipeline.TableSummary{{Table: "students", Rows: 1, Files: 1, Bytes: 1}},
			}))
			require.Contains(t, out.String(), "Published: "+want[0])
			require.Contains(t, out.String(), "read_parquet('"+want[1])
		}
	}
}
