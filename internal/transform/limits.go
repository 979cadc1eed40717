package transform

import "math"

// MaxRecordChildRows is how many rows of child tables one record may have.
const MaxRecordChildRows = 10_000

// Limits bound what a chain takes until its Reset. A page that goes beyond them
// is an error before the rows beyond are built.
type Limits struct {
	Records, ChildRows int64
}

// unlimited is what a chain takes unless SetLimits says otherwise.
var unlimited = Limits{Records: math.MaxInt64, ChildRows: math.MaxInt64}

// SetLimits bounds what the chain takes, all pages together, until its Reset.
func (c *Chain) SetLimits(l Limits) { c.limits = l }

// limited is what a scan returns that met more than a limit; c.beyond says
// which.
const limited = -4

// exceed ends a scan.
func (c *Chain) exceed(err error) int {
	c.beyond = err
	return limited
}

// checkCount looks whether an array of records that starts at pos, behind its
// opening bracket, has more elements than the chain may take. They are counted
// only where so many could be in the rest of the body: the shortest take two
// bytes each, but the rows made of them many more.
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
