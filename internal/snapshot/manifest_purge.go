package snapshot

import (
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

// ManifestPurge is what a purge has removed from a published run.
type ManifestPurge struct {
	// ID names the proof, _purges/<id>.json.
	ID string    `json:"id"`
	At time.Time `json:"at"`
	// RowsRemoved counts rows by table.
	RowsRemoved map[string]int64 `json:"rows_removed"`
	// SchoolsEmptied counts by dataset the schools that had rows in its first
	// table and have none left: the manifest no longer counts them as schools
	// with rows, which the next run is compared with.
	SchoolsEmptied map[string]int64 `json:"schools_emptied,omitempty"`
	Files          []PurgedFile     `json:"files"`
}

// PurgedFile is a file that took the place of another.
type PurgedFile struct {
	Path        string `json:"path"`
	Was         string `json:"was"`
	RowsRemoved int64  `json:"rows_removed"`
}

// purged counts the rows that purges have removed from a table.
func (m *Manifest) Purged(table string) int64 {
	var n int64
	for i := range m.Purges {
		n += m.Purges[i].RowsRemoved[table]
	}
	return n
}

// schoolsEmptied counts the schools that purges have left without rows of a
// dataset.
func (m *Manifest) SchoolsEmptied(dataset string) int64 {
	var n int64
	for i := range m.Purges {
		n += m.Purges[i].SchoolsEmptied[dataset]
	}
	return n
}

// WithPurge returns the manifest with other files in the place of some.
func (m *Manifest) WithPurge(takes map[string]sink.File, purge ManifestPurge) Manifest {
	after := *m
	after.Purges = append(slices.Clone(m.Purges), purge)
	after.Tables = make(map[string]ManifestTable, len(m.Tables))
	for name, table := range m.Tables {
		files := slices.Clone(table.Files)
		for i, file := range files {
			if other, ok := takes[file.Path]; ok {
				files[i] = other
			}
		}
		slices.SortFunc(files, func(a, b sink.File) int { return strings.Compare(a.Path, b.Path) })
		after.Tables[name] = ManifestTable{Rows: table.Rows - purge.RowsRemoved[name], Files: files}
	}
	after.Datasets = maps.Clone(m.Datasets)
	for name, emptied := range purge.SchoolsEmptied {
		counts := after.Datasets[name]
		counts.SchoolsWithRow -= emptied
		after.Datasets[name] = counts
	}
	return after
}
