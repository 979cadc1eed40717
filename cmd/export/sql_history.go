package main

import (
	"context"
	"fmt"
	"strings"

	"example.org/growthexport/internal/history"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
	"example.org/growthexport/schemas/render"
)

// describeHistory returns a description of the files of the history for package render.
func (o *sqlOptions) describeHistory(ctx context.Context, catalog snapshot.Catalog) (*render.Snapshot, error) {
	held, err := catalog.ReadHistory(ctx)
	if err != nil {
		return nil, err
	}
	if held == nil {
		return nil, usagef("%w", catalog.NoHistory(ctx))
	}
	m := held.Manifest
	mixed := history.Mixed(ctx, catalog, m)
	title := fmt.Sprintf("History through %s, %s.", m.Through(), wording.Many(len(m.Snapshots), "snapshot"))
	if m.DroppedBefore != "" {
		title += fmt.Sprintf(" Rows that ended before %s were dropped: earlier dates and changes are left out.", m.DroppedBefore)
	}
	s := &render.Snapshot{Place: o.placeOf(catalog, title), History: true, Since: m.DroppedBefore}
	s.Profile = schemas.Profile(m.Scope.Privacy)
	for i := range m.Snapshots {
		if date := m.Snapshots[i].Date; date >= m.DroppedBefore {
			s.Dates = append(s.Dates, date)
		}
	}
	for _, table := range append(schemas.Tables(), snapshot.CoverageTable()) {
		files, ok := m.Tables[table.Name]
		if !ok {
			continue
		}
		t := render.SnapshotTable{
			Table: snapshot.HistoryTable(table), Rows: files.Rows, Folder: snapshot.HistoryFilesPrefix + table.Name, Mixed: mixed[table.Name],
		}
		for i := range files.Files {
			t.Files = append(t.Files, strings.TrimPrefix(files.Files[i].Path, t.Folder+"/"))
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}
