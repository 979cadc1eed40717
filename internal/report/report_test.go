package report_test

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/snapshot"
)

func TestEveryFigureIsThere(t *testing.T) {
	t.Parallel()
	text := draw(t, night())
	words := html.UnescapeString(text)
	for _, figure := range []string{
		"Full snapshot of 20 November 2026", "2026-11-20-abc", "Published, but</span> 1 of 3 schools failed.",
		"1,236,115", "1,234,567", "1,545",
		"+3.0%", "+23.5%", "2026-11-19-abc", "19 November 2026",
		"25m4s", "including 12 retries", "287", ">17<", ">23<", "4,321", "type_mismatch",
		"slow-school", "1m23s", "v1.2.3", "https://service.example", "max-failed-schools", "20%", "/data/growth",
		"the service fails to answer (status 500, 9 attempts) (/growth)", "access denied (status 403)",
		"growth-export verify --dest /data/growth --run-id 2026-11-20-abc", "1.5 MB", "425.7 kB",
	} {
		has(t, words, figure)
	}
	inOrder(t, text, "<h1", "<dl class=\"facts\"", "What to do", "<h2>Failed", "failing", "<h2>Denied", "denying", "<h2>Tables", "<h2>Schools by dataset",
		">test_results<", ">students<", ">schools<", "<h2>Requests", "plot-requests", "plot-latency", "plot-concurrency", "<h2>Slowest", "<h2>Drift", "<h2>Settings")
}

// TestSchoolsByName expects names beside bids for failures, denials and the slowest schools.
func TestSchoolsByName(t *testing.T) {
	t.Parallel()
	page := night()
	page.Names = map[string]string{
		"failing": "Lincoln Elementary", "denying": "<b>Oak</b>\u202e\nMiddle", "slow-school": strings.Repeat("Ж", 200), "good": "unseen", "blank": "  ",
	}
	page.Ledger.Add(&snapshot.LedgerRow{Dataset: "students", SchoolBid: "blank", Status: snapshot.StatusFailed, Error: "e"})
	text := draw(t, page)
	for _, part := range []string{
		`<th scope="row"><bdi>Lincoln Elementary</bdi> <small class="bid"><bdi>failing</bdi></small></th>`,
		`<th scope="row"><bdi>&lt;b&gt;Oak&lt;/b&gt;\u202e Middle</bdi> <small class="bid"><bdi>denying</bdi></small></th>`,
		`<th scope="row"><bdi>` + strings.Repeat("Ж", 79) + `…</bdi> <small class="bid"><bdi>slow-school</bdi></small></th>`,
		`<th scope="row"><bdi>blank</bdi></th>`,
	} {
		has(t, text, part)
	}
	hasNot(t, text, "unseen")
}

func TestTablesBesideTheRunBefore(t *testing.T) {
	t.Parallel()
	page := night()
	page.Baseline.Tables["students"] = snapshot.ManifestTable{Rows: 3090}
	text := draw(t, page)
	row := regexp.MustCompile(`<tr><th scope="row">students</th>.*`).FindString(text)
	has(t, row, `<td class="num">1,545</td><td class="num soft was">3,090</td><td class="num fell">−50.0%</td>`)

	page.Baseline = nil
	text = draw(t, page)
	has(t, text, "Not compared with a previous snapshot")
	hasNot(t, text, "previous run, where different")
}

// TestResumedRun checks that the night between two parts of a run takes up little room on the axis.
func TestResumedRun(t *testing.T) {
	t.Parallel()
	page := night()
	hasNot(t, draw(t, page), " later</span>")
	var recorder activity.Recorder
	for i := range 20 {
		recorder.Requested(activity.Request{Operation: "o", Ended: began().Add(9*time.Hour + time.Duration(i)*time.Second), Took: time.Second, InFlight: 1})
	}
	page.Manifest.Activity.Add(recorder.Take())
	text := draw(t, page)
	require.Equal(t, 3, strings.Count(text, "9h later</span>"), "a label in each chart")
	for _, moment := range []string{"03:00:", "12:00:"} {
		require.Regexp(t, `<span class="x" style="left:[0-9.]+%">`+moment, text)
	}
}

// TestOperationsInTrouble expects the operations with retries to be listed first, each with its figures.
func TestOperationsInTrouble(t *testing.T) {
	t.Parallel()
	page := night()
	page.Manifest.Activity.Operations = map[string]activity.Operation{
		"quick":   {Requests: 11, Bytes: 1000, Latency: activity.Histogram{8: 11}},
		"slow":    {Requests: 22, Bytes: 2000, Latency: activity.Histogram{80: 22}},
		"retried": {Requests: 33, Bytes: 3000, Latency: activity.Histogram{0: 33}, Retries: map[string]int64{"429": 4, "503": 3}},
	}
	inOrder(t, draw(t, page), "<h3>Operations", `>retried</th><td class="num">33</td><td class="num">7</td>`, `>slow</th><td class="num">22</td>`, `>quick</th><td class="num">11</td>`)
}

// TestRunOfManyPauses checks that the active parts of a run take more room than the pauses between them, and that
// labels do not overlap.
func TestRunOfManyPauses(t *testing.T) {
	t.Parallel()
	page := night()
	page.Manifest.Activity = activity.Log{}
	for hour := range 40 {
		var recorder activity.Recorder
		recorder.Requested(activity.Request{Operation: "o", Ended: began().Add(time.Duration(hour) * time.Hour), Took: time.Second, InFlight: 1})
		page.Manifest.Activity.Add(recorder.Take())
	}
	text := draw(t, page)
	has(t, text, "20 November 2026 to 21 November 2026")
	labels := strings.Count(text, " later</span>")
	require.Positive(t, labels)
	require.LessOrEqual(t, labels, 3*(8+4))
	bar := regexp.MustCompile(`<rect x="0" width="([0-9.]+)"`).FindStringSubmatch(text)
	require.Len(t, bar, 2)
	width, err := strconv.ParseFloat(bar[1], 64)
	require.NoError(t, err)
	require.InDelta(t, 100*2.0/3/40, width, 0.01, "the first of 40 bars of two thirds of the axis")
}

func TestRowsThatSayTheSameAreOne(t *testing.T) {
	t.Parallel()
	page := night()
	page.Ledger = report.Ledger{}
	for _, dataset := range []string{"students", "test_results"} {
		page.Ledger.Add(&snapshot.LedgerRow{Dataset: dataset, SchoolBid: "unknown", Status: snapshot.StatusFailed, Error: "--schools names it"})
		page.Ledger.Add(&snapshot.LedgerRow{Dataset: dataset, Status: snapshot.StatusFailed, Error: "it has no bid"})
	}
	text := draw(t, page)
	has(t, text, `<h2>Failed <span class="n">2</span>`)
	require.Equal(t, 2, strings.Count(text, "<td>students, test_results</td>"))
	has(t, text, "(a school without a bid)")
}
