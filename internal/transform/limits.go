package transform

import "math"

// MaxRecordChildRows is how many rows of child tables one record may have.
const MaxRecordChildRows = 10_000

// Limits bound what a chain accepts until its Reset. A page that exceeds them
// is an error before the excess rows are built.
type Limits struct {
	Records, ChildRows int64
}

// unlimited are the limits of a chain before SetLimits is called.
var unlimited = Limits{Records: math.MaxInt64, ChildRows: math.MaxInt64}

// SetLimits bounds what the chain accepts, over all pages, until its Reset.
func (c *Chain) SetLimits(l Limits) { c.limits = l }

// limited is what a scan returns when it exceeds a limit; c.beyond says which.
const limited = -4

// exceed ends a scan.
func (c *Chain) exceed(err error) int {
	c.beyond = err
	return limited
}

// checkCount checks whether an array of records that starts at pos, behind its
// opening bracket, has more elements than the chain may accept. They are
// counted only if the rest of the body could hold that many: the shortest take
// two bytes each, but their rows take many more.
func (c *Chain) checkCount(pos int) int {
	left := c.limits.Records - int64(c.count)
	if int64(len(c.body)-pos)/2 <= left {
		return pos
	}
	at, more := firstEnd(c.body, pos, ']')
	for ; more; left-- {
		if left == 0 {
			return c.exceed(ErrTooManyRecords)
		}
		if at = c.skip(-1, at); at < 0 {
			return at
		}
		at, more = nextEnd(c.body, at, ']')
	}
	return pos
}

// countChildRow counts one more child row of the record being read.
func (c *Chain) countChildRow() error {
	switch {
	case c.recordChildRows == MaxRecordChildRows:
		return ErrTooManyInRecord
	case c.childRows == c.limits.ChildRows:
		return ErrTooManyChildRows
	}
	c.recordChildRows++
	c.childRows++
	return nil
}

// uncountRecord takes back the child rows of a record that is read again.
func (c *Chain) uncountRecord() {
	c.childRows -= int64(c.recordChildRows)
	c.recordChildRows = 0
}
