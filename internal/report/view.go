package report

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// view is the data of the template. Its fields are roughly in the order of the page.
type view struct {
	Icon    template.URL
	Style   template.CSS
	Title   string
	Verdict verdict
	Next    []wording.Advice
	Facts   []fact

	*Page
	M        *snapshot.Manifest
	Baseline *snapshot.Manifest // nil if there is nothing to compare
	Complete bool
	Delta    bool

	Failures, Denials failureList
	DeniedNote        string
	FailedChecks      []review.Check
	Tables            []tableLine
	AllTables         tableLine
	Since             *sinceView // nil if the run was not compared
	Trend             trend
	Datasets          []datasetLine
	SomeUnavailable   bool
	SomeDuplicates    bool
	AllOK             bool // whether every dataset of every school is complete

	Requests  requestsView
	Slowest   []slowLine
	Drift     []snapshot.Drift
	MoreDrift int
	Settings  []fact
}

type datasetLine struct {
	Name string
	LedgerSums
	WithRows int64
	Per      string
}

type slowLine struct {
	School            place
	Dataset, Duration string
	Requests, Retries int64
}

func newView(p *Page) *view {
	m := p.Manifest
	v := &view{
		Style: template.CSS(styleText), //nolint:gosec // a constant
		Title: title(m), Page: p, M: m, Complete: p.State != Incomplete, Delta: m.Kind == snapshot.Delta,
		Verdict: newVerdict(p), Next: advice(p),
		Failures: failures(p, snapshot.StatusFailed, p.Ledger.Failed, func(s *LedgerSums) int64 { return s.Failed }),
		Denials:  failures(p, snapshot.StatusDenied, p.Ledger.Denied, func(s *LedgerSums) int64 { return s.Denied }), DeniedNote: deniedNote(p),

		FailedChecks: review.FailedChecks(m.Checks), Requests: newRequestsView(m), Settings: settings(p),
	}
	v.Icon = icon(v.Verdict.Tone)
	if v.Complete { // comparing an incomplete run with a complete one would be misleading
		v.Baseline = p.Baseline
	}
	v.Tables, v.AllTables = tables(m, v.Baseline)
	v.Since, v.Trend = newSinceView(p), newTrend(p, v)
	v.addDatasets(p)
	v.Facts = facts(p, v)
	for _, s := range m.Activity.Slowest {
		v.Slowest = append(v.Slowest, slowLine{
			School: p.school(s.School), Dataset: clip(s.Dataset, maxName), Duration: seconds(s.Seconds), Requests: s.Requests, Retries: s.Retries,
		})
	}
	v.Drift, v.MoreDrift = slices.Clone(m.Drift[:min(len(m.Drift), maxDrift)]), max(len(m.Drift)-maxDrift, 0)
	for i := range v.Drift {
		v.Drift[i].Field = clip(v.Drift[i].Field, maxName)
	}
	return v
}

// icon returns the icon for the browser's tab: a disc in the colour of the verdict.
func icon(tone string) template.URL {
	colour := map[string]string{"good": "1a7f4b", "fair": "e8a33d", "bad": "c2271d"}[tone]
	return template.URL("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" + //nolint:gosec // constants
		"%3Ccircle cx='8' cy='8' r='7' fill='%23" + colour + "'/%3E%3C/svg%3E")
}

func title(m *snapshot.Manifest) string {
	what := map[snapshot.Kind]string{snapshot.Full: "Full snapshot of ", snapshot.AsOf: "Enrollment as of ", snapshot.Delta: "Delta of "}
	return what[m.Kind] + day(m.SnapshotDate)
}

// SeveralFiles reports whether a table has more than one file.
func (v *view) SeveralFiles() bool {
	return slices.ContainsFunc(v.Tables, func(l tableLine) bool { return l.Files > 1 })
}

// MostRows returns the number of rows of the longest bar in the chart of tables.
func (v *view) MostRows() int64 {
	var most int64
	for i := range v.Tables {
		most = max(most, v.Tables[i].Rows, v.Tables[i].Was)
	}
	return most
}

// Share returns the length of a bar in percent of the longest bar.
func (v *view) Share(rows int64) percent { return percent(float64(rows) / float64(v.MostRows()) * 100) }

// addDatasets adds the datasets with the most failures first, then those with the most denials, and otherwise in
// declaration order.
func (v *view) addDatasets(p *Page) {
	v.AllOK = v.Complete
	for _, d := range schemas.Datasets() {
		counts, selected := v.M.Datasets[d.Name]
		if !selected {
			continue
		}
		line := datasetLine{Name: d.Name, LedgerSums: p.Ledger.Datasets[d.Name], WithRows: counts.SchoolsWithRow, Per: "school"}
		line.OK, line.Denied, line.Failed = counts.OK, counts.Denied, counts.Failed // known even without a ledger
		switch d.Per {
		case schemas.Once:
			line.Per = "run"
		case schemas.PerDistrict:
			line.Per = "district"
		default:
		}
		v.AllOK = v.AllOK && line.Failed+line.Denied == 0
		v.SomeDuplicates = v.SomeDuplicates || line.Duplicates > 0
		v.SomeUnavailable = v.SomeUnavailable || line.Unavailable > 0
		v.Datasets = append(v.Datasets, line)
	}
	slices.SortStableFunc(v.Datasets, func(a, b datasetLine) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Denied, a.Denied))
	})
}

// facts returns the figures at the top of the page.
func facts(p *Page, v *view) []fact {
	m := p.Manifest
	var all []fact
	if p.State != Published && p.State != Replaced && m.Kind == snapshot.Full {
		all = append(all, currentSnapshot(p))
	}
	schools := fact{Name: "schools", Value: wording.Count(m.Schools.Total), Note: "all complete"}
	if open := m.Schools.Total - m.Schools.OK; open > 0 {
		schools.Value = wording.Count(m.Schools.OK) + " of " + wording.Count(m.Schools.Total)
		var notes []string
		for _, part := range []struct {
			n    int64
			what string
		}{{m.Schools.Failed, "failed"}, {m.Schools.Denied, "denied"}, {open - m.Schools.Failed - m.Schools.Denied, "not done"}} {
			if part.n > 0 {
				notes = append(notes, wording.Count(part.n)+" "+part.what)
			}
		}
		schools.Note = strings.Join(notes, ", ")
	}
	rows := fact{Name: "rows", Value: wording.Count(v.AllTables.Rows), Note: wording.Many(len(v.Tables), "table")}
	if v.Baseline != nil {
		rows.Note = v.AllTables.Change() + " since " + day(v.Baseline.SnapshotDate)
	}
	requests := fact{Name: "requests", Value: wording.Count(m.Requests.Total), Note: "no retries"}
	if m.Requests.Retries > 0 {
		requests.Note = "including " + wording.Count(m.Requests.Retries) + " retries"
	}
	all = append(all, schools, rows,
		fact{Name: "size", Value: wording.Size(v.AllTables.Bytes), Note: wording.Many(v.AllTables.Files, "file")}, requests)
	if took, note := runTime(m); note != "" {
		all = append(all, fact{Name: "duration", Value: runDuration(took), Note: note})
	}
	if p.State == Incomplete {
		staged := wording.Count(p.Tasks-len(p.Missing)) + " of " + wording.Count(p.Tasks)
		all = append(all, fact{Name: "tasks staged", Value: staged, Note: "each is one dataset of a group of schools"})
	}
	return all
}
