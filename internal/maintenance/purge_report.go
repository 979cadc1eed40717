package maintenance

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// PurgeOptions select the rows that Purge removes: rows of schools, of districts, of students, or of schools whose
// agreement has ended.
type PurgeOptions struct {
	Schools, Districts []string
	// Students are bids; see PseudonymError for pseudonyms. If runs contain pseudonyms of these bids, Key is the key of
	// those runs.
	Students []string
	// StudentNumbers identify students to whom the service gives no bid.
	StudentNumbers []string
	Key            *privacy.Key
	// EndedForDays selects the schools whose agreement ended at least that many days ago; see EndedSchool.
	EndedForDays int
	// AllowUnknown is true if bids that do not occur anywhere are ignored. Otherwise such bids are an error, and so is a
	// list of students none of whom occurs.
	AllowUnknown bool
	// DryRun is true if Purge only reports what it would remove.
	DryRun bool
	// Now returns the current time.
	Now         func() time.Time
	ToolVersion string
	// Workspace returns an empty store in which a history can be rebuilt, and a function that removes the store; see
	// history.Options. If it is nil, the history is always rewritten in place.
	Workspace func() (sink.Store, func() error, error)
	// WriteReports writes the HTML reports of the runs that the purge has changed, because earlier reports may contain
	// purged schools. It is called before the proof is written; nil writes none.
	WriteReports func(ctx context.Context, runs []string) error
}

// kinds returns the number of ways in which rows are selected: by school, by district, by student and so on.
func (o *PurgeOptions) kinds() int {
	n := 0
	for _, given := range []bool{
		len(o.Schools) > 0, len(o.Districts) > 0, len(o.Students) > 0, len(o.StudentNumbers) > 0, o.EndedForDays > 0,
	} {
		if given {
			n++
		}
	}
	return n
}

const (
	purgePlanned = "planned"
	purgeBegun   = snapshot.PurgeBegun
	purgeDone    = "done"
	// purgeIncomplete is the state of a purge whose students are still mentioned in remaining rows.
	purgeIncomplete = "incomplete"
)

// PurgeReport is _purges/<id>.json. It is written when the purge begins, so that the purge can be resumed, and again at
// the end, as the proof.
type PurgeReport struct {
	FormatVersion int        `json:"format_version"`
	ID            string     `json:"id"`                // the name of this document
	State         string     `json:"state"`             // one of planned (in a dry run), begun, incomplete and done
	DryRun        bool       `json:"dry_run,omitempty"` // nothing was changed
	ToolVersion   string     `json:"tool_version"`
	Asked         PurgeAsked `json:"asked"`
	// Schools are the schools whose rows are purged from at least one run, including the districts' schools.
	Schools []string `json:"schools"`
	// Ended are the schools that were selected because their agreement has ended.
	Ended []EndedSchool `json:"ended,omitempty"`
	// NearlyEnded are schools that were not selected but lack some datasets that they once had.
	NearlyEnded []NearlyEnded `json:"nearly_ended,omitempty"`
	// Unknown are bids that occur in no table, plan, ledger or manifest.
	Unknown    []string  `json:"unknown"`
	BegunAt    time.Time `json:"begun_at"`             // when the purge began
	FinishedAt time.Time `json:"finished_at,omitzero"` // when it ended
	// Runs are the runs from which rows were removed.
	Runs         []PurgedRun      `json:"runs"`
	RowsRemoved  map[string]int64 `json:"rows_removed"`            // by table
	ExtraRemoved map[string]int64 `json:"extra_removed,omitempty"` // as in manifests
	// RowsByNumber counts the removed rows, in runs and in the history, that have no bid and were found only by a
	// student's number. NumberStudents is the number of students who have the most common of these numbers, if several
	// students have it.
	RowsByNumber      int64 `json:"rows_by_number,omitempty"`
	NumberStudents    int   `json:"number_students,omitempty"`
	FilesRewritten    int   `json:"files_rewritten"`     // files that were replaced, each counted once
	LedgerRowsRemoved int64 `json:"ledger_rows_removed"` // of all runs
	// History counts the rows that were removed from the history, if any.
	History *snapshot.HistoryPurge `json:"history,omitempty"`
	// DroppedRuns are unpublished runs whose staged files were removed.
	DroppedRuns []string `json:"dropped_runs"`
	// Verification is the result of reading every file again after the last change. In a dry run for students, it is the
	// result of reading every file once.
	Verification *PurgeVerification `json:"verification,omitempty"`
	// Orphans are data files with rows to purge that are listed neither in a published run nor in the history.
	Orphans []string `json:"orphans,omitempty"`
	// Suppressed is set if the students are on the suppression list. A purge without a privacy key cannot add them to the
	// list.
	Suppressed *PurgeSuppression `json:"suppressed,omitempty"`
	// OtherKeys are the fingerprints of other privacy keys under which runs or the history were exported. Students have
	// different pseudonyms there, so this purge does not find them.
	OtherKeys []string `json:"other_keys,omitempty"`
	// NotReached lists places where the rows may still exist.
	NotReached []string `json:"not_reached"`

	// resumed is true for the report of a purge that was killed. The proof must then be written even if nothing is left to
	// do.
	resumed bool
	// planned counts the rows that a resumed purge was about to change, by table. It is set only if the counts are needed
	// to recognize the list of that purge.
	planned map[string]int64
	// Unmatched are the listed students for whom nothing was found, without surrounding whitespace. They must not be
	// logged.
	Unmatched []string `json:"-"`
	// OtherForms are the unmatched students whose listed text differs from the bid of a student only in case or hyphens.
	// They must not be logged.
	OtherForms []string `json:"-"`
	// Earlier is the last proof of a purge with the same request, or nil.
	Earlier *PurgeReport `json:"-"`
}

// PurgeAsked is the request that a purge carries out.
type PurgeAsked struct {
	Schools   []string       `json:"schools,omitempty"`   // bids
	Districts []string       `json:"districts,omitempty"` // bids
	Students  *AskedStudents `json:"students,omitempty"`
	// EndedFor is the minimum time since the agreements of Schools ended, such as "60d".
	EndedFor string `json:"ended_for,omitempty"`
	// EndedBefore is set if only versions of the history that ended before this date were dropped.
	EndedBefore string `json:"history_ended_before,omitempty"`
}

// AskedStudents describes the list of students of a purge in documents, which must not contain the list itself.
type AskedStudents struct {
	// Listed is the number of different students in the list.
	Listed int `json:"listed"`
	// Matched is the number of these students that were found.
	Matched *int `json:"matched,omitempty"`
	// Digest is the pseudonym, under the privacy key, of the sorted list with one student per line. If there is no
	// privacy key, it is empty, because anyone could check a roster against a digest whose key is stored with it.
	Digest string `json:"digest,omitempty"`
	// ByNumber is true if the students were listed by number.
	ByNumber bool `json:"by_number,omitempty"`
}

// PurgedRun is a run from which a purge has removed rows. Of the files of a replaced run, only the ledger is left.
type PurgedRun struct {
	RunID        string                `json:"run_id"`
	Kind         snapshot.Kind         `json:"kind"`
	SnapshotDate string                `json:"snapshot_date"`
	RowsRemoved  map[string]int64      `json:"rows_removed"`            // by table
	ExtraRemoved map[string]int64      `json:"extra_removed,omitempty"` // as in the manifest
	Files        []snapshot.PurgedFile `json:"files"`
	// LedgerRowsRemoved counts the rows removed from the ledger.
	LedgerRowsRemoved int64 `json:"ledger_rows_removed"`
}

// PurgeVerification is the result of reading every row of every table again.
type PurgeVerification struct {
	Files int   `json:"files"` // files read
	Rows  int64 `json:"rows"`  // rows in these files
	Bytes int64 `json:"bytes"` // the size of the files
	// RowsFound counts rows that should have been purged. It is 0 in a proof.
	RowsFound int64 `json:"rows_found"`
	// RowsMentioning counts, by table.column, the remaining rows that mention a purged bid.
	RowsMentioning map[string]int64 `json:"rows_mentioning"`
}

// PurgePath returns the path of the proof of a purge.
func PurgePath(id string) string { return snapshot.PurgesPrefix + id + ".json" }

// Left returns how many rows still mention a student who was purged. These rows belong to other students, or to tables
// without students, and mention the student in a column other than _extra.
func (r *PurgeReport) Left() int64 {
	if r.Asked.Students == nil || r.Verification == nil {
		return 0
	}
	n := int64(0)
	for _, rows := range r.Verification.RowsMentioning {
		n += rows
	}
	return n
}

// maxListedOrphans is the maximum number of data files that an error lists.
const maxListedOrphans = 20

// OrphansError returns an error if data files that are listed neither in a run nor in the history contain rows to
// purge.
func (r *PurgeReport) OrphansError() error {
	if len(r.Orphans) == 0 {
		return nil
	}
	return fmt.Errorf("purge: rows remain in %s listed neither in a published run nor in the history: %s: remove these "+
		"files and purge again", wording.Many(len(r.Orphans), "data file"), wording.First(r.Orphans, maxListedOrphans))
}

// Nothing reports whether the purge has nothing to do.
func (r *PurgeReport) Nothing() bool {
	return len(r.Runs) == 0 && r.History == nil && len(r.DroppedRuns) == 0 && r.Left() == 0 && !r.resumed
}

// changed returns, for each table, the number of rows that the purge removes or in which it clears _extra.
func (r *PurgeReport) changed() map[string]int64 {
	rows := maps.Clone(r.RowsRemoved)
	for table, n := range r.ExtraRemoved {
		rows[table] += n
	}
	return rows
}

// id returns an id that depends only on the request. For a list of students without a digest, it is random.
func (a PurgeAsked) id() string {
	if a.Students != nil {
		if a.Students.Digest == "" {
			var id [6]byte
			_, _ = rand.Read(id[:]) // Read never fails.
			return hex.EncodeToString(id[:])
		}
		a.Students = &AskedStudents{Listed: a.Students.Listed, Digest: a.Students.Digest, ByNumber: a.Students.ByNumber}
	}
	text, _ := json.Marshal(a) // strings and numbers can always be encoded
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// reset clears the runs and the counts.
func (r *PurgeReport) reset() {
	r.Runs, r.RowsRemoved, r.FilesRewritten, r.LedgerRowsRemoved = []PurgedRun{}, map[string]int64{}, 0, 0
	r.ExtraRemoved, r.History = nil, nil
}

// add adds the rows that were found in a run and have to be removed.
func (r *PurgeReport) add(m *snapshot.Manifest, found foundRun) {
	purge := snapshot.ManifestPurge{RowsRemoved: make(map[string]int64)}
	if found.ledger != nil {
		purge.LedgerRemoved = found.ledger.Removed
	}
	for i := range found.units {
		for _, f := range found.units[i].files {
			if f.changes() {
				purge.Add(f.table.Name, snapshot.PurgedFile{Was: f.file.Path, RowsRemoved: f.removed, ExtraRemoved: f.cleared})
			}
		}
	}
	r.addPurge(m, &purge)
}

// addPurge adds the rows that were removed from a run.
func (r *PurgeReport) addPurge(m *snapshot.Manifest, purge *snapshot.ManifestPurge) {
	run := PurgedRun{
		RunID: m.RunID, Kind: m.Kind, SnapshotDate: m.SnapshotDate,
		RowsRemoved: purge.RowsRemoved, ExtraRemoved: purge.ExtraRemoved, Files: slices.Concat([]snapshot.PurgedFile{}, purge.Files),
	}
	for _, removed := range purge.LedgerRemoved {
		run.LedgerRowsRemoved += removed.Rows()
	}
	last := len(r.Runs) - 1
	if last >= 0 && r.Runs[last].RunID == run.RunID { // the run was changed twice
		r.FilesRewritten -= r.Runs[last].FilesRewritten()
		r.Runs[last].add(&run)
	} else {
		r.Runs = append(r.Runs, run)
		last++
	}
	r.FilesRewritten += r.Runs[last].FilesRewritten()
	r.LedgerRowsRemoved += run.LedgerRowsRemoved
	for table, n := range purge.RowsRemoved {
		r.RowsRemoved[table] += n
	}
	for table, n := range purge.ExtraRemoved {
		snapshot.AddRows(&r.ExtraRemoved, table, n)
	}
}

// FilesRewritten returns how many files the purge has replaced. A file that was rewritten twice counts once.
func (r *PurgedRun) FilesRewritten() int {
	again := make(erase.Set)
	for i := range r.Files {
		if path := r.Files[i].Path; path != "" { // a dry run does not write files
			again[path] = true
		}
	}
	n := 0
	for i := range r.Files {
		if !again[r.Files[i].Was] {
			n++
		}
	}
	return n
}

// Tables returns how many tables have files that the purge has replaced.
func (r *PurgedRun) Tables() int {
	tables := make(erase.Set)
	for _, rows := range []map[string]int64{r.RowsRemoved, r.ExtraRemoved} {
		for table := range rows {
			tables[table] = true
		}
	}
	return len(tables)
}

// add adds the rows that another change has removed from the run.
func (r *PurgedRun) add(other *PurgedRun) {
	rows := maps.Clone(r.RowsRemoved) // a manifest shares the map
	for table, n := range other.RowsRemoved {
		rows[table] += n
	}
	r.RowsRemoved = rows
	r.ExtraRemoved = maps.Clone(r.ExtraRemoved)
	for table, n := range other.ExtraRemoved {
		snapshot.AddRows(&r.ExtraRemoved, table, n)
	}
	r.Files = append(r.Files, other.Files...)
	r.LedgerRowsRemoved += other.LedgerRowsRemoved
}

// EndedSchool is a school whose agreement seems to have ended. In every full snapshot from Since on that requested all
// of the school's datasets, these were denied or the school was missing from the school list.
type EndedSchool struct {
	Bid  string `json:"school_bid"`
	Name string `json:"school_name,omitempty"` // as in the school list
	// LastOK is the last night on which a dataset of the school was exported. Since is the date of the first later
	// snapshot that requested all of the school's datasets.
	LastOK string `json:"last_ok"`
	Since  string `json:"since"`
}

// NearlyEnded is a school that a purge of ended schools did not select, although the newest snapshots lack datasets
// that the school once had.
type NearlyEnded struct {
	Bid  string `json:"school_bid"`
	Name string `json:"school_name,omitempty"` // as in the school list
	// Missing are the datasets that snapshots have requested but not received since they were last exported, because they
	// were denied, they failed, or the school was not listed. StillRead are the other datasets that the school once had.
	Missing   []string `json:"missing"`
	StillRead []string `json:"still_read,omitempty"`
	Since     string   `json:"since"`   // the first snapshot that lacks one of Missing (or all, if StillRead is empty)
	LastOK    string   `json:"last_ok"` // the last night on which any dataset was exported
	// Snapshots is the number of snapshots from Since on that lack one of Missing (or all, if StillRead is empty). Days is
	// the number of days that they span.
	Snapshots int `json:"snapshots"`
	Days      int `json:"days"`
	// NotCounted is the number of further snapshots since Since that prove nothing, because they did not request all
	// datasets that the school once had. It is 0 if the service still returns some of these datasets.
	NotCounted int `json:"snapshots_not_counted,omitempty"`
	// LastFailed is the last night on which a request failed, if that was on or after Since. A failure does not prove that
	// the agreement has ended.
	LastFailed string `json:"last_failed,omitempty"`
}
