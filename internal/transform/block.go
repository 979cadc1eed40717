package transform

import (
	"errors"
	"io"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// runSizes are the sizes, in bytes, at which blocks and parts end.
type runSizes struct {
	// block is the usual size of a block of a run. A merge holds one block of each run in memory.
	block int
	// part is the size at which a merged part ends.
	part int
	// key is the maximum size of a part that cannot end because its last records have the same key.
	key int
}

var defaultRunSizes = runSizes{block: 64 << 10, part: 1 << 20, key: 64 << 20}

var errRun = errors.New("the data is not a run of this dataset")

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

// copyTo replaces the contents of to with a copy of the given records and their child rows.
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

// appendRecord appends a record of the tables in from, and its child rows.
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

// startsTable returns an empty batch for the positions of each record's first child rows. It has one column per child
// table.
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
			starts.Cols[i-1].I32 = t.starts // reuse its memory
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
