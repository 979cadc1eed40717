package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"example.org/growthexport/internal/transform"
)

// childRowsPerRecord is how many child rows there may be for each record that
// --max-school-records allows.
const childRowsPerRecord = 8

// limits returns what another call chain may add to a school's dataset.
func (f *fetcher) limits(r *result) transform.Limits {
	most := int64(math.MaxInt64)
	if f.maxRecords <= most/childRowsPerRecord {
		most = childRowsPerRecord * f.maxRecords
	}
	return transform.Limits{Records: f.maxRecords - r.ledger.RecordsReceived, ChildRows: most - r.childRows}
}

// beyond returns which limit an answer exceeded, if any.
func (f *fetcher) beyond(d *dataset, err error) error {
	const remedy = "raise --max-school-records if the school really has that many"
	var children []string
	for _, t := range d.Tables[1:] {
		children = append(children, t.Name)
	}
	switch {
	case errors.Is(err, transform.ErrTooManyRecords):
		return fmt.Errorf("more than %d records: %s", f.maxRecords, remedy)
	case errors.Is(err, transform.ErrTooManyChildRows):
		return fmt.Errorf("more than %d rows of %s, which is %d times --max-school-records: %s",
			childRowsPerRecord*f.maxRecords, strings.Join(children, " and "), childRowsPerRecord, remedy)
	case errors.Is(err, transform.ErrTooManyInRecord):
		return fmt.Errorf("a record has more than %d rows of %s: no real one does, so the answer is not taken",
			transform.MaxRecordChildRows, strings.Join(children, " and "))
	}
	return err
}
