package report

import "example.org/growthexport/internal/snapshot"

// How much of long lists and texts the page shows.
const (
	maxListed   = 100
	maxOpen     = 20 // of maxListed, the rest is folded
	maxReasons  = 10
	maxConcerns = 5
	maxDrift    = 15
	maxNames    = 20
	maxCounts   = 4   // in a list within a line
	maxError    = 400 // characters
	maxName     = 80  // characters
)

// State is how far a run has got.
type State string

// The states of a run.
const (
	Published State = "published"
	Replaced  State = "replaced"
	Held      State = "held"
	// Staged runs have finished all tasks; their results were not checked yet.
	Staged State = "staged"
	// Incomplete runs have tasks left to do.
	Incomplete State = "incomplete"
)

// Page is the input of a report.
type Page struct {
	State State
	// Manifest is the manifest of the run, or what it would be if the run were published now.
	Manifest *snapshot.Manifest
	// Baseline is the manifest of the previous snapshot, or nil.
	Baseline *snapshot.Manifest
	// Current is the manifest of the newest snapshot like the run, which readers see while the run is not published;
	// nil if there is none.
	Current *snapshot.Manifest
	// Nights are full snapshots before the run, of its settings, the oldest first: at most MaxNights.
	Nights []snapshot.RunState
	// Destination is the place of the run as commands name it.
	Destination string
	// ReplacedBy is the current run of the same date, if the run was replaced and its successor is known.
	ReplacedBy string
	// Held has the reasons why the run was held back.
	Held snapshot.Held
	// Failure is the error of the command that worked on the run, empty if it succeeded.
	Failure string
	// Tasks is the number of tasks of the run. Missing names the tasks that are not staged.
	Tasks   int
	Missing []string
	// Filters are the request parameters that the plan pinned.
	Filters map[string]string
	// Names are the names of schools by bid, as far as they are known.
	Names map[string]string
	// Ledger sums up the run's ledger.
	Ledger Ledger
}
