package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

const (
	// HistoryPointerPath is the path of the document that names the current history.
	HistoryPointerPath = "_history.json"
	// HistoryPrefix is the folder of the histories' documents.
	HistoryPrefix = "_history/"
	// HistoryFilesPrefix is the folder of the histories' data files.
	HistoryFilesPrefix = "history/"
	// Open is the valid_to of versions that have not ended.
	Open = "9999-12-31"
	// HistoryLock is the name of the lock that processes hold while they change the history.
	HistoryLock = "history"

	coverageTable = "coverage"
)

// HistoryPointer is _history.json: the history that readers find.
type HistoryPointer struct {
	HistoryID string `json:"history_id"`
	// Through is the last snapshot date folded.
	Through        string `json:"through"`
	Manifest       string `json:"manifest"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// HistoryManifest is _history/<id>/manifest.json: what a history consists of. Its bytes depend only on the snapshots
// folded.
type HistoryManifest struct {
	FormatVersion int          `json:"format_version"`
	HistoryID     string       `json:"history_id"`
	BaseURL       string       `json:"base_url"`
	Scope         HistoryScope `json:"scope"`
	// Snapshots are the snapshots folded, in the order of their dates.
	Snapshots []FoldedSnapshot `json:"snapshots"`
	// Tables are the files of each table: those of ended versions in the order of their dates, then those of open
	// versions in the order of their rows.
	Tables map[string]ManifestTable `json:"tables"`
	// Previous is the history before the last fold.
	Previous PreviousHistory `json:"previous"`
}

// PreviousHistory is what the last fold changed. A fold of another snapshot of the same date starts from it.
type PreviousHistory struct {
	// HistoryID is empty if there was none.
	HistoryID string `json:"history_id,omitempty"`
	// Tables holds the files of open versions of the tables whose files were replaced; nil of a table that was not there.
	Tables map[string][]sink.File `json:"tables"`
}

// HistoryScope is what all snapshots of a history have in common.
type HistoryScope struct {
	Perspectives   string `json:"perspectives"`
	IncludeRemoved bool   `json:"include_removed,omitempty"`
}

// FoldedSnapshot is a snapshot that a history holds.
type FoldedSnapshot struct {
	Date           string `json:"date"`
	RunID          string `json:"run_id"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// Through returns the last snapshot date folded.
func (m *HistoryManifest) Through() string { return m.Snapshots[len(m.Snapshots)-1].Date }

// Files returns the data files of the history, sorted by path.
func (m *HistoryManifest) Files() []sink.File { return filesOf(m.Tables) }

// OpenFiles returns the files of a table's open versions, in the order of their rows.
func (m *HistoryManifest) OpenFiles(table string) []sink.File {
	files := m.Tables[table].Files
	folder := HistoryFolder(table, Open)
	at := slices.IndexFunc(files, func(f sink.File) bool { return strings.HasPrefix(f.Path, folder) })
	if at < 0 {
		return nil
	}
	return files[at:]
}

// HistoryManifestPath returns the path of the manifest of a history.
func HistoryManifestPath(id string) string { return HistoryPrefix + id + "/" + ManifestName }

// HistoryFolder returns the folder of a table's versions that ended on a date, or are Open; slash included.
func HistoryFolder(table, validTo string) string {
	return HistoryFilesPrefix + table + "/valid_to=" + validTo + "/"
}

// HistoryTable returns the declaration of a table's versions. Files are sorted as the table's, then by valid_from.
func HistoryTable(table *schemas.Table) *schemas.Table {
	versions := *table
	versions.Columns = append(slices.Clone(table.Columns), schemas.Column{
		Name: "valid_from", Type: schemas.Date, Key: true, Required: true, Class: schemas.None,
		Doc: "The first snapshot date of this version.",
	}, schemas.Column{
		Name: "ended_because", Type: schemas.String, Class: schemas.None, Doc: "Why the version ended; null if it has not.",
	})
	return &versions
}

// CoverageTable returns the declaration of the table that tells from which date on a school's dataset was read. Like the
// others it gets the columns of HistoryTable.
func CoverageTable() *schemas.Table {
	return &schemas.Table{
		Name: coverageTable, Doc: "Which schools and datasets the folded snapshots cover.",
		Columns: []schemas.Column{
			{Name: "dataset", Type: schemas.String, Key: true, Required: true, Class: schemas.None, Doc: "The dataset."},
			{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true, Class: schemas.None, Doc: "The school."},
			{Name: "status", Type: schemas.String, Required: true, Class: schemas.None, Doc: "ok, denied, failed or absent."},
		},
	}
}

// FindHistoryTable returns the declaration of a history's table without the columns of HistoryTable.
func FindHistoryTable(name string) (*schemas.Table, bool) {
	if name == coverageTable {
		return CoverageTable(), true
	}
	table, _, ok := schemas.FindTable(name)
	return table, ok
}

// History is the current history of a destination.
type History struct {
	Pointer  HistoryPointer
	Manifest *HistoryManifest
}

// ReadHistory returns the current history, or nil if there is none. ErrDamaged means that the pointer or the manifest
// is not as it was written.
func (c Catalog) ReadHistory(ctx context.Context) (*History, error) {
	for {
		pointer, version, err := readIfThere[HistoryPointer](ctx, c, HistoryPointerPath)
		if pointer == nil || err != nil {
			return nil, err
		}
		history, err := c.followHistory(ctx, pointer)
		if err == nil || !Unreadable(err) {
			return history, err
		}
		// Another process may have moved the pointer and removed the manifest.
		_, now, again := c.Read(ctx, HistoryPointerPath)
		switch {
		case errors.Is(err, sink.ErrNotFound) && now == version:
			return nil, fmt.Errorf("%w: %s is missing", sink.ErrDamaged, pointer.Manifest)
		case now == version || again != nil:
			return nil, err
		}
	}
}

// followHistory reads the manifest that a pointer names.
func (c Catalog) followHistory(ctx context.Context, pointer *HistoryPointer) (*History, error) {
	data, _, err := c.Read(ctx, pointer.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", pointer.Manifest, err)
	}
	manifest := new(HistoryManifest)
	if err := DecodeDocument(pointer.Manifest, data, manifest); err != nil {
		return nil, err
	}
	if sink.Hash(data) != pointer.ManifestSHA256 || manifest.HistoryID != pointer.HistoryID || len(manifest.Snapshots) == 0 {
		return nil, fmt.Errorf("read %s: %w: it is not the manifest that %s names", pointer.Manifest, sink.ErrDamaged, HistoryPointerPath)
	}
	return &History{Pointer: *pointer, Manifest: manifest}, nil
}
