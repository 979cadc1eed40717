package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/schemas"
)

// draftBuffer collects the many small writes of a Parquet file's footer.
const draftBuffer = 64 << 10

// Tables makes the table files of one run and keeps their buffers for the next
// file. It may be used by many goroutines.
type Tables struct {
	catalog Catalog
	run     string
	pool    *parquetfile.Pool
}

// NewTables returns a maker of table files.
func NewTables(catalog Catalog, run string) *Tables {
	return &Tables{catalog: catalog, run: run, pool: parquetfile.NewPool(parquetfile.Options{})}
}

// TableFile is a file of a table on its way to being staged. It must be ended
// by Stage or Abort; Abort after Stage does nothing. It belongs to one
// goroutine at a time.
type TableFile struct {
	path   string
	pool   *parquetfile.Pool
	writer *parquetfile.Writer
	buffer *bufio.Writer
	draft  sink.Draft
}

// Create starts a file of the table that will be visible at path.
func (t *Tables) Create(ctx context.Context, path string, table *schemas.Table) (*TableFile, error) {
	draft, err := t.catalog.Draft(ctx, t.run, path)
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriterSize(draft, draftBuffer)
	return &TableFile{
		path: path, pool: t.pool, writer: t.pool.Get(buffer, table), buffer: buffer, draft: draft,
	}, nil
}

// Append appends the rows of the batch that count, in their order.
func (f *TableFile) Append(batch *rows.Batch) error {
	if f.writer == nil {
		return fmt.Errorf("append rows to %s: the file is closed", f.path)
	}
	if err := f.writer.Append(batch); err != nil {
		return fmt.Errorf("append rows to %s: %w", f.path, err)
	}
	return nil
}

// Stage ends the file, reads it back, and stages it. The staged file is a complete Parquet file with the appended rows, and
// its hash was computed from the bytes read.
func (f *TableFile) Stage(ctx context.Context) (sink.File, error) {
	file, err := f.stage(ctx)
	if err != nil {
		return sink.File{}, fmt.Errorf("stage %s: %w", f.path, err)
	}
	return file, nil
}

func (f *TableFile) stage(ctx context.Context) (sink.File, error) {
	if f.writer == nil {
		return sink.File{}, errors.New("the file is closed")
	}
	rowCount, err := f.writer.Close()
	if err != nil {
		return sink.File{}, err
	}
	f.release()
	if err := f.buffer.Flush(); err != nil {
		return sink.File{}, err
	}
	f.buffer = nil
	size, err := f.draft.Finish()
	if err != nil {
		return sink.File{}, err
	}
	hash, err := inspect(ctx, f.draft, size, rowCount)
	if err != nil {
		return sink.File{}, err
	}
	staged, err := f.draft.Stage(ctx)
	if err != nil {
		return sink.File{}, err
	}
	return sink.File{Path: f.path, Rows: rowCount, Bytes: size, SHA256: hash, Staged: staged}, nil
}

// release gives the writer's buffers back.
func (f *TableFile) release() {
	if f.writer != nil {
		f.pool.Put(f.writer)
		f.writer = nil
	}
}

// Abort drops the file.
func (f *TableFile) Abort() error {
	f.release()
	return f.draft.Abort()
}

// inspect reads a Parquet file, compares its number of rows and returns the
// hash of its bytes.
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
		return "", fmt.Errorf("its footer counts %d rows, %d were written", info.Rows, rowCount)
	}
	return hash, nil
}
