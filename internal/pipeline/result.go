package pipeline

import (
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
)

// result is what became of one school's dataset: all of its rows, or none and
// why.
type result struct {
	ledger snapshot.LedgerRow
	drift  snapshot.DriftSums
	// childRows counts the child rows of the records received.
	childRows int64
	// checks are the counts of the checks that were made of the school; oddPages
	// feeds one of them. terms and sessions are compared over the whole run.
	checks   snapshot.CheckCounts
	oddPages int64
	terms    snapshot.TermCounts
	sessions []string
	// firstRepeated is the number of pairs of student and subject with several
	// results in a first reading, because of which the list was read again.
	firstRepeated int64
	// parts are the rows, in the order of the file.
	parts []part
	// collectors hold the parts that are in memory; scratch holds others if the rows do not fit there.
	collectors []*collector
	scratch    *scratch
}

// bytes returns how much memory the result's rows take.
func (r *result) bytes() int {
	n := 0
	for _, p := range r.parts {
		for _, b := range p.tables {
			n += b.Bytes()
		}
	}
	return n
}

// count counts what a chain returned, in n rows of the first table.
func (r *result) count(c *collector, done *transform.Result, n int) {
	r.childRows += c.ChildRows()
	r.ledger.RecordsReceived += done.Records
	r.ledger.DuplicatesDropped += done.Duplicates
	r.ledger.RowsWritten += int64(n)
	for _, d := range done.Drift {
		r.drift.Add(snapshot.Drift(d))
	}
}

// merge adds the rows of another result of the same dataset behind these.
func (r *result) merge(other *result) {
	r.collectors = append(r.collectors, other.collectors...)
	for _, d := range other.drift.List() {
		r.drift.Add(d)
	}
	r.parts = append(r.parts, other.parts...)
}

// texts returns a text column of one of the result's tables, nulls as empty
// texts; nil if there is no such column.
func (r *result) texts(table int, column string) ([]string, error) {
	var values []string
	err := r.each(func(tables []*rows.Batch) error {
		b := tables[table]
		c := b.Table.Column(column)
		for i := 0; c >= 0 && i < b.Len(); i++ {
			values = append(values, string(b.Cols[c].Text(b.Row(i))))
		}
		return nil
	})
	return values, err
}

// note sets the count of a check that was made for one school.
func (r *result) note(check string, count int64) {
	if r.checks == nil {
		r.checks = make(snapshot.CheckCounts)
	}
	r.checks[check] = snapshot.CheckCount{Count: count, Schools: 1}
}

// release frees the rows.
func (r *result) release() {
	for _, p := range r.parts {
		if p.tables == nil {
			p.stored.free()
		}
	}
	r.parts = nil
	r.releaseCollectors()
}

func (r *result) releaseCollectors() {
	for _, c := range r.collectors {
		c.release()
	}
	r.collectors = nil
}

// drop releases the rows, so that none of a school that is not whole is
// written, and takes back what was counted of them.
func (r *result) drop() {
	r.release()
	r.drift, r.childRows = snapshot.DriftSums{}, 0
	r.checks, r.oddPages, r.terms, r.sessions = nil, 0, nil, nil
	r.ledger.Pages, r.ledger.RecordsReceived, r.ledger.DuplicatesDropped = 0, 0, 0
	r.ledger.RowsWritten, r.ledger.RecordsUnavailable = 0, 0
}

func (r *result) fail(err error) {
	r.ledger.Status, r.ledger.Error = snapshot.StatusFailed, err.Error()
}
