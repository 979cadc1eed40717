package main

import (
	"context"
	"errors"
	"strings"

	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/wording"
)

// runDates takes an as-of snapshot for each effective date until there is an error, and writes the summaries. The
// command ends with the most serious exit code of the runs.
func (a *app) runDates(ctx context.Context, o *runOptions, deps pipeline.Deps, settings pipeline.Settings, stop func()) error {
	summaries, err := await(ctx, func() ([]*pipeline.Summary, error) {
		s, err := work.Open(ctx, deps.Catalog, a.sessionOptions(&o.destination))
		if err != nil {
			return nil, err
		}
		return s.RunDates(ctx, deps, settings, o.effectiveDates)
	})
	stop()
	if err != nil && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) {
		var current *pipeline.Summary
		if len(summaries) > 0 {
			current = summaries[len(summaries)-1]
		}
		err = interrupted(current)
	}
	code := exitCode(err)
	var text strings.Builder
	for _, s := range summaries {
		a.recordSummary(ctx, s)
		code = worse(code, outcomeCode(s))
		if s.Outcome != "" { // the run did not fail
			text.WriteString(summaryText(s))
		}
	}
	all := newJSONSummaries(summaries, code, err)
	if unwritten := a.writeOutput(o.output, all, text.String()); unwritten != nil {
		a.complain(unwritten)
	}
	a.runOnFinish(ctx, o.onFinish, all)
	for _, s := range summaries {
		a.warnOfOutcome(s)
	}
	if err != nil {
		return err
	}
	a.code = code
	return nil
}

// jsonSummaries is the JSON form of the summaries of several as-of runs.
type jsonSummaries struct {
	Runs     []jsonSummary `json:"runs"`
	ExitCode int           `json:"exit_code"`
	Error    string        `json:"error,omitempty"`
}

func newJSONSummaries(summaries []*pipeline.Summary, code int, err error) jsonSummaries {
	all := jsonSummaries{Runs: []jsonSummary{}, ExitCode: code}
	for i, s := range summaries {
		var failed error
		if i == len(summaries)-1 {
			failed = err
		}
		run := newJSONSummary(s, worse(exitCode(failed), outcomeCode(s)), failed)
		all.Runs = append(all.Runs, run)
		if run.Error != "" && all.Error == "" {
			all.Error = run.Error
		}
	}
	if err != nil {
		all.Error = wording.OneLine(err)
	}
	return all
}
