package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// restore recreates the files that held a table's open versions before the fold of a date, and returns them. It takes
// the open versions that did not begin on that date, and adds the versions that ended on it. Parts are split by school,
// so the recreated files equal the earlier ones.
//
// If a purge has removed rows from these files, their hashes are unknown. In that case, id is the owner of the new
// files. Otherwise, id is empty.
func restore(
	ctx context.Context, w *workspace, name, date string, open, ended, wanted []sink.File, id string,
) (_ []sink.File, err error) {
	table, ok := snapshot.FindHistoryTable(name)
	if !ok {
		return nil, fmt.Errorf("this release does not know table %s: use a later one", name)
	}
	held := make(map[string]bool)
	if err := markHeld(ctx, snapshot.At(w), table, slices.Concat(open, ended), held); err != nil {
		return nil, err
	}
	table = withColumns(table, held)
	began, err := snapshot.DayOf(date)
	if err != nil {
		return nil, fmt.Errorf("read the newest snapshot in the history: %w", err)
	}
	versions, order, column := snapshot.HistoryTable(table), newFileOrder(table, began), unitColumn(table)
	_, dataset, _ := schemas.FindTable(name)
	p := &parts{
		files: newFileMaker(snapshot.At(w), id), table: versions, folder: snapshot.HistoryFolder(name, snapshot.Open),
		before: wanted, cuts: dataset != nil && !dataset.IsLookup(),
	}
	if id == "" {
		p.held = make(map[string]bool)
		for _, file := range open {
			p.held[file.Path] = true
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.files.abort(context.WithoutCancel(ctx)))
		}
	}()
	standing, stop := iter.Pull2(beganBefore(ctx, newVersions(snapshot.At(w), versions, open, new(checkedFiles)), began))
	defer stop()
	gone, stopGone := iter.Pull2(beganBefore(ctx, newVersions(snapshot.At(w), versions, ended, new(checkedFiles)), began))
	defer stopGone()
	a, errA, moreA := standing()
	b, errB, moreB := gone()
	for moreA || moreB {
		if err := cmp.Or(errA, errB); err != nil {
			return nil, err
		}
		var next item
		if !moreB || moreA && order.compare(a, b) <= 0 {
			next = a
		} else {
			next = b
		}
		p.startUnit(string(textOf(next.batch, column, next.row)))
		if err := p.write(ctx, next.batch, next.row, 1); err != nil {
			return nil, err
		}
		if next == a {
			a, errA, moreA = standing()
		} else {
			b, errB, moreB = gone()
		}
	}
	if err := p.finish(ctx); err != nil {
		return nil, err
	}
	equal := func(a, b sink.File) bool { return a.Path == b.Path && a.SHA256 == b.SHA256 }
	if id == "" && !slices.EqualFunc(p.made, wanted, equal) {
		return nil, fmt.Errorf("the current versions of table %s do not match the versions before the newest snapshot was added: run %s",
			name, wording.Command("history", wording.Setting("rebuild")))
	}
	return slices.Concat([]sink.File{}, p.made), w.commit(ctx, p.files.staged)
}

// beganBefore yields the versions in the given files, except for versions that began on the given day. The reasons why
// versions ended are null. beganBefore closes the files.
func beganBefore(ctx context.Context, files *fileReader, day int32) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		batch := rows.New(files.table)
		from, because := &batch.Cols[len(batch.Cols)-2], &batch.Cols[len(batch.Cols)-1]
		for {
			batch.Reset()
			if err := files.next(ctx, batch); err != nil {
				if err = errors.Join(ignoreEnd(err), files.close()); err != nil {
					yield(item{}, err)
				}
				return
			}
			because.Truncate(0)
			for range batch.N {
				because.AppendNull()
			}
			for i := range batch.N {
				if from.I32[i] != day && !yield(item{batch, i}, nil) {
					_ = files.close() // another error is already being returned
					return
				}
			}
		}
	}
}

// workspace is a store for files that are not yet part of the history. Files that it does not hold are read from the
// destination.
type workspace struct {
	sink.Store

	destination sink.Reader
}

// Open opens a file of the workspace or, if the workspace does not hold it, of the destination.
func (w *workspace) Open(ctx context.Context, path string) (sink.Object, error) {
	object, err := w.Store.Open(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		return w.destination.Open(ctx, path)
	}
	return object, err
}

// commit makes staged files readable in the workspace.
func (w *workspace) commit(ctx context.Context, files []sink.File) error {
	for _, file := range files {
		if err := w.Commit(ctx, sink.Owner(file.Path), file); err != nil {
			return err
		}
	}
	return nil
}
