package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// fileReader reads the rows of a table's files, one file after the other.
type fileReader struct {
	catalog snapshot.Catalog
	table   *schemas.Table
	files   []sink.File // the files that have not been opened yet
	// checked, if not nil, compares the hashes of files with the manifest. On disk, a file is hashed while it is being
	// read: if the hash is wrong, next or close returns an error, and the rows must not be used.
	checked *checkedFiles
	// history is true for files of a history, whose errors are *DamagedError.
	history bool
	// lacks lists the columns that each file read so far lacks, by the file's path.
	lacks map[string][]int

	ahead   *sink.Ahead // opens the next files ahead of time; nil on disk
	name    string      // the path of the open file
	hashing chan error  // receives the result of checking the hash; nil if the file is not being hashed
	object  sink.Object
	file    *parquetfile.Reader
	before  *parquetfile.Reader // the reader of the previous file, whose memory is reused
	lacking []int               // columns that the open file lacks
	// narrow holds rows of a file that lacks columns. If older is not nil, it finds the values of these columns in _extra.
	narrow *rows.Batch
	older  *older
}

// newVersions returns a reader of a history's files.
func newVersions(catalog snapshot.Catalog, table *schemas.Table, files []sink.File, checked *checkedFiles) *fileReader {
	return &fileReader{
		catalog: catalog, table: table, files: files, checked: checked, history: true, ahead: openAhead(catalog, files),
	}
}

// filesAhead is the number of files that a reader opens ahead of time on a remote store. Each holds up to 256 KiB.
const filesAhead = 8

// openAhead returns a sink.Ahead that opens files in the given order, or nil if opening is fast or there are fewer than
// two files.
func openAhead(catalog snapshot.Catalog, files []sink.File) *sink.Ahead {
	if len(files) < 2 || catalog.Info().Folder != "" {
		return nil
	}
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = file.Path
	}
	return sink.NewAhead(catalog.Open, paths, filesAhead)
}

// checkedFiles records files whose hashes equal those in the manifest. Each file is hashed when it is first opened, but
// not again when other units of it are read. It is safe for concurrent use.
type checkedFiles struct{ paths sync.Map }

// check begins to hash a file. It returns a channel that receives the result, or nil if the file has already been
// checked.
func (c *checkedFiles) check(ctx context.Context, object sink.Object, file sink.File) (result chan error) {
	if _, done := c.paths.Load(file.Path); done {
		return nil
	}
	result = make(chan error, 1)
	go func() {
		err := sink.CheckHash(ctx, object, file.SHA256)
		if err == nil {
			c.paths.Store(file.Path, true)
		}
		result <- err
	}()
	return result
}

// hashed waits until the open file is hashed, and returns an error if its hash differs from the hash in the manifest.
func (r *fileReader) hashed() error {
	if r.hashing == nil {
		return nil
	}
	err := <-r.hashing
	r.hashing = nil
	return err
}

// cursor returns a cursor that reads the rows of the files.
func (r *fileReader) cursor(ctx context.Context) *cursor { return newCursor(r.table, r.source(ctx)) }

func (r *fileReader) source(ctx context.Context) source {
	return func(to *rows.Batch) (*rows.Batch, error) { return to, r.next(ctx, to) }
}

// each passes every row to use, and closes the reader.
func (r *fileReader) each(ctx context.Context, use func(b *rows.Batch, row int)) (err error) {
	defer func() { err = errors.Join(err, r.close()) }()
	for batch := rows.New(r.table); ; {
		batch.Reset()
		if err := r.next(ctx, batch); err != nil {
			return ignoreEnd(err)
		}
		for row := range batch.N {
			use(batch, row)
		}
	}
}

// ignoreEnd returns err, or nil if err says that the rows have ended.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// next appends the next rows to a batch. It returns io.EOF after the last row.
func (r *fileReader) next(ctx context.Context, to *rows.Batch) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.file != nil {
			err := r.read(to)
			if err == nil {
				return nil
			}
			err = cmp.Or(r.hashed(), err)
			if !errors.Is(err, io.EOF) {
				return r.failed(err)
			}
			if err := r.closeFile(); err != nil {
				return err
			}
		}
		if len(r.files) == 0 {
			return io.EOF
		}
		file := r.files[0]
		r.files = r.files[1:]
		if err := r.open(ctx, file); err != nil {
			return r.failed(err)
		}
	}
}

// failed adds the path of the open file to an error. For a file of a history, it returns a *DamagedError with advice,
// unless the context has ended.
func (r *fileReader) failed(err error) error {
	switch {
	case !r.history:
		return fmt.Errorf("read %s: %w", r.name, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return damaged(r.name, err)
}

func (r *fileReader) open(ctx context.Context, file sink.File) (err error) {
	r.name = file.Path
	open := r.catalog.Open
	if r.ahead != nil {
		open = r.ahead.Open
	}
	if r.object, err = open(ctx, file.Path); err != nil {
		return err
	}
	if r.object.Size() != file.Bytes {
		return fmt.Errorf("it has %d bytes, but its manifest says %d: run verify", r.object.Size(), file.Bytes)
	}
	if r.checked != nil {
		r.hashing = r.checked.check(ctx, r.object, file)
	}
	if r.catalog.Info().Folder == "" { // a remote object would be read from two places at the same time
		if err := r.hashed(); err != nil {
			return err
		}
	}
	if r.file, err = parquetfile.OpenReader(r.object, file.Bytes, r.pick); err != nil {
		return cmp.Or(r.hashed(), err)
	}
	r.file.FetchAhead()
	if len(r.lacking) == 0 {
		r.file.CodeTexts()
		r.file.Reuse(r.before)
	}
	if r.lacks == nil {
		r.lacks = make(map[string][]int)
	}
	r.lacks[file.Path] = r.lacking
	return nil
}

// pick returns the columns of the table that the open file has, and records the columns that the file lacks. It returns
// an error if the file lacks a required column.
func (r *fileReader) pick(stored *schemas.Table) (_ *schemas.Table, err error) {
	var held []string
	for i := range r.table.Columns {
		switch column := &r.table.Columns[i]; {
		case stored.Column(column.Name) >= 0:
			held = append(held, column.Name)
		case column.Required:
			return nil, fmt.Errorf("it has no column %s", column.Name)
		default:
			r.lacking = append(r.lacking, i)
		}
	}
	if len(r.lacking) == 0 {
		return r.table, nil
	}
	some := snapshot.SelectColumns(r.table, held...)
	r.narrow = rows.New(some)
	r.older, err = newOlder(r.table, some, r.lacking)
	return some, err
}

// read appends the rows of the next page. Columns that the file lacks get the values of their members in _extra, or
// null.
func (r *fileReader) read(to *rows.Batch) error {
	if len(r.lacking) == 0 {
		return r.file.Read(to)
	}
	r.narrow.Reset()
	if err := r.file.Read(r.narrow); err != nil {
		return err
	}
	var found *rows.Batch
	if r.older != nil {
		var err error
		if found, err = r.older.read(r.narrow); err != nil {
			return err
		}
	}
	for i := range to.Cols {
		name, source := r.table.Columns[i].Name, r.narrow
		from := source.Table.Column(name)
		if found != nil {
			if at := found.Table.Column(name); at >= 0 {
				source, from = found, at
			}
		}
		for row := range r.narrow.N {
			if from < 0 {
				to.Cols[i].AppendNull()
			} else {
				to.Cols[i].AppendRow(&source.Cols[from], source.Row(row))
			}
		}
	}
	to.N += r.narrow.N
	return nil
}

// close closes the open file and the files that were opened ahead.
func (r *fileReader) close() error {
	err := r.closeFile()
	if r.ahead != nil {
		err = errors.Join(err, r.ahead.Close())
	}
	return err
}

// closeFile closes the open file. It returns an error if the file is being hashed and the hash is wrong.
func (r *fileReader) closeFile() error {
	var errs []error
	if err := r.hashed(); err != nil {
		errs = append(errs, r.failed(err))
	}
	if r.file != nil {
		r.file.Close()
		r.before = r.file
	}
	if r.object != nil {
		errs = append(errs, r.object.Close())
	}
	r.file, r.object, r.lacking, r.older = nil, nil, nil, nil
	return errors.Join(errs...)
}

// damaged returns a *DamagedError with advice.
func damaged(path string, err error) error {
	return &wording.AdvisedError{
		Err:    &DamagedError{Path: path, Err: err},
		Advice: wording.RebuildHistory(""),
	}
}

// DamagedError reports that an object of the history cannot be used.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("cannot read %s of the history: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }
