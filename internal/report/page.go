package report

import "example.org/growthexport/internal/snapshot"

// Limits on the lengths of lists and strings on the page.
const (
	maxListed   = 100
	maxOpen     = 20 // number of listed rows that are shown; the rest is folded
	maxReasons  = 10
	maxConcerns = 5
	maxDrift    = 15
	maxNames    = 20
	maxCounts   = 4   // counts in a list within a line
	maxError    = 400 // characters
	maxName     = 80  // characters
)

// State is the progress of a run.
type State string

// The states of a run.
const (
	Published State = "published"
	Replaced  State = "replaced"
	Held      State = "held"
	// Staged runs have finished all tasks, but their results have not been checked yet.
	Staged State = "staged"
	// Incomplete runs have tasks left to do.
	Incomplete State = "incomplete"
)

// Page is the input of a report.
type Page struct {
	State State
	// Manifest is the manifest of the run or, if it is not published, the manifest that publishing it now would write.
	Manifest *snapshot.Manifest
	// Baseline is the manifest of the previous snapshot, or nil.
	Baseline *snapshot.Manifest
	// Current is the manifest of the newest snapshot of the same service and scope, which readers see while the run is
	// not published. It is nil if there is no such snapshot.
	Current *snapshot.Manifest
	// Nights lists up to MaxNights earlier full snapshots with the same settings, the oldest first.
	Nights []snapshot.RunState
	// Destination is the run's destination in the form used by commands.
	Destination string
	// ReplacedBy is the id of the current run of the same date if the run was replaced and its successor is known,
	// otherwise "".
	ReplacedBy string
	// Held contains the reasons why the run was held back.
	Held snapshot.Held
	// Failure is the error of the command that worked on the run, or "" if it succeeded.
	Failure string
	// Tasks is the number of tasks of the run. Missing lists the tasks that are not staged.
	Tasks   int
	Missing []string
	// Filters are the request parameters that the plan pinned.
	Filters map[string]string
	// Names holds the known names of schools by bid.
	Names map[string]string
	// Ledger is the summary of the run's ledger.
	Ledger Ledger
}
