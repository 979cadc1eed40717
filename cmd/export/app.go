package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/telemetry"
	"example.org/growthexport/internal/wording"
)

// app holds the environment and the streams of the process, and the state of the command that it runs.
type app struct {
	env    map[string]string
	stdin  io.Reader
	stdout io.Writer
	stderr *screen
	now    func() time.Time
	// records writes errors as JSON log lines. It is nil until a logger that writes JSON has been created.
	records *slog.Logger
	// who identifies the command and its run in every JSON log line.
	who identity
	// repeat adds flags of this process, such as those for the destination, to the commands that messages suggest.
	repeat repeater
	// pending holds warnings that were raised before there was a logger.
	pending []string
	// telemetry is nil unless the command sends its telemetry to a collector.
	telemetry *telemetry.Telemetry
	// code is the exit code of a command that ended without an error.
	code int
	// problem is the reason why a command that has no summary ends with exitPartial. It is part of the JSON output.
	problem error
	// result is the JSON form of the command's output, if the user asked for JSON.
	result any
}

// conclude returns the error to report for a command that ended with err. If ctx has ended, it returns errInterrupted,
// unless err is a usage error or already wraps errInterrupted. In all other cases it returns err, with advice added if
// an object is damaged and err has no advice yet.
func conclude(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) && !errors.Is(err, errInterrupted) {
		return errInterrupted // err is a consequence of the cancellation
	}
	if _, advised := errors.AsType[*wording.AdvisedError](err); !advised && errors.Is(err, sink.ErrDamaged) {
		return &wording.AdvisedError{Err: err, Advice: wording.Restore}
	}
	return err
}

// complain writes an error to stderr, as one line of text or JSON.
func (a *app) complain(err error) {
	if a.records != nil {
		a.records.Error("growth-export", "error", wording.OneLine(err))
		return
	}
	fmt.Fprintf(a.stderr, "growth-export: %s\n", a.repeat.inText(wording.OneLine(err)))
}

// endPartly makes the command end with exitPartial, and writes the reason to stderr because stdout may be redirected.
func (a *app) endPartly(what string, err error) {
	a.code, a.problem = exitPartial, fmt.Errorf("%s: %w", what, err)
	a.warn(what, err)
}

// warn reports a problem that the command does not return as an error, followed by the possible next steps, each on its
// own line. In JSON, the steps are an attribute of the same log line.
func (a *app) warn(what string, err error, next ...string) {
	if a.records != nil {
		log := a.records
		if len(next) > 0 {
			log = log.With("next", strings.Join(next, "; or: "))
		}
		log.Warn(what, "error", wording.OneLine(err)) //nolint:sloglint // a constant of the caller
		return
	}
	fmt.Fprintf(a.stderr, "growth-export: warning: %s: %s\n", what, a.repeat.inText(wording.OneLine(err)))
	for i, step := range next {
		label := "or"
		if i == 0 {
			label = "next"
		}
		fmt.Fprintf(a.stderr, "growth-export: %s: %s\n", label, a.repeat.inText(step))
	}
}
