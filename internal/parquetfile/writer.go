package parquetfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

const (
	defaultRowGroupRows  = 131072
	defaultPageRows      = 8192
	defaultPageBytes     = 4 << 20
	defaultRowGroupBytes = 64 << 20
	// maxLeanRows bounds Options.LeanRows.
	maxLeanRows = defaultPageRows
)

// Options are the sizes of pages and row groups. All options except Background determine the bytes of a file. A zero
// value means the default.
type Options struct {
	// RowGroupRows is the maximum number of rows of a row group, by default 131072.
	RowGroupRows int
	// PageRows is the maximum number of rows of a page, by default 8192.
	PageRows int
	// PageBytes is the size of a page's texts, in bytes, at which the page ends; by default 4 MiB.
	PageBytes int
	// RowGroupBytes is the size of a row group's compressed pages, in bytes, at which the row group ends; by default 64
	// MiB.
	RowGroupBytes int
	// LeanRows is the number of rows, at most 8192, below which a file omits everything that only helps readers skip
	// parts: page index, Bloom filters and bounds. In a file with few rows, these take more than half of the bytes.
	LeanRows int
	// Background encodes a page in another goroutine while the caller collects the rows of the next one. It needs
	// memory for one more page, and does not change the bytes of the file.
	Background bool
}

func (o Options) withDefaults() Options {
	return Options{
		RowGroupRows:  cmp.Or(o.RowGroupRows, defaultRowGroupRows),
		PageRows:      cmp.Or(o.PageRows, defaultPageRows),
		PageBytes:     cmp.Or(o.PageBytes, defaultPageBytes),
		RowGroupBytes: cmp.Or(o.RowGroupBytes, defaultRowGroupBytes),
		LeanRows:      min(o.LeanRows, maxLeanRows),
		Background:    o.Background,
	}
}

// Writer writes one file at a time. It must be used by only one goroutine at a time. Reset keeps its memory. If rows
// are out of order, or encoding or writing fails, all calls until Reset return the error.
type Writer struct {
	out   io.Writer
	table *schemas.Table
	opts  Options
	err   error

	page    *rows.Batch
	text    int // upper bound of the text bytes of the page; exact if it reaches PageBytes
	order   order
	columns []column
	enc     encoder
	// A page in the background uses columns, enc and spare until settle has returned.
	background background

	offset    int64 // bytes written so far
	rows      int64 // rows in complete row groups
	groupRows int   // rows in complete pages of the open row group
	footer    footer
}

var errClosed = errors.New("the file is closed")

// NewWriter starts a file of the table on out. It allocates many small buffers: use a Pool or Reset to write several
// files. If it fails, the first call of Append or Close returns the error.
func NewWriter(out io.Writer, table *schemas.Table, opts Options) *Writer {
	w := &Writer{opts: opts.withDefaults()}
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		// A page is seldom larger than this window. By default, an encoder holds two windows in memory.
		zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true),
		zstd.WithAllLitEntropyCompression(true),
		zstd.WithEncoderCRC(false)) // the manifest holds the file's SHA-256
	if err != nil {
		w.err = fmt.Errorf("make zstd encoder: %w", err)
		return w
	}
	w.enc.zstd = z
	w.Reset(out, table)
	return w
}

// Reset abandons an unfinished file and starts a new file, of any table, on out. It keeps the options and the memory.
func (w *Writer) Reset(out io.Writer, table *schemas.Table) {
	if w.enc.zstd == nil {
		return // NewWriter failed; w.err has the reason
	}
	w.settle()
	w.out, w.err = out, nil
	w.offset, w.rows, w.groupRows, w.text = 0, 0, 0, 0
	if w.page == nil {
		w.page = new(rows.Batch)
	}
	reshape(w.page, table)
	if w.table != table {
		w.table = table
		w.columns = resize(w.columns, len(table.Columns))
		for i := range w.columns {
			w.columns[i].setColumn(&table.Columns[i], w.opts.RowGroupRows)
		}
	}
	for i := range w.columns {
		w.columns[i].reset(&w.enc.pool)
	}
	w.order.reset(table)
	w.footer.reset(table)
	w.write([]byte(magic))
}

// Append appends the rows of the batch in its order, and does not retain the batch. The rows must be sorted by the
// table's KeyColumns, nulls first and texts by their bytes. The footer declares this order, so a row out of order is an
// error.
func (w *Writer) Append(batch *rows.Batch) error { return w.AppendRows(batch, 0, batch.Len()) }

// AppendRows works like Append for the rows i to j, exclusive, of the batch.
func (w *Writer) AppendRows(batch *rows.Batch, i, j int) error {
	if w.err != nil {
		return w.err
	}
	if batch.Table != w.table {
		return fmt.Errorf("append rows to table %s: the batch is of table %s", w.table.Name, batch.Table.Name)
	}
	if err := batch.Check(); err != nil {
		return fmt.Errorf("append rows: %w", err)
	}
	for i < j {
		n := w.rowsForPage(batch, i, j)
		had := w.page.N
		w.page.AppendRows(batch, i, i+n)
		i += n
		if w.err = w.order.check(w.page, had); w.err != nil {
			return w.err
		}
		if w.pageFull() {
			w.flushPage()
		}
		if w.groupFull() {
			w.flushGroup()
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

// Close writes the last rows and the footer and returns the number of rows in the file. It does not close out.
func (w *Writer) Close() (int64, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.page.N > 0 {
		if w.rows+int64(w.groupRows) == 0 && w.page.N < w.opts.LeanRows {
			for i := range w.columns {
				w.columns[i].lean = true
			}
		}
		w.flushPage()
	}
	if w.groupRows > 0 {
		w.flushGroup()
	}
	if w.err == nil {
		var end []byte
		if end, w.err = w.footer.finish(w.offset, w.rows); w.err == nil {
			w.write(end)
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	w.err = errClosed
	return w.rows, nil
}

// rowsForPage returns how many of the rows i to j, exclusive, of the batch belong to the open page. It returns at least
// 1. It compares the page's text with PageBytes row by row, so that pages do not depend on how the rows are divided
// into batches.
func (w *Writer) rowsForPage(batch *rows.Batch, i, j int) int {
	n := min(j-i, w.opts.PageRows-w.page.N, w.opts.RowGroupRows-w.groupRows-w.page.N)
	if most := w.text + maxText(batch, i, i+n); most < w.opts.PageBytes {
		w.text = most
		return n
	}
	w.text = 0
	for k := range w.page.N {
		w.text += rowText(w.page, k)
	}
	for k := range n {
		if w.text += rowText(batch, i+k); w.text >= w.opts.PageBytes {
			return k + 1
		}
	}
	return n
}

func (w *Writer) pageFull() bool {
	return w.page.N == w.opts.PageRows || w.page.N+w.groupRows == w.opts.RowGroupRows || w.text >= w.opts.PageBytes
}

// groupFull reports whether the row group ends with the last page.
func (w *Writer) groupFull() bool {
	if w.groupRows == w.opts.RowGroupRows {
		return true
	}
	if w.background.mostBytes() < w.opts.RowGroupBytes {
		return false
	}
	w.settle()
	return w.groupBytes() >= w.opts.RowGroupBytes
}

func (w *Writer) groupBytes() int {
	n := 0
	for i := range w.columns {
		n += w.columns[i].body.size
	}
	return n
}

func (w *Writer) flushPage() {
	if w.settle(); w.err != nil {
		return
	}
	w.order.remember(w.page)
	page, firstRow := w.page, int64(w.groupRows)
	w.groupRows += page.N
	if w.opts.Background {
		w.page = w.background.start(w.table, page, w.groupBytes()+maxPageBytes(page, w.text), func() error { return w.encodePage(page, firstRow) })
	} else {
		w.err = w.encodePage(page, firstRow)
	}
	w.page.Reset()
	w.text = 0
}

func (w *Writer) encodePage(page *rows.Batch, firstRow int64) error {
	for i := range w.columns {
		if err := w.columns[i].encodePage(&page.Cols[i], page.N, firstRow, &w.enc); err != nil {
			return fmt.Errorf("encode page of table %s, column %s: %w", w.table.Name, w.table.Columns[i].Name, err)
		}
	}
	return nil
}

// settle waits until the page in the background is encoded, and stores its error in w.err.
func (w *Writer) settle() {
	if err := w.background.wait(); w.err == nil {
		w.err = err
	}
}

func (w *Writer) flushGroup() {
	if w.settle(); w.err != nil {
		return
	}
	group := w.footer.startGroup(w.table, w.offset, int64(w.groupRows))
	for i := range w.columns {
		c := &w.columns[i]
		dict, err := c.dictionaryPage(&w.enc)
		if err != nil {
			w.err = fmt.Errorf("encode dictionary of table %s, column %s: %w", w.table.Name, c.def.Name, err)
			return
		}
		if err := w.footer.addChunk(group, c, w.offset, len(dict)); err != nil {
			w.err = fmt.Errorf("encode indexes of table %s, column %s: %w", w.table.Name, c.def.Name, err)
			return
		}
		w.write(dict)
		for _, part := range c.body.parts {
			w.write(part)
		}
		c.reset(&w.enc.pool)
	}
	w.rows += int64(w.groupRows)
	w.groupRows = 0
}

func (w *Writer) write(b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	n, err := w.out.Write(b)
	w.offset += int64(n)
	if err != nil {
		w.err = fmt.Errorf("write file of table %s: %w", w.table.Name, err)
	}
}

// reshape turns b into an empty batch of the table and keeps its memory.
func reshape(b *rows.Batch, table *schemas.Table) {
	b.Reset()
	b.Table = table
	b.Cols = resize(b.Cols, len(table.Columns))
	for i := range b.Cols {
		b.Cols[i].Truncate(0)
		b.Cols[i].Type, b.Cols[i].Required = table.Columns[i].Type, table.Columns[i].Required
	}
}

// maxText returns an upper bound of the text bytes in the rows i to j, exclusive, of the batch.
func maxText(b *rows.Batch, i, j int) int {
	most := 0
	for c := range b.Cols {
		v := &b.Cols[c]
		switch {
		case !v.IsText() || i == j:
		case !v.Coded && b.Order == nil:
			most += int(v.End[j-1]) - int(v.End[i]) + len(v.Entry(i))
		case !v.Coded:
			most += len(v.Data)
		case len(v.End) > j-i:
			for k := i; k < j; k++ {
				most += len(v.Text(b.Row(k)))
			}
		default:
			longest := 0
			for code := range v.End {
				longest = max(longest, len(v.Entry(code)))
			}
			most += longest * (j - i)
		}
	}
	return most
}

// rowText returns the text bytes of row i in the batch's order.
func rowText(b *rows.Batch, i int) int {
	n, r := 0, b.Row(i)
	for c := range b.Cols {
		if v := &b.Cols[c]; v.IsText() {
			n += len(v.Text(r))
		}
	}
	return n
}
