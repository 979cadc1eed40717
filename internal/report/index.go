package report

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// indexView is the content of the page of all runs.
type indexView struct {
	Icon  template.URL
	Style template.CSS
	Tone  string
	// Newest is the newest full snapshot that is published, or nil.
	Newest *snapshot.RunState
	Lines  []indexLine
}

// indexLine is the line of a run. It does not contain names of schools, because the page may be shown to everyone who
// may know about the runs.
type indexLine struct {
	*snapshot.RunState

	// State is the state of the run as JSON, for ReadIndex. It is empty if the state has to be read again.
	State string
	// Link is the path of the run's report, relative to the page. It is empty if there is no report.
	Link                string
	Tone, Kind, Outcome string
	Rows, Took, Size    string // empty if unknown
}

func newIndexView(runs []snapshot.RunState) *indexView {
	v := &indexView{Style: template.CSS(styleText), Tone: "fair"} //nolint:gosec // a constant
	for i := range runs {
		run := &runs[i]
		v.Lines = append(v.Lines, newIndexLine(run))
		current := run.Kind == snapshot.Full && run.State == snapshot.StatePublished
		if current && (v.Newest == nil || v.Newest.SnapshotDate < run.SnapshotDate) {
			v.Newest = run
		}
	}
	if len(v.Lines) > 0 && v.Lines[0].Tone != "soft" {
		v.Tone = v.Lines[0].Tone
	}
	v.Icon = icon(v.Tone)
	return v
}

// indexedRun is the data about a published run that the page stores for ReadIndex.
type indexedRun struct {
	Stamp string `json:"stamp"`
	snapshot.RunState
}

// ReadIndex returns the published runs that are stored on a page of all runs, by their stamps.
func ReadIndex(page []byte) map[string]snapshot.RunState {
	runs := make(map[string]snapshot.RunState)
	for _, match := range regexp.MustCompile(`<tr data-run="([^"]*)">`).FindAllSubmatch(page, -1) {
		var run indexedRun
		if err := json.Unmarshal([]byte(html.UnescapeString(string(match[1]))), &run); err == nil {
			runs[run.Stamp] = run.RunState
		}
	}
	return runs
}

func newIndexLine(run *snapshot.RunState) indexLine {
	line := indexLine{RunState: run}
	if run.Stamp != "" {
		state, _ := json.Marshal(indexedRun{run.Stamp, *run}) // strings and numbers always encode
		line.State = string(state)
	}
	line.Tone, line.Outcome = runOutcome(run)
	line.Kind = map[snapshot.Kind]string{snapshot.Full: "full", snapshot.AsOf: "as of", snapshot.Delta: "delta"}[run.Kind]
	if run.Report {
		line.Link = strings.ReplaceAll(strings.TrimPrefix(snapshot.ReportPath(run.RunID), snapshot.RunsPrefix), "%", "%25")
	}
	published := run.State == snapshot.StatePublished || run.State == snapshot.StateReplaced
	if published && run.SnapshotDate != "" { // the manifest could be read
		line.Rows, line.Took = wording.Count(run.Rows), runDuration(run.Duration)
	}
	if run.State == snapshot.StatePublished && line.Rows != "" { // the files of a replaced run are removed
		line.Size = wording.Size(run.Bytes)
	}
	return line
}

// runOutcome returns the outcome of a run and its tone, which is "soft" if the run no longer matters, and otherwise one
// of the tones of a verdict.
func runOutcome(run *snapshot.RunState) (tone, outcome string) {
	switch {
	case len(run.Problems) > 0:
		return "bad", run.State + ", with a problem"
	case run.SupersededBy != "":
		return "soft", "held back, superseded"
	case run.State == snapshot.StateReplaced:
		return "soft", run.State
	case run.State == snapshot.StateHeld:
		return "bad", "held back"
	case run.State == snapshot.StateStaging:
		return "fair", fmt.Sprintf("incomplete: %s of %s staged", wording.Count(run.Staged), wording.Many(run.Tasks, "task"))
	case run.State == snapshot.StatePublished && run.Accepted > 0:
		return "fair", run.State + " after it was held back"
	case run.State == snapshot.StatePublished && run.Warnings > 0:
		return "fair", run.State + ", with " + wording.Many(run.Warnings, "warning")
	case run.State == snapshot.StatePublished && run.Failed == 0:
		return "good", run.State
	}
	return "fair", run.State
}
