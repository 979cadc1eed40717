package history

import (
	"context"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endedRows makes the file of a table's versions that end on a day. Without such versions there is no file.
type endedRows struct {
	files   *fileMaker
	table   *schemas.Table // with the columns of versions
	path    string
	out     *snapshot.TableFile
	pending *rows.Batch
	made    []sink.File
}

func (e *endedRows) add(ctx context.Context, b *rows.Batch, i int, because string) (err error) {
	if e.out == nil {
		if e.out, err = e.files.create(ctx, e.path, e.table); err != nil {
			return err
		}
		e.pending = rows.New(e.table)
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

func (e *endedRows) finish(ctx context.Context) error {
	if e.out == nil {
		return nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	file, err := e.files.stage(ctx, e.out)
	e.made = append(e.made, file)
	return err
}
