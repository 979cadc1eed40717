package snapshot

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// draftBuffer is the size, in bytes, of the buffer that collects small writes, such as the many writes of a Parquet
// footer.
const draftBuffer = 64 << 10

// Tables creates the table files of one run, or of histories, and reuses their buffers. It is safe for concurrent use.
type Tables struct {
	catalog Catalog
	run     string // empty for a history
	pool    *parquetfile.Pool
	ended   *parquetfile.Pool // for the ended versions of a history
}

// NewTables returns a Tables for a run.
func NewTables(catalog Catalog, run string) *Tables {
	return &Tables{catalog: catalog, run: run, pool: parquetfile.NewPool(parquetfile.Options{})}
}

// NewHistoryTables returns a Tables for files of histories. Files of ended versions have their own pool, because there
// are many of them, one for each day, and they are small.
func NewHistoryTables(catalog Catalog) *Tables {
	return &Tables{
		catalog: catalog, pool: parquetfile.NewPool(parquetfile.Options{LeanRows: 1024, Background: true}),
		ended: parquetfile.NewPool(parquetfile.Options{LeanRows: math.MaxInt}),
	}
}

// TableFile is a table's file that is being written. The caller must call Stage or Abort. Abort after Stage does
// nothing. A TableFile is not safe for concurrent use.
type TableFile struct {
	path   string
	pool   *parquetfile.Pool
	writer *parquetfile.Writer // nil once the file is closed
	buffer *bufio.Writer
	draft  sink.Draft
	rows   int64 // set by Close
	err    error // the error of Close
}

// Create starts a file of the table that will be visible at path.
func (t *Tables) Create(ctx context.Context, path string, table *schemas.Table) (*TableFile, error) {
	draft, err := t.catalog.store.Draft(ctx, cmp.Or(t.run, sink.Owner(path)), path)
	if err != nil {
		return nil, err
	}
	pool := t.pool
	if t.ended != nil && !strings.HasPrefix(path, HistoryFolder(table.Name, Open)) {
		pool = t.ended
	}
	buffer := bufio.NewWriterSize(draft, draftBuffer)
	return &TableFile{path: path, pool: pool, writer: pool.Get(buffer, table), buffer: buffer, draft: draft}, nil
}

// Append appends the rows of the batch.
func (f *TableFile) Append(batch *rows.Batch) error { return f.AppendRows(batch, 0, batch.Len()) }

// AppendRows appends the rows of the batch from i up to, but not including, j.
func (f *TableFile) AppendRows(batch *rows.Batch, i, j int) error {
	if f.writer == nil {
		return fmt.Errorf("append rows to %s: the file is closed", f.path)
	}
	if err := f.writer.AppendRows(batch, i, j); err != nil {
		return fmt.Errorf("append rows to %s: %w", f.path, err)
	}
	return nil
}

// Close writes the end of the file and releases the writer's memory, which is not needed for staging.
func (f *TableFile) Close() error {
	if f.writer == nil {
		return f.err
	}
	if f.rows, f.err = f.writer.Close(); f.err == nil {
		f.err = f.buffer.Flush()
	}
	f.release()
	if f.err != nil {
		f.err = fmt.Errorf("close %s: %w", f.path, f.err)
	}
	return f.err
}

// Stage closes the file, reads it back and stages it. It checks that the file is a complete Parquet file with all
// appended rows, and hashes the bytes read back.
func (f *TableFile) Stage(ctx context.Context) (sink.File, error) {
	if err := f.Close(); err != nil {
		return sink.File{}, err
	}
	file, err := f.stage(ctx)
	if err != nil {
		return sink.File{}, fmt.Errorf("stage %s: %w", f.path, err)
	}
	return file, nil
}

func (f *TableFile) stage(ctx context.Context) (sink.File, error) {
	size, err := f.draft.Finish()
	if err != nil {
		return sink.File{}, err
	}
	hash, err := inspect(ctx, f.draft, size, f.rows)
	if err != nil {
		return sink.File{}, err
	}
	staged, err := f.draft.Stage(ctx)
	if err != nil {
		return sink.File{}, err
	}
	return sink.File{Path: f.path, Rows: f.rows, Bytes: size, SHA256: hash, Staged: staged}, nil
}

// release returns the writer's buffers to the pool.
func (f *TableFile) release() {
	if f.writer != nil {
		f.pool.Put(f.writer)
		f.writer, f.buffer = nil, nil
	}
}

// Abort discards the file.
func (f *TableFile) Abort() error {
	f.release()
	return f.draft.Abort()
}

// inspect checks the number of rows of a Parquet file and returns the hash of its bytes.
func inspect(ctx context.Context, file io.ReaderAt, size, rowCount int64) (string, error) {
	hash, err := sink.HashFile(ctx, file, size)
	if err != nil {
		return "", err
	}
	info, err := parquetfile.Inspect(file, size)
	if err != nil {
		return "", err
	}
	if info.Rows != rowCount {
		return "", fmt.Errorf("its footer counts %d rows, but %d were written", info.Rows, rowCount)
	}
	return hash, nil
}

// ReadStaged passes the rows of a staged file to use, page by page. The batch is reused. The table may declare only
// some of the file's columns. The error wraps errors.ErrUnsupported if the store cannot read staged files.
func (c Catalog) ReadStaged(ctx context.Context, run string, file sink.File, table *schemas.Table, use func(*rows.Batch) error) (err error) {
	reader, ok := c.store.(sink.StagedReader)
	if !ok {
		return fmt.Errorf("read back %s: %w", file.Path, errors.ErrUnsupported)
	}
	object, err := reader.OpenStaged(ctx, run, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if object.Size() != file.Bytes {
		return fmt.Errorf("read back %s: it has %d bytes, but %d were staged", file.Path, object.Size(), file.Bytes)
	}
	if err := ReadRows(object, object.Size(), table, use); err != nil {
		return fmt.Errorf("read back %s: %w", file.Path, err)
	}
	return nil
}

// ReadRows passes the rows of a Parquet file of the given size to use, page by page. The batch is reused.
func ReadRows(file io.ReaderAt, size int64, table *schemas.Table, use func(*rows.Batch) error) error {
	reader, err := parquetfile.NewReader(file, size, table)
	if err != nil {
		return err
	}
	batch := rows.New(table)
	for {
		batch.Reset()
		err := reader.Read(batch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = use(batch)
		}
		if err != nil {
			return err
		}
	}
}

// SelectColumns returns the table with only the listed columns, for reading. Columns that the table does not have are
// ignored.
func SelectColumns(table *schemas.Table, columns ...string) *schemas.Table {
	some := &schemas.Table{Name: table.Name}
	for _, name := range columns {
		if at := table.Column(name); at >= 0 {
			some.Columns = append(some.Columns, table.Columns[at])
		}
	}
	return some
}
