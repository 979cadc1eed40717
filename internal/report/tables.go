package report

import (
	"cmp"
	"slices"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

type tableLine struct {
	Name              string
	Rows, Was         int64
	Files             int
	Bytes             int64
	Smallest, Largest int64
}

// Change returns the change since the baseline.
func (l *tableLine) Change() string { return change(l.Was, l.Rows) }

// Fell reports whether the table has fewer rows than in the baseline.
func (l *tableLine) Fell() bool { return l.Rows < l.Was }

// tables returns the tables and their total. Baseline may be nil.
func tables(m, baseline *snapshot.Manifest) (lines []tableLine, total tableLine) {
	total.Name = "total"
	for _, name := range schemas.TablesInOrder(m.Tables) {
		table := m.Tables[name]
		line := tableLine{Name: clip(name, maxName), Rows: table.Rows, Files: len(table.Files)}
		for i, file := range table.Files {
			line.Bytes += file.Bytes
			line.Largest = max(line.Largest, file.Bytes)
			if i == 0 || file.Bytes < line.Smallest {
				line.Smallest = file.Bytes
			}
		}
		if baseline != nil {
			line.Was = baseline.Tables[name].Rows
		}
		total.Rows += line.Rows
		total.Was += line.Was
		total.Files += line.Files
		total.Bytes += line.Bytes
		lines = append(lines, line)
	}
	return lines, total
}

// largeFall is the share of rows that a table may lose before a published run needs attention.
const largeFall = 0.2

// falls returns the tables that lost more than largeFall of their rows since the baseline, the largest relative loss
// first.
func falls(p *Page) []tableLine {
	if p.Baseline == nil || p.Manifest.Kind == snapshot.Delta {
		return nil
	}
	var found []tableLine
	for name, before := range p.Baseline.Tables {
		now, selected := p.Manifest.Tables[name]
		if selected && float64(before.Rows-now.Rows) > largeFall*float64(before.Rows) {
			found = append(found, tableLine{Name: clip(name, maxName), Was: before.Rows, Rows: now.Rows})
		}
	}
	slices.SortFunc(found, func(a, b tableLine) int {
		return cmp.Or(cmp.Compare(float64(a.Rows)/float64(a.Was), float64(b.Rows)/float64(b.Was)), cmp.Compare(a.Name, b.Name))
	})
	return found
}
