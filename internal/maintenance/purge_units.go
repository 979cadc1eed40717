package maintenance

import (
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// purgeUnit is the set of files of one dataset and bucket, in the order of the dataset's tables. The rows of these
// files come from the same records.
type purgeUnit struct {
	dataset *schemas.Dataset // nil for a table that is not declared
	files   []purgeFile
	emptied int64 // the number of requests in the ledger, such as schools, that have no rows left
}

type purgeFile struct {
	table   *schemas.Table
	file    sink.File
	removed int64 // the number of rows to remove
	cleared int64 // the number of rows whose _extra has to be cleared
}

// changes reports whether the file has to be rewritten.
func (f *purgeFile) changes() bool { return f.removed+f.cleared > 0 }

// foundRun describes the rows to purge that were found in a run.
type foundRun struct {
	units  []purgeUnit
	ledger *snapshot.PurgedLedger // without Data; nil if the ledger does not change
}

// changes reports whether a file of the unit has to be rewritten.
func (u *purgeUnit) changes() bool {
	return slices.ContainsFunc(u.files, func(f purgeFile) bool { return f.changes() })
}

// purgeUnits returns the files of a published run as units. A table may not be declared because another release wrote
// it. Each file of such a table is a unit of its own.
func purgeUnits(m *snapshot.Manifest) []purgeUnit {
	declared := make(erase.Set)
	var units []purgeUnit
	for _, dataset := range schemas.Datasets() {
		at := make(map[string]int) // by part, the index in units
		for _, table := range dataset.Tables {
			declared[table.Name] = true
			for _, file := range m.Tables[table.Name].Files {
				part := partOf(file.Path, snapshot.DatePath(m.Kind, table.Name, m.SnapshotDate))
				if _, ok := at[part]; !ok {
					at[part] = len(units)
					units = append(units, purgeUnit{dataset: dataset})
				}
				unit := &units[at[part]]
				unit.files = append(unit.files, purgeFile{table: table, file: file})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		if declared[name] {
			continue
		}
		for _, file := range m.Tables[name].Files {
			units = append(units, purgeUnit{files: []purgeFile{{table: &schemas.Table{Name: name}, file: file}}})
		}
	}
	return units
}

// partOf returns the name of the part that a file contains. The same part has the same name in all tables of a dataset,
// regardless of how often its files were rewritten.
func partOf(path, folder string) string {
	name := strings.TrimPrefix(path, folder)
	part, ok := sink.ParsePart(name)
	if !ok {
		return name
	}
	part.Rewritten = 0
	return part.String()
}
