package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

const (
	// HistoryPointerPath is the path of the document that refers to the current history.
	HistoryPointerPath = "_history.json"
	// HistoryPrefix is the folder of the histories' documents.
	HistoryPrefix = "_history/"
	// HistoryFilesPrefix is the folder of the histories' data files.
	HistoryFilesPrefix = "history/"
	// Open is the valid_to of versions that have not ended.
	Open = "9999-12-31"

	coverageTable = "coverage"
)

// HistoryPointer is _history.json. It refers to the history that readers find.
type HistoryPointer struct {
	HistoryID string `json:"history_id"` // the name of the folder with the history's manifest
	// Through is the date of the last folded snapshot.
	Through        string `json:"through"`
	Manifest       string `json:"manifest"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// HistoryManifest is _history/<id>/manifest.json. It lists the files of a history. Its bytes depend only on the folded
// snapshots, on purges and on the versions that were dropped.
type HistoryManifest struct {
	FormatVersion int          `json:"format_version"`
	HistoryID     string       `json:"history_id"` // the last part of the names of the newest files
	BaseURL       string       `json:"base_url"`
	Scope         HistoryScope `json:"scope"`
	// Snapshots are the folded snapshots, in the order of their dates.
	Snapshots []FoldedSnapshot `json:"snapshots"`
	// Tables lists the files of each table: first the files of ended versions, in the order of the dates on which these
	// ended, then the files of open versions, in the order of their rows.
	Tables map[string]ManifestTable `json:"tables"`
	// Previous describes the history before the last fold.
	Previous PreviousHistory `json:"previous"`
	// Purges lists the purges that have removed rows from the history, the earliest purge first. A rebuild of the history
	// keeps the list, so that a purge that is resumed can count the rows that it had removed before it was killed.
	Purges []HistoryPurge `json:"purges,omitempty"`
	// DroppedBefore is the date before which ended versions have been dropped. It is empty if none have been dropped.
	DroppedBefore string `json:"dropped_before,omitempty"`
}

// HistoryPurge counts the rows that a purge or history --drop-ended-before has removed from a history.
type HistoryPurge struct {
	// ID is the id of the proof, _purges/<id>.json.
	ID             string           `json:"id"`
	RowsRemoved    map[string]int64 `json:"rows_removed"`            // by table
	ExtraRemoved   map[string]int64 `json:"extra_removed,omitempty"` // as in ManifestPurge
	FilesRewritten int              `json:"files_rewritten"`         // files that were replaced or dropped
	Suppressed     *Suppression     `json:"suppressed,omitempty"`    // as in ManifestPurge
}

// PurgeBy returns the counts of the purge with the given id, or nil if that purge has not changed the history.
func (m *HistoryManifest) PurgeBy(id string) *HistoryPurge {
	i := slices.IndexFunc(m.Purges, func(p HistoryPurge) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &m.Purges[i]
}

// AddPurge adds the counts of a purge to the counts recorded under its id. It copies the list of purges first, because
// other manifests may share it.
func (m *HistoryManifest) AddPurge(p *HistoryPurge) {
	m.Purges = slices.Clone(m.Purges)
	if before := m.PurgeBy(p.ID); before != nil {
		*before = *p.Plus(before)
	} else {
		m.Purges = append(m.Purges, *p)
	}
}

// Plus returns the sum of the counts in p and before.
func (p *HistoryPurge) Plus(before *HistoryPurge) *HistoryPurge {
	sum := &HistoryPurge{
		ID: p.ID, RowsRemoved: maps.Clone(before.RowsRemoved), ExtraRemoved: maps.Clone(before.ExtraRemoved),
		FilesRewritten: before.FilesRewritten + p.FilesRewritten, Suppressed: cmp.Or(p.Suppressed, before.Suppressed),
	}
	for table, n := range p.RowsRemoved {
		AddRows(&sum.RowsRemoved, table, n)
	}
	for table, n := range p.ExtraRemoved {
		AddRows(&sum.ExtraRemoved, table, n)
	}
	return sum
}

// PreviousHistory holds the state before the last fold. A fold of another snapshot of the same date starts from this
// state.
type PreviousHistory struct {
	// HistoryID is empty if there was no history.
	HistoryID string `json:"history_id,omitempty"`
	// Tables holds the files of open versions of the tables whose files were replaced. The value is nil for a table that
	// did not exist.
	Tables map[string][]sink.File `json:"tables"`
	// Purged are the tables from which a purge has removed rows since. Their previous files are rewritten without these
	// rows.
	Purged []string `json:"purged,omitempty"`
}

// HistoryScope holds the settings that all snapshots of a history share.
type HistoryScope struct {
	Perspectives   string `json:"perspectives"`
	IncludeRemoved bool   `json:"include_removed,omitempty"`
	// Privacy is empty for the full profile. PrivacyKey is the fingerprint of the key.
	Privacy    string `json:"privacy,omitempty"`
	PrivacyKey string `json:"privacy_key_fingerprint,omitempty"`
}

// HistoryScope returns the scope of a history that starts with the run.
func (m *Manifest) HistoryScope() HistoryScope {
	scope := HistoryScope{
		Perspectives: m.Parameters.Perspectives, IncludeRemoved: m.Parameters.IncludeRemoved, PrivacyKey: m.Parameters.PrivacyKey,
	}
	if profile := m.Parameters.Profile(); profile != schemas.Full {
		scope.Privacy = string(profile)
	}
	return scope
}

// OutsideHistory returns the reason why a full snapshot does not belong to a history with the given service and scope,
// or "" if it does.
func (m *Manifest) OutsideHistory(baseURL string, scope HistoryScope) string {
	own := m.HistoryScope()
	switch {
	case m.Parameters.Students != nil:
		return "it holds only some students"
	case m.Parameters.Filtered():
		return "it holds only some schools"
	case !SameService(baseURL, m.BaseURL):
		return fmt.Sprintf("its base URL is %s, but the history's is %s", m.BaseURL, baseURL)
	case own.Perspectives != scope.Perspectives:
		return fmt.Sprintf("it was taken with %s %s, but those in the history with %s", wording.Setting("perspectives"), own.Perspectives, scope.Perspectives)
	case own.Privacy != scope.Privacy:
		return fmt.Sprintf("it was taken with %s %s, but those in the history with %s", wording.Setting("privacy"), m.Parameters.Profile(), cmp.Or(scope.Privacy, string(schemas.Full)))
	case own.PrivacyKey != scope.PrivacyKey:
		return fmt.Sprintf("its pseudonyms were made with the privacy key %s, but the history's with %s", own.PrivacyKey, scope.PrivacyKey)
	case own.IncludeRemoved && !scope.IncludeRemoved:
		return "it was taken with " + includeRemoved.String() + ", but those in the history were not"
	case own != scope:
		return "it was taken without " + includeRemoved.String() + ", but those in the history with it"
	}
	return ""
}

// Misses reports whether a run is a snapshot that belongs to the history but was not folded.
func (m *HistoryManifest) Misses(run *Manifest) bool {
	return run.Kind == Full && run.Status == Published && run.OutsideHistory(m.BaseURL, m.Scope) == "" &&
		!slices.ContainsFunc(m.Snapshots, func(f FoldedSnapshot) bool { return f.RunID == run.RunID && f.Date == run.SnapshotDate })
}

// LeavesOut returns the newest unfiltered snapshot if it is newer than the history and does not belong to it, together
// with the reason. Otherwise, or if the history or the snapshot is missing or damaged, it returns nil and an empty
// reason.
func (c Catalog) LeavesOut(ctx context.Context) (newest *Manifest, reason string, err error) {
	newest, err = c.LatestRun(ctx)
	if newest == nil || err != nil {
		return nil, "", ignoreUnreadable(err)
	}
	history, err := c.ReadHistory(ctx)
	if history == nil || err != nil || newest.SnapshotDate <= history.Manifest.Through() {
		return nil, "", ignoreUnreadable(err)
	}
	if reason = newest.OutsideHistory(history.Manifest.BaseURL, history.Manifest.Scope); reason == "" {
		return nil, "", nil
	}
	return newest, reason, nil
}

func ignoreUnreadable(err error) error {
	if Unreadable(err) {
		return nil
	}
	return err
}

// Pruned returns the folded dates whose snapshots are no longer published. The history cannot be rebuilt without them.
func (m *HistoryManifest) Pruned(published func(date string) bool) []string {
	var dates []string
	for _, f := range m.Snapshots {
		if !published(f.Date) {
			dates = append(dates, f.Date)
		}
	}
	return dates
}

// FoldedSnapshot identifies a snapshot that was folded into a history.
type FoldedSnapshot struct {
	Date           string `json:"date"` // the date of the snapshot
	RunID          string `json:"run_id"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// Through returns the date of the last folded snapshot.
func (m *HistoryManifest) Through() string { return m.Snapshots[len(m.Snapshots)-1].Date }

// DroppingEnded returns the history without the versions that ended before a date. It also returns the number of rows
// that each table loses, and the number of files that are dropped. The files of all other versions stay the same.
func (m *HistoryManifest) DroppingEnded(before string) (*HistoryManifest, *HistoryPurge) {
	after, dropped := *m, &HistoryPurge{RowsRemoved: make(map[string]int64)}
	after.Tables = make(map[string]ManifestTable)
	for name, table := range m.Tables {
		var kept []sink.File
		for _, file := range table.Files {
			if EndedBefore(file.Path, before) {
				AddRows(&dropped.RowsRemoved, name, file.Rows)
				dropped.FilesRewritten++
			} else {
				kept = append(kept, file)
			}
		}
		after.Tables[name] = NewManifestTable(kept...)
	}
	if dropped.FilesRewritten > 0 {
		sum := sha256.Sum256([]byte(m.HistoryID + " without what ended before " + before))
		after.HistoryID, after.DroppedBefore = hex.EncodeToString(sum[:8]), max(before, m.DroppedBefore)
	}
	return &after, dropped
}

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

// IsHistoryID reports whether the owner of staged files may be a history. The id of a history is 16 hexadecimal digits.
func IsHistoryID(owner string) bool {
	return len(owner) == 16 && strings.Trim(owner, "0123456789abcdef") == ""
}

// HistoryManifestPath returns the path of the manifest of a history.
func HistoryManifestPath(id string) string { return HistoryPrefix + id + "/" + ManifestName }

// HistoryFolder returns the folder, with a trailing slash, of a table's versions that ended on a date, or that have not
// ended (Open).
func HistoryFolder(table, validTo string) string {
	return HistoryFilesPrefix + table + "/valid_to=" + validTo + "/"
}

// EndedBefore reports whether a data file of a history holds versions that ended before a date.
func EndedBefore(path, date string) bool {
	table, rest, found := strings.Cut(strings.TrimPrefix(path, HistoryFilesPrefix), "/")
	return found && strings.HasSuffix(rest, ".parquet") && strings.HasPrefix(rest, "valid_to=") && path < HistoryFolder(table, date)
}

// ValidTo returns the day on which the versions in a file of a history ended, or the day of Open if they have not
// ended.
func ValidTo(path string) (int32, error) {
	_, folder, _ := strings.Cut(path, "/valid_to=")
	folder, _, _ = strings.Cut(folder, "/")
	day, err := DayOf(folder)
	if err != nil {
		return 0, fmt.Errorf("read the name of %s: %w", path, err)
	}
	return day, nil
}

// HistoryTable returns the declaration of a table's versions. Files are sorted like the files of the table, then by
// valid_from.
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

// CoverageTable returns the declaration of the table that records the status of each school and dataset, and since when
// it has had that status. Like the other tables, it gets the columns that HistoryTable adds.
func CoverageTable() *schemas.Table {
	return &schemas.Table{
		Name: coverageTable, Doc: "Which schools and datasets the snapshots in the history cover.",
		Columns: []schemas.Column{
			{Name: "dataset", Type: schemas.String, Key: true, Required: true, Class: schemas.None, Doc: "The dataset."},
			{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true, Class: schemas.None, Doc: "The school."},
			{Name: "status", Type: schemas.String, Required: true, Class: schemas.None, Doc: "ok, denied, failed or absent."},
		},
	}
}

// FindHistoryTable returns the declaration of a table of the history, without the columns that HistoryTable adds.
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

// NoHistory returns the error for a command that needs a history when there is none. For a destination that holds only
// cohorts, which are never folded, the error explains this.
func (c Catalog) NoHistory(ctx context.Context) *RefusedError {
	reason := fmt.Sprintf("there is no history at %s: ", c)
	ofCohort := func(m *Manifest) bool { return m.Parameters.Students != nil }
	cohort, err := c.Newest(ctx, Full, ofCohort)
	other, problem := c.Newest(ctx, Full, func(m *Manifest) bool { return !ofCohort(m) })
	if cohort == nil || other != nil || err != nil || problem != nil {
		return &RefusedError{Reason: reason + "growth-export history creates it"}
	}
	return &RefusedError{Reason: reason + "its snapshots hold only some students, and such snapshots are not added to a history; to compare two of them, " +
		"use growth-export sql with " + wording.Setting("snapshot-date").String() + " and " + wording.Setting("schema").String() + " for each"}
}

// ReadHistory returns the current history, or nil if there is none. ErrDamaged means that the pointer or the manifest
// has changed since it was written, or was lost.
func (c Catalog) ReadHistory(ctx context.Context) (*History, error) {
	for {
		pointer, version, err := ReadDocument[HistoryPointer](ctx, c, HistoryPointerPath, sink.ErrNotFound)
		if err != nil {
			return nil, err
		}
		if pointer == nil {
			if begun, err := c.lostHistory(ctx); !begun {
				return nil, err
			}
			continue
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

// lostHistory returns ErrDamaged if there are data files of a history, but neither a pointer to it nor a change that
// has begun. begun is true if another process has just written the pointer.
func (c Catalog) lostHistory(ctx context.Context) (begun bool, err error) {
	for entry, err := range c.List(ctx, HistoryFilesPrefix) {
		if err != nil {
			return false, err
		}
		if !strings.HasSuffix(entry.Path, ".parquet") {
			continue
		}
		_, _, err := c.readChangeIn(ctx, "")
		if err == nil || errors.Is(err, sink.ErrDamaged) {
			return false, nil // The first files of the history are being published.
		}
		if !errors.Is(err, sink.ErrNotFound) {
			return false, err
		}
		_, _, err = c.Read(ctx, HistoryPointerPath)
		if errors.Is(err, sink.ErrNotFound) {
			err = fmt.Errorf("%w: %s is missing, although there are files of a history in %s", sink.ErrDamaged, HistoryPointerPath, HistoryFilesPrefix)
		}
		return err == nil, err
	}
	return false, nil
}

// LastHistory returns the newest manifest of a history, regardless of the pointer, or nil if none can be read.
func (c Catalog) LastHistory(ctx context.Context) (*HistoryManifest, error) {
	var last *HistoryManifest
	for entry, err := range c.List(ctx, HistoryPrefix) {
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(entry.Path, "/"+ManifestName) {
			continue
		}
		m, _, err := ReadDocument[HistoryManifest](ctx, c, entry.Path, sink.ErrNotFound)
		if errors.Is(err, sink.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m != nil && len(m.Snapshots) > 0 && (last == nil || m.Through() > last.Through()) {
			last = m
		}
	}
	return last, nil
}

// PrunedFrom returns the folded dates of a history whose snapshots are no longer published.
func (c Catalog) PrunedFrom(ctx context.Context, m *HistoryManifest) ([]string, error) {
	entries, err := c.pointers(ctx, Full)
	if err != nil {
		return nil, err
	}
	return m.Pruned(func(date string) bool {
		return slices.ContainsFunc(entries, func(e sink.Entry) bool { return e.Path == PointerPath(Full, date) })
	}), nil
}

// HistoryUnchanged returns ErrConflict if another process has changed the history and may therefore have removed files.
// id is the id that the history had when it was read, or empty if there was no history.
func (c Catalog) HistoryUnchanged(ctx context.Context, id string) error {
	pointer, _, err := ReadDocument[HistoryPointer](ctx, c, HistoryPointerPath, sink.ErrNotFound)
	if err != nil {
		return err
	}
	if pointer == nil {
		pointer = new(HistoryPointer)
	}
	if pointer.HistoryID != id {
		return fmt.Errorf("%w: %s has changed", sink.ErrConflict, HistoryPointerPath)
	}
	return nil
}

// followHistory reads the manifest that a pointer refers to. It returns ErrDamaged if the two do not match.
func (c Catalog) followHistory(ctx context.Context, pointer *HistoryPointer) (*History, error) {
	if pointer.Manifest != HistoryManifestPath(pointer.HistoryID) {
		return nil, fmt.Errorf("read %s: %w: it does not refer to the manifest of a history", HistoryPointerPath, sink.ErrDamaged)
	}
	data, _, err := c.Read(ctx, pointer.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", pointer.Manifest, err)
	}
	manifest := new(HistoryManifest)
	if err := DecodeDocument(pointer.Manifest, data, manifest); err != nil {
		return nil, err
	}
	if sink.Hash(data) != pointer.ManifestSHA256 || manifest.HistoryID != pointer.HistoryID || len(manifest.Snapshots) == 0 {
		return nil, fmt.Errorf("read %s: %w: it is not the manifest that %s refers to", pointer.Manifest, sink.ErrDamaged, HistoryPointerPath)
	}
	return &History{Pointer: *pointer, Manifest: manifest}, nil
}
