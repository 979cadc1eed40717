package main

import (
	"errors"
	"fmt"
	"strings"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPartial     = 3 // published, but not all is well
	exitRefused     = 4 // the service refused us
	exitHeld        = 5 // staged, held back from publishing
	exitInterrupted = 130
)

// errInterrupted ends a command after SIGINT or SIGTERM.
var errInterrupted = errors.New("interrupted")

// exitCode chooses the code of a command that ended with err. Where several
// apply the order is 2, 130, 4, 1; outcomes that are no errors have their codes
// from outcomeCode.
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

// outcomeCode is the code of a command that did what it could.
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

// usagef is a mistake in how the command was called.
func usagef(format string, args ...any) error {
	return usage(fmt.Errorf(format, args...))
}

// usage marks err as a mistake in how the command was called, without a word
// of its own.
func usage(err error) error { return usageError{err} }

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func (e usageError) Is(target error) bool { return target == pipeline.ErrUsage }

// oneLine renders an error for stderr: joined errors come as several lines, and
// the mark of a usage error says nothing to its reader.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), pipeline.ErrUsage.Error()+": ")
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines, "; ")
}
