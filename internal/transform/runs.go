package transform

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// A list that does not fit in memory is written in sorted runs, which are merged at its end. The records of one key,
// which may come from several runs, are merged into the same part. A part is then finished like the rows of a decoder
// that holds all of them, so the result is the same.

// runSizes are sizes in bytes.
type runSizes struct {
	// block is where a block of a run ends. Merging holds one block of every run.
	block int
	// part is where a merged part ends.
	part int
	// key bounds a part that cannot end because its last records have one key.
	key int
}

var defaultRunSizes = runSizes{block: 64 << 10, part: 1 << 20, key: 64 << 20}

// sizeInterval is the number of records after which the size of a part is checked.
const sizeInterval = 8

var errRun = errors.New("not a run of this dataset")

// Runs returns the number of runs written since the last Reset.
func (d *Decoder) Runs() int { return len(d.runs) }

// WriteRun writes the rows that the decoder holds to w, sorted, and drops them. MergeRuns then takes the place of Finish.
func (d *Decoder) WriteRun(w io.Writer) error {
	d.completeRows()
	d.sortRecords()
	held, b := block(d.tables), newBlock(d.plan)
	usual := max(1, len(d.sorted)*d.runSizes.block/max(1, held.size()))
	for left := d.sorted; len(left) > 0; {
		n := min(usual, len(left))
		for held.copyTo(b, left[:n]); n > 1 && b.size() > 4*d.runSizes.block; held.copyTo(b, left[:n]) {
			n /= 2
		}
		if err := b.write(w); err != nil {
			return fmt.Errorf("write a run of %s: %w", d.plan.dataset.Name, err)
		}
		left = left[n:]
	}
	d.runs = append(d.runs, len(d.sorted))
	d.childRowsInRuns = d.childRows
	held.reset(d.plan, d.params)
	return nil
}

// MergeRuns ends a list all of whose rows are in runs, given in the order in which they were written. It passes the
// rows that Finish would return to use, part by part; they are valid until use returns. The result has no Tables.
func (d *Decoder) MergeRuns(runs []io.Reader, use func(tables []*rows.Batch) error) (Result, error) {
	m := merger{plan: d.plan}
	if err := m.start(runs, d.runs); err != nil {
		return Result{}, fmt.Errorf("merge the runs of %s: %w", d.plan.dataset.Name, err)
	}
	part := block(d.tables)
	var duplicates int64
	flush := func() error {
		tables, dropped := d.finishRows()
		duplicates += dropped
		if err := use(tables); err != nil {
			return err
		}
		part.clear()
		return nil
	}
	part.clear()
	group, full := 0, false // the first record of the last key, and whether the part is large enough
	for len(m.heap) > 0 {
		next := m.heap[0]
		n := part[0].n
		sameKey := n > 0 && d.plan.compareKeys(next.block[0].cols, int32(next.record), part[0].cols, int32(n-1)) == 0
		if !sameKey {
			group = n
		}
		switch {
		case !full:
		case !sameKey || d.maySplit(group):
			if err := flush(); err != nil {
				return Result{}, err
			}
			group, full = 0, false
		case part.size() > d.runSizes.key:
			return Result{}, fmt.Errorf("merge the runs of %s: %w: too many records have the same key", d.plan.dataset.Name, ErrTooLarge)
		}
		part.appendRecord(next.block, next.record)
		full = full || part[0].n%sizeInterval == 0 && part.size() >= d.runSizes.part
		if err := m.next(); err != nil {
			return Result{}, fmt.Errorf("merge the runs of %s: %w", d.plan.dataset.Name, err)
		}
	}
	if err := flush(); err != nil {
		return Result{}, err
	}
	return d.result(nil, duplicates), nil
}

// maySplit reports whether the records of one key, which begin with group, may be finished in several parts: none of
// them is dropped, and there are no child rows to merge.
func (d *Decoder) maySplit(group int) bool {
	for _, t := range d.tables[1:] {
		if int(t.starts[group]) < t.n {
			return false
		}
	}
	return !d.hasKeyParams() || !d.hasWholeKey(int32(group))
}

// merger reads the records of several runs in order.
type merger struct {
	plan *Plan
	heap []*cursor // the one with the next record first
}

// cursor is a position in a run.
type cursor struct {
	block  block
	record int // in the block
	prefix uint64
	run    int
	from   io.Reader
	left   int // records of the run that are not read yet
}

func (m *merger) start(runs []io.Reader, records []int) error {
	for i, from := range runs {
		c := &cursor{block: newBlock(m.plan), run: i, from: from, left: records[i]}
		more, err := m.advance(c)
		if err != nil {
			return err
		}
		if more {
			m.heap = append(m.heap, c)
		}
	}
	slices.SortFunc(m.heap, m.compare)
	return nil
}

// next goes to the next record.
func (m *merger) next() error {
	more, err := m.advance(m.heap[0])
	if err != nil {
		return err
	}
	if !more {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.compare(m.heap[child], m.heap[least]) < 0 {
				least = child
			}
		}
		if least == i {
			return nil
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// advance goes to the next record of a run. It returns false at the end.
func (m *merger) advance(c *cursor) (bool, error) {
	if c.record++; c.record >= c.block[0].n {
		if c.left == 0 {
			return false, nil
		}
		if err := c.block.read(c.from); err != nil {
			return false, err
		}
		c.record = 0
		c.left -= c.block[0].n
		if c.block[0].n == 0 || c.left < 0 {
			return false, errRun
		}
	}
	c.prefix = m.plan.keyPrefix(c.block[0].cols, c.record)
	return true, nil
}

// compare orders records by their keys, equal ones as received.
func (m *merger) compare(a, b *cursor) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return cmp.Or(m.plan.compareKeys(a.block[0].cols, int32(a.record), b.block[0].cols, int32(b.record)), cmp.Compare(a.run, b.run))
}

// block holds records and their child rows, record by record, in the tables of a dataset.
type block []*tableRows

func newBlock(p *Plan) block {
	var b block
	for _, tp := range p.tables {
		b = append(b, newTableRows(p, tp))
	}
	return b
}

func (b block) reset(p *Plan, params Params) {
	for _, t := range b {
		t.reset(p, params)
	}
}

func (b block) clear() {
	for _, t := range b {
		t.clear()
	}
}

func (b block) size() int {
	n := 0
	for _, t := range b {
		n += t.batch.Size()
	}
	return n
}

// copyTo makes to a copy of these records.
func (b block) copyTo(to block, records []sortedRow) {
	to.clear()
	for i, t := range b {
		t.order = t.order[:0]
		for k, s := range records {
			if i == 0 {
				t.order = append(t.order, s.row)
				continue
			}
			to[i].starts = append(to[i].starts, int32(len(t.order)))
			t.orderChildren(records[k : k+1])
		}
		t.batch.Order = t.order
		to[i].batch.AppendRows(t.batch, 0, len(t.order))
		to[i].n = to[i].batch.N
	}
}

// appendRecord appends a record and its child rows.
func (b block) appendRecord(from []*tableRows, record int) {
	for i, t := range b {
		first, end := record, record+1
		if i > 0 {
			first, end = int(from[i].starts[record]), from[i].childEnd(record)
			t.starts = append(t.starts, int32(t.n))
		}
		t.batch.AppendRows(from[i].batch, first, end)
		t.n = t.batch.N
	}
}

// startsTable returns an empty batch for the first child rows of each record, one column per child table.
func (b block) startsTable() *rows.Batch {
	table := &schemas.Table{Name: "starts"}
	for range b[1:] {
		table.Columns = append(table.Columns, schemas.Column{Type: schemas.Int32, Required: true})
	}
	return rows.New(table)
}

func (b block) write(w io.Writer) error {
	starts := b.startsTable()
	starts.N = b[0].n
	for i, t := range b {
		if _, err := t.batch.WriteTo(w); err != nil {
			return err
		}
		if i > 0 {
			starts.Cols[i-1].I32 = t.starts
		}
	}
	_, err := starts.WriteTo(w)
	return err
}

func (b block) read(r io.Reader) error {
	starts := b.startsTable()
	for i, t := range b {
		if _, err := t.batch.ReadFrom(r); err != nil {
			return err
		}
		t.n = t.batch.N
		if i > 0 {
			starts.Cols[i-1].I32 = t.starts // its memory
		}
	}
	if _, err := starts.ReadFrom(r); err != nil {
		return err
	}
	for i, t := range b[1:] {
		t.starts = starts.Cols[i].I32
		if len(t.starts) != b[0].n || !slices.IsSorted(t.starts) ||
			len(t.starts) > 0 && (t.starts[0] != 0 || int(t.starts[len(t.starts)-1]) > t.n) {
			return errRun
		}
	}
	return nil
}
