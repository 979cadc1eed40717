package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// fact is a value with a name and a note.
type fact struct {
	Name, Value, Note string
}

// currentSnapshot returns the age of the snapshot that readers see while the run is not published.
func currentSnapshot(p *Page) fact {
	f := fact{Name: "current snapshot", Value: "none", Note: "of the same scope"}
	b := p.Current
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

// lastRequest returns the end of the last interval with a request, or the zero time if it is unknown.
func lastRequest(m *snapshot.Manifest) time.Time {
	steps := m.Activity.Steps
	if len(steps) == 0 || !m.Activity.Sound() {
		return time.Time{}
	}
	return time.Unix(steps[len(steps)-1].At+m.Activity.StepSeconds, 0)
}

// runTime returns the duration of the run, and a note on the steps that the duration includes. It returns 0 if the
// duration is unknown.
func runTime(m *snapshot.Manifest) (took time.Duration, note string) {
	end, note := m.PublishedAt, "start to publishing"
	if end.IsZero() {
		end, note = lastRequest(m), "start to last request"
	}
	if took = end.Sub(m.StartedAt); end.IsZero() || took < 0 {
		return 0, ""
	}
	return took, note
}

// settings returns the settings of the run that are not empty.
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
		{Name: "students", Value: students(parameters.Students)},
		{Name: "suppressed students", Value: suppressed(parameters.Suppressed)},
		{Name: "perspectives", Value: parameters.Perspectives},
		{Name: "privacy", Value: parameters.PrivacyText()},
		{Name: "partition-by", Value: parameters.PartitionBy},
		{Name: "modified-since", Value: parameters.ModifiedSince},
		{Name: "schools-per-file", Value: wording.Count(parameters.SchoolsPerFile)},
		{Name: "shards", Value: wording.Count(parameters.Shards)},
		{Name: "max-failed-schools", Value: wording.Count(parameters.MaxFailedSchools)},
		{Name: "max-shrink", Value: parameters.MaxShrink.String()},
		{Name: "replaces", Value: strings.Join(m.Replaces, ", ")},
	}
	for _, name := range slices.Sorted(maps.Keys(p.Filters)) {
		all = append(all, fact{Name: "parameter " + name, Value: p.Filters[name]})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

// students says how many listed students the run has found. It returns "" if the run is not restricted to listed
// students, or if the number is not known yet.
func students(s *snapshot.Students) string {
	if s == nil || s.Matched == nil {
		return ""
	}
	return wording.Count(s.Listed) + " listed, " + wording.Count(*s.Matched) + " with rows"
}

// suppressed says how many students the run has left out because they were erased. It returns "" if there is no
// suppression list, or if the number is not known yet.
func suppressed(s *snapshot.Suppression) string {
	if s == nil || s.Matched == nil {
		return ""
	}
	return wording.Count(s.Listed) + " listed, " + wording.Count(*s.Matched) + " left out"
}

func allOr(bids []string) string {
	if len(bids) == 0 {
		return "all"
	}
	return clip(wording.First(bids, maxNames), maxError)
}
