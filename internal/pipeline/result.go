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
	// tables are the rows, one slice of batches per table of the dataset; the
	// batches of a slice follow one another in the order of the file.
	tables   [][]*rows.Batch
	decoders []*transform.Decoder
	// spilled is where the rows wait instead, once they were moved to scratch.
	spilled *spill
}

// bytes returns how much memory the result's rows take.
func (r *result) bytes() int {
	n := 0
	for _, batches := range r.tables {
		for _, b := range batches {
			n += b.Bytes()
		}
	}
	return n
}

// spill is the part of the scratch file where one result waits.
type spill struct {
	offset, size int64
	batches      []int // per table
}

// addRows adds the rows of a chain, which it keeps until they are written.
func (r *result) addRows(c *transform.Decoder) {
	done := c.Finish()
	r.decoders = append(r.decoders, c)
	r.childRows += c.ChildRows()
	if r.tables == nil {
		r.tables = make([][]*rows.Batch, len(done.Tables))
	}
	for i, batch := range done.Tables {
		r.tables[i] = append(r.tables[i], batch)
	}
	r.count(&done)
}

// copiedText is how much text a column of copied rows holds, about, before
// another batch is begun: far less than a batch can, and little enough that one
// which grows is not moved for long.
const copiedText = 64 << 20

// copyRows adds the rows of a chain that holds few, of which there are many.
func (r *result) copyRows(done transform.Result) {
	for i, batch := range done.Tables {
		last := r.tables[i][len(r.tables[i])-1]
		if last.N > 0 && last.TextBytes()+batch.TextBytes() > copiedText {
			last = rows.New(batch.Table)
			r.tables[i] = append(r.tables[i], last)
		}
		last.AppendRows(batch, 0, batch.Len())
	}
	r.count(&done)
}

func (r *result) count(done *transform.Result) {
	r.ledger.RecordsReceived += done.Records
	r.ledger.DuplicatesDropped += done.Duplicates
	r.ledger.RowsWritten += int64(done.Tables[0].Len())
	for _, d := range done.Drift {
		r.drift.Add(snapshot.Drift(d))
	}
}

// merge adds the rows of another result of the same dataset behind these.
func (r *result) merge(other *result) {
	r.decoders = append(r.decoders, other.decoders...)
	for _, d := range other.drift.List() {
		r.drift.Add(d)
	}
	for i, batches := range other.tables {
		if r.tables == nil {
			r.tables = append(r.tables, other.tables...)
			break
		}
		r.tables[i] = append(r.tables[i], batches...)
	}
}

// texts returns a text column of one of the result's tables, nulls as empty
// texts; nil if there is no such column.
func (r *result) texts(table int, column string) []string {
	if len(r.tables) == 0 {
		return nil
	}
	var values []string
	for _, b := range r.tables[table] {
		c := b.Table.Column(column)
		if c < 0 {
			return nil
		}
		for i := range b.Len() {
			values = append(values, string(b.Cols[c].Text(b.Row(i))))
		}
	}
	return values
}

// note sets the count of a check that was made for one school.
func (r *result) note(check string, count int64) {
	if r.checks == nil {
		r.checks = make(snapshot.CheckCounts)
	}
	r.checks[check] = snapshot.CheckCount{Count: count, Schools: 1}
}

// drop forgets the rows, so that none of a school that is not whole is
// written, and takes back what was counted of them.
func (r *result) drop(d *dataset) {
	for _, c := range r.decoders {
		d.release(c)
	}
	r.decoders, r.tables, r.drift, r.childRows = nil, nil, snapshot.DriftSums{}, 0
	r.checks, r.oddPages, r.terms, r.sessions = nil, 0, nil, nil
	r.ledger.Pages, r.ledger.RecordsReceived, r.ledger.DuplicatesDropped = 0, 0, 0
	r.ledger.RowsWritten, r.ledger.RecordsUnavailable = 0, 0
}

func (r *result) fail(err error) {
	r.ledger.Status, r.ledger.Error = snapshot.StatusFailed, err.Error()
}
