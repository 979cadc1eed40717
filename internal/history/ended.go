package history

import (
	"context"
	"errors"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endedRows makes the file of a table's versions that end on a day. Without such versions there is no file.
type endedRows struct {
	files  *fileMaker
	table  *schemas.Table // with the columns of versions
	path   string
	counts *TableCounts
	// reason, unless nil, returns the reason that one given to add stands for. It is called once all rows are read; until
	// then the rows are in a draft.
	reason func(string) string

	out     *snapshot.TableFile
	pending *rows.Batch
	made    []sink.File
}

// maxPendingRows and maxPendingText bound the rows that are collected before they are written.
const (
	maxPendingRows = 4096
	maxPendingText = 8 << 20
)

// add adds a version that ends.
func (e *endedRows) add(ctx context.Context, b *rows.Batch, i int, because string) (err error) {
	if e.out == nil {
		if e.out, err = e.files.create(ctx, e.path, e.table); err != nil {
			return err
		}
		e.pending = rows.New(e.table)
	}
	if e.reason == nil {
		e.counts.end(because)
	}
	row, last := b.Row(i), len(b.Cols)-1
	for c := range last {
		e.pending.Cols[c].AppendRow(&b.Cols[c], row)
	}
	e.pending.Cols[last].AppendString(because)
	if e.pending.N++; e.pending.N < maxPendingRows && e.pending.TextBytes() < maxPendingText {
		return nil
	}
	return e.flush()
}

func (e *endedRows) flush() error {
	err := e.out.Append(e.pending)
	e.pending.Reset()
	return err
}

// finish stages the file.
func (e *endedRows) finish(ctx context.Context) error {
	if e.out == nil {
		return nil
	}
	err := e.flush()
	if err == nil && e.reason != nil {
		err = e.resolve(ctx)
	}
	if err != nil {
		return err
	}
	file, err := e.files.stage(ctx, e.out)
	e.made = append(e.made, file)
	return err
}

// resolve writes the file again, with the reasons.
func (e *endedRows) resolve(ctx context.Context) (err error) {
	draft, reason := e.out, e.reason
	defer func() { err = errors.Join(err, e.files.drop(draft)) }()
	e.out, e.reason = nil, nil
	err = draft.ReadBack(e.table, func(b *rows.Batch) error {
		for i := range b.N {
			if err := e.add(ctx, b, i, reason(string(b.Cols[len(b.Cols)-1].Text(i)))); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return e.flush()
}
