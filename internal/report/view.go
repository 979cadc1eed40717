package report

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// view is what the template shows, in its order.
type view struct {
	Icon    template.URL
	Style   template.CSS
	Title   string
	Verdict verdict
	Next    []wording.Step
	Facts   []fact

	M           *sink.Manifest
	Before      *sink.Manifest
	Destination string
	Complete    bool
	Changes     bool // which are not compared
	Purges      []purgeLine

	Failures, Denials failureList
	Tables            []tableLine
	AllTables         tableLine
	RowsPlot          figure
	Datasets          []datasetLine
	SomeUnavailable   bool
	SomeDuplicates    bool
	AllOK             bool // of every dataset of every school
	SeveralFiles      bool // of a table
	Drift             list[sink.Drift]
	FailedChecks      []sink.Check

	Course   course
	Slowest  []slowLine
	Settings []fact
}

// list is the head of a long list.
type list[T any] struct {
	Shown []T
	All   int64
}

// More is how many are not shown.
func (l list[T]) More() int64 { return l.All - int64(len(l.Shown)) }

// fact is a figure and what it is one of.
type fact struct {
	Name, Value, Note string
}

type tableLine struct {
	Name              string
	Rows, Was         int64
	Change            string
	Fell              bool
	Files             int
	Bytes             int64
	Smallest, Largest int64
}

type datasetLine struct {
	Name string
	LedgerSums
	WithRows int64
	Per      string
}

type slowLine struct {
	School            place
	Dataset, Took     string
	Requests, Retries int64
}

type purgeLine struct {
	At   time.Time
	Rows int64
	ID   string
}

func newView(p *Page) (*view, error) {
	m := p.Manifest
	v := &view{
		Icon:  icon(verdictOf(p).Tone),
		Style: template.CSS(styleText), //nolint:gosec // it is our own
		Title: titleOf(m), M: m, Destination: p.Destination, Complete: p.State != Incomplete, Changes: m.Kind == sink.Delta,
		Verdict:  verdictOf(p),
		Next:     next(p),
		Failures: failures(p, sink.StatusFailed, p.Ledger.Failed, func(s *LedgerSums) int64 { return s.Failed }),
		Denials:  failures(p, sink.StatusDenied, p.Ledger.Denied, func(s *LedgerSums) int64 { return s.Denied }),
		Drift:    drift(m.Drift),

		FailedChecks: sink.FailedChecks(m.Checks),
		Settings:     settings(p),
	}
	if v.Complete { // half a run beside a whole one says nothing
		v.Before = p.Before
	}
	for _, purge := range m.Purges {
		line := purgeLine{At: purge.At, ID: purge.ID}
		for _, n := range purge.RowsRemoved {
			line.Rows += n
		}
		v.Purges = append(v.Purges, line)
	}
	v.tables()
	v.datasets(p)
	v.facts(p)
	for _, s := range m.Activity.Slowest {
		v.Slowest = append(v.Slowest, slowLine{
			School: p.school(s.School), Dataset: clip(s.Dataset, mostField), Took: short(seconds(s.Seconds)), Requests: s.Requests, Retries: s.Retries,
		})
	}
	var err error
	if v.RowsPlot, err = plotRows(v.Tables, v.Before != nil); err != nil {
		return nil, err
	}
	v.Course, err = newCourse(m)
	return v, err
}

// icon is what a browser shows on the page's tab: a disc in the colour of the
// verdict.
func icon(tone string) template.URL {
	colour := map[string]string{"good": "1a7f4b", "fair": "e8a33d", "bad": "c2271d"}[tone]
	return template.URL("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" + //nolint:gosec // it is our own
		"%3Ccircle cx='8' cy='8' r='7' fill='%23" + colour + "'/%3E%3C/svg%3E")
}

func titleOf(m *sink.Manifest) string {
	switch m.Kind {
	case sink.AsOf:
		return "Enrollment as of " + day(m.SnapshotDate)
	case sink.Delta:
		return "Changes, taken on " + day(m.SnapshotDate)
	case sink.Full:
	}
	return "Full snapshot of " + day(m.SnapshotDate)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// drift lists the most frequent first.
func drift(all []sink.Drift) list[sink.Drift] {
	all = slices.SortedFunc(slices.Values(all), sink.Drift.Compare) // older manifests have another order
	l := list[sink.Drift]{Shown: all[:min(len(all), mostDrift)], All: int64(len(all))}
	for i := range l.Shown {
		l.Shown[i].Field = clip(l.Shown[i].Field, mostField)
	}
	return l
}

// tables are in the order in which they are declared, and then any others.
func (v *view) tables() {
	_, order := schemas.Positions()
	names := slices.SortedFunc(maps.Keys(v.M.Tables), func(a, b string) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(a, b))
	})
	v.AllTables.Name = "all"
	for _, name := range names {
		table := v.M.Tables[name]
		line := tableLine{Name: clip(name, mostField), Rows: table.Rows, Files: len(table.Files)}
		for i, file := range table.Files {
			line.Bytes += file.Bytes
			line.Largest = max(line.Largest, file.Bytes)
			if i == 0 || file.Bytes < line.Smallest {
				line.Smallest = file.Bytes
			}
		}
		if v.Before != nil {
			line.Was = v.Before.Tables[name].Rows
			line.Change, line.Fell = change(line.Was, line.Rows), line.Rows < line.Was
		}
		v.SeveralFiles = v.SeveralFiles || line.Files > 1
		v.AllTables.Rows += line.Rows
		v.AllTables.Was += line.Was
		v.AllTables.Files += line.Files
		v.AllTables.Bytes += line.Bytes
		v.Tables = append(v.Tables, line)
	}
	if v.Before != nil {
		v.AllTables.Change, v.AllTables.Fell = change(v.AllTables.Was, v.AllTables.Rows), v.AllTables.Rows < v.AllTables.Was
	}
}

// datasets are those with failures first, then those with denials, then as they are declared.
func (v *view) datasets(p *Page) {
	v.AllOK = p.State != Incomplete
	for _, d := range schemas.Datasets() {
		counts, taken := v.M.Datasets[d.Name]
		if !taken {
			continue
		}
		line := datasetLine{Name: d.Name, LedgerSums: p.Ledger.Datasets[d.Name], WithRows: counts.SchoolsWithRow, Per: "schools"}
		// The manifest has these counts though there be no ledger to read.
		line.OK, line.Denied, line.Failed = counts.OK, counts.Denied, counts.Failed
		switch d.Per {
		case schemas.Once:
			line.Per = "once"
		case schemas.PerDistrict:
			line.Per = "districts"
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

// facts are the few figures that one wants first.
func (v *view) facts(p *Page) {
	m := v.M
	schools := fact{Name: "schools", Value: wording.Count(m.Schools.Total), Note: "all in"}
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
	if v.Before != nil {
		rows.Note = v.AllTables.Change + " since " + day(v.Before.SnapshotDate)
	}
	files := fact{Name: "size", Value: wording.Size(v.AllTables.Bytes), Note: wording.Many(v.AllTables.Files, "file")}
	requests := fact{Name: "requests", Value: wording.Count(m.Requests.Total), Note: "no retries"}
	if m.Requests.Retries > 0 {
		requests.Note = wording.Count(m.Requests.Retries) + " of them retries"
	}
	v.Facts = append(current(p), schools, rows, files, requests)
	end, note := m.PublishedAt, "planned to published"
	if end.IsZero() {
		if steps := m.Activity.Steps; len(steps) > 0 {
			end, note = time.Unix(steps[len(steps)-1].At+m.Activity.StepSeconds, 0), "planned to last request"
		}
	}
	if took := end.Sub(m.StartedAt); !end.IsZero() && took >= 0 {
		v.Facts = append(v.Facts, fact{Name: "took", Value: short(max(took, time.Second)), Note: note})
	}
	if p.State == Incomplete {
		v.Facts = append(v.Facts, fact{Name: "tasks staged", Value: wording.Count(p.Units-len(p.Missing)) + " of " + wording.Count(p.Units), Note: "a bucket of schools and a dataset each"})
	}
}

// settings are what the run was told to do.
func settings(p *Page) []fact {
	m := p.Manifest
	parameters := &m.Parameters
	all := []fact{
		{Name: "run", Value: m.RunID},
		{Name: "destination", Value: p.Destination},
		{Name: "service", Value: m.BaseURL},
		{Name: "version", Value: m.ToolVersion},
		{Name: "planned", Value: clock(m.StartedAt)},
		{Name: "published", Value: clock(m.PublishedAt)},
		{Name: "datasets", Value: strings.Join(parameters.Datasets, ", ")},
		{Name: "schools", Value: some(parameters.Schools)},
		{Name: "districts", Value: some(parameters.Districts)},
		{Name: "perspectives", Value: parameters.Perspectives},
		{Name: "partition-by", Value: parameters.PartitionBy},
		{Name: "modified-since", Value: parameters.ModifiedSince},
		{Name: "schools-per-file", Value: wording.Count(parameters.SchoolsPerFile)},
		{Name: "shards", Value: wording.Count(parameters.Shards)},
		{Name: "max-failed-schools", Value: wording.Count(parameters.MaxFailedSchools)},
		{Name: "max-shrink", Value: parameters.MaxShrink},
		{Name: "replaces", Value: strings.Join(m.Replaces, ", ")},
	}
	for _, name := range slices.Sorted(maps.Keys(p.Filters)) {
		all = append(all, fact{Name: name + " sent", Value: p.Filters[name]})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

// some names the first of many.
func some(bids []string) string {
	const most = 20
	if len(bids) == 0 {
		return "all"
	}
	text := strings.Join(bids[:min(len(bids), most)], ", ")
	if more := len(bids) - most; more > 0 {
		text += " and " + wording.Count(more) + " more"
	}
	return clip(text, mostError)
}
