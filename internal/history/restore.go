package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// restore makes the files of a table's open versions before the fold of a date again: the versions that are open
// without those that began then, and those that ended then. Parts are cut by school, so the files are the same.
//
// After a purge has removed rows from these files, their hashes are not known. id is then the owner of the new files, and
// otherwise empty.
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
	_, dataset, _ := schemas.FindTable(name)
	r := &restoring{
		ctx: ctx, workspace: w, table: snapshot.HistoryTable(table), wanted: wanted, missing: make(map[string]bool),
		cuts: dataset != nil && !dataset.IsLookup(), part: -1, owner: id,
	}
	for _, file := range wanted {
		r.missing[file.Path] = !slices.ContainsFunc(open, func(f sink.File) bool { return f.Path == file.Path })
	}
	sources := []*versions{
		newVersions(snapshot.At(w), r.table, open, new(checkedFiles)), newVersions(snapshot.At(w), r.table, ended, new(checkedFiles)),
	}
	defer func() { err = errors.Join(err, sources[0].close(), sources[1].close(), r.abort()) }()
	left, right := &rowReader{source: sources[0], skip: began}, &rowReader{source: sources[1], skip: began}
	order := newFileOrder(table, began)
	for {
		a, err := left.next(ctx)
		if err != nil {
			return nil, err
		}
		b, err := right.next(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case a == nil && b == nil:
			return r.end()
		case b == nil, a != nil && order.compare(*a, *b) <= 0:
			left.read = nil
		default:
			right.read, a = nil, b
		}
		if err := r.add(*a); err != nil {
			return nil, err
		}
	}
}

// rowReader reads versions one by one, except the ones that began on a day.
type rowReader struct {
	source *versions
	skip   int32
	batch  *rows.Batch
	at     int
	read   *item // the next row; nil once it is used
}

// next returns the next row, or nil after the last.
func (r *rowReader) next(ctx context.Context) (*item, error) {
	for r.read == nil {
		if r.batch == nil {
			r.batch = rows.New(r.source.table)
		}
		if r.at == r.batch.N {
			r.batch.Reset()
			r.at = 0
			if err := r.source.next(ctx, r.batch); err != nil {
				return nil, ignoreEnd(err)
			}
		}
		if r.batch.Cols[len(r.batch.Cols)-2].I32[r.at] != r.skip {
			r.read = &item{r.batch, r.at}
		}
		r.at++
	}
	return r.read, nil
}

// restoring writes the files that are missing.
type restoring struct {
	ctx       context.Context //nolint:containedctx // It lives as long as one call of restore.
	workspace *workspace
	table     *schemas.Table
	wanted    []sink.File
	missing   map[string]bool
	cuts      bool

	owner   string // of files that are not known
	made    []sink.File
	part    int // in wanted
	unit    string
	out     *snapshot.TableFile
	pending *rows.Batch
}

// add adds a row to the part that it belongs to.
func (r *restoring) add(row item) error {
	column := unitColumn(r.table)
	unit := ""
	if column >= 0 {
		unit = string(row.batch.Cols[column].Text(row.row))
	}
	if r.part < 0 || r.cuts && unit != r.unit && beginsPart(unit) {
		if err := r.nextPart(); err != nil {
			return err
		}
	}
	r.unit = unit
	if r.out == nil {
		return nil
	}
	last := len(row.batch.Cols) - 1
	for c := range last {
		r.pending.Cols[c].AppendRow(&row.batch.Cols[c], row.row)
	}
	r.pending.Cols[last].AppendNull()
	if r.pending.N++; r.pending.N < maxPendingRows && r.pending.TextBytes() < maxPendingText {
		return nil
	}
	return r.flush()
}

func (r *restoring) flush() error {
	err := r.out.Append(r.pending)
	r.pending.Reset()
	return err
}

// nextPart ends the part and starts the next one.
func (r *restoring) nextPart() (err error) {
	if err := r.endPart(); err != nil {
		return err
	}
	r.part++
	path := snapshot.HistoryFolder(r.table.Name, snapshot.Open) + sink.PartName(r.part, r.owner)
	if r.owner == "" {
		if r.part >= len(r.wanted) {
			return r.unlike()
		}
		path = r.wanted[r.part].Path
	}
	if r.owner != "" || r.missing[path] {
		r.pending = rows.New(r.table)
		r.out, err = snapshot.NewHistoryTables(snapshot.At(r.workspace), sink.Owner(path)).Create(r.ctx, path, r.table)
	}
	return err
}

func (r *restoring) endPart() error {
	if r.out == nil {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	file, err := r.out.Stage(r.ctx)
	if err != nil {
		return err
	}
	r.out = nil
	if r.owner == "" && file.SHA256 != r.wanted[r.part].SHA256 {
		return r.unlike()
	}
	if err := r.workspace.commit(r.ctx, []sink.File{file}); err != nil {
		return err
	}
	file.Staged = nil
	r.made = append(r.made, file)
	return nil
}

// end ends the last part and returns all files.
func (r *restoring) end() ([]sink.File, error) {
	err := r.endPart()
	switch {
	case err != nil:
		return nil, err
	case r.owner != "":
		return slices.Concat([]sink.File{}, r.made), nil
	case r.part != len(r.wanted)-1:
		return nil, r.unlike()
	}
	return r.wanted, nil
}

func (r *restoring) unlike() error {
	return fmt.Errorf("the current versions of table %s are not those from before the newest snapshot was added: run %s",
		r.table.Name, wording.Command("history", wording.Setting("rebuild")))
}

func (r *restoring) abort() error {
	if r.out == nil {
		return nil
	}
	return r.out.Abort()
}

// workspace is a store for files that are not yet part of the history. Files that it does not hold are read from the
// destination.
type workspace struct {
	sink.Store

	destination sink.Reader
}

// Open opens a file of the workspace, or of the destination.
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
