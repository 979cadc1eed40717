package report_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
)

// compared returns the night with a comparison of all tables except schools.
func compared() *report.Page {
	page := night()
	page.Manifest.Comparison = &snapshot.Comparison{
		With: "2026-11-19-abc", SnapshotDate: "2026-11-19", SchoolsCompared: 2, SchoolsNotCompared: 1,
		Tables: map[string]*snapshot.TableComparison{
			"students": {
				Same: 1500, Added: 30, Changed: 15, Removed: 7, ChangedColumns: map[string]int64{"grade": 14, "last_name": 1},
				Because: map[string]int64{snapshot.Removed: 7},
			},
			"test_results": {
				Same: 1_233_000, Added: 1204, Changed: 363, Removed: 12, ChangedColumns: map[string]int64{"rit": 3, "modified_date_time": 363},
				Because: map[string]int64{snapshot.Superseded: 9, snapshot.AgedOut: 2, snapshot.ElementsChanged: 1},
			},
			"test_result_norms": snapshot.NewTableComparison(),
		},
	}
	return page
}

func TestSinceTheLastRun(t *testing.T) {
	t.Parallel()
	page := compared()
	text := draw(t, page)
	inOrder(t, text, "<h2>Denied", "<h2>Since the last run</h2>", "2026-11-19-abc", "of 19 November 2026: 1,234 rows added, 378 changed, 19 gone. 1 school is missing",
		`<th scope="row">schools</th><td class="num">3</td><td class="soft" colspan="5">not compared</td>`,
		`<th scope="row">students</th><td class="num">1,545</td><td class="num">30</td><td class="num">15</td><td class="num">7</td>`+
			`<td class="soft why">grade 14, last_name 1</td><td class="soft why"></td>`,
		`<th scope="row">test_results</th><td class="num">1,234,567</td><td class="num">1,204</td><td class="num">363</td><td class="num">12</td>`+
			`<td class="soft why">modified_date_time 363, rit 3</td><td class="soft why">superseded 9, aged out 2, list changed 1</td>`,
		`id="plot-since"`, "<title>students: 1,500 the same</title>", "<title>students: 7 gone</title>", "96.6% the same", "99.8% the same",
		"<summary>Rows, files and sizes</summary>", "23.5%</td>", "<h2>Schools by dataset")
	for _, never := range []string{"<h2>Tables", "plot-rows", `class="held"`, "<title>test_result_norms"} {
		hasNot(t, text, never)
	}
	widths := regexp.MustCompile(`<rect class="s-[a-z]+" x="([0-9.]+)" width="([0-9.]+)" height="10">`).FindAllStringSubmatch(text, -1)
	require.Len(t, widths, 8)
	end := 0.0
	for i, width := range widths {
		from, err := strconv.ParseFloat(width[1], 64)
		require.NoError(t, err)
		if i%4 == 0 {
			end = 0
		}
		require.InDelta(t, end, from, 0.02, "the parts of a bar follow one another")
		size, err := strconv.ParseFloat(width[2], 64)
		require.NoError(t, err)
		require.Greater(t, size, 0.7, "every part can be seen")
		end = from + size
	}
	require.InDelta(t, 100, end, 0.05)

	page.Manifest.Comparison.SchoolsNotCompared = 0
	page.Manifest.Comparison.Warnings = []review.Reason{
		review.New(review.AllRowsGone, "", []review.Finding{{Table: "students", District: "<D2>", N: 1200, Of: 1200}}),
	}
	text = draw(t, page)
	has(t, text, "All schools were compared (2).")
	has(t, text, "<li><bdi>in &lt;D2&gt;, rows are gone from students (all 1,200)</bdi></li>")
	has(t, text, "much has changed since the last run, see below.")
}

// TestHeldTablesAreRed expects exactly the tables for which the run is held to be highlighted.
func TestHeldTablesAreRed(t *testing.T) {
	t.Parallel()
	page := compared()
	page.Manifest.Tables["results"] = snapshot.ManifestTable{Rows: 1}
	page.State, page.Held.Reasons = report.Held, []review.Reason{
		review.New(review.MaxFailedSchools, "0", []review.Finding{{N: 2, Of: 3}}),
		review.New(review.MaxRemoved, "10%", []review.Finding{{Table: "test_results", District: "table students", N: 370, Of: 1000}}),
	}
	text := draw(t, page)
	require.Equal(t, 2, strings.Count(text, `class="held"`), "once in the table and once in the chart")
	has(t, text, `<tr class="held"><th scope="row">test_results</th>`)
	has(t, text, `<div class="held"><dt>test_results</dt>`)
	has(t, text, "tables are the ones for which the run was held back")

	page.State, page.Held, page.Manifest.Accepted = report.Published, snapshot.Held{}, shrunk("students", 1500, 1000)
	text = draw(t, page)
	has(t, text, `<tr class="held"><th scope="row">students</th>`)
	require.Equal(t, 2, strings.Count(text, `class="held"`))
}

func TestOddComparison(t *testing.T) {
	t.Parallel()
	page := compared()
	c := page.Manifest.Comparison
	c.Tables["students"] = &snapshot.TableComparison{Same: math.MaxInt64, Added: math.MaxInt64, Changed: math.MinInt64, Removed: -1}
	c.Tables["test_results"] = nil
	c.Tables["<b>"] = &snapshot.TableComparison{Removed: 1, Because: map[string]int64{"<i>": 1}}
	page.Manifest.Tables["<b>"] = snapshot.ManifestTable{}
	has(t, draw(t, page), "&lt;i&gt; 1")
	page.Manifest.Comparison = &snapshot.Comparison{}
	has(t, draw(t, page), "not compared")
}

// withNights adds the n full snapshots before the run of the page.
func withNights(page *report.Page, n int, failed int64) *report.Page {
	for i := range n {
		page.Nights = append(page.Nights, snapshot.RunState{
			SnapshotDate: began().AddDate(0, 0, i-n).Format(time.DateOnly), Rows: 1_200_000 + int64(i)*1000, Failed: failed, Duration: 20 * time.Minute,
		})
	}
	return page
}

func TestTrend(t *testing.T) {
	t.Parallel()
	text := draw(t, withNights(night(), report.MaxNights, 2))
	inOrder(t, text, "<h2>Tables", "<h2>The last 30 nights</h2>", `id="trend-rows"`, ">2M</span>", ">22 Oct</span>", ">20 Nov</span>",
		`id="trend-failed"`, `id="trend-duration"`, ">30m</span>", "<h2>Schools by dataset")
	require.Equal(t, 3, strings.Count(text, "<title>22 October 2026: 1,200,000 rows, 2 failed schools, 20m</title>"), "in each chart")
	require.Equal(t, 3, strings.Count(text, "<title>20 November 2026: 1,236,115 rows, 1 failed school, 25m4s</title>"))
	require.Equal(t, 3, strings.Count(text, `<path class="area s-now" d="M97 `), "this run is the last night")

	whole := withNights(night(), 1, 0)
	whole.Manifest.Schools.Failed = 0
	text = draw(t, whole)
	has(t, text, "No school failed in any of them.")
	hasNot(t, text, "trend-failed")
	hasNot(t, text, ">19 Nov</span>")

	held := withNights(night(), 3, 0)
	held.State = report.Held
	has(t, draw(t, held), `class="area s-bad"`)

	for _, without := range []func(*report.Page){
		func(p *report.Page) { p.Nights = nil },
		func(p *report.Page) { p.State = report.Incomplete },
		func(p *report.Page) { p.Manifest.Kind = snapshot.AsOf },
	} {
		page := withNights(night(), 3, 0)
		without(page)
		hasNot(t, draw(t, page), "trend-rows")
	}
}

// TestNightsUnderASecond draws a bar for nights that took less than the second in which their times are measured.
func TestNightsUnderASecond(t *testing.T) {
	t.Parallel()
	page := withNights(night(), 3, 0)
	page.Manifest.PublishedAt = page.Manifest.StartedAt
	for i := range page.Nights {
		page.Nights[i].Duration = 0
	}
	text := draw(t, page)
	has(t, text, "<dt>duration</dt><dd>under 1s</dd>")
	require.Equal(t, 12, strings.Count(text, ", under 1s</title>"), "four nights in each of three charts")
	_, chart, _ := strings.Cut(text, `id="trend-duration"`)
	chart, _, _ = strings.Cut(chart, "</figure>")
	has(t, chart, `<path class="area s-now" d="M31 100V0H39V100Z"/>`)
	has(t, drawIndex(t, snapshot.RunState{RunID: "quick", SnapshotDate: "2026-11-20", State: snapshot.StatePublished}), "under 1s")
}

func TestOddTrend(t *testing.T) {
	t.Parallel()
	page := withNights(night(), 3, 0)
	page.Nights[0] = snapshot.RunState{SnapshotDate: "<b>", Rows: math.MaxInt64, Failed: math.MinInt64, Duration: math.MaxInt64}
	page.Nights[1] = snapshot.RunState{Rows: -1, Failed: math.MaxInt64, Duration: -1}
	text := draw(t, page)
	has(t, text, "&lt;b&gt;: 9,223")
	for _, place := range regexp.MustCompile(`style="(?:left|top):([^%"]*)%"`).FindAllStringSubmatch(text, -1) {
		at, err := strconv.ParseFloat(place[1], 64)
		require.NoError(t, err)
		require.True(t, 0 <= at && at <= 100, place[0])
	}
	require.LessOrEqual(t, strings.Count(text, `class="y"`), 60)
}
