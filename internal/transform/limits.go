package transform

import "math"

// MaxRecordChildRows is the maximum number of child rows of one record.
const MaxRecordChildRows = 10_000

// Limits bound what a decoder accepts until its Reset. A page that exceeds them is an error before the excess rows are
// built.
type Limits struct {
	Records, ChildRows int64
}

// unlimited applies until SetLimits is called.
var unlimited = Limits{Records: math.MaxInt64, ChildRows: math.MaxInt64}

// SetLimits bounds what the decoder accepts, over all pages, until its Reset.
func (d *Decoder) SetLimits(l Limits) { d.limits = l }

// stopAtLimit ends a scan.
func (d *Decoder) stopAtLimit(err error) int {
	d.limitErr = err
	return limitReached
}

// checkRecordCount checks that an array of records, whose content starts at pos, has no more elements than the decoder
// may accept. It counts them only if the rest of the body could hold that many: an element takes at least two bytes,
// but its row takes many more.
func (d *Decoder) checkRecordCount(pos int) int {
	left := d.limits.Records - int64(d.count)
	if int64(len(d.body)-pos)/2 <= left {
		return pos
	}
	at, more := firstEnd(d.body, pos, ']')
	for ; more; left-- {
		if left == 0 {
			return d.stopAtLimit(ErrTooManyRecords)
		}
		if at = d.skip(-1, at); at < 0 {
			return at
		}
		at, more = nextEnd(d.body, at, ']')
	}
	return pos
}

// countChildRow counts one more child row of the current record.
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
