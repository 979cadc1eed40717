package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Info describes a file according to its footer.
type Info struct {
	Rows      int64
	RowGroups int
	Columns   []string // the names of the columns, in the order of the file
	CreatedBy string
}

// Inspect reads and checks the footer of a file that a Writer has written. The footer must be complete, the rows of the
// row groups must add up, and the column chunks, and the pages in the page index, must follow each other without gaps.
// Inspect does not read pages. Even for invalid files, it does not panic, and its memory is bounded by a multiple of
// the file's size.
func Inspect(r io.ReaderAt, size int64) (Info, error) {
	file, err := open(r, size)
	if err != nil {
		return Info{}, err
	}
	return infoOf(file.Metadata()), nil
}

func infoOf(meta *format.FileMetaData) Info {
	info := Info{Rows: meta.NumRows, RowGroups: len(meta.RowGroups), CreatedBy: meta.CreatedBy}
	for _, e := range meta.Schema[1:] {
		info.Columns = append(info.Columns, e.Name)
	}
	return info
}

// readBuffer is how many bytes of a column are read at a time. On S3, each read is a request.
const readBuffer = 64 << 10

// open opens a file after checking it in the same way as Inspect.
func open(r io.ReaderAt, size int64) (_ *parquet.File, err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics on some invalid footers
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = fmt.Errorf("inspect parquet file: %w", err)
		}
	}()
	if err := checkFooterShape(r, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(r, size,
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(readBuffer))
	if err != nil {
		return nil, err
	}
	return file, checkGroups(r, size, file.Metadata())
}

// checkFooterShape checks that the library can decode the footer safely; see checkThrift.
func checkFooterShape(r io.ReaderAt, size int64) error {
	footer, err := readFooter(r, size)
	if err == nil {
		err = checkThrift(footer)
	}
	if err != nil {
		return fmt.Errorf("read footer: %w", err)
	}
	return nil
}

// footerWindow is the number of bytes at the end of a file that are read to find its footer. Nearly all footers fit in
// it.
const footerWindow = 64 << 10

// HasMagic reports whether a file of the given size ends with the magic bytes of Parquet files.
func HasMagic(r io.ReaderAt, size int64) (bool, error) {
	end := make([]byte, len(magic))
	if size < int64(len(end)) {
		return false, nil
	}
	err := readAt(r, end, size-int64(len(end)))
	return string(end) == magic, err
}

// readFooter returns the Thrift bytes of the footer, usually with one read.
func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	const end = 4 + len(magic) // the footer's length, and the magic
	if size < int64(len(magic)+end) {
		return nil, fmt.Errorf("%d bytes are too few for a Parquet file", size)
	}
	tail := make([]byte, min(size, footerWindow))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	if string(tail[len(tail)-len(magic):]) != magic {
		return nil, errors.New("the file does not end with PAR1")
	}
	length := int64(binary.LittleEndian.Uint32(tail[len(tail)-end:]))
	if length > size-int64(len(magic)+end) {
		return nil, fmt.Errorf("a footer of %d bytes does not fit in a file of %d bytes", length, size)
	}
	if whole := length + int64(end); whole > int64(len(tail)) {
		tail = make([]byte, whole)
		if err := readAt(r, tail, size-whole); err != nil {
			return nil, err
		}
	}
	return tail[int64(len(tail)-end)-length : len(tail)-end], nil
}

func checkGroups(r io.ReaderAt, size int64, meta *format.FileMetaData) error {
	at, rows := int64(len(magic)), int64(0)
	for g := range meta.RowGroups {
		group := &meta.RowGroups[g]
		if len(group.Columns) != len(meta.Schema)-1 {
			return fmt.Errorf("row group %d: %d column chunks for %d columns", g, len(group.Columns), len(meta.Schema)-1)
		}
		if group.NumRows <= 0 || rows+group.NumRows > meta.NumRows {
			return fmt.Errorf("row group %d: %d rows", g, group.NumRows)
		}
		rows += group.NumRows
		for c := range group.Columns {
			chunk := &group.Columns[c]
			if chunk.MetaData.NumValues != group.NumRows {
				return fmt.Errorf("row group %d, column %s: %d values for %d rows",
					g, meta.Schema[1+c].Name, chunk.MetaData.NumValues, group.NumRows)
			}
			end, err := checkChunk(r, size, chunk, at, group.NumRows)
			if err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, meta.Schema[1+c].Name, err)
			}
			at = end
		}
	}
	if rows != meta.NumRows {
		return fmt.Errorf("%d rows in row groups, %d in the footer", rows, meta.NumRows)
	}
	return nil
}

// checkChunk checks that the column chunk's pages start at the file offset at and are contiguous. It returns the offset
// at which they end.
func checkChunk(r io.ReaderAt, size int64, chunk *format.ColumnChunk, at, rows int64) (int64, error) {
	meta := &chunk.MetaData
	first := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		first = meta.DictionaryPageOffset
	}
	end := first + meta.TotalCompressedSize
	if b, n := meta.BloomFilterOffset, int64(meta.BloomFilterLength); b < 0 || n < 0 || b > size-n {
		return 0, fmt.Errorf("a Bloom filter of %d bytes at %d does not fit in a file of %d bytes", n, b, size)
	}
	if first != at || meta.DataPageOffset < first || end <= meta.DataPageOffset || end > size {
		return 0, fmt.Errorf("pages from %d to %d, expected from %d", first, end, at)
	}
	if chunk.OffsetIndexLength == 0 && chunk.ColumnIndexLength == 0 && rows < maxLeanRows {
		return end, nil
	}
	var pages format.OffsetIndex
	if err := readIndex(r, size, chunk.OffsetIndexOffset, chunk.OffsetIndexLength, &pages); err != nil {
		return 0, fmt.Errorf("read offset index: %w", err)
	}
	at, row := meta.DataPageOffset, int64(0)
	for i, p := range pages.PageLocations {
		if p.Offset != at || p.CompressedPageSize <= 0 || (i == 0) != (p.FirstRowIndex == 0) ||
			p.FirstRowIndex < row || p.FirstRowIndex >= rows {
			return 0, fmt.Errorf("page %d with first row %d at %d, expected at %d", i, p.FirstRowIndex, p.Offset, at)
		}
		at, row = at+int64(p.CompressedPageSize), p.FirstRowIndex+1
	}
	if at != end {
		return 0, fmt.Errorf("pages end at %d, expected %d", at, end)
	}
	if chunk.ColumnIndexLength == 0 {
		return end, nil
	}
	var bounds format.ColumnIndex
	if err := readIndex(r, size, chunk.ColumnIndexOffset, chunk.ColumnIndexLength, &bounds); err != nil {
		return 0, fmt.Errorf("read column index: %w", err)
	}
	n := len(pages.PageLocations)
	if len(bounds.NullPages) != n || len(bounds.MinValues) != n || len(bounds.MaxValues) != n || len(bounds.NullCounts) != n {
		return 0, fmt.Errorf("bounds of %d pages for %d pages", len(bounds.NullPages), n)
	}
	return end, nil
}

func readIndex(r io.ReaderAt, size, offset int64, length int32, index any) error {
	if offset < 0 || length < 0 || offset > size-int64(length) {
		return fmt.Errorf("%d bytes at %d do not fit in a file of %d bytes", length, offset, size)
	}
	b := make([]byte, length)
	if err := readAt(r, b, offset); err != nil {
		return err
	}
	if err := checkThrift(b); err != nil {
		return err
	}
	return thrift.Unmarshal(new(thrift.CompactProtocol), b, index)
}

// readAt fills b or returns an error.
func readAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
