package transform

import (
	"errors"
	"fmt"
	"math"

	"example.org/growthexport/internal/rows"
)

// Params are the parameters of a chain's calls by the names that the $ sources
// of columns have: school_bid, perspective_bid, district_bid and so on.
type Params map[string]string

// Page tells what one page held.
type Page struct {
	Records int
	// Next is the cursor of the next page; empty on the last one. It may be
	// student data: it belongs in no log.
	Next string
}

// Result is what a chain has made of its pages.
type Result struct {
	// Tables are in the order of the dataset's; Order is set in each. They
	// belong to the chain and are valid until its Reset.
	Tables []*rows.Batch
	// Records counts what was received, Duplicates what of it was dropped.
	Records, Duplicates int64
	// Drift is sorted by table, field and kind.
	Drift []Drift
}

// Chain collects the records of one call chain: all pages of one list, or one
// single read. It is used by one goroutine at a time and keeps its memory from
// Reset to Reset.
type Chain struct {
	plan   *Plan
	tables []*tableRows
	params Params
	limits Limits
	count  int
	// childRows counts the child rows of all records, recordChildRows the child
	// rows of the record being read.
	childRows       int64
	recordChildRows int
	// beyond is why a scan has returned limited.
	beyond error
	events events

	// What follows serves the page being read.
	body []byte
	// depth counts the brackets around the members of a record.
	depth   int
	skipper skipper
	// hints guess the next member: per level, by the number of the last one.
	hints [][]uint8
	// unknown is the name of the member just read that is not declared, and
	// unknownReplaced counts the parts of it that are not text.
	unknown         []byte
	unknownReplaced int
	left            leftovers
	// dropped are where the members of the record begin that a later one of
	// the same name replaces, in their order; nextDropped is the first still
	// to come, or -1.
	dropped     []int
	nextDropped int
	text        []byte // scratch for one text
	sorted      []sortedRow
	outer       []outerMember
}

// NewChain returns an empty chain without parameters.
func (p *Plan) NewChain() *Chain {
	c := &Chain{plan: p, hints: make([][]uint8, p.levels), nextDropped: -1}
	for _, tp := range p.tables {
		c.tables = append(c.tables, newTableRows(tp))
		c.addHints(tp.root)
	}
	return c
}

func (c *Chain) addHints(lv *level) {
	c.hints[lv.id] = make([]uint8, len(lv.members))
	for i := range lv.members {
		if lv.members[i].nest != nil {
			c.addHints(lv.members[i].nest)
		}
	}
}

// Reset empties the chain for the calls with these parameters, which must not
// change before Finish. One that a column asks for and params lacks is an empty
// text.
func (c *Chain) Reset(params Params) {
	c.params = params
	c.limits = unlimited
	c.count, c.childRows = 0, 0
	c.events.reset()
	for _, t := range c.tables {
		t.reset(params)
	}
}

// Records returns how many records the chain has received.
func (c *Chain) Records() int { return c.count }

// ChildRows returns how many child rows the records received by the chain have.
func (c *Chain) ChildRows() int64 { return c.childRows }

// Bytes returns how much memory the chain holds.
func (c *Chain) Bytes() int {
	n := c.events.bytes() + c.left.bytes() +
		cap(c.skipper.open) + cap(c.unknown) + cap(c.text) + 8*cap(c.dropped) + 16*cap(c.sorted)
	for _, t := range c.tables {
		n += t.bytes()
	}
	return n
}

// Page reads one page. After an error nothing of the page is in the chain: it
// can be asked for again. ErrNotJSON and ErrEmptyString are worth that; a
// *ShapeError, ErrTooLarge and what is beyond the chain's limits are not.
func (c *Chain) Page(body []byte) (Page, error) {
	for _, t := range c.tables {
		if err := t.open(len(body)); err != nil {
			return Page{}, fmt.Errorf("read a page of %s: %w", c.plan.dataset.Name, err)
		}
	}
	c.body = body
	page, err := c.container()
	c.body = nil
	if err == nil {
		err = c.keep()
	}
	if err == nil {
		return page, nil
	}
	c.rollBack()
	if shape := (*ShapeError)(nil); errors.As(err, &shape) {
		return Page{}, err // names the dataset itself
	}
	return Page{}, fmt.Errorf("read a page of %s: %w", c.plan.dataset.Name, err)
}

// rollBack forgets the page being read.
func (c *Chain) rollBack() {
	for _, t := range c.tables {
		t.rewind(t.kept)
	}
	c.childRows = 0
	for _, t := range c.tables[1:] {
		t.starts = t.starts[:c.tables[0].kept]
		c.childRows += int64(t.kept)
	}
	c.left.reset()
	c.events.rewind(0)
}

// keep makes the rows of the page being read part of the chain, and fills the
// columns that do not come from the row's own members.
func (c *Chain) keep() error {
	for _, t := range c.tables {
		if err := c.checkRoom(t); err != nil {
			return err
		}
	}
	records := c.tables[0]
	c.count += records.n - records.kept
	for _, t := range c.tables[1:] {
		t.fillParents(records)
		t.kept = t.n
	}
	records.kept = records.n
	c.events.keep()
	return nil
}

// maxRepeatedBytes is how much text one page may repeat in child rows.
const maxRepeatedBytes = 256 << 20

// checkRoom reports a table whose columns cannot hold what the keys of the
// parents add to it, or could not once a parameter's text is copied to each of
// its rows.
func (c *Chain) checkRoom(t *tableRows) error {
	for _, p := range t.plan.params {
		if t.n*len(t.cols[p.column].Data) > rows.MaxTextBytes {
			return ErrTooLarge
		}
	}
	records := c.tables[0]
	for _, p := range t.plan.parents {
		from, repeated := &records.cols[p.from], 0
		for r := records.kept; r < records.n; r++ {
			repeated += len(from.Text(r)) * (t.childEnd(r) - int(t.starts[r]))
		}
		if repeated > maxRepeatedBytes || len(t.cols[p.column].Data)+repeated > rows.MaxTextBytes {
			return ErrTooLarge
		}
	}
	return nil
}

// maxExpansion is how many bytes of one column one byte of a page can become:
// an element of two bytes that is not an object takes 13 in _extra.
const maxExpansion = 8

// maxRows is how many rows a batch can order.
const maxRows = math.MaxInt32
