package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// draw writes a page and checks what holds of every page.
func draw(t *testing.T, page *report.Page) string {
	t.Helper()
	var b, again bytes.Buffer
	require.NoError(t, report.Write(&b, page))
	require.NoError(t, report.Write(&again, page))
	require.Equal(t, b.String(), again.String(), "the same page again")
	icon := regexp.MustCompile(`<link rel="icon" href="data:image/svg[&#0-9;+]+xml,%3Csvg[a-zA-Z0-9%./:=-]+">`)
	require.Len(t, icon.FindAllString(b.String(), -1), 1)
	text := icon.ReplaceAllString(b.String(), "") // the only thing that a page may link to
	has(t, text, `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`)
	for _, never := range []string{"<script", "javascript:", "@import", "<link", "<img", "<iframe", "<form", "ZgotmplZ", "NaN", "Inf", "<no value>"} {
		hasNot(t, text, never)
	}
	require.False(t, regexp.MustCompile(`(?i)[\s"'](src|href|srcset|action|data)\s*=`).MatchString(text), "something outside of the page")
	hasNot(t, text, "url(")
	for _, drawing := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
		wellFormed(t, xml.NewDecoder(strings.NewReader(drawing)))
	}
	elements := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>")))
	elements.Strict, elements.AutoClose, elements.Entity = false, []string{"meta"}, xml.HTMLEntity
	wellFormed(t, elements)
	require.Equal(t, 1, strings.Count(text, "<h1 "))
	return text
}

// has is require.Contains without the page in its message.
func has(t *testing.T, text, part string) {
	t.Helper()
	require.True(t, strings.Contains(text, part), "%q is not there", part)
}

func hasNot(t *testing.T, text, part string) {
	t.Helper()
	at := strings.Index(text, part)
	require.Negative(t, at, "%q is there: %q", part, text[max(at-100, 0):min(max(at, 0)+100, len(text))])
}

// wellFormed reads elements that are closed in order, and no id twice.
func wellFormed(t *testing.T, d *xml.Decoder) {
	t.Helper()
	ids := make(map[string]bool)
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
			for _, attribute := range token.Attr {
				require.False(t, strings.HasPrefix(attribute.Name.Local, "on"), "an attribute that runs a script: %s", attribute.Name.Local)
				if attribute.Name.Local == "id" {
					require.False(t, ids[attribute.Value], "id %s twice", attribute.Value)
					ids[attribute.Value] = true
				}
			}
		case xml.EndElement:
			require.NotEmpty(t, open)
			require.Equal(t, open[len(open)-1], token.Name.Local)
			open = open[:len(open)-1]
		}
	}
	require.Empty(t, open)
}

// inOrder checks that the texts come after one another.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	at := 0
	for _, part := range parts {
		next := strings.Index(text[at:], part)
		require.GreaterOrEqual(t, next, 0, "%q, and after what is before it in %q", part, parts)
		at += next + len(part)
	}
}

func began() time.Time { return time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC) }

// night returns a published run of three schools, of which one failed and one was denied.
func night() *report.Page {
	var recorder activity.Recorder
	for i := range 300 {
		at := began().Add(time.Duration(i/10) * time.Second)
		recorder.Requested(activity.Request{
			Operation: "test_results", Ended: at, Took: time.Duration(100+i) * time.Millisecond, Bytes: 1000, InFlight: int64(1 + i%7), Limit: 8,
		})
		if i%50 == 0 {
			recorder.Retried(at, "test_results", "503")
			recorder.Retried(at, "students", "timeout")
		}
	}
	recorder.School(activity.SchoolTime{School: "slow-school", Dataset: "test_results", Seconds: 83.2, Requests: 41, Retries: 3})
	files := func(rows ...int64) snapshot.ManifestTable {
		var table snapshot.ManifestTable
		for i, n := range rows {
			table.Rows += n
			table.Files = append(table.Files, sink.File{Path: fmt.Sprintf("f%d", i), Rows: n, Bytes: n * 1234})
		}
		return table
	}
	manifest := &snapshot.Manifest{
		FormatVersion: 1, RunID: "2026-11-20-abc", Status: snapshot.Published, SnapshotDate: "2026-11-20", Kind: snapshot.Full,
		StartedAt: began(), PublishedAt: began().Add(25*time.Minute + 4*time.Second), ToolVersion: "v1.2.3", BaseURL: "https://service.example",
		Parameters: snapshot.Parameters{
			Scope:          snapshot.Scope{Datasets: []string{"schools", "students", "test_results"}, Perspectives: "all", PartitionBy: "none"},
			SchoolsPerFile: 256, Shards: 1, MaxFailedSchools: 5, MaxShrink: "20%",
		},
		Tables: map[string]snapshot.ManifestTable{
			"schools": files(3), "students": files(1200, 345), "test_results": files(1_234_567), "test_result_norms": files(0),
		},
		Schools: snapshot.ManifestSchools{Total: 3, OK: 1, Denied: 1, Failed: 1},
		Datasets: map[string]snapshot.ManifestDataset{
			"schools": {OK: 1, SchoolsWithRow: 1}, "students": {OK: 2, Denied: 1, SchoolsWithRow: 2}, "test_results": {OK: 2, Failed: 1, SchoolsWithRow: 1},
		},
		Requests: snapshot.Requests{Total: 300, Retries: 12, TokenRefreshes: 1, ByStatus: map[string]int64{"200": 287, "503": 6, "timeout": 7}},
		Drift:    []snapshot.Drift{{Table: "students", Field: "grade", Kind: "type_mismatch", Count: 4321}},
		Activity: *recorder.Take(),
	}
	before := &snapshot.Manifest{
		RunID: "2026-11-19-abc", SnapshotDate: "2026-11-19", Kind: snapshot.Full,
		Tables: map[string]snapshot.ManifestTable{"schools": files(3), "students": files(1500), "test_results": files(1_000_000), "test_result_norms": files(0)},
	}
	page := &report.Page{State: report.Published, Manifest: manifest, Baseline: before, Destination: "/data/growth", Tasks: 3}
	for _, row := range []snapshot.LedgerRow{
		{Dataset: "schools", Status: snapshot.StatusOK, RowsWritten: 3},
		{Dataset: "students", SchoolBid: "denying", Status: snapshot.StatusDenied, Error: "students of school denying (/students): access denied (status 403)"},
		{Dataset: "students", SchoolBid: "good", Status: snapshot.StatusOK, DuplicatesDropped: 17},
		{Dataset: "test_results", SchoolBid: "failing", Status: snapshot.StatusFailed, Requests: 9, Retries: 8, Error: "test_results of school failing (/growth): the service fails to answer (status 500, 9 attempts)"},
		{Dataset: "test_results", SchoolBid: "good", Status: snapshot.StatusOK, RecordsUnavailable: 23},
	} {
		page.Ledger.Add(&row)
	}
	return page
}

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

// TestSchoolsByName shows names beside bids: of failures, denials and the
// slowest schools.
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
		`<th scope="row"><bdi>&lt;b&gt;Oak&lt;/b&gt;` + "\u202e" + ` Middle</bdi> <small class="bid"><bdi>denying</bdi></small></th>`,
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
	has(t, text, "There is no previous run")
	hasNot(t, text, "previous run, where different")
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	quiet := func(change func(*report.Page)) *report.Page {
		page := night()
		page.Manifest.Schools = snapshot.ManifestSchools{Total: 3, OK: 3}
		page.Ledger = report.Ledger{}
		change(page)
		return page
	}
	for name, test := range map[string]struct {
		page   *report.Page
		tone   string
		has    []string
		hasNot []string
	}{
		"quiet": {
			quiet(func(*report.Page) {}), "good", []string{"All schools exported completely.", "growth-export sql --dest /data/growth --snapshot-date 2026-11-20"}, []string{"<h2>Failed", "<h2>Denied", "--accept-held"},
		},
		"denied": {
			quiet(func(p *report.Page) { p.Manifest.Schools = snapshot.ManifestSchools{Total: 3, OK: 2, Denied: 1} }), "good", []string{"access to 1 of 3 was denied (0 in the snapshot of ", "growth-export purge"}, nil,
		},
		"failed in part": {night(), "fair", []string{"<title>Published, but: Full snapshot"}, nil},
		"held": {
			quiet(func(p *report.Page) {
				p.State, p.Held = report.Held, snapshot.Held{Reasons: []string{"2 of 3 schools failed"}, FailedSchools: true}
			}), "bad",
			[]string{
				"Held back", "2 of 3 schools failed", "Run the same growth-export run command again: it retries the schools that failed", "--run-id 2026-11-20-abc)",
				"growth-export publish --dest /data/growth --run-id 2026-11-20-abc --accept-held",
			},
			[]string{"--restart"},
		},
		"held for shrinking": {
			quiet(func(p *report.Page) {
				p.State, p.Held = report.Held, snapshot.Held{Reasons: []string{"rows of table students fell from 9 to 5"}}
			}), "bad",
			[]string{"Held back", "rows of table students fell", "--run-id 2026-11-20-abc --accept-held", "run command with --restart."},
			[]string{"it retries the schools that failed"},
		},
		"a large fall": {
			quiet(func(p *report.Page) {
				p.Baseline.Tables = map[string]snapshot.ManifestTable{
					"students": {Rows: 3090}, "test_results": {Rows: 1_234_567 * 10 / 8}, "schools": {Rows: 3}, "gone": {Rows: 100},
				}
			}), "fair",
			[]string{
				`<span class="word">Published, but</span> table students lost 50.0% of its rows.`, "students fell from 3,090 to 1,545 rows (−50.0%).",
				"is the drop in rows real?",
			},
			[]string{"Nothing.", "test_results fell"},
		},
		"two falls": {
			quiet(func(p *report.Page) {
				p.Baseline.Tables = map[string]snapshot.ManifestTable{"students": {Rows: 3090}, "schools": {Rows: 30}}
			}), "fair", []string{"2 tables lost more than 20% of their rows.", "<li><bdi>schools fell from 30 to 3 rows"}, nil,
		},
		"a check that failed": {
			quiet(func(p *report.Page) {
				p.Manifest.Checks = []snapshot.Check{{Check: snapshot.CheckUnknownStudent, Table: "test_results", Count: 7, Schools: 3}}
			}), "fair", []string{"Published, but</span> 1 check of the service&#39;s own rules failed."}, nil,
		},
		"accepted by hand": {
			quiet(func(p *report.Page) { p.Manifest.Accepted = []string{"rows of table students fell"} }), "fair",
			[]string{"Published, but</span> it was held back and then accepted by hand.", "Accepted by hand: rows of table students fell"},
			nil,
		},
		"staged": {
			quiet(func(p *report.Page) { p.State = report.Staged }), "fair", []string{"Staged.", "growth-export publish --dest /data/growth --run-id 2026-11-20-abc<"}, nil,
		},
		"not published": {
			quiet(func(p *report.Page) { p.State, p.Failure = report.Staged, "write x: no space left" }), "bad", []string{"Not published.", "no space left"}, nil,
		},
		"incomplete": {
			quiet(func(p *report.Page) {
				p.State, p.Tasks, p.Missing = report.Incomplete, 20, []string{"students of bucket 1", "b", "c", "d", "e"}
			}), "fair",
			[]string{"Incomplete.", "Rows staged so far", "15 of 20", "students of bucket 1, b, c and 2 more", "the same command again"},
			nil,
		},
		"failed": {
			quiet(func(p *report.Page) {
				p.State, p.Tasks, p.Missing, p.Failure = report.Incomplete, 20, []string{"a"}, "gave up after 30m"
			}), "bad", []string{"Failed.", "gave up after 30m"}, nil,
		},
		"of shards": {
			quiet(func(p *report.Page) {
				p.State, p.Tasks, p.Missing, p.Manifest.Parameters.Shards = report.Incomplete, 20, []string{"a"}, 3
			}), "fair", []string{"every shard"}, nil,
		},
		"replaced": {
			quiet(func(p *report.Page) { p.State, p.ReplacedBy = report.Replaced, "newer" }), "fair", []string{"Replaced.", "Run newer replaced this one"}, nil,
		},
		"purged": {
			quiet(func(p *report.Page) {
				p.Manifest.Purges = []snapshot.ManifestPurge{{ID: "f00d", At: began(), RowsRemoved: map[string]int64{"a": 1000, "b": 234}}}
			}), "good", []string{"1,234 rows were purged on 20 November 2026, 03:00:00 UTC", "_purges/f00d.json"}, nil,
		},
		"as of a date": {
			quiet(func(p *report.Page) { p.Manifest.Kind, p.Manifest.SnapshotDate = snapshot.AsOf, "2025-09-01" }), "good",
			[]string{"Enrollment as of 1 September 2025", "growth-export sql --dest /data/growth --effective-date 2025-09-01"},
			nil,
		},
		"several errors": {
			quiet(func(p *report.Page) { p.State, p.Failure = report.Staged, "write x: no space left\nunlock y: gone" }),
			"bad",
			[]string{"<bdi>write x: no space left</bdi>", "<bdi>unlock y: gone</bdi>"},
			nil,
		},
		"published, with an error": {
			quiet(func(p *report.Page) { p.Failure = "remove x: input/output error" }), "fair", []string{"input/output error"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := draw(t, test.page)
			has(t, text, `<h1 class="`+test.tone+`">`)
			for _, part := range test.has {
				has(t, text, part)
			}
			for _, part := range test.hasNot {
				hasNot(t, text, part)
			}
		})
	}
}

// TestWhatIsStillCurrent expects the page of an unpublished run to say how old
// the current snapshot is.
func TestWhatIsStillCurrent(t *testing.T) {
	t.Parallel()
	page := night()
	hasNot(t, draw(t, page), "<dt>current snapshot")
	page.Baseline.StartedAt = began().Add(-31 * time.Hour)
	for _, state := range []report.State{report.Held, report.Incomplete, report.Staged} {
		page.State = state
		has(t, draw(t, page), "<dt>current snapshot</dt><dd>31 hours old</dd><dd class=\"note\">of 19 November 2026, unchanged</dd>")
	}
	page.Baseline.StartedAt = began().Add(-50 * 24 * time.Hour)
	has(t, draw(t, page), "<dd>50 days old</dd>")
	page.Baseline = nil
	has(t, draw(t, page), "<dt>current snapshot</dt><dd>none</dd>")
	page.Manifest.Kind = snapshot.Delta
	hasNot(t, draw(t, page), "<dt>current snapshot")
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='x`, "a\nb\r\n\tc", `{{.Style}}`, `</style><h1 class="x">`, "\u202eright to left",
		`javascript:alert(1)`, strings.Repeat("ж", 5000), "]]>&amp;<!--", "bad \xff utf-8", "\x00\x1b[31m",
	}
	page := night()
	page.State, page.Destination = report.Held, `/tmp/it's <b>; rm -rf $HOME`
	for i, text := range hostile {
		page.Held.Reasons = append(page.Held.Reasons, text)
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
	has(t, text, "<bdi>\u202eright to left</bdi>")
	for _, drawing := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
		wellFormed(t, xml.NewDecoder(strings.NewReader(drawing)))
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
	has(t, text, "Too short to chart.")
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

// TestResumedRun: a night between two parts of a run takes little of the axis.
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
	require.Equal(t, 3, strings.Count(text, "9h later</span>"), "in each chart")
	for _, moment := range []string{"03:00:", "12:00:"} {
		require.Regexp(t, `<span class="x" style="left:[0-9.]+%">`+moment, text)
	}
}

// TestOperationsInTrouble come first, with the figures of each.
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

// TestDamagedActivity: a page is drawn, or there is an error, whatever a manifest has.
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

// TestOddFigures draws what only a damaged manifest can have.
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

// TestRunOfManyPauses: what it did stays larger than the pauses between, and their labels do not lie on one another.
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

// TestManySchools: the page of the largest run is one that a browser opens.
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

// TestReasonsOfOddSchools: a bid that is longer than what is shown of an error does not hide why.
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
