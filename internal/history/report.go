package history

// Report lists the changes that Update made.
type Report struct {
	// HistoryID and Through describe the history after the update. They are empty if there is no history.
	HistoryID string    `json:"history_id"`
	Through   string    `json:"through"`
	Rebuilt   bool      `json:"rebuilt"`
	Folded    []*Folded `json:"folded"`
	// LeftOut lists the snapshots that are not part of the history.
	LeftOut []LeftOut `json:"left_out"`
}

// LeftOut is a snapshot that is not part of the history.
type LeftOut struct {
	Date   string `json:"date"`
	RunID  string `json:"run_id"`
	Reason string `json:"reason"`
	// Late is true if the history already holds later snapshots, or another snapshot of the same date.
	Late bool `json:"-"`
}

// Folded counts the changes made by a fold.
type Folded struct {
	Date  string `json:"date"`
	RunID string `json:"run_id"`
	// Tables holds the counts for the tables of the datasets that the snapshot covers, and for the coverage table.
	Tables map[string]*TableCounts `json:"tables"`
}

// TableCounts counts the versions of a table by outcome.
type TableCounts struct {
	Same  int64 `json:"same"`
	Begun int64 `json:"begun"`
	Ended int64 `json:"ended"`
	// Because counts, for each reason, the versions that ended.
	Because map[string]int64 `json:"because"`
}

func (c *TableCounts) end(because string) {
	c.Ended++
	c.Because[because]++
}
