package parquetfile

import (
	"math"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/schemas"
)

// background encodes one page at a time in a goroutine.
type background struct {
	done  chan error  // nil unless a page is being encoded
	most  int         // maximum bytes of the row group once that page is encoded
	spare *rows.Batch // the page that was encoded last
}

// start begins to encode a page in the background, and returns an empty batch for the rows of the next page.
func (b *background) start(table *schemas.Table, page *rows.Batch, most int, encode func() error) *rows.Batch {
	next := b.spare
	if next == nil {
		next = new(rows.Batch)
	}
	if next.Table != table {
		reshape(next, table)
	}
	b.spare, b.most = page, most
	done := make(chan error, 1)
	b.done = done
	go func() { done <- encode() }()
	return next
}

// wait waits for the page that is being encoded, if there is one, and returns the error from encoding the page.
func (b *background) wait() error {
	if b.done == nil {
		return nil
	}
	err := <-b.done
	b.done = nil
	return err
}

// mostBytes returns the maximum size of the row group including the page that is being encoded. If there is no such
// page, it returns math.MaxInt, and the caller can determine the actual size.
func (b *background) mostBytes() int {
	if b.done == nil {
		return math.MaxInt
	}
	return b.most
}

// maxValueBytes bounds the bytes of a page per value, not counting text. maxPageOverhead bounds the other bytes of a
// page per column.
const (
	maxValueBytes   = 16
	maxPageOverhead = 4096
)

// maxPageBytes returns the maximum size of an encoded page with this many bytes of text.
func maxPageBytes(page *rows.Batch, text int) int {
	return text + text/8 + len(page.Cols)*(page.N*maxValueBytes+maxPageOverhead)
}
