package transform

import (
	"errors"
	"fmt"
)

var (
	// ErrNotJSON says that a body is not one whole JSON value: cut short, HTML,
	// empty, or with something behind it.
	ErrNotJSON = errors.New("the body is not JSON")
	// ErrEmptyString says that a body is an empty JSON text.
	ErrEmptyString = errors.New("the body is an empty JSON string")
	// ErrTooLarge says that a chain holds more rows or text than a batch can.
	ErrTooLarge = errors.New("more than one call chain can hold")
	// ErrTooManyRecords says that a chain was sent more records than its limit.
	ErrTooManyRecords = errors.New("more records than allowed")
	// ErrTooManyChildRows says that the records of a chain have more child rows
	// than its limit.
	ErrTooManyChildRows = errors.New("more child rows than allowed")
	// ErrTooManyInRecord says that one record has more than
	// MaxRecordChildRows child rows.
	ErrTooManyInRecord = fmt.Errorf("a record with more than %d child rows", MaxRecordChildRows)
	// errDoubled says that a record was read again and still has a member
	// twice: a mistake here, which must not end in a wrong row.
	errDoubled = errors.New("a doubled member was met twice")
)

// ShapeError says that a body is JSON, but none of the shapes in which the
// dataset's operation may answer.
type ShapeError struct {
	Dataset string
	// Met describes the body by kinds, counts and declared names, never by
	// what the service sent.
	Met string
}

// Error implements error.
func (e *ShapeError) Error() string {
	return "the answer to " + e.Dataset + " is " + e.Met
}

func (c *Chain) shape(met string) error {
	return &ShapeError{Dataset: c.plan.dataset.Name, Met: met}
}
