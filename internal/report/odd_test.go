package report_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='x`, "a\nb\r\n\tc", `{{.Style}}`, `</style><h1 class="x">`, "\u202eright to left",
		`javascript:alert(1)`, strings.Repeat("ж", 5000), "]]>&amp;<!--", "bad \xff utf-8", "\x00\x1b[31m",
		"\u0080\u0085\u009b31m\u009f", "\u2028\u2029", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069",
	}
	page := night()
	page.State, page.Destination = report.Held, `/tmp/it's <b>; rm -rf $HOME`
	for i, text := range hostile {
		page.Held.Reasons = append(page.Held.Reasons, review.Reason{Check: text, Found: []review.Finding{{Table: text}}}, unlisted(text))
		page.Ledger.Add(&snapshot.LedgerRow{Dataset: "students", SchoolBid: text, Status: snapshot.StatusFailed, Error: text})
		page.Ledger.Add(&snapshot.LedgerRow{Dataset: "students", SchoolBid: text, Status: snapshot.StatusDenied, Error: text})
		page.Manifest.Drift = append(page.Manifest.Drift, snapshot.Drift{Table: "students", Field: text, Kind: "unknown_field", Count: int64(i + 1)})
		page.Manifest.Activity.Slowest = append(page.Manifest.Activity.Slowest, activity.SchoolTime{School: text, Dataset: text})
		page.Manifest.Parameters.Schools = append(page.Manifest.Parameters.Schools, text)
		page.Manifest.Tables[text] = snapshot.ManifestTable{Rows: 5}
		page.Manifest.Activity.Steps[0].Retries[text] = 3
	}
	page.Manifest.BaseURL = hostile[0]
	page.Failure = hostile[1]
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, page))
	text := b.String()
	for _, never := range []string{"<script", "<img", "<b>", `<h1 class="x"`, "<!--", "\x00", "\x1b"} {
		hasNot(t, text, never)
	}
	hasNot(t, text, strings.Repeat("ж", 2000))
	has(t, text, "&lt;script&gt;alert(1)&lt;/script&gt;")
	has(t, text, `--dest &#39;/tmp/it&#39;\&#39;&#39;s &lt;b&gt;; rm -rf $HOME&#39;`)
	has(t, text, `<bdi>\u202eright to left</bdi>`)
	hasNoControls(t, text)
	var notice bytes.Buffer
	require.NoError(t, report.WriteNotice(&notice, &report.Notice{Schools: hostile, Districts: hostile, Students: hostile}))
	hasNoControls(t, notice.String())
	for _, drawing := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
		wellFormed(t, xml.NewDecoder(strings.NewReader(drawing)))
	}
}

// hasNoControls expects that a text has no characters that control a page or terminal.
func hasNoControls(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		acts := unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
		require.False(t, acts, "%U", r)
	}
}

func TestLittleToShow(t *testing.T) {
	t.Parallel()
	empty := &report.Page{State: report.Published, Manifest: &snapshot.Manifest{RunID: "r", SnapshotDate: "2026-11-20", Kind: snapshot.Delta}}
	text := draw(t, empty)
	hasNot(t, text, "<svg")

	older := night()
	older.Manifest.Activity = activity.Log{}
	text = draw(t, older)
	has(t, text, "were not recorded")
	has(t, text, "plot-rows")

	var recorder activity.Recorder
	recorder.Requested(activity.Request{Operation: "o", Ended: began(), Took: time.Second, InFlight: 1})
	single := night()
	single.Manifest.Activity = *recorder.Take()
	text = draw(t, single)
	has(t, text, "The run was too short for charts.")
	hasNot(t, text, "plot-latency")

	single.Manifest.Activity.Steps = nil
	for i := range 3 {
		recorder.Requested(activity.Request{Operation: "o", Ended: began().Add(time.Duration(5*i) * time.Second), Took: time.Second, InFlight: 1})
	}
	single.Manifest.Activity = *recorder.Take()
	text = draw(t, single)
	has(t, text, `aria-labelledby="plot-latency"`)
	hasNot(t, text, ">limit</li>")

	nothing := night()
	nothing.Manifest.Tables = map[string]snapshot.ManifestTable{"students": {}, "test_results": {}}
	nothing.Baseline = nil
	hasNot(t, draw(t, nothing), "plot-rows")
}

// TestDamagedActivity expects a page or an error, no matter what a damaged manifest contains.
func TestDamagedActivity(t *testing.T) {
	t.Parallel()
	for _, damage := range []func(*activity.Log){
		func(l *activity.Log) { l.StepSeconds = 0 },
		func(l *activity.Log) { l.StepSeconds = 1 << 62 },
		func(l *activity.Log) { l.Steps[0].At = math.MinInt64 },
		func(l *activity.Log) { l.Steps[len(l.Steps)-1].At = math.MaxInt64 - 1 },
		func(l *activity.Log) { slices.Reverse(l.Steps) },
		func(l *activity.Log) { l.Steps = append(l.Steps, l.Steps[len(l.Steps)-1]) },
		func(l *activity.Log) { l.Steps[0].Latency = activity.Histogram{1 << 20: 1} },
	} {
		page := night()
		damage(&page.Manifest.Activity)
		has(t, draw(t, page), "Requests over time were not recorded.")
	}
}

// TestOddFigures draws figures that only a damaged manifest can contain.
func TestOddFigures(t *testing.T) {
	t.Parallel()
	page := night()
	m := page.Manifest
	m.Tables = map[string]snapshot.ManifestTable{
		"schools": {Rows: math.MaxInt64}, "students": {Rows: math.MinInt64}, "test_results": {Rows: -1, Files: []sink.File{{Bytes: -5}}},
	}
	for i, n := range []int64{math.MaxInt64, math.MinInt64, -1, 0} {
		s := &m.Activity.Steps[i]
		s.Requests, s.InFlight, s.Limit, s.Bytes = n, n, n, n
		s.Retries = map[string]int64{"503": n, "429": -n}
		s.Latency = activity.Histogram{0: 0, 320: n & math.MaxInt64}
	}
	for _, seconds := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e300} {
		m.Activity.Slowest = append(m.Activity.Slowest, activity.SchoolTime{School: "S", Seconds: seconds})
	}
	m.Activity.Operations = map[string]activity.Operation{"o": {Latency: activity.Histogram{1 << 20: 1, -1 << 20: -1}}}
	m.StartedAt, m.PublishedAt = time.Unix(math.MinInt64, 0), time.Unix(1<<40, 0)
	page.Tasks, page.Missing = -1, []string{"x"}
	for _, state := range []report.State{report.Published, report.Replaced, report.Held, report.Staged, report.Incomplete, ""} {
		page.State = state
		text := draw(t, page)
		for _, place := range regexp.MustCompile(`style="(?:left|top|width):([^%"]*)%"`).FindAllStringSubmatch(text, -1) {
			at, err := strconv.ParseFloat(place[1], 64)
			require.NoError(t, err)
			require.True(t, 0 <= at && at <= 100, place[0])
		}
	}
	m.Activity.Steps = m.Activity.Steps[:3]
	for i := range m.Activity.Steps {
		s := &m.Activity.Steps[i]
		s.Requests, s.Latency, s.InFlight, s.Limit = 0, nil, 0, 0
	}
	draw(t, page)
}

// TestManySchools checks that the page of the largest run is small enough for a browser.
func TestManySchools(t *testing.T) {
	t.Parallel()
	page := night()
	long := strings.Repeat("the service fails to answer; ", 40)
	for i := range 20_000 {
		page.Ledger.Add(&snapshot.LedgerRow{Dataset: "students", SchoolBid: fmt.Sprintf("school-%05d", i), Status: snapshot.StatusFailed, Error: long})
		page.Ledger.Add(&snapshot.LedgerRow{Dataset: "test_results", SchoolBid: fmt.Sprintf("school-%05d", i), Status: snapshot.StatusDenied, Error: long})
		page.Manifest.Parameters.Schools = append(page.Manifest.Parameters.Schools, fmt.Sprintf("school-%05d", i))
		page.Manifest.Drift = append(page.Manifest.Drift, snapshot.Drift{Table: "students", Field: strconv.Itoa(i), Kind: "unknown_field", Count: 1})
	}
	text := draw(t, page)
	require.Less(t, len(text), 2<<20)
	has(t, text, `<h2>Failed <span class="n">20,001</span>`)
	has(t, text, "<h3>Most frequent errors</h3>")
	has(t, text, `<td class="num">20,000</td><td>students</td>`)
	has(t, text, "<summary>80 more</summary>")
	has(t, text, "19,901 more are not on this page")
	has(t, text, "read_parquet(&#39;/data/growth/_runs/2026-11-20-abc/ledger.parquet&#39;) WHERE status = &#39;failed&#39;")
}

// TestReasonsOfOddSchools checks that a bid that is longer than the shown part of an error does not hide the reason.
func TestReasonsOfOddSchools(t *testing.T) {
	t.Parallel()
	for _, bid := range []string{strings.Repeat("B", 10_000), strings.Repeat(`<b>"\u202e`, 1000)} {
		said := bid
		if strings.Contains(bid, `"`) {
			said = strconv.Quote(bid)
		}
		page := night()
		page.Ledger = report.Ledger{}
		page.Ledger.Add(&snapshot.LedgerRow{
			Dataset: "students", SchoolBid: bid, Status: snapshot.StatusFailed,
			Error: "students of school " + said + " (/route): the service fails to answer",
		})
		has(t, draw(t, page), "<bdi>the service fails to answer (/route)</bdi>")
	}
}
