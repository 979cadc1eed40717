package main

import (
	"errors"
	"slices"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartial     = 3 // done, but with failed schools or other problems; for schema --diff, differences that break no reader
	exitRefused     = 4 // the service rejected the credentials, or denied access to everything
	exitHeld        = 5 // staged, but not published
	exitInterrupted = 130
)

// errInterrupted ends a command after SIGINT or SIGTERM.
var errInterrupted = errors.New("interrupted")

// exitCode returns the exit code of a command that ended with err.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, pipeline.ErrUsage):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, extract.ErrRefused):
		return exitRefused
	default:
		return exitFailed
	}
}

// outcomeCode returns the exit code of a run that ended without an error.
func outcomeCode(s *pipeline.Summary) int {
	switch {
	case s.Outcome == pipeline.HeldBack:
		return exitHeld
	case s.Outcome == pipeline.Published && (s.Schools.Failed > 0 || len(s.Accepted) > 0 || s.Unfinished != ""):
		return exitPartial
	default:
		return exitOK
	}
}

// worse returns the more serious of two exit codes.
func worse(a, b int) int {
	order := []int{exitUsage, exitInterrupted, exitRefused, exitFailed, exitHeld, exitPartial, exitOK}
	return order[min(slices.Index(order, a), slices.Index(order, b))]
}

// failedChecks is the error of the doctor command if a check failed. It wraps the cause, so that doctor ends with the
// same exit code as a run that fails for this cause.
type failedChecks struct {
	text  string
	cause error
}

func (e failedChecks) Error() string { return e.text }

func (e failedChecks) Unwrap() error { return e.cause }
