package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/review"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// endRun writes the summary to stdout, or only the path of the report if there is an error, and runs the command
// onFinish. It then either sets the exit code or returns the error that the command ends with. The summary may be nil
// only if err is not nil.
func (a *app) endRun(ctx context.Context, o *general, onFinish string, summary *pipeline.Summary, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		err = interrupted(summary)
	}
	if resumable(summary, err) {
		err = fmt.Errorf("%w; %s resumes run %s", err, sameCommand(summary), summary.RunID)
	}
	code := exitCode(err)
	if err == nil {
		code = outcomeCode(summary)
	}
	a.recordSummary(ctx, summary)
	end := newJSONSummary(summary, code, err)
	text := ""
	switch {
	case err == nil:
		text = summaryText(summary)
	case summary != nil:
		text = reportLine(summary)
	}
	unwritten := a.writeOutput(o.output, end, text)
	a.runOnFinish(ctx, onFinish, end)
	if err != nil {
		return err
	}
	a.warnOfOutcome(summary)
	if unwritten != nil {
		// The run is published anyway, and the exit code describes the run.
		a.complain(unwritten)
	}
	a.code = code
	return nil
}

// warnOfOutcome explains on stderr, because stdout may be redirected, why a run that ended without an error does not
// exit with 0.
func (a *app) warnOfOutcome(s *pipeline.Summary) {
	what, err := outcomeError(s)
	if err == nil {
		return
	}
	if s.Outcome != pipeline.HeldBack {
		a.warn(what, err)
		return
	}
	if s.Report != "" {
		err = fmt.Errorf("%w; report: %s", err, joinPath(s.Destination, s.Report))
	}
	a.warn(what, err, heldSteps(s)...)
}

// heldSteps returns the next steps for a run that is held back, except for reading its report.
func heldSteps(s *pipeline.Summary) (steps []string) {
	for _, step := range s.Next {
		if s.Report != "" && strings.Contains(step.Say, s.Report) {
			continue
		}
		steps = append(steps, strings.TrimSpace(strings.TrimSuffix(step.Say, ".")+" "+step.Command))
	}
	return steps
}

// outcomeError returns the reason why a run that ended without an error does not exit with 0, or nil if it exits with
// 0.
func outcomeError(s *pipeline.Summary) (what string, err error) {
	switch outcomeCode(s) {
	case exitHeld:
		return "the run is held back", fmt.Errorf("%s: %s", s.RunID, strings.Join(review.Texts(s.Held), "; "))
	case exitPartial:
		var causes []string
		if s.Schools.Failed > 0 {
			causes = append(causes, wording.Many(s.Schools.Failed, "school")+" failed")
		}
		for _, reason := range s.Accepted {
			causes = append(causes, "accepted by hand: "+reason.String())
		}
		if s.Unfinished != "" {
			causes = append(causes, "not finished: "+s.Unfinished)
		}
		return "the run is published, but with problems", fmt.Errorf("%s: %s", s.RunID, strings.Join(causes, "; "))
	}
	return "", nil
}

// endBeforeRun runs the --on-finish command for a run that could not begin. It returns err or, if the context has ended
// and err is not a usage error, errInterrupted.
func (a *app) endBeforeRun(ctx context.Context, onFinish string, err error) error {
	if ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		err = errInterrupted
	}
	a.runOnFinish(ctx, onFinish, newJSONSummary(nil, exitCode(err), err))
	return err
}

// resumable reports whether a failed run can be resumed and its error does not already say so.
func resumable(summary *pipeline.Summary, err error) bool {
	if _, stuck := errors.AsType[*snapshot.StuckError](err); stuck || errors.Is(err, sink.ErrConflict) {
		return false // another run has taken this date or is blocking it
	}
	planned := summary != nil && summary.Planned
	return planned && exitCode(err) == exitFailed && !errors.Is(err, pipeline.ErrIncomplete)
}

// interrupted returns the error of an interrupted run, which says how to resume it.
func interrupted(summary *pipeline.Summary) error {
	if summary == nil || summary.RunID == "" {
		return fmt.Errorf("%w: run the same command again to continue", errInterrupted)
	}
	later := ""
	if summary.Kind != snapshot.AsOf { // the id of an as-of run does not depend on the day
		later = fmt.Sprintf(" (on another day, add --run-id %s)", summary.RunID)
	}
	return fmt.Errorf("%w: run %s is not published; %s resumes it%s", errInterrupted, summary.RunID, sameCommand(summary), later)
}

// sameCommand describes the command that resumes a run.
func sameCommand(summary *pipeline.Summary) string {
	if summary.Restarted {
		return "the same command without --restart"
	}
	return "the same command"
}
