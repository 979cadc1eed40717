package render

import (
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// join describes how to find the rows of one table that belong to a row of another.
type join struct {
	From, To *schemas.Table
	// Column is the column of From that identifies rows of To.
	Column string
	// On lists the pairs of columns, of From and of To, that must be equal.
	On [][2]string
	// Left lists the key columns of To that From lacks. If it is empty, at most one row is found.
	Left []string
}

// Unmatched describes the rows of From that may match no row of To although they have an identifier. It returns "" if
// there are no such rows.
func (j join) Unmatched() string {
	switch j.From.Name + " " + j.To.Name {
	case "district_schools schools":
		return "schools that only their district lists"
	case "student_school_associations students", "school_class_students students", "test_results students":
		return "students who are not on the roster of the school"
	case "test_results enrollment_sessions":
		return "results of terms that only other schools list"
	case "student_school_classes school_classes", "educator_school_classes school_classes":
		return "classes that the school does not list"
	}
	return ""
}

// joinMap lists the joins between tables.
type joinMap []join

// Use reports whether a column of a table leads to another table.
func (m joinMap) Use(t *schemas.Table, column string) bool {
	return slices.ContainsFunc(m, func(j join) bool { return j.From == t && j.Column == column })
}

// joins returns the joins between all tables, in the order of the tables. It omits a join that can be made in two steps
// if the second step uses the same column.
func joins(datasets []*schemas.Dataset) joinMap {
	var all []join
	for _, d := range datasets {
		for _, t := range d.Tables {
			all = append(all, joinsOf(t, d.Tables[0], datasets)...)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(j join) bool {
		return slices.ContainsFunc(all, func(first join) bool {
			return first.From == j.From && slices.ContainsFunc(all, func(second join) bool {
				return second.From == first.To && second.To == j.To && second.Column == j.Column
			})
		})
	})
}

func joinsOf(t, parent *schemas.Table, datasets []*schemas.Dataset) []join {
	var all []join
	if parent != t {
		names := keyNames(parent)
		all = append(all, newJoin(t, parent, names[len(names)-1], names[len(names)-1]))
	}
	for _, c := range t.Columns {
		if t.Each != "" && strings.ContainsAny(c.Source[:1], string(schemas.SourceParam)+string(schemas.SourceParent)) {
			continue // found by the parent
		}
		to, column := home(c.Name, datasets), identifier(c.Name)
		if table, name, ok := strings.Cut(c.Refers, "."); ok {
			to, _, _ = schemas.FindTable(table)
			column = name
		}
		found := slices.ContainsFunc(all, func(j join) bool { return j.To == to })
		if to != nil && to != t && !found {
			all = append(all, newJoin(t, to, c.Name, column))
		}
	}
	return all
}

// newJoin returns a join on two columns and on the key columns that both tables have.
func newJoin(from, to *schemas.Table, column, toColumn string) join {
	j := join{From: from, To: to, Column: column}
	for _, key := range keyNames(to) {
		switch {
		case key == toColumn:
		case from.Column(key) >= 0:
			j.On = append(j.On, [2]string{key, key})
		default:
			j.Left = append(j.Left, key)
		}
	}
	j.On = append(j.On, [2]string{column, toColumn})
	return j
}

// home returns the table of the records that a column identifies: the first table that has the column in its key, apart
// from parameters of the call. It returns nil if there is no such table.
func home(column string, datasets []*schemas.Dataset) *schemas.Table {
	for _, d := range datasets {
		t := d.Tables[0]
		for _, i := range t.KeyColumns() {
			if c := t.Columns[i]; c.Source[0] != schemas.SourceParam && c.Name == identifier(column) {
				return t
			}
		}
	}
	return nil
}

// identifier returns the name of a column without the prefix requested_.
func identifier(column string) string { return strings.TrimPrefix(column, "requested_") }

// withoutTable returns the names of the bids of people that are not the key of any table of records.
func withoutTable(datasets []*schemas.Dataset) []string {
	var names []string
	for _, t := range tablesOf(datasets) {
		for _, c := range t.Columns {
			name := identifier(c.Name)
			if c.Class == schemas.ID && strings.HasSuffix(name, "_bid") && home(name, datasets) == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func tablesOf(datasets []*schemas.Dataset) []*schemas.Table {
	var tables []*schemas.Table
	for _, d := range datasets {
		tables = append(tables, d.Tables...)
	}
	return tables
}
