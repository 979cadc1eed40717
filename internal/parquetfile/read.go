package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// Reader reads the rows of a file that a Writer has written, in order. It holds one page and the dictionary of each
// column that it reads. It must be used by only one goroutine at a time. It checks the footer like Inspect and returns
// errors for damaged pages, but cannot detect replaced values. If a file may have been tampered with, compare its hash
// first.
type Reader struct {
	table   *schemas.Table
	columns []int // positions of the table's columns in the file
	file    io.ReaderAt
	groups  []format.RowGroup
	left    int64 // unread rows of the open row group
	chunks  []chunkReader
	err     error
	coded   bool // Read appends texts as codes
	ahead   bool // the next page is fetched in the background
	// fetching is closed when the next page has been fetched. It is nil if no page is being fetched.
	fetching chan struct{}
}

// NewReader opens a file of the given size to read the table's columns, which it finds by name. The file may have
// further columns and a different order, but the columns must have the types that the table declares.
func NewReader(file io.ReaderAt, size int64, table *schemas.Table) (*Reader, error) {
	opened, err := open(file, size)
	if err != nil {
		return nil, err
	}
	return newReader(file, opened, table)
}

// OpenReader works like NewReader for the columns that pick chooses. pick is called with the columns of the file as
// returned by TableOf.
func OpenReader(file io.ReaderAt, size int64, pick func(stored *schemas.Table) (*schemas.Table, error)) (*Reader, error) {
	opened, err := open(file, size)
	if err != nil {
		return nil, err
	}
	stored, err := tableOf(opened)
	if err != nil {
		return nil, err
	}
	table, err := pick(stored)
	if err != nil {
		return nil, err
	}
	return newReader(file, opened, table)
}

func newReader(file io.ReaderAt, opened *parquet.File, table *schemas.Table) (*Reader, error) {
	r := &Reader{table: table, file: file, groups: opened.Metadata().RowGroups, chunks: make([]chunkReader, len(table.Columns))}
	buffers := new(pageBuffers)
	for i := range r.chunks {
		r.chunks[i].pageBuffers = buffers
	}
	elements := opened.Metadata().Schema[1:]
	for i, declared := range schemaOf(table)[1:] {
		at := slices.IndexFunc(elements, func(e format.SchemaElement) bool { return e.Name == declared.Name })
		if at < 0 {
			return nil, fmt.Errorf("open parquet file: no column %s of table %s", declared.Name, table.Name)
		}
		found := &elements[at]
		if found.Type != declared.Type || found.RepetitionType != declared.RepetitionType || found.ConvertedType != declared.ConvertedType {
			return nil, fmt.Errorf("open parquet file: column %s does not have type %s of table %s",
				declared.Name, table.Columns[i].Type, table.Name)
		}
		r.columns = append(r.columns, at)
	}
	return r, nil
}

// CodeTexts makes Read append texts of pages with a dictionary as codes (see rows.Vector). Such texts are valid until
// the next Read.
func (r *Reader) CodeTexts() { r.coded = true }

// FetchAhead makes Read start a goroutine that reads and decompresses the next page while the caller uses the rows.
// Close must be called before the file is closed.
func (r *Reader) FetchAhead() { r.ahead = true }

// Close waits until the Reader's goroutine no longer reads the file. It does not close the file.
func (r *Reader) Close() {
	if r.fetching != nil {
		<-r.fetching
		r.fetching = nil
	}
}

// fetch begins to fetch the next page of each column in the background.
func (r *Reader) fetch() {
	done := make(chan struct{})
	r.fetching = done
	go func() {
		defer close(done)
		if r.left == 0 {
			r.nextGroup()
		}
		for i := range r.chunks {
			c := &r.chunks[i]
			func() {
				defer func() {
					if p := recover(); p != nil { // the library panics on some damaged pages
						c.failure = fmt.Errorf("%v", p)
					}
				}()
				c.fetch()
			}()
		}
	}()
}

// Reuse takes over the memory of a Reader of the same table that is no longer used. It does nothing if before is nil or
// reads another table.
func (r *Reader) Reuse(before *Reader) {
	if before != nil && before.table == r.table {
		r.chunks, before.chunks = before.chunks, nil
	}
}

// Read appends the rows of the next page, at least one, to a batch of the table. It returns io.EOF after the last page.
// After any other error the batch must be reset.
func (r *Reader) Read(batch *rows.Batch) error {
	if r.err == nil {
		r.err = r.read(batch)
	}
	return r.err
}

func (r *Reader) read(batch *rows.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics on some damaged pages
			err = fmt.Errorf("read parquet file: %v", p)
		}
	}()
	if batch.Table != r.table || batch.Order != nil {
		return fmt.Errorf("read rows of table %s: the batch belongs to another table or has an order", r.table.Name)
	}
	r.Close()
	if r.left == 0 {
		if len(r.groups) == 0 || len(r.columns) == 0 {
			return io.EOF
		}
		r.nextGroup()
	}
	rowCount := 0
	for i := range r.chunks {
		n, err := r.chunks[i].readPage(&batch.Cols[i], r.coded, r.left)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read column %s: %w", r.table.Columns[i].Name, err)
		}
		if i > 0 && n != rowCount {
			return fmt.Errorf("read column %s: its page has %d rows, the previous column's has %d",
				r.table.Columns[i].Name, n, rowCount)
		}
		rowCount = n
	}
	if rowCount == 0 {
		return errors.New("read rows: a page has no rows")
	}
	r.left -= int64(rowCount)
	batch.N += rowCount
	if r.ahead && (r.left > 0 || len(r.groups) > 0) {
		r.fetch()
	}
	return nil
}

// nextGroup opens the columns of the next row group.
func (r *Reader) nextGroup() {
	group := &r.groups[0]
	r.groups = r.groups[1:]
	for i, column := range r.columns {
		r.chunks[i].open(r.file, &group.Columns[column].MetaData)
	}
	r.left = group.NumRows
}

// TableOf returns the table that the footer of a file of the given size describes. The table may differ from the
// current declaration. Its columns are in the order of the file and have no sources or documentation. Unless the file
// is empty, the columns by which the rows are sorted are keys. TableOf returns an error if a column has a type that a
// Writer does not write.
func TableOf(file io.ReaderAt, size int64) (*schemas.Table, error) {
	opened, err := open(file, size)
	if err != nil {
		return nil, err
	}
	return tableOf(opened)
}

func tableOf(opened *parquet.File) (*schemas.Table, error) {
	meta := opened.Metadata()
	table := &schemas.Table{Name: meta.Schema[0].Name}
	for i := range meta.Schema[1:] {
		e := &meta.Schema[1+i]
		column := schemas.Column{
			Name: e.Name, Type: declaredType(e), Required: e.RepetitionType.Valid && e.RepetitionType.V == format.Required,
		}
		if column.Type == 0 {
			return nil, fmt.Errorf("open parquet file: column %s has a type that growth-export does not write", e.Name)
		}
		table.Columns = append(table.Columns, column)
	}
	if len(meta.RowGroups) > 0 {
		for _, by := range meta.RowGroups[0].SortingColumns {
			table.Columns[by.ColumnIdx].Key = true
		}
	}
	return table, nil
}
