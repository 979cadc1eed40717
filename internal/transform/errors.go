package transform

import (
	"errors"
	"fmt"
)

var (
	// ErrNotJSON means that a body is not exactly one JSON value: it is HTML, empty, cut short, or followed by other
	// bytes.
	ErrNotJSON = errors.New("the body is not JSON")
	// ErrEmptyString means that a body is the empty JSON string.
	ErrEmptyString = errors.New("the body is an empty JSON string")
	// ErrTooLarge means that one list has more rows or text than a batch can hold, that its child rows repeat too much
	// text, or that it has too many records with the same key.
	ErrTooLarge = errors.New("more data than one list may hold")
	// ErrTooManyRecords means that a list has more records than its limit.
	ErrTooManyRecords = errors.New("more records than allowed")
	// ErrTooManyChildRows means that the records of a list have more child rows than its limit.
	ErrTooManyChildRows = errors.New("more child rows than allowed")
	// ErrTooManyInRecord means that one record has more than MaxRecordChildRows child rows.
	ErrTooManyInRecord = fmt.Errorf("a record with more than %d child rows", MaxRecordChildRows)
	// ErrNearlyEmpty means that the rows of a list would take several times the memory of its pages.
	ErrNearlyEmpty = errors.New("nearly empty records, whose rows would take several times the size of the answer")
	// errDuplicateMember means a bug in this package: a record that was read again still has a member twice.
	errDuplicateMember = errors.New("a duplicate member remains in a record that was read again")
)

// MaxRecordChildRows is the maximum number of child rows of one record.
const MaxRecordChildRows = 10_000

// ShapeError means that a body is JSON, but does not have any shape that the dataset's operation may return.
type ShapeError struct {
	Dataset string
	// Met describes the body by kinds, counts and declared names, never by values that the service sent.
	Met string
}

// Error implements error.
func (e *ShapeError) Error() string {
	return "the answer to " + e.Dataset + " is " + e.Met
}
