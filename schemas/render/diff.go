package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/schemas"
)

// ChangeKind is the effect of a change to the declared tables on their readers.
type ChangeKind string

// The kinds of changes, the least serious first.
const (
	Added    ChangeKind = "added"
	Changed  ChangeKind = "changed"  // in a way that breaks no reader
	Breaking ChangeKind = "breaking" // a query that worked may fail, or mean something else
)

// Change is a difference between the declared tables and an earlier description of them.
type Change struct {
	Kind ChangeKind
	// Where is a table or table.column, and What describes the change.
	Where, What string
}

// Diff compares the declared tables with an earlier description in the format json. It returns the version of the
// schema in that description, or "" if it has no version, and the changes since then.
func Diff(earlier []byte) (version string, changes []Change, err error) {
	var before jsonDocument
	if err := json.Unmarshal(earlier, &before); err != nil {
		return "", nil, fmt.Errorf("parse it: %w", err)
	}
	now := newDocument(schemas.Datasets())
	was, is := before.tables(), now.tables()
	if len(was) == 0 {
		return "", nil, errors.New("it describes no tables")
	}
	for _, p := range before.Partitions {
		if !slices.ContainsFunc(now.Partitions, func(n jsonPartition) bool { return n.Name == p.Name && n.Type == p.Type }) {
			changes = append(changes, Change{Breaking, p.Name, "partition column removed, or of another type"})
		}
	}
	for _, t := range is {
		i := slices.IndexFunc(was, func(o jsonTable) bool { return o.Name == t.Name })
		if i < 0 {
			changes = append(changes, Change{Added, t.Name, "new table"})
			continue
		}
		changes = append(changes, diffTables(&was[i], &t)...)
	}
	for _, t := range was {
		if !slices.ContainsFunc(is, func(o jsonTable) bool { return o.Name == t.Name }) {
			changes = append(changes, Change{Breaking, t.Name, "removed"})
		}
	}
	return before.SchemaVersion, changes, nil
}

func (d *jsonDocument) tables() []jsonTable {
	var tables []jsonTable
	for i := range d.Datasets {
		tables = append(tables, d.Datasets[i].Tables...)
	}
	return tables
}

func diffTables(was, is *jsonTable) []Change {
	var changes []Change
	add := func(kind ChangeKind, column, what string) {
		changes = append(changes, Change{kind, strings.TrimSuffix(is.Name+"."+column, "."), what})
	}
	if !slices.Equal(was.SortedBy, is.SortedBy) {
		add(Breaking, "", fmt.Sprintf("key %s instead of %s", strings.Join(is.SortedBy, ", "), strings.Join(was.SortedBy, ", ")))
	}
	if was.Each != is.Each || was.Doc != is.Doc {
		add(Changed, "", "description")
	}
	for _, c := range is.Columns {
		i := slices.IndexFunc(was.Columns, func(o jsonColumn) bool { return o.Name == c.Name })
		if i < 0 {
			add(Added, c.Name, "new column, "+c.Type)
			continue
		}
		old := was.Columns[i]
		switch {
		case old.Type != c.Type:
			add(Breaking, c.Name, c.Type+" instead of "+old.Type)
		case old.Required && !c.Required:
			add(Breaking, c.Name, "may be null")
		case !old.Required && c.Required:
			add(Changed, c.Name, "is never null")
		}
		for _, property := range []struct{ name, was, is string }{
			{"source", old.Source, c.Source}, {"privacy class", old.Class, c.Class}, {"description", old.Doc, c.Doc},
		} {
			if property.was != property.is {
				add(Changed, c.Name, property.name)
			}
		}
	}
	for _, c := range was.Columns {
		if !slices.ContainsFunc(is.Columns, func(o jsonColumn) bool { return o.Name == c.Name }) {
			add(Breaking, c.Name, "removed")
		}
	}
	return changes
}
