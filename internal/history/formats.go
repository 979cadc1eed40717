package history

import (
	"context"
	"errors"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// heldTable returns a table without the columns that neither the snapshot nor the open versions have, because an
// earlier release wrote both. The history gets a column with the first snapshot that has it. Until then its files lack
// the column, because a null would mean that the service had no value.
func (f *fold) heldTable(ctx context.Context, table *schemas.Table) (*schemas.Table, error) {
	held := make(map[string]bool)
	err := markHeld(ctx, f.side.catalog, table, f.side.manifest.Tables[table.Name].Files, held)
	if err == nil {
		err = markHeld(ctx, f.catalog, table, f.before.OpenFiles(table.Name), held)
	}
	return withColumns(table, held), err
}

// withColumns returns a table with only the held columns, or with all columns if held is empty.
func withColumns(table *schemas.Table, held map[string]bool) *schemas.Table {
	if len(held) == 0 || len(held) == len(table.Columns) {
		return table
	}
	some := *table
	some.Columns = slices.DeleteFunc(slices.Clone(table.Columns), func(c schemas.Column) bool { return !held[c.Name] })
	return &some
}

// markHeld marks the columns of a table that at least one of the files has. It stops once all columns are marked.
func markHeld(ctx context.Context, catalog snapshot.Catalog, table *schemas.Table, files []sink.File, held map[string]bool) error {
	for _, file := range files {
		if len(held) == len(table.Columns) {
			return nil
		}
		r := &fileReader{catalog: catalog, table: table}
		if err := errors.Join(r.open(ctx, file), r.close()); err != nil {
			return r.failed(err)
		}
		for i := range table.Columns {
			if !slices.Contains(r.lacks[file.Path], i) {
				held[table.Columns[i].Name] = true
			}
		}
	}
	return nil
}

// Mixed reports for each table of a history whether some of its files lack columns, because an earlier release wrote
// these files or the snapshots folded into them. A file that cannot be read counts as complete.
func Mixed(ctx context.Context, catalog snapshot.Catalog, m *snapshot.HistoryManifest) map[string]bool {
	var names []string
	for name := range m.Tables {
		if _, known := snapshot.FindHistoryTable(name); known {
			names = append(names, name)
		}
	}
	lacks, _ := sink.Map(ctx, sink.MaxConcurrency, names, func(ctx context.Context, name string) (bool, error) {
		table, _ := snapshot.FindHistoryTable(name)
		files := m.OpenFiles(name)
		if all := m.Tables[name].Files; len(all) > len(files) {
			files = append(slices.Clone(files), all[0]) // the first file of ended versions has the fewest columns
		}
		for i := range files {
			held := make(map[string]bool)
			err := markHeld(ctx, catalog, table, files[i:i+1], held)
			if err == nil && len(held) < len(table.Columns) {
				return true, nil
			}
		}
		return false, nil
	})
	mixed := make(map[string]bool)
	for i, name := range names {
		mixed[name] = i < len(lacks) && lacks[i]
	}
	return mixed
}
