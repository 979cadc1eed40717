package wording

// Advice is a suggested next step, with the command for it if there is one.
type Advice struct {
	Say     string `json:"say"`
	Command string `json:"command,omitempty"`
}

// AdvisedError is an error with advice on what to do about it.
type AdvisedError struct {
	Err    error
	Advice string
}

func (e *AdvisedError) Error() string { return e.Err.Error() + ": " + e.Advice }

func (e *AdvisedError) Unwrap() error { return e.Err }

// Restore is the advice for a document or file that cannot be read.
const Restore = `restore the file from a backup, or see "Damaged documents" in docs/operations.md`

// RebuildHistory returns the advice for a damaged history. The destination may be empty.
func RebuildHistory(dest string) string {
	parts := []any{Setting("rebuild")}
	if dest != "" {
		parts = []any{Setting("dest"), dest, Setting("rebuild")}
	}
	return Command("history", parts...) + ` rebuilds the history, unless some of its snapshots were pruned: see "Damaged documents" in docs/operations.md`
}

// WriteAgain returns the advice for the case that the pointer of a published run is lost or damaged. The destination
// may be empty.
func WriteAgain(dest, run string) string {
	parts := []any{Setting("run-id"), run}
	if dest != "" {
		parts = []any{Setting("dest"), dest, Setting("run-id"), run}
	}
	return Command("publish", parts...) + " writes it again"
}

// OtherHistory is the advice for a snapshot that does not belong to the history of its destination.
const OtherHistory = "a history has one service and one set of settings: use these again, or use another destination"
