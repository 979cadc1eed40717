package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// purgedHistory is what a purge has found in the history.
type purgedHistory struct {
	manifest *snapshot.HistoryManifest
	tables   []*historyTable
	// bids are all schools that are purged on some date, and days on which ones, as a school may change districts.
	bids
	days map[string][]span
	// rehashed are the snapshots folded, with the hashes of their manifests after their purges.
	rehashed []snapshot.FoldedSnapshot
	seen     set
}

// span is a range of days since 1970, the last one excluded.
type span struct{ from, to int32 }

func (s span) empty() bool { return s.from >= s.to }

// historyTable is a table of the history.
type historyTable struct {
	table   *schemas.Table // as it is declared, without the columns of versions
	dataset *schemas.Dataset
	files   []historyFile
	// spans are the days on which records are purged that were not requested for a purged school or district, by their
	// keys. All tables of a dataset share them.
	spans map[string][]span
	// merges are what becomes of versions that lose _extra and then equal a neighbour.
	merges merges
}

// historyFile is a file of the history and what is purged from it.
type historyFile struct {
	sink.File

	open    bool
	to      int32 // valid_to
	removed int64
	trimmed int64 // rows that begin on another day
	moved   int64 // rows that leave nothing but endings
	endings int64 // versions that end earlier, which belong in the files of other days
	gained  int64 // endings of other files that belong in this one
	cleared int64 // rows that lose _extra
	merged  int64 // rows of these that are part of a later one
	// firstGone is set if the first school of the file has no rows left, or the file no row.
	firstGone  bool
	mentioning int64
}

// merges are the versions that are merged with others, by versionID.
type merges map[string]merge

// merge is how a version changes: it is removed because a later one includes it, or it begins earlier.
type merge struct {
	goes bool
	from int32
}

func (f *historyFile) changes() bool {
	return f.removed+f.trimmed+f.moved+f.gained+f.cleared+f.merged > 0
}

// left returns how many rows the file has after the purge.
func (f *historyFile) left() int64 { return f.Rows + f.gained - f.removed - f.moved - f.merged }

// clearsExtra reports whether rows of a table may lose _extra.
func (h *purgedHistory) clearsExtra(t *historyTable) bool {
	return len(h.students) > 0 && t.dataset != nil && t.dataset.ExtraListsStudents()
}

// pending reports whether the history has to be changed.
func (h *purgedHistory) pending() bool {
	return h != nil && (h.report("") != nil || !slices.Equal(h.rehashed, h.manifest.Snapshots))
}

// report returns what is removed from the history, or nil if it loses nothing.
func (h *purgedHistory) report(id string) *snapshot.HistoryPurge {
	if h == nil {
		return nil
	}
	purge := &snapshot.HistoryPurge{ID: id, RowsRemoved: make(map[string]int64)}
	for _, t := range h.tables {
		for i := range t.files {
			if f := &t.files[i]; f.changes() {
				snapshot.AddRows(&purge.RowsRemoved, t.table.Name, f.removed)
				snapshot.AddRows(&purge.ExtraRemoved, t.table.Name, f.cleared)
				purge.FilesRewritten++
			}
		}
	}
	if purge.FilesRewritten == 0 {
		return nil
	}
	return purge
}

// addTables lists the tables, the first of a dataset before its others: its rows say which records are purged.
func (h *purgedHistory) addTables() error {
	add := func(table *schemas.Table, dataset *schemas.Dataset, spans map[string][]span) error {
		t := &historyTable{table: table, dataset: dataset, spans: spans}
		for _, file := range h.manifest.Tables[table.Name].Files {
			folder, _, _ := strings.Cut(strings.TrimPrefix(file.Path, snapshot.HistoryFilesPrefix+table.Name+"/valid_to="), "/")
			day, err := snapshot.DayOf(folder)
			if err != nil {
				return fmt.Errorf("read the name of %s: %w", file.Path, err)
			}
			t.files = append(t.files, historyFile{File: file, to: day, open: folder == snapshot.Open})
		}
		h.tables = append(h.tables, t)
		return nil
	}
	listed := make(set)
	for _, dataset := range schemas.Datasets() {
		spans := make(map[string][]span)
		for _, table := range dataset.Tables {
			listed[table.Name] = true
			if err := add(table, dataset, spans); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.manifest.Tables)) {
		if listed[name] {
			continue
		}
		table, ok := snapshot.FindHistoryTable(name)
		if !ok {
			table = &schemas.Table{Name: name}
		}
		if err := add(table, nil, make(map[string][]span)); err != nil {
			return err
		}
	}
	return nil
}

// validFrom is the column of a version's first day.
const validFrom = "valid_from"
