package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// Outcome is the result of a command that takes or publishes a snapshot.
type Outcome string

// The outcomes.
const (
	Published Outcome = "published" // the snapshot is visible; Summary.Schools says how many schools failed
	Staged    Outcome = "staged"    // a shard has staged its buckets
	Failed    Outcome = "failed"    // there was an error; this package leaves the outcome empty then
	HeldBack  Outcome = "held"      // everything is staged, but a check failed
	Abandoned Outcome = "abandoned" // the run was given up and removed
)

// Summary describes the result of a command that takes or publishes a snapshot.
type Summary struct {
	// Ending is input for the run's report. It is nil if the command has not worked on the run.
	Ending *Ending `json:"-"`

	Outcome      Outcome         `json:"outcome"`
	RunID        string          `json:"run_id"`
	Kind         snapshot.Kind   `json:"kind"`
	SnapshotDate string          `json:"snapshot_date"`
	Planned      bool            `json:"-"` // the run has a plan, so it can be resumed
	Destination  string          `json:"destination"`
	Manifest     string          `json:"manifest,omitempty"` // path below the destination, once published
	Report       string          `json:"report,omitempty"`   // path below the destination
	Held         []review.Reason `json:"held,omitempty"`     // why the run was held back
	Accepted     []review.Reason `json:"accepted,omitempty"` // the reasons to hold the run back that were overruled by hand
	// PurgedBefore counts, by the day of the purge, schools of the run that were purged from the destination and that
	// the service returns again.
	PurgedBefore []snapshot.PurgedSchools `json:"purged_before,omitempty"`
	// NotSuppressed counts students who were purged from the destination and whom the run could not leave out.
	NotSuppressed []snapshot.PurgedStudents `json:"not_suppressed,omitempty"`
	// UnfinishedPurges describes purges at the destination that have begun but not ended, and what to do about them.
	UnfinishedPurges []string `json:"unfinished_purges,omitempty"`
	// Unfinished says why a step after publishing failed. The next command repeats the step.
	Unfinished string `json:"unfinished,omitempty"`
	// Advised is true if Unfinished says what to do.
	Advised bool `json:"-"`
	// Privacy is the profile of the rows, and PrivacyKey is the fingerprint of the key for their pseudonyms.
	Privacy          schemas.Profile          `json:"privacy,omitempty"`
	PrivacyKey       string                   `json:"privacy_key_fingerprint,omitempty"`
	Next             []wording.Advice         `json:"next,omitempty"`              // what to do about a run that was held back
	Restarted        bool                     `json:"restarted,omitempty"`         // staged files of an earlier command of the run were dropped
	AlreadyPublished bool                     `json:"already_published,omitempty"` // the run was published by an earlier command
	Restored         []string                 `json:"restored,omitempty"`          // lost or damaged pointers that were written again
	Updated          []string                 `json:"updated,omitempty"`           // other changes that this command made, if the run was already published
	Tables           []TableSummary           `json:"tables"`
	Datasets         []DatasetSummary         `json:"datasets"`
	Schools          snapshot.ManifestSchools `json:"schools"`
	// Warnings need attention, whether the run is published or held.
	Warnings []review.Reason `json:"warnings"`
	// Denials are the schools to which the service denied access. Only the command that staged or published the run
	// sets them. Later, only the ledger lists them.
	Denials []Denial `json:"denials,omitempty"`
	// Requests counts the requests of all commands of the run or, if there was an error, of this command.
	Requests snapshot.Requests `json:"requests"`
	// Comparison counts the differences of a full run from the previous snapshot. It is nil if the run was not
	// compared, for the reason in NotCompared.
	Comparison   *snapshot.Comparison  `json:"comparison,omitempty"`
	NotCompared  string                `json:"not_compared,omitempty"`
	Students     *snapshot.Students    `json:"students,omitempty"`   // the cohort, if the run is restricted to one
	Suppressed   *snapshot.Suppression `json:"suppressed,omitempty"` // the students whom the run left out
	Drift        []snapshot.Drift      `json:"drift"`
	Checks       []review.Check        `json:"checks"`
	LeftOut      []string              `json:"left_out,omitempty"` // datasets that cannot be part of a run of this kind
	TasksTotal   int                   `json:"tasks_total"`        // tasks of this process
	TasksResumed int                   `json:"tasks_resumed"`      // tasks that an earlier process had staged
	CallsResumed int                   `json:"calls_resumed"`      // calls of other tasks that an earlier process had made
	Duration     time.Duration         `json:"duration_ns"`
}

// Denial is a school with the datasets to which the service denied access.
type Denial struct {
	SchoolBid  string   `json:"school_bid"`
	SchoolName string   `json:"school_name"`
	Datasets   []string `json:"datasets"`
}

// denials lists the schools with a denied dataset, sorted by bid.
func denials(g *snapshot.StagedRun) []Denial {
	names := g.Plan.SchoolNames()
	found := make(map[string]*Denial)
	for i := range g.Ledger {
		row := &g.Ledger[i]
		if row.Status != snapshot.StatusDenied || row.SchoolBid == "" {
			continue
		}
		if found[row.SchoolBid] == nil {
			found[row.SchoolBid] = &Denial{SchoolBid: row.SchoolBid, SchoolName: names[row.SchoolBid]}
		}
		denial := found[row.SchoolBid]
		denial.Datasets = append(denial.Datasets, row.Dataset)
	}
	var all []Denial
	for _, bid := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[bid])
	}
	return all
}

// TableSummary counts a table's rows and files.
type TableSummary struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// DatasetSummary counts a dataset's schools by outcome.
type DatasetSummary struct {
	Dataset string `json:"dataset"`
	snapshot.ManifestDataset
}

func (s *Summary) fromStaged(g *snapshot.StagedRun) {
	s.Privacy, s.PrivacyKey = g.Plan.Scope.Profile(), g.Plan.Scope.PrivacyKey
	s.fill(g.Tables, g.Datasets)
	s.Schools, s.Requests, s.Drift, s.Checks = g.Schools, g.Requests, g.Drift, g.Checks
	s.Comparison, s.NotCompared, s.Students, s.Suppressed = g.Comparison, g.NotCompared, g.Students, g.Suppressed
	s.Denials, s.Warnings = denials(g), g.Warnings
}

func (s *Summary) fromManifest(m *snapshot.Manifest) {
	s.Outcome = Published
	s.Accepted = m.Accepted
	s.SnapshotDate, s.Kind = m.SnapshotDate, m.Kind
	s.Privacy, s.PrivacyKey = m.Parameters.Profile(), m.Parameters.PrivacyKey
	s.Manifest = snapshot.ManifestPath(m.RunID)
	s.fill(m.Tables, m.Datasets)
	s.Schools, s.Requests, s.Checks = m.Schools, m.Requests, m.Checks
	s.Comparison, s.NotCompared, s.Students, s.Suppressed = m.Comparison, m.NotCompared, m.Parameters.Students, m.Parameters.Suppressed
	s.Drift = m.Drift
	if c := m.Comparison; c != nil && len(s.Warnings) == 0 {
		s.Warnings = c.Warnings
	}
}

func (s *Summary) fill(tables map[string]snapshot.ManifestTable, datasets map[string]snapshot.ManifestDataset) {
	s.Tables, s.Datasets = nil, nil
	for _, name := range schemas.TablesInOrder(tables) {
		table := tables[name]
		t := TableSummary{Table: name, Rows: table.Rows, Files: len(table.Files)}
		for _, file := range table.Files {
			t.Bytes += file.Bytes
		}
		s.Tables = append(s.Tables, t)
	}
	for name, counts := range datasets {
		s.Datasets = append(s.Datasets, DatasetSummary{Dataset: name, ManifestDataset: counts})
	}
	order, _ := schemas.Positions()
	slices.SortFunc(s.Datasets, func(a, b DatasetSummary) int { return cmp.Compare(order[a.Dataset], order[b.Dataset]) })
}
