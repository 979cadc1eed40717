package report

import (
	"math"
	"slices"
	"strconv"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// sinceView is the section about the differences from the previous snapshot.
type sinceView struct {
	*snapshot.Comparison

	Lines []sinceLine
	Total sinceLine
	// Guarded is true if a line is Held.
	Guarded bool
	// Concerns lists the warnings of the comparison.
	Concerns []string
}

// sinceLine counts a table's rows by the outcome of their comparison.
type sinceLine struct {
	snapshot.TableComparison

	Name string
	// Rows is the number of the table's rows in this run, including rows of schools that were not compared.
	Rows int64
	// Compared is false if the previous snapshot does not have the table.
	Compared bool
	// Columns lists the changed columns. Why lists the reasons why rows are gone.
	Columns, Why string
	// Held is true if the run was held back because of this table.
	Held  bool
	Parts []part
}

// part is a part of a bar.
type part struct {
	Class, Name string
	Rows        int64
	From, Width percent
}

// newSinceView returns the section, or nil if the run was not compared.
func newSinceView(p *Page) *sinceView {
	if p.Manifest.Comparison == nil {
		return nil
	}
	v := &sinceView{Comparison: p.Manifest.Comparison, Concerns: review.Lines(p.Manifest.Comparison.Warnings), Total: sinceLine{Name: "total", Compared: true}}
	held := slices.Concat(p.Held.Reasons, p.Manifest.Accepted)
	for _, name := range schemas.TablesInOrder(p.Manifest.Tables) {
		line := sinceLine{Name: clip(name, maxName), Rows: p.Manifest.Tables[name].Rows}
		if counts := v.Tables[name]; counts != nil {
			line.TableComparison, line.Compared = *counts, true
			line.Columns, line.Why = listCounts(counts.ChangedColumns), because(counts.Because)
		}
		line.Held = slices.ContainsFunc(held, func(r review.Reason) bool { return r.Names(name) })
		line.Parts = line.parts()
		v.Total.Rows += line.Rows
		v.Total.Same += line.Same
		v.Total.Added += line.Added
		v.Total.Changed += line.Changed
		v.Total.Removed += line.Removed
		v.Guarded = v.Guarded || line.Held
		v.Lines = append(v.Lines, line)
	}
	return v
}

// because lists the reasons why rows are gone. It returns "" if the only reason is "removed", as it is for most tables.
func because(counts map[string]int64) string {
	if len(counts) == 1 && counts[snapshot.Removed] > 0 {
		return ""
	}
	words := make(map[string]int64, len(counts))
	for reason, n := range counts {
		words[snapshot.ReasonText(reason)] = n
	}
	return listCounts(words)
}

// listCounts lists names with their counts, the highest first.
func listCounts(counts map[string]int64) string {
	var parts []string
	for _, name := range byCount(counts) {
		parts = append(parts, clip(name, maxName)+" "+wording.Count(counts[name]))
	}
	return wording.First(parts, maxCounts)
}

// minPart is the minimum width at which a part of a bar can be seen and pointed at.
const minPart = 0.8

// parts returns the parts of the line's bar. The full width of the bar represents all rows of both snapshots.
func (l *sinceLine) parts() []part {
	all := []part{
		{Class: "s-same", Name: "the same", Rows: l.Same},
		{Class: "s-changed", Name: "changed", Rows: l.Changed},
		{Class: "s-added", Name: "added", Rows: l.Added},
		{Class: "s-gone", Name: "gone", Rows: l.Removed},
	}
	total, width := 0.0, 0.0
	for _, p := range all {
		total += max(float64(p.Rows), 0)
	}
	var parts []part
	for _, p := range all {
		if p.Rows <= 0 {
			continue
		}
		p.Width = max(percent(float64(p.Rows)/total*100), minPart)
		width += float64(p.Width)
		parts = append(parts, p)
	}
	at := percent(0)
	for i := range parts { // shrink the parts to the width of the bar, because small parts were widened
		parts[i].From = at
		parts[i].Width *= percent(100 / width)
		at += parts[i].Width
	}
	return parts
}

// Share returns the share of rows that are the same. It is 100% only if all rows are the same.
func (l *sinceLine) Share() string {
	all := float64(l.Same) + float64(l.Added) + float64(l.Changed) + float64(l.Removed)
	if float64(l.Same) >= all {
		return "100%"
	}
	return strconv.FormatFloat(math.Floor(max(float64(l.Same)/all, 0)*1000)/10, 'f', 1, 64) + "%"
}
