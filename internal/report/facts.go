package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// fact is a named value and a note on it.
type fact struct {
	Name, Value, Note string
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
	end, note := m.PublishedAt, "start to publishing"
	if end.IsZero() {
		end, note = lastRequest(m), "start to last request"
	}
	if took := end.Sub(m.StartedAt); !end.IsZero() && took >= 0 {
		all = append(all, fact{Name: "duration", Value: duration(max(took, time.Second)), Note: note})
	}
	if p.State == Incomplete {
		staged := wording.Count(p.Tasks-len(p.Missing)) + " of " + wording.Count(p.Tasks)
		all = append(all, fact{Name: "tasks staged", Value: staged, Note: "one dataset of one group of schools each"})
	}
	return all
}

// currentSnapshot returns the age of what readers see while the run is not published.
func currentSnapshot(p *Page) fact {
	f := fact{Name: "current snapshot", Value: "none", Note: "of the same scope"}
	b := p.Baseline
	if b == nil {
		return f
	}
	end := lastRequest(p.Manifest)
	if end.IsZero() {
		end = p.Manifest.StartedAt
	}
	age := end.Sub(b.StartedAt)
	switch {
	case b.StartedAt.IsZero() || age < 0:
		f.Value, f.Note = day(b.SnapshotDate), "unchanged"
		return f
	case age < time.Hour:
		f.Value = wording.Many(int(age.Minutes()), "minute")
	case age < 96*time.Hour:
		f.Value = wording.Many(int(age.Hours()), "hour")
	default:
		f.Value = wording.Many(int(age.Hours()/24), "day")
	}
	f.Value += " old"
	f.Note = "of " + day(b.SnapshotDate) + ", unchanged"
	return f
}

// lastRequest returns the end of the last interval with a request, or the zero time.
func lastRequest(m *snapshot.Manifest) time.Time {
	steps := m.Activity.Steps
	if len(steps) == 0 || !m.Activity.Sound() {
		return time.Time{}
	}
	return time.Unix(steps[len(steps)-1].At+m.Activity.StepSeconds, 0)
}

// settings returns the settings of the run, without empty ones.
func settings(p *Page) []fact {
	m := p.Manifest
	parameters := &m.Parameters
	all := []fact{
		{Name: "run", Value: m.RunID},
		{Name: "destination", Value: p.Destination},
		{Name: "service", Value: m.BaseURL},
		{Name: "version", Value: m.ToolVersion},
		{Name: "started", Value: clock(m.StartedAt)},
		{Name: "published", Value: clock(m.PublishedAt)},
		{Name: "datasets", Value: strings.Join(parameters.Datasets, ", ")},
		{Name: "schools", Value: allOr(parameters.Schools)},
		{Name: "districts", Value: allOr(parameters.Districts)},
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
		all = append(all, fact{Name: "parameter " + name, Value: p.Filters[name]})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

func allOr(bids []string) string {
	if len(bids) == 0 {
		return "all"
	}
	return clip(first(bids, maxNames), maxError)
}
