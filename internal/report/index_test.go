package report_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
)

// drawIndex writes the page of all runs and checks the properties that every such page has.
func drawIndex(t *testing.T, runs ...snapshot.RunState) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.WriteIndex(&b, runs))
	text := b.String()
	for _, never := range []string{"<script", "javascript:", "<img", "https:", "src=", "ZgotmplZ", "<no value>"} {
		hasNot(t, text, never)
	}
	elements := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>")))
	elements.Strict, elements.AutoClose, elements.Entity = false, []string{"meta", "link"}, xml.HTMLEntity
	wellFormed(t, elements)
	return text
}

func TestIndex(t *testing.T) {
	t.Parallel()
	full := snapshot.RunState{
		RunID: "night", Stamp: `n"1`, Kind: snapshot.Full, SnapshotDate: "2026-11-19", State: snapshot.StatePublished, Report: true,
		Rows: 1_234_567, Bytes: 23_456_789, Duration: 25*time.Minute + 4*time.Second,
	}
	with := func(edit func(*snapshot.RunState)) snapshot.RunState {
		run := full
		run.Stamp = ""
		edit(&run)
		return run
	}
	text := drawIndex(
		t,
		with(func(r *snapshot.RunState) {
			r.RunID, r.SnapshotDate, r.State, r.Failed = "held", "2026-11-20", snapshot.StateHeld, 7
			r.Reasons = []review.Reason{unlisted("Lincoln Elementary")}
		}),
		full,
		with(func(r *snapshot.RunState) {
			r.RunID, r.State, r.SupersededBy = "old-held", snapshot.StateHeld, "night"
		}),
		with(func(r *snapshot.RunState) { r.RunID, r.State = "replaced", snapshot.StateReplaced }),
		with(func(r *snapshot.RunState) { r.RunID, r.Failed, r.Denied = "partly", 2, 3 }),
		with(func(r *snapshot.RunState) {
			r.RunID, r.State, r.Staged, r.Tasks, r.Report = "half", snapshot.StateStaging, 3, 12, false
		}),
		with(func(r *snapshot.RunState) { r.RunID, r.Kind = "past", snapshot.AsOf }),
		snapshot.RunState{RunID: "damaged", State: snapshot.StatePublished, Problems: []string{"Lincoln Elementary"}},
		with(func(r *snapshot.RunState) {
			r.Warnings, r.Changes = 2, &snapshot.Changes{Added: 1341, Changed: 2, Removed: 339}
		}),
		with(func(r *snapshot.RunState) { r.Warnings, r.Accepted = 1, 1 }),
	)
	figures := `<td class="num none">0</td><td class="num none">0</td><td class="num">25m4s</td>`
	none := `<td></td><td></td><td></td>`
	inOrder(
		t, text, `<h1 class="bad"><span class="word">Last run: held back.</span> The newest full snapshot is from 19 November 2026.</h1>`, `<span class="n">10</span>`,
		`<a href="held/report.html">2026-11-20</a></th><td>full</td><td class="bad">held back</td><td class="num"></td>`+none+`<td class="num bad">7</td>`,
		`<a href="night/report.html">2026-11-19</a></th><td>full</td><td class="good">published</td><td class="num">1,234,567</td>`+none+figures+
			`<td class="num">23.5 MB</td><td><code>night</code>`,
		`<td class="soft">held back, superseded</td>`,
		`<td class="soft">replaced</td><td class="num">1,234,567</td>`+none+figures+`<td class="num"></td>`,
		`<td class="fair">published</td><td class="num">1,234,567</td>`+none+`<td class="num bad">2</td><td class="num fair">3</td>`,
		`<th scope="row">2026-11-19</th><td>full</td><td class="fair">incomplete: 3 of 12 tasks staged</td>`,
		`<td>as of</td>`,
		`<td class="bad">published, with a problem</td><td class="num"></td>`,
		`<td class="fair">published, with 2 warnings</td><td class="num">1,234,567</td><td class="num">1,341</td><td class="num">2</td><td class="num">339</td>`,
		`<td class="fair">published after it was held back</td>`,
	)
	hasNot(t, text, "Lincoln")
	read := report.ReadIndex([]byte(text))
	require.Len(t, read, 1)
	again := read[`n"1`]
	again.Stamp, again.Report = full.Stamp, true
	require.Equal(t, full, again)

	require.Empty(t, report.ReadIndex([]byte(`<tr data-run="{">`)))

	text = drawIndex(t, snapshot.RunState{RunID: `a%"<b> ü`, SnapshotDate: "<i>", Kind: snapshot.Delta, Report: true})
	has(t, text, `<a href="a%2525%2522%253Cb%253E%2520%c3%bc/report.html">&lt;i&gt;</a>`)
	has(t, text, "There is no full snapshot.")
	has(t, drawIndex(t), `<span class="n">0</span>`)
}
