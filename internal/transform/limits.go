package transform

import "math"

// Limits bound what a decoder accepts until its Reset. If a page exceeds them, reading it fails before the excess rows
// are built.
type Limits struct {
	Records, ChildRows int64
}

// unlimited applies until SetLimits is called.
var unlimited = Limits{Records: math.MaxInt64, ChildRows: math.MaxInt64}

// SetLimits bounds the input of the decoder, over all pages, until its Reset.
func (d *Decoder) SetLimits(l Limits) { d.limits = l }

// stopAtLimit stores the error of a scan and returns limitReached, which ends the scan.
func (d *Decoder) stopAtLimit(err error) int {
	d.limitErr = err
	return limitReached
}

const (
	// minRowBytes and maxRowBytesPerByte bound the memory of rows by the size of the decompressed pages. Even a record
	// without members needs the memory of a row, whereas a real record is larger than an empty row.
	minRowBytes        = 4 << 20
	maxRowBytesPerByte = 4
)

// maxRowBytes returns the maximum memory for the rows of the pages received so far.
func (d *Decoder) maxRowBytes() int64 { return minRowBytes + maxRowBytesPerByte*d.received }

// makeRoom makes room for another row of a table. It returns false if the rows already take too much memory.
func (d *Decoder) makeRoom(t *tableRows) bool {
	if t.n < t.capacity {
		return true
	}
	held := int64(0) // without texts, which the pages hold too
	for _, t := range d.tables {
		held += int64(t.n * t.plan.width)
	}
	if held > d.maxRowBytes() {
		return false
	}
	t.grow()
	return true
}

// countChildRow counts one more child row of the current record. It returns an error if the row would exceed a limit.
func (d *Decoder) countChildRow() error {
	switch {
	case d.recordChildRows == MaxRecordChildRows:
		return ErrTooManyInRecord
	case d.childRows == d.limits.ChildRows:
		return ErrTooManyChildRows
	}
	d.recordChildRows++
	d.childRows++
	return nil
}
