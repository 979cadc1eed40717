package pipeline

import (
	"bufio"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
)

// result is the outcome of one school's dataset: all of its rows, or none and why.
type result struct {
	ledger    snapshot.LedgerRow
	drift     snapshot.DriftSums
	childRows int64 // of the records received
	// students are the positions of students of the run's cohort who have a row, some of them several times.
	students []int
	// checks are the counts of the checks that were made of the school; oddPages feeds one of them. terms and sessions are
	// compared over the whole run.
	checks   snapshot.CheckCounts
	oddPages int64
	terms    snapshot.TermCounts
	sessions []string
	// roster is the students of the school of test results, for the comparison; nil if they are not known. rosterLost is
	// the error if an earlier process has staged them and they cannot be read back.
	roster     roster
	rosterLost error
	// firstRepeated is the number of pairs of student and subject with several results in a first reading, because of
	// which the list was read again.
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
	r.students = append(r.students, c.Matched()...)
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

// texts returns a text column of one of the result's tables, nulls as empty texts; nil if there is no such column.
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
	r.parts, r.roster = nil, nil
	r.releaseCollectors()
}

func (r *result) releaseCollectors() {
	for _, c := range r.collectors {
		c.release()
	}
	r.collectors = nil
}

// drop releases the rows, so that none of a school that is not whole is written, and takes back what was counted of
// them.
func (r *result) drop() {
	r.release()
	r.drift, r.childRows, r.students = snapshot.DriftSums{}, 0, nil
	r.checks, r.oddPages, r.terms, r.sessions = nil, 0, nil, nil
	r.ledger.Pages, r.ledger.RecordsReceived, r.ledger.DuplicatesDropped = 0, 0, 0
	r.ledger.RowsWritten, r.ledger.RecordsUnavailable = 0, 0
}

func (r *result) fail(err error) {
	r.ledger.Status, r.ledger.Error = snapshot.StatusFailed, err.Error()
}

// addRows adds the rows of a chain and takes over the collector.
func (r *result) addRows(c *collector) error {
	if len(c.runs) > 0 {
		defer c.release()
		return r.addRuns(c)
	}
	done := c.Finish()
	r.collectors = append(r.collectors, c)
	r.parts = append(r.parts, part{tables: done.Tables})
	r.count(c, &done, done.Tables[0].Len())
	return r.limitMemory(c)
}

// copyRows adds the rows of a chain that holds few, of which there are many.
func (r *result) copyRows(c *collector) error {
	if len(c.runs) > 0 {
		return r.addRuns(c)
	}
	done := c.Finish()
	last := len(r.parts) - 1
	if last < 0 || r.parts[last].tables == nil {
		r.parts = append(r.parts, part{})
		last++
		for _, b := range done.Tables {
			r.parts[last].tables = append(r.parts[last].tables, rows.New(b.Table))
		}
	}
	for i, b := range done.Tables {
		r.parts[last].tables[i].AppendRows(b, 0, b.Len())
	}
	r.count(c, &done, done.Tables[0].Len())
	return r.limitMemory(c)
}

// addRuns adds the rows of a chain that are in runs.
func (r *result) addRuns(c *collector) error {
	s := r.scratchIn(c.scratch.folder)
	n := 0
	done, err := c.merge(func(tables []*rows.Batch) error {
		p, err := storePart(tables, s)
		if err == nil {
			r.parts = append(r.parts, p)
			n += tables[0].Len()
		}
		return err
	})
	if err == nil {
		r.count(c, &done, n)
	}
	return err
}

// limitMemory moves the rows to a scratch file if they take too much memory.
func (r *result) limitMemory(c *collector) error {
	size := 0
	for _, p := range r.parts {
		for _, b := range p.tables {
			size += b.Size()
		}
	}
	if c.dataset.inMemory || size <= c.maxBytes {
		return nil
	}
	return r.spill(r.scratchIn(c.scratch.folder))
}

// scratchIn returns the scratch file of a result that does not fit in memory.
func (r *result) scratchIn(folder *scratchFolder) *scratch {
	if r.scratch == nil {
		r.scratch = &scratch{folder: folder}
	}
	return r.scratch
}

// spill moves the rows to a scratch file.
func (r *result) spill(s *scratch) error {
	for i := range r.parts {
		if r.parts[i].tables == nil {
			continue
		}
		stored, err := storePart(r.parts[i].tables, s)
		if err != nil {
			return err
		}
		r.parts[i] = stored
	}
	r.releaseCollectors()
	return nil
}

// each passes the rows to use, part by part, in the order of the file. They are valid until use returns.
func (r *result) each(use func(tables []*rows.Batch) error) error {
	var from *bufio.Reader
	var read []*rows.Batch
	for _, p := range r.parts {
		tables := p.tables
		if tables == nil {
			if read == nil {
				from = bufio.NewReaderSize(nil, 1<<16)
				for _, table := range p.of {
					read = append(read, rows.New(table))
				}
			}
			from.Reset(p.stored.reader())
			for _, b := range read {
				if _, err := b.ReadFrom(from); err != nil {
					return p.stored.in.readError(err)
				}
			}
			tables = read
		}
		if err := use(tables); err != nil {
			return err
		}
	}
	return nil
}
