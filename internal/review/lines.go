package review

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/wording"
)

// maxDistrictLines is the maximum number of districts that Lines describes individually.
const maxDistrictLines = 5

// Lines describes warnings for people. It returns a line for each district with warnings, beginning with the district
// with the most affected rows, and then a line for each warning about something else. If there are more than
// maxDistrictLines districts, one line counts the other districts.
func Lines(warnings []Reason) []string {
	districts := make(map[string]*districtLine)
	var lines []string
	for _, r := range warnings {
		others, split := r, clauses[r.Check] != ""
		others.Found = nil
		for _, f := range r.Found {
			if !split || f.District == "" {
				others.Found = append(others.Found, f)
				continue
			}
			if districts[f.District] == nil {
				districts[f.District] = &districtLine{name: f.label(), found: make(map[string][]Finding)}
			}
			districts[f.District].add(r.Check, f)
		}
		if !split || len(others.Found) > 0 {
			lines = append(lines, others.String())
		}
	}
	largest := slices.SortedFunc(maps.Values(districts), func(a, b *districtLine) int {
		return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(a.name, b.name))
	})
	var first []string
	for i, d := range largest {
		if i == maxDistrictLines {
			first = append(first, "the same in "+wording.Many(len(largest)-i, "more district"))
			break
		}
		first = append(first, d.String())
	}
	return append(first, lines...)
}

// clauses maps the check of a reason to a clause that describes the problem with the tables of a district.
var clauses = map[string]string{
	AllRowsGone: "rows are gone from", ManyRowsGone: "rows are gone from", MaxRemoved: "test results are gone for no known reason:",
	MaxChanged: "rows have changed in", MaxEmptied: "values are gone from",
}

// districtLine collects the findings about a district.
type districtLine struct {
	name  string
	rows  int64
	order []string // clauses
	found map[string][]Finding
}

func (d *districtLine) add(check string, f Finding) {
	clause := clauses[check]
	if d.found[clause] == nil {
		d.order = append(d.order, clause)
	}
	d.found[clause] = append(d.found[clause], f)
	d.rows += f.N
}

// String returns the line.
func (d *districtLine) String() string {
	clauses := make([]string, 0, len(d.order))
	for _, clause := range d.order {
		found := d.found[clause]
		slices.SortFunc(found, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column))
		})
		var tables []string
		for _, f := range found {
			table := f.Table
			if f.Column != "" {
				table += "." + f.Column
			}
			share := wording.Count(f.N) + " of " + wording.Count(f.Of)
			if f.N == f.Of {
				share = "all " + wording.Count(f.N)
			}
			tables = append(tables, table+" ("+share+")")
		}
		clauses = append(clauses, clause+" "+wording.First(tables, 3))
	}
	return "in " + d.name + ", " + strings.Join(clauses, "; ")
}
