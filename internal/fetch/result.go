package fetch

import (
	"bufio"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/transform"
)

// Result is the outcome of one school's dataset: either all of its rows, or none and the reason.
type Result struct {
	// place is the school's place in the queue for processors. Lists that belong to no school have 0, the first place.
	place     int64
	Ledger    snapshot.LedgerRow
	Drift     snapshot.DriftSums
	childRows int64 // the number of child rows of the records received
	notFound  int64 // fan-out calls made by this process that were answered with 404
	// only selects the records that are kept; see Fetcher.onlyOfCohort.
	only transform.Only
	// Students are the positions in Options.Students of all students who have a row. A position may occur several
	// times.
	Students []int
	// Suppressed are the positions in the suppression list of all students whose rows were dropped. A position may
	// occur several times.
	Suppressed []int
	// Checks are the counts of the school's checks. oddPages becomes the count of one of these checks. Terms and Sessions
	// are compared across the whole run.
	Checks   snapshot.CheckCounts
	oddPages int64
	Terms    snapshot.TermCounts
	Sessions []string
	// Roster holds the students of a school whose test results were read, for the comparison of the two. It is nil if the
	// students are not known. RosterLost is the error if an earlier process staged the students and they cannot be read
	// back.
	Roster     Roster
	RosterLost error
	// FirstRepeated is the number of pairs of student and subject that had several results when the list was first
	// read. If it is not 0, the list was read again.
	FirstRepeated int64
	// parts are the rows, in the order of the file.
	parts []part
	// collectors hold the parts that are in memory. scratch holds the other parts if the rows do not fit in memory.
	collectors []*collector
	scratch    *Scratch
	// loaded, if not nil, is the memory into which parts are read back.
	loaded *Loaded
}

// NewResult returns a result of the school with the given rows, one batch per table.
func NewResult(school string, tables ...*rows.Batch) *Result {
	return &Result{Ledger: snapshot.LedgerRow{SchoolBid: school}, parts: []part{{tables: tables}}}
}

// Bytes returns how much memory the result's rows take.
func (r *Result) Bytes() int {
	n := 0
	for _, p := range r.parts {
		for _, b := range p.tables {
			n += b.Bytes()
		}
	}
	return n
}

// count adds the counts of a call chain whose records are n rows of the first table.
func (r *Result) count(c *collector, done *transform.Result, n int) {
	r.childRows += c.ChildRows()
	r.Ledger.RecordsReceived += done.Records
	r.Ledger.DuplicatesDropped += done.Duplicates
	r.Ledger.RowsWritten += int64(n)
	r.Students = append(r.Students, c.Matched()...)
	r.Suppressed = append(r.Suppressed, c.Suppressed()...)
	for _, d := range done.Drift {
		r.Drift.Add(snapshot.Drift(d))
	}
}

// merge appends the rows of another result of the same dataset, and adds the drift of that result.
func (r *Result) merge(other *Result) {
	r.collectors = append(r.collectors, other.collectors...)
	for _, d := range other.Drift.List() {
		r.Drift.Add(d)
	}
	r.parts = append(r.parts, other.parts...)
}

// texts returns the values of a text column of one of the result's tables, with nulls as empty strings. It returns nil
// if there is no such column.
func (r *Result) texts(table int, column string) ([]string, error) {
	var values []string
	err := r.Each(func(tables []*rows.Batch) error {
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
func (r *Result) note(check string, count int64) {
	if r.Checks == nil {
		r.Checks = make(snapshot.CheckCounts)
	}
	r.Checks[check] = snapshot.CheckCount{Count: count, Schools: 1}
}

// Release frees the rows.
func (r *Result) Release() {
	for _, p := range r.parts {
		if p.tables == nil {
			p.stored.free()
		}
	}
	r.parts, r.Roster, r.loaded = nil, nil, nil
	r.releaseCollectors()
}

func (r *Result) releaseCollectors() {
	for _, c := range r.collectors {
		c.release()
	}
	r.collectors = nil
}

// drop releases the rows and resets their counts, so that no row of an incomplete school is written.
func (r *Result) drop() {
	r.Release()
	r.Drift, r.childRows, r.Students, r.Suppressed = snapshot.DriftSums{}, 0, nil, nil
	r.Checks, r.oddPages, r.Terms, r.Sessions = nil, 0, nil, nil
	r.Ledger.Pages, r.Ledger.RecordsReceived, r.Ledger.DuplicatesDropped = 0, 0, 0
	r.Ledger.RowsWritten, r.Ledger.RecordsUnavailable = 0, 0
}

// Fail drops the rows and records why the school failed.
func (r *Result) Fail(err error) {
	r.drop()
	r.Ledger.Status, r.Ledger.Error = snapshot.StatusFailed, err.Error()
}

// addRows adds the rows of a call chain and takes ownership of the collector.
func (r *Result) addRows(c *collector) error {
	if len(c.runs) > 0 {
		defer c.release()
		return r.addRuns(c)
	}
	done := c.Finish()
	r.collectors = append(r.collectors, c)
	r.parts = append(r.parts, part{tables: done.Tables})
	r.count(c, &done, done.Tables[0].Len())
	return r.limitMemory(c.dataset, c.maxBytes, c.scratch.folder)
}

// copyRows adds a copy of the rows of a call chain. It is used for fan-outs, which have many short call chains.
func (r *Result) copyRows(c *collector) error {
	if len(c.runs) > 0 {
		return r.addRuns(c)
	}
	done := c.Finish()
	for i, b := range r.lastTables(done.Tables) {
		b.AppendRows(done.Tables[i], 0, done.Tables[i].Len())
	}
	r.count(c, &done, done.Tables[0].Len())
	return nil
}

// lastTables returns the tables of the last part, to which rows of the tables in like can be appended. It adds an empty
// part if there is none or if the last part is not in memory.
func (r *Result) lastTables(like []*rows.Batch) []*rows.Batch {
	last := len(r.parts) - 1
	if last < 0 || r.parts[last].tables == nil {
		r.parts = append(r.parts, part{})
		last++
		for _, b := range like {
			r.parts[last].tables = append(r.parts[last].tables, rows.New(b.Table))
		}
	}
	return r.parts[last].tables
}

// addCounts adds the counts of a window's calls, except the numbers of requests and retries.
func (r *Result) addCounts(window *Result) {
	r.Ledger.Pages += window.Ledger.Pages
	r.Ledger.RecordsReceived += window.Ledger.RecordsReceived
	r.Ledger.DuplicatesDropped += window.Ledger.DuplicatesDropped
	r.Ledger.RowsWritten += window.Ledger.RowsWritten
	r.Ledger.RecordsUnavailable += window.Ledger.RecordsUnavailable
	r.childRows += window.childRows
	r.Students = append(r.Students, window.Students...)
	r.Suppressed = append(r.Suppressed, window.Suppressed...)
	for _, d := range window.Drift.List() {
		r.Drift.Add(d)
	}
}

// addRuns adds the rows of a call chain whose rows were written to runs.
func (r *Result) addRuns(c *collector) error {
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

// limitMemory moves the rows to a scratch file if they take more than maxBytes of memory.
func (r *Result) limitMemory(d *Dataset, maxBytes int, folder *scratchFolder) error {
	size := 0
	for _, p := range r.parts {
		for _, b := range p.tables {
			size += b.Size()
		}
	}
	if d.inMemory || size <= maxBytes {
		return nil
	}
	return r.Spill(r.scratchIn(folder))
}

// scratchIn returns the result's scratch file, which is created in the folder when it is first written to.
func (r *Result) scratchIn(folder *scratchFolder) *Scratch {
	if r.scratch == nil {
		r.scratch = &Scratch{folder: folder}
	}
	return r.scratch
}

// Spill moves the rows to a scratch file.
func (r *Result) Spill(s *Scratch) error {
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

// Each passes the rows to use, part by part, in the order of the file. The rows are valid until use returns.
func (r *Result) Each(use func(tables []*rows.Batch) error) error {
	defer r.borrow()()
	for i := range r.parts {
		for table := range r.parts[i].of {
			if err := r.load(i, table); err != nil {
				return err
			}
		}
		if err := use(r.tables(i)); err != nil {
			return err
		}
	}
	return nil
}

// EachOf passes the rows of one table to use, like Each.
func (r *Result) EachOf(table int, use func(*rows.Batch) error) error {
	defer r.borrow()()
	for i := range r.parts {
		if err := r.load(i, table); err != nil {
			return err
		}
		if err := use(r.tables(i)[table]); err != nil {
			return err
		}
	}
	return nil
}

// tables returns the tables of a part. They must be in memory or loaded.
func (r *Result) tables(part int) []*rows.Batch {
	if tables := r.parts[part].tables; tables != nil {
		return tables
	}
	return r.loaded.tables
}

// Loaded holds tables that were read back from a scratch file. The zero value is empty.
type Loaded struct {
	tables []*rows.Batch
	parts  []int // the part that each table belongs to; -1 if nothing is loaded
	from   *bufio.Reader
}

// Lend lets a result load its parts into this memory until the result is released, so that a part that is still loaded
// is not read back again.
func (l *Loaded) Lend(r *Result) {
	for i := range l.parts {
		l.parts[i] = -1
	}
	r.loaded = l
}

// borrow gets memory for loading parts, unless the result has such memory already, and returns a function that frees
// it.
func (r *Result) borrow() (free func()) {
	if r.loaded != nil {
		return func() {}
	}
	r.loaded = new(Loaded)
	return func() { r.loaded = nil }
}

// load reads a table of a part back from the scratch file, unless the table is in memory.
func (r *Result) load(part, table int) error {
	p, to := &r.parts[part], r.loaded
	if p.tables != nil {
		return nil
	}
	if to.tables == nil {
		to.from = bufio.NewReaderSize(nil, 1<<16)
		for _, table := range p.of {
			to.tables = append(to.tables, rows.New(table))
			to.parts = append(to.parts, -1)
		}
	}
	if to.parts[table] == part {
		return nil
	}
	to.parts[table] = -1
	to.from.Reset(p.stored.reader(p.starts[table]))
	if _, err := to.tables[table].ReadFrom(to.from); err != nil {
		return p.stored.in.readError(err)
	}
	to.parts[table] = part
	return nil
}
