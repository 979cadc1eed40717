package history

import (
	"context"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// endedRows writes the file of a table's versions that end on a day. It creates no file if no version ends.
type endedRows struct {
	files  *fileMaker
	table  *schemas.Table // the table with the columns of versions
	path   string
	counts *TableCounts
	// reason, if not nil, resolves a reason that was passed to add. It is called once all rows have been read. Until then,
	// the rows are in a draft.
	reason func(string) string

	draft   *rowDraft
	out     *snapshot.TableFile
	pending *rows.Batch
	made    []sink.File
}

// maxPendingRows and maxPendingText bound the rows that are collected before they are written. maxPendingRows also
// bounds the batches of a snapshot's coverage.
const (
	maxPendingRows = 4096
	maxPendingText = 8 << 20
)

// add adds row i of a batch, which is a version that ends, and the reason why it ends.
func (e *endedRows) add(ctx context.Context, b *rows.Batch, i int, because string) error {
	if e.pending == nil {
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
	return e.flush(ctx)
}

// flush writes the collected rows to the file or, if their reasons have to be resolved, to the draft.
func (e *endedRows) flush(ctx context.Context) (err error) {
	defer e.pending.Reset()
	if e.reason == nil {
		return e.write(ctx)
	}
	if e.draft == nil {
		if e.draft, err = e.files.draft(ctx, snapshot.HistoryFilesPrefix+e.table.Name+"/ended"); err != nil {
			return err
		}
	}
	return e.draft.write(e.pending)
}

// write appends the collected rows to the file.
func (e *endedRows) write(ctx context.Context) (err error) {
	if e.out == nil {
		if e.out, err = e.files.create(ctx, e.path, e.table); err != nil {
			return err
		}
	}
	because := &e.pending.Cols[len(e.pending.Cols)-1]
	for i := range e.pending.N {
		e.counts.end(string(because.Text(i)))
	}
	return e.out.Append(e.pending)
}

// finish writes the remaining rows, resolves the reasons in the draft, and stages the file.
func (e *endedRows) finish(ctx context.Context) error {
	if e.pending == nil {
		return nil
	}
	err := e.flush(ctx)
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

// resolve copies the rows of the draft to the file, with their resolved reasons.
func (e *endedRows) resolve(ctx context.Context) error {
	if err := e.draft.finish(); err != nil {
		return err
	}
	e.draft.seek(0, e.draft.size)
	last := len(e.pending.Cols) - 1
	for ctx.Err() == nil {
		if err := e.draft.read(e.pending); err != nil {
			return ignoreEnd(err)
		}
		references := e.pending.Cols[last]
		resolved := rows.Vector{Type: references.Type, Required: references.Required}
		for i := range e.pending.N {
			resolved.AppendString(e.reason(string(references.Text(i))))
		}
		e.pending.Cols[last] = resolved
		if err := e.write(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// close removes the draft, if there is one.
func (e *endedRows) close() error {
	if e.draft == nil {
		return nil
	}
	return e.draft.draft.Abort()
}
