package transform

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"example.org/growthexport/internal/rows"
)

// A list that does not fit in memory is written in sorted runs, which are merged at its end. Records with the same key,
// which may come from several runs, are merged into the same part. A part is then finished like the rows of a decoder
// that holds the whole list, so both give the same result.

// sizeInterval is the number of records after which the size of a part is checked.
const sizeInterval = 8

// WriteRun writes the rows that the decoder holds to w, sorted, and drops them. MergeRuns must then be called instead
// of Finish.
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
	if modified := d.tables[0].modified; len(modified) > 0 {
		for _, s := range d.sorted {
			d.modifiedInRuns = append(d.modifiedInRuns, modified[s.row])
		}
	}
	d.childRowsInRuns = d.childRows
	held.reset(d.plan, d.params)
	return nil
}

// MergeRuns ends a list whose rows are all in runs, given in the order in which they were written. It passes the rows
// that Finish would return to use, part by part. The rows are valid until use returns. The result has no Tables.
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
	group, full := 0, false // the first record with the last key, and whether the part is large enough
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
		if len(d.modifiedInRuns) > 0 {
			part[0].modified = append(part[0].modified, d.modifiedInRuns[next.read])
		}
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

// maySplit reports whether the records with the same key, which begin with group, may be finished in several parts,
// because none of them is dropped and there are no child rows to merge.
func (d *Decoder) maySplit(group int) bool {
	for _, t := range d.tables[1:] {
		if int(t.starts[group]) < t.n {
			return false
		}
	}
	return !d.hasKeyParams() || !d.hasWholeKey(int32(group))
}

// merger reads the records of several runs in the order of their keys.
type merger struct {
	plan *Plan
	heap []*cursor // the cursor with the next record comes first
}

// cursor is a position in a run.
type cursor struct {
	block  block
	record int // position in the block
	prefix uint64
	run    int
	from   io.Reader
	left   int // records of the run that have not been read yet
	read   int // position of the record across all runs
}

func (m *merger) start(runs []io.Reader, records []int) error {
	first := 0
	for i, from := range runs {
		c := &cursor{block: newBlock(m.plan), run: i, from: from, left: records[i], read: first - 1}
		first += records[i]
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

// next moves to the next record of the merged runs.
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

// advance moves a cursor to the next record of its run. It returns false at the end of the run.
func (m *merger) advance(c *cursor) (bool, error) {
	c.read++
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

// compare orders records by their keys. Records with equal keys are in the order received.
func (m *merger) compare(a, b *cursor) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return cmp.Or(m.plan.compareKeys(a.block[0].cols, int32(a.record), b.block[0].cols, int32(b.record)), cmp.Compare(a.run, b.run))
}
