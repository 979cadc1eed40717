package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/activity"
	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// draw writes a page and checks the properties that every page has.
func draw(t *testing.T, page *report.Page) string {
	t.Helper()
	var b, again bytes.Buffer
	require.NoError(t, report.Write(&b, page))
	require.NoError(t, report.Write(&again, page))
	require.Equal(t, b.String(), again.String(), "writing the page again gives the same bytes")
	icon := regexp.MustCompile(`<link rel="icon" href="data:image/svg[&#0-9;+]+xml,%3Csvg[a-zA-Z0-9%./:=-]+">`)
	require.Len(t, icon.FindAllString(b.String(), -1), 1)
	text := icon.ReplaceAllString(b.String(), "") // the only link that a page may have
	has(t, text, `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`)
	for _, never := range []string{"<script", "javascript:", "@import", "<link", "<img", "<iframe", "<form", "ZgotmplZ", "NaN", "Inf", "<no value>"} {
		hasNot(t, text, never)
	}
	require.False(t, regexp.MustCompile(`(?i)[\s"'](src|href|srcset|action|data)\s*=`).MatchString(text), "the page refers to something outside of it")
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
	require.True(t, strings.Contains(text, part), "%q is not on the page", part)
}

func hasNot(t *testing.T, text, part string) {
	t.Helper()
	at := strings.Index(text, part)
	require.Negative(t, at, "%q is on the page: %q", part, text[max(at-100, 0):min(max(at, 0)+100, len(text))])
}

// wellFormed requires that elements are closed in order and that ids are unique.
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
					require.False(t, ids[attribute.Value], "id %s occurs twice", attribute.Value)
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

// inOrder checks that the parts occur in this order.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	at := 0
	for _, part := range parts {
		next := strings.Index(text[at:], part)
		require.GreaterOrEqual(t, next, 0, "%q is missing, or not in the order of %q", part, parts)
		at += next + len(part)
	}
}

func began() time.Time { return time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC) }

// night returns a published run of three schools, one of which failed and one of which was denied.
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
			SchoolsPerFile: 256, Shards: 1, Limits: review.Limits{MaxFailedSchools: 5, MaxShrink: review.Share{Part: 0.2}},
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
	page := &report.Page{State: report.Published, Manifest: manifest, Baseline: before, Current: before, Destination: "/data/growth", Tasks: 3}
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

// shrunk returns a reason to hold a run because a table has fewer rows.
func shrunk(table string, was, is int64) []review.Reason {
	reason := review.New(review.MaxShrink, "20%", []review.Finding{{Table: table, N: was - is, Of: was}})
	reason.With, reason.SnapshotDate = "2026-11-19-abc", "2026-11-19"
	return []review.Reason{reason}
}

// unlisted returns the warning that a school is no longer listed.
func unlisted(school string) review.Reason {
	return review.New(review.SchoolsUnlisted, "", []review.Finding{{School: school}})
}
