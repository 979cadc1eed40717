package history

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// tableFold folds one table of a snapshot into the history. It is the visitor of a merger whose first side is the open
// versions.
type tableFold struct {
	ctx      context.Context //nolint:containedctx // The visitor's methods take none; a fold of a table is one call.
	table    *schemas.Table
	versions *schemas.Table
	from     *cursor
	source   *fileReader
	merger   *merger
	parts    *parts
	ended    *endedRows
	counts   *TableCounts
	// because returns the reason why a version without a successor ends. The reason is passed to endedRows.add.
	because func(b *rows.Batch, i int, parentStands bool) (string, error)
	order   fileOrder
	// passedOver is true if versions of units that the snapshot does not cover were kept.
	passedOver bool

	// adopts lists the columns that the versions of the unit copy from equal rows of the snapshot: the columns that the
	// versions' file lacks, and _extra, which contained their values. adopted holds the versions with the copied
	// values.
	adopts  []int
	adopted *rows.Batch

	// The fields below hold the rows of the group that is being visited.
	versionRows, snapshotRows *rows.Batch
	kept                      []span2
	over                      []overRow
	begun                     []int
}

// span2 is a range of n rows that starts with row first.
type span2 struct{ first, n int }

// overRow is a version that ends.
type overRow struct {
	row     int
	because string
}

// same keeps n versions, after copying the adopted columns.
func (t *tableFold) same(from *rows.Batch, i int, to *rows.Batch, j, n int) error {
	t.versionRows = from
	if len(t.adopts) == 0 {
		t.kept = append(t.kept, span2{i, n})
		return nil
	}
	for k := range n {
		for c := range t.adopted.Cols {
			if slices.Contains(t.adopts, c) {
				t.adopted.Cols[c].AppendRow(&to.Cols[c], to.Row(j+k))
			} else {
				t.adopted.Cols[c].AppendRow(&from.Cols[c], from.Row(i+k))
			}
		}
		t.adopted.N++
	}
	return nil
}

func (t *tableFold) changed(from *rows.Batch, i int, to *rows.Batch, j int) error {
	t.versionRows, t.snapshotRows = from, to
	t.over = append(t.over, overRow{i, snapshot.ElementsChanged})
	t.begun = append(t.begun, j)
	return nil
}

func (t *tableFold) removed(from *rows.Batch, i int, parentStands bool) error {
	because, err := t.because(from, i, parentStands)
	t.versionRows = from
	t.over = append(t.over, overRow{i, because})
	return err
}

func (t *tableFold) added(to *rows.Batch, j int) error {
	t.snapshotRows = to
	t.begun = append(t.begun, j)
	return nil
}

// groupDone writes the rows of a group in the order of the file.
func (t *tableFold) groupDone() error {
	defer func() {
		t.kept, t.over, t.begun = t.kept[:0], t.over[:0], t.begun[:0]
		t.adopted.Reset()
	}()
	kept := t.adopted.N
	for _, s := range t.kept {
		kept += s.n
	}
	t.counts.Same += int64(kept)
	if len(t.over) == 0 && len(t.begun) == 0 && t.adopted.N == 0 {
		first := slices.MinFunc(t.kept, func(a, b span2) int { return cmp.Compare(a.first, b.first) }).first
		return t.parts.keep(t.ctx, t.versionRows, first, kept)
	}
	if err := t.end(); err != nil {
		return err
	}
	return t.writeGroup(kept)
}

// end writes the versions of the group that end.
func (t *tableFold) end() error {
	slices.SortFunc(t.over, func(a, b overRow) int { return cmp.Compare(a.row, b.row) })
	for _, over := range t.over {
		if err := t.ended.add(t.ctx, t.versionRows, over.row, over.because); err != nil {
			return err
		}
	}
	return nil
}

// writeGroup writes the versions of the group that stay and those that begin.
func (t *tableFold) writeGroup(kept int) error {
	t.counts.Begun += int64(len(t.begun))
	items := make([]item, 0, kept+len(t.begun))
	for _, s := range t.kept {
		for i := range s.n {
			items = append(items, item{t.versionRows, s.first + i})
		}
	}
	for i := range t.adopted.N {
		items = append(items, item{t.adopted, i})
	}
	for _, j := range t.begun {
		items = append(items, item{t.snapshotRows, j})
	}
	t.order.sort(items)
	for _, it := range items {
		if err := t.parts.write(t.ctx, it.batch, it.row, 1); err != nil {
			return err
		}
	}
	t.parts.skip(kept + len(t.over))
	return nil
}

// unit merges the versions of a unit with the snapshot's rows.
func (t *tableFold) unit(name string, to *cursor) error {
	if err := t.passOver(name, false); err != nil {
		return err
	}
	t.parts.startUnit(name)
	for t.from.at == t.from.batch.Len() && !t.from.ended {
		if err := t.from.more(); err != nil {
			return err
		}
	}
	if t.from.at == t.from.batch.Len() || t.from.unit >= 0 && !bytes.Equal(t.from.unitOf(t.from.at), []byte(name)) {
		return t.addAll(to, []byte(name))
	}
	t.adopts = nil
	if before := t.source.lacks[t.parts.file()]; len(before) > 0 {
		t.adopts = append(slices.Clone(before), t.table.Column("_extra"))
	}
	return t.merger.unit(t.from, to, []byte(name))
}

// passOver keeps the versions of the units before the given one or, if all is true, of all remaining units.
func (t *tableFold) passOver(name string, all bool) error {
	for c := t.from; ; {
		if c.at == c.batch.Len() {
			if c.ended {
				return nil
			}
			if err := c.more(); err != nil {
				return err
			}
			continue
		}
		unit, end := "", c.batch.Len()
		if c.unit >= 0 {
			unit = string(c.unitOf(c.at))
			end, _ = c.end([]byte(unit))
		}
		if !all && (c.unit < 0 || unit >= name) {
			return nil
		}
		t.parts.startUnit(unit)
		t.passedOver = true
		if err := t.parts.keep(t.ctx, c.batch, c.at, end-c.at); err != nil {
			return err
		}
		t.counts.Same += int64(end - c.at)
		c.at = end
	}
}

// addAll begins a version for each row of a unit.
func (t *tableFold) addAll(to *cursor, name []byte) error {
	if err := to.seek(name); err != nil {
		return err
	}
	for {
		end, complete := to.end(name)
		i := to.at
		for i+1 < end && !t.sameKey(to, i) {
			i++
		}
		// Row i may have the same key as the rows that follow it. The order of the rows before row i is final.
		if err := t.beginVersions(to, i); err != nil {
			return err
		}
		tied := i
		for tied+1 < end && t.sameKey(to, tied) {
			tied++
		}
		switch {
		case i == end && complete:
			return nil
		case tied+1 < end || complete:
			for j := i; j <= tied; j++ {
				t.begun = append(t.begun, j)
			}
			t.snapshotRows = to.batch
			to.at = tied + 1
			err := t.writeGroup(0)
			t.begun = t.begun[:0]
			if err != nil {
				return err
			}
		default:
			if err := to.more(); err != nil {
				return err
			}
		}
	}
}

// beginVersions begins a version for each unread row before i.
func (t *tableFold) beginVersions(to *cursor, i int) error {
	n := i - to.at
	if n == 0 {
		return nil
	}
	t.counts.Begun += int64(n)
	err := t.parts.write(t.ctx, to.batch, to.at, n)
	to.at = i
	return err
}

// sameKey reports whether row i and the next row have the same key.
func (t *tableFold) sameKey(c *cursor, i int) bool {
	a, b := c.batch.Row(i), c.batch.Row(i+1)
	for _, column := range slices.Backward(t.order.keys) {
		v := &c.batch.Cols[column]
		if rows.Compare(v, a, v, b) != 0 {
			return false
		}
	}
	return true
}

// finish keeps the remaining versions and finishes the files.
func (t *tableFold) finish() error {
	if err := t.passOver("", true); err != nil {
		return err
	}
	if err := t.parts.finish(t.ctx); err != nil {
		return err
	}
	return t.ended.finish(t.ctx)
}
